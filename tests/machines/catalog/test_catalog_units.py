"""Unit mistakes are seen by their ratios and asked about; real machines are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines import catalog
from venturi.machines.catalog import Catalog, parse
from venturi.machines.catalog.find import find, places_of, type_named
from venturi.machines.catalog.units_check import Doubt, accept, check_units, doubt_error, ranges

HEADER = "instance_type,attribute,value,unit,kind,source,as_of,note\n"
PLAUSIBLE = {
    "price": ("0.5", "USD/h"),
    "vcpus": ("8", "1"),
    "cores": ("4", "1"),
    "memory": ("61", "GiB"),
    "disk_count": ("4", "1"),
    "disk_size": ("1900", "GB"),
    "disk_kind": ("NVMe", ""),
    "network_line_rate": ("10", "Gbit/s"),
    "network_rate": ("1100", "MB/s"),
    "network_rate_at_scale": ("880", "MB/s"),
    "storage_rate": ("1500", "MB/s"),
    "local_read_rate": ("3000", "MB/s"),
    "local_write_rate": ("2000", "MB/s"),
    "volume_line_rate": ("2000", "Mbit/s"),
    "volume_read_rate": ("240", "MB/s"),
    "power": ("400", "W"),
    "numa_nodes": ("2", "1"),
}


def text(**changes: str) -> str:
    values = {name: (changes.get(name, value), unit) for name, (value, unit) in PLAUSIBLE.items()}
    lines = [
        f"x,{name},{value},{unit},advertised,sheet,2026-01-01,\n"
        for name, (value, unit) in values.items()
    ]
    return HEADER + "".join(lines)


def doubts(**changes: str) -> tuple[Doubt, ...]:
    content = text(**changes)
    return check_units(parse(content, "mine"), places_of(content, "mine.csv"))


def test_plausible_figures_and_all_shipped_ones_raise_no_doubt() -> None:
    assert doubts() == ()
    for name in catalog.shipped():
        assert check_units(catalog.load_shipped(name)) == ()


@pytest.mark.parametrize(
    ("attribute", "value", "likely"),
    [
        ("memory", "62464", "MiB"),
        ("memory", "0.06", "TiB"),
        ("memory", "68.72", "GB"),  # 64 GiB
        ("memory", "62.5", "MB"),  # 64,000 MB taken for MiB
        ("memory", "1e15", ""),
        ("price", "365", "USD a month"),
        ("price", "35064", "USD a year"),
        ("price", "0.00014", "USD a second"),
        ("storage_rate", "1.5", "GB/s"),
        ("storage_rate", "1500000", "kB/s"),
        ("storage_rate", "1500000000", "bytes/s"),
        ("local_read_rate", "80000", "Mbit/s"),
        ("network_rate", "8800", "Mbit/s"),
        ("network_line_rate", "10000", "Mbit/s"),
        ("network_line_rate", "10000000000", "bit/s"),
        ("volume_line_rate", "2", "Gbit/s"),
        ("disk_size", "1.9", "TB"),
        ("disk_size", "1900000", "MB"),
        ("power", "0.4", "kW"),
    ],
)
def test_another_unit_is_named(attribute: str, value: str, likely: str) -> None:
    (doubt,) = (d for d in doubts(**{attribute: value}) if d.attributes[0] == attribute)
    assert doubt.likely == likely
    line = 2 + list(PLAUSIBLE).index(attribute)
    assert doubt.places[0] == f"mine.csv, line {line}"
    assert str(doubt).startswith(f"x {attribute} ")


@pytest.mark.parametrize(
    ("attribute", "value", "other"),
    [
        ("network_rate", "1700", "network_line_rate"),
        ("network_rate_at_scale", "1600", "network_line_rate"),
        ("volume_read_rate", "400", "volume_line_rate"),
        ("storage_rate", "3900", "local_read_rate"),
        ("cores", "16", "vcpus"),
        ("numa_nodes", "9", "vcpus"),
    ],
)
def test_a_contradiction_names_both_lines(attribute: str, value: str, other: str) -> None:
    (doubt,) = doubts(**{attribute: value})
    assert doubt.attributes == (attribute, other)
    assert doubt.likely == ""
    rows = list(PLAUSIBLE)
    assert doubt.places == tuple(
        f"mine.csv, line {2 + rows.index(name)}" for name in (attribute, other)
    )
    assert doubt_error([doubt], "mine.csv", "").code == "VEN-CATALOG-FORMAT"


def test_a_cluster_is_not_twice_as_fast_as_two_nodes() -> None:
    assert doubts(network_rate="640", network_rate_at_scale="1250") == ()
    (doubt,) = doubts(network_rate="600", network_rate_at_scale="1250")
    assert doubt.attributes == ("network_rate_at_scale", "network_rate")


def test_a_measured_rate_may_be_a_little_above_the_line() -> None:
    assert doubts(network_rate="1290") == ()


def test_a_hard_disk_is_no_flash() -> None:
    assert doubts(disk_kind="HDD") != ()
    slow = {"local_read_rate": "800", "local_write_rate": "800", "storage_rate": "400"}
    assert doubts(disk_kind="HDD", **slow) == ()
    (doubt,) = doubts(disk_kind="HDD", **slow | {"local_read_rate": "6400"})
    assert doubt.likely == "Mbit/s"


def test_yen_are_no_monthly_dollars() -> None:
    content = text(price="70").replace("USD/h", "JPY/h")
    assert check_units(parse(content, "mine")) == ()


def test_what_is_accepted_is_noted_and_not_asked_again() -> None:
    original = parse(text(memory="62464", price="365"), "mine")
    found = check_units(original)
    assert len(found) == 2
    accepted = accept(original, found)
    assert check_units(accepted) == ()
    assert accepted.types["x"].number("memory") == 62464.0
    assert accepted.types["x"].fact("memory").note == "unit checked"
    assert original.types["x"].fact("memory").note == ""


def test_a_doubtful_file_is_asked_about_when_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text(memory="62464"), encoding="utf-8")
    with pytest.raises(VenturiError) as caught:
        find(str(path))
    error = caught.value
    assert error.code == "VEN-CATALOG-UNIT"
    assert error.where["places"] == f"{path}, line 5 and {path}, line 3"
    assert "MiB" in error.message
    assert "unit checked" in error.hint
    path.write_text(text(), encoding="utf-8")
    assert find(str(path)).name == "mine"


def test_near_names_are_offered(tmp_path: Path) -> None:
    ec2 = find("ec2-2014")
    assert type_named(ec2, "i2.8xlarge").name == "i2.8xlarge"
    with pytest.raises(VenturiError) as caught:
        type_named(ec2, "i2.8xlareg")
    assert caught.value.code == "VEN-CATALOG-UNKNOWN"
    assert "i2.8xlarge" in caught.value.hint
    with pytest.raises(VenturiError) as caught:
        find("ec2-2041")
    assert caught.value.code == "VEN-CATALOG-UNKNOWN"
    assert "did you mean ec2-2014?" in caught.value.hint
    with pytest.raises(VenturiError) as caught:
        find(str(tmp_path))
    assert "shipped: current, ec2-2014" in caught.value.hint


@given(vcpus=st.sampled_from([4, 8, 64, 192]), gib_per_vcpu=st.sampled_from([0.5, 2, 4, 8, 32]))
def test_every_real_memory_in_mib_is_caught(vcpus: int, gib_per_vcpu: float) -> None:
    def of(memory: float) -> tuple[Doubt, ...]:
        return doubts(vcpus=str(vcpus), memory=str(memory), price=str(0.05 * vcpus))

    assert of(vcpus * gib_per_vcpu) == ()
    assert [doubt.likely for doubt in of(vcpus * gib_per_vcpu * 1024)] == ["MiB"]


def test_every_bound_says_where_it_comes_from() -> None:
    for bounds in ranges():
        assert bounds.source
        assert bounds.low < bounds.high
        assert bounds.attributes
        assert catalog.ATTRIBUTES.keys() >= {*bounds.attributes}


def test_nothing_is_checked_where_nothing_is_known() -> None:
    assert check_units(Catalog("empty", {})) == ()
