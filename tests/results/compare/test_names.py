"""Groups are named after their differences."""

from __future__ import annotations

from venturi.results.compare.names import name_groups


def test_constants_go_to_the_caption_and_one_thing_has_one_name() -> None:
    alike = {"workload": "terasort", "maps": "8", "block_bytes": "67108864", "scale": None}
    names = name_groups(
        [
            {**alike, "net": "ETH", "network": "ETH", "disk": "HS5"},
            {**alike, "net": "IB", "network": "IB", "disk": "SSD"},
        ]
    )
    assert names.names == ("ETH HS5", "IB SSD")
    assert names.keys == ("network", "disk")
    assert names.caption == "terasort, maps 8, block_bytes 64 MiB"
    assert names.explained["HS5"] == "HDFS on 5 hard disks, temporary files on an SSD"
    assert names.explained["SSD"] == "one SSD"  # next to HS5, it's a layout, too
    alone = name_groups([{"disk": "HDD"}, {"disk": "SSD"}])
    assert alone.explained == {}  # they say themselves what they are


def test_two_names_with_different_values_are_both_told() -> None:
    names = name_groups([{"hosts": 8, "nodes": "8"}, {"hosts": 8, "nodes": "16"}])
    assert names.keys == ("nodes",)
    assert names.names == ("nodes 8", "nodes 16")


def test_numbers_and_words_that_say_nothing_alone_have_their_key() -> None:
    names = name_groups([{"compression": "none"}, {"compression": "zlib"}, {"compression": None}])
    assert names.names == ("compression none", "compression zlib", "compression not stated")
    assert name_groups([{"maps": 4.0}, {"maps": "4"}]).names == ("all trials (1)", "all trials (2)")


def test_as_many_keys_as_tell_groups_apart() -> None:
    groups = [{f"key{k}": "a" for k in range(6)} | {"key5": text} for text in ("x", "y")]
    groups.append({f"key{k}": "b" for k in range(6)})
    names = name_groups(groups)
    assert len(set(names.names)) == 3
    assert not any("(" in name for name in names.names)


def test_what_another_key_tells_is_not_repeated() -> None:
    names = name_groups(
        [
            {
                "cluster": "m-01",
                "host_names": "m-01/1, m-01/2",
                "disk": "HDD",
                "disks.input": "hdd1",
            },
            {
                "cluster": "m-02",
                "host_names": "m-02/1, m-02/2",
                "disk": "HDD",
                "disks.input": "hdd1",
            },
        ]
    )
    assert names.names == ("m-01", "m-02")
    apart = name_groups([{"host_names": "a"}, {"host_names": "b"}])
    assert apart.names == ("a", "b")


def test_codes_that_differ_in_a_count_share_an_explanation() -> None:
    names = name_groups([{"disk": "HS4"}, {"disk": "HS5"}, {"disk": "RL3"}, {"disk": "SSD"}])
    assert names.explained == {
        "HSn": "HDFS on n hard disks, temporary files on an SSD",
        "RL3": "HDFS on 3 remote disks, temporary files on a local disk",
        "SSD": "one SSD",
    }
