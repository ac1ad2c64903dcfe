"""The nodes of an engine's daemons: one host, or the hosts of a cluster, and their missing
parts.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import rooted_host
from this_host import HOST
from venturi.core.errors import ExitCode, VenturiError
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.engines.hadoop.conf import racks
from venturi.measure.engines.hadoop.install import place_of
from venturi.measure.engines.hadoop.installed import look_on_nodes, send_to_nodes
from venturi.measure.engines.nodes import ClusterNode, ClusterNodes, nodes_of, on_one_host
from venturi.measure.engines.process_job import memory_bytes_on, small_hosts
from venturi.measure.engines.registry import engine

FILE = """
[[hosts]]
name = "m"
address = "10.0.0.1"
roles = ["master"]
[[hosts]]
names = "w[1-2]"
address = "10.0.0.[2-3]"
disks = { ssd = ["/ssd0", "/ssd1"], hdd = ["/hdd"] }
folders = { output = ["hdd"] }
"""


def nodes(text: str = FILE, workers_each: int = 1) -> ClusterNodes:
    spec = cluster_of(text, Path("cluster.toml"))
    return nodes_of(spec, {host.name: HOST for host in spec.hosts}, workers_each)


def test_the_hosts_of_a_cluster_by_their_roles() -> None:
    found = nodes()
    assert (found.master.name, found.client.name) == ("m", "m")
    assert [(node.name, node.address) for node in found.workers] == [
        ("w1", "10.0.0.2"),
        ("w2", "10.0.0.3"),
    ]
    assert found.workers[0].dirs["output"] == (Path("/hdd"),)
    assert found.workers[0].dirs["scratch"] == (Path("/ssd0"), Path("/ssd1"), Path("/hdd"))
    assert found.master.dirs["scratch"] == (HOST.files.temporaries,)
    assert found.cores == 2 * HOST.cores
    assert found.label(found.master) == "m"


def test_memory_of_an_engine_on_hosts() -> None:
    gib = 2**30
    assert memory_bytes_on([64 * gib, None]) == 2 * 4 * gib
    assert memory_bytes_on([64 * gib, 2 * gib + 4096, 2 * gib]) == 3 * gib
    assert memory_bytes_on([gib // 1024]) == 64 * 2**20


def test_hosts_with_little_memory_are_named_before_a_run() -> None:
    gib = 2**30
    assert small_hosts({"w1": 2 * gib, "w2": None}) is None
    warning = small_hosts({"w1": 3 * gib // 2, "w2": 3 * gib // 2, "w3": 4 * gib})
    assert warning is not None
    assert warning.startswith("w1, w2 have 1.5 GiB of memory, less than the 2.0 GiB")
    assert "--memory" in warning


def test_several_workers_on_a_host_have_numbers() -> None:
    assert [(number, node.name) for number, node in nodes().numbered()] == [
        (None, "w1"),
        (None, "w2"),
    ]
    assert [(number, node.name) for number, node in nodes(workers_each=2).numbered()] == [
        (0, "w1"),
        (1, "w1"),
        (0, "w2"),
        (1, "w2"),
    ]
    one = on_one_host(HOST, {}, 2)
    assert [number for number, _ in one.numbered()] == [0, 1]
    assert one.label(one.master) == ""
    assert one.all == (one.master,)


def test_hadoop_is_told_the_racks() -> None:
    racked = FILE.replace("[[hosts]]", "[racks.a]\n[[hosts]]", 1) + 'rack = "a"\n'
    assert racks(nodes(racked)).splitlines() == [
        "m\t/default-rack",
        "10.0.0.1\t/default-rack",
        "w1\t/a",
        "10.0.0.2\t/a",
        "w2\t/a",
        "10.0.0.3\t/a",
    ]


def test_a_cluster_that_no_engine_can_use() -> None:
    with pytest.raises(VenturiError, match="no host of the cluster cluster is a worker") as caught:
        nodes('[[hosts]]\nname = "m"\nroles = ["master"]')
    assert caught.value.exit_code is ExitCode.USAGE
    text = FILE.replace('"10.0.0.1"', '"nowhere.invalid"')
    with pytest.raises(
        VenturiError, match=r"the address of m, 'nowhere.invalid', cannot be resolved"
    ):
        nodes(text)


def test_an_engine_of_one_host_is_none_of_a_cluster() -> None:
    for spec in ("native", "mapreduce", "spark:local"):
        with pytest.raises(VenturiError, match="runs on one host") as caught:
            engine(spec, HOST, home=Path(), environ={}, nodes=nodes())
        assert "mapreduce:cluster" in caught.value.hint
        assert caught.value.exit_code is ExitCode.USAGE


def test_hadoop_is_sent_to_the_hosts_that_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    place = place_of(home)
    place.mkdir(parents=True)
    (place / "hadoop.jar").write_bytes(b"a jar" * 1000)
    there.mkdir()
    monkeypatch.setattr(rooted_host, "ELSEWHERE", home)
    near = ClusterNode("m", HOST, "10.0.0.1", {})
    both = ClusterNodes(
        near, near, (ClusterNode("w", rooted_host.RootedHost(there), "10.0.0.2", {}),)
    )
    environ = {name: value for name, value in os.environ.items() if name != "HADOOP_HOME"}
    found, hadoop = look_on_nodes(both, home, environ)
    assert not any(
        "not installed" in each.what for each in found.missing if "Java" not in each.what
    )
    assert {each.home for each in hadoop.values()} <= {place}
    sent = there / place.relative_to(home)
    assert not sent.exists()  # only the search has run
    send_to_nodes(both, home, environ)
    assert (sent / "hadoop.jar").read_bytes() == b"a jar" * 1000
    assert [path.name for path in sent.parent.iterdir()] == [place.name]

    own = {**environ, "HADOOP_HOME": str(home / "own")}
    found, _ = look_on_nodes(both, home, own)
    assert any(each.what.startswith("on w: ") for each in found.missing)


def test_hadoop_that_cannot_be_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    place_of(home).mkdir(parents=True)
    there.write_text("no folder")
    monkeypatch.setattr(rooted_host, "ELSEWHERE", home)
    near = ClusterNode("m", HOST, "10.0.0.1", {})
    both = ClusterNodes(
        near, near, (ClusterNode("w", rooted_host.RootedHost(there), "10.0.0.2", {}),)
    )
    with pytest.raises(VenturiError, match=r"cannot be sent to .* on w") as caught:
        send_to_nodes(both, home, {})
    assert caught.value.code == "VEN-ENGINE-INSTALL"
    assert caught.value.where["host"] == "w"
