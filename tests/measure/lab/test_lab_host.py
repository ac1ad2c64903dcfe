"""A host of a lab is a host like any other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import AGENT, venturi
from host_contract import HostContract
from torture.measure.lab_remains import NAME, NEEDS, small
from venturi.cli.measure.target import ExecutionTarget
from venturi.measure.engines.nodes import ClusterNode, ClusterNodes
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.remote import connected
from venturi.measure.lab import lab

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a lab that is up."""
    home = tmp_path_factory.mktemp("labs")
    text = small()
    lab.up(text, home, cores=2)
    yield home
    lab.down(home, NAME)


@pytest.mark.root
@pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS))
class TestLabHost(HostContract):
    """The agent in a host's namespaces, and files on a disk that only the host has."""

    @pytest.fixture(autouse=True)
    def _made_by(self, home: Path) -> None:
        command = [*lab.enter(home, NAME, "h1"), str(AGENT), "host"]
        type(self).MADE_BY = (
            "from venturi.measure.hosts.remote import connected; "
            f"context = connected({command!r}, 'h1'); host = context.__enter__()"
        )

    @pytest.fixture
    def host(self, home: Path) -> Iterator[LiveHost]:
        with connected([*lab.enter(home, NAME, "h1"), AGENT, "host"], "h1") as host:
            yield host

    @pytest.fixture
    def place(self, host: LiveHost) -> Iterator[Path]:
        folder = Path(f"/venturi/ssd0/place{next(_NUMBERS)}")
        host.files.mkdir(folder)
        yield folder
        host.files.remove(folder)

    def test_it_is_the_host_of_its_name(self, host: LiveHost) -> None:
        assert host.name == "h1"
        assert not Path("/venturi/ssd0").exists()
        assert host.files.is_folder(Path("/venturi/ssd0"))


@pytest.mark.root
@pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS))
def test_an_engine_gets_no_more_memory_than_half_of_what_a_host_has(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_AGENT", str(AGENT))
    nothing = {"threads": None, "memory_bytes": None}
    with connected([*lab.enter(home, NAME, "h1"), AGENT, "host"], "h1") as host:
        node = ClusterNode("h1", host, "10.0.0.1", {})
        where = ExecutionTarget(host, {}, ClusterNodes(node, node, (node,)))
        assert where.sized(nothing) == {"threads": host.cores, "memory_bytes": 128 << 20}
        assert where.sized({**nothing, "memory_bytes": 1 << 30})["memory_bytes"] == 1 << 30


@pytest.mark.root
@pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS))
def test_a_lab_is_a_cluster_that_can_be_checked(home: Path) -> None:
    done = venturi("cluster", "check", f"lab:{NAME}", "--json", home=home, VENTURI_AGENT=str(AGENT))
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)["data"]
    assert [host["reached_by"] for host in said["hosts"]] == [f"lab {NAME}"] * len(said["hosts"])
    assert {host["memory_bytes"] for host in said["hosts"]} == {256 << 20}
    assert {host["threads"] for host in said["hosts"]} == {1}
    codes = {remark["code"] for remark in said["remarks"]}
    assert not codes & {
        "VEN-CLUSTER-SAME",
        "VEN-CLUSTER-SHARED",
        "VEN-CLUSTER-ONE-DISK",
        "VEN-CLUSTER-FOLDER",
        "VEN-CLUSTER-ADDRESS",
        "VEN-CLUSTER-NAMES",
        "VEN-CLUSTER-CLOCK",
    }, said["remarks"]
    assert all(host["said"]["unreached"] == [] for host in said["hosts"])
