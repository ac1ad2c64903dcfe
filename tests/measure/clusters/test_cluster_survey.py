"""Several concurrent hosts, links with both ends on this machine: connected, surveyed, one
failing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from command_line import AGENT
from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.clusters import clocks
from venturi.measure.clusters.check import judge
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.clusters.connect import connected, on_each
from venturi.measure.clusters.survey import MARKER, survey
from venturi.measure.hosts import remote
from venturi.measure.hosts.host import LiveHost


def cluster(folder: Path, names: str = "h[1-3]", count: int = 3) -> ClusterSpec:
    """A cluster of ends of links on this machine, each with a folder and a loopback address."""
    text = f"""
[defaults]
lab = "not asked"
disks.ssd = ["{folder}/{{name}}"]
[[hosts]]
name = "h0"
roles = ["master", "worker"]
address = "127.0.1.100"
[[hosts]]
names = "{names}"
address = "127.0.1.[1-{count}]"
"""
    spec = cluster_of(text, Path("c.toml"))
    for host in spec.hosts:
        for path in host.all_folders:
            path.mkdir()
    return spec


def by_link(spec: HostSpec) -> AbstractContextManager[LiveHost]:
    return remote.connected([AGENT, "host"], spec.name)


def test_all_hosts_are_asked_and_nothing_is_left(tmp_path: Path, settings: Settings) -> None:
    spec = cluster(tmp_path)
    steps: list[tuple[str, int, int]] = []
    with connected(spec, by_link) as reached:
        asked = survey(spec, reached.results, settings, on_step=lambda *step: steps.append(step))
    assert list(reached.results) == list(asked.results) == ["h0", "h1", "h2", "h3"]
    assert {*reached.failures, *asked.failures} == set()
    for said in asked.results.values():
        assert abs(said.clock.offset_s) <= said.clock.error_s
        assert said.facts["memory_total_bytes"] > 0
        assert said.unreached == ()
        assert said.listen_problem is None
        (folder,) = said.folders
        assert folder.problem is None
        assert folder.free_bytes
        assert folder.shared_with == ()
    assert {step for step, _, _ in steps} == {"clocks", "hosts", "network"}
    assert list(tmp_path.rglob(f"{MARKER}*")) == []
    checked = judge(spec, asked.results, asked.failures)
    assert [each.code for each in checked.remarks if each.code != "VEN-CLUSTER-NAMES"] == [
        "VEN-CLUSTER-ONE-DISK"
    ]


def test_one_folder_of_two_hosts_is_found(tmp_path: Path, settings: Settings) -> None:
    spec = cluster(tmp_path)
    (tmp_path / "h2").rmdir()
    (tmp_path / "h2").symlink_to(tmp_path / "h1")
    (tmp_path / "h3").rmdir()
    with connected(spec, by_link) as reached:
        asked = survey(spec, reached.results, settings)
    problems = [
        (each.code, each.hosts)
        for each in judge(spec, asked.results, asked.failures).remarks
        if each.severity == "problem"
    ]
    assert problems == [("VEN-CLUSTER-FOLDER", ("h3",)), ("VEN-CLUSTER-SHARED", ("h1", "h2"))]


def test_an_address_that_is_not_the_hosts_own_is_told(tmp_path: Path, settings: Settings) -> None:
    spec = cluster_of(
        '[defaults]\nlab = "l"\n[[hosts]]\nname = "a"\nroles = ["master"]\n'
        'address = "127.0.0.1"\n[[hosts]]\nname = "b"\naddress = "192.0.2.1"\n',
        Path("c.toml"),
    )
    with connected(spec, by_link) as reached:
        asked = survey(spec, reached.results, settings)
    found = judge(spec, asked.results, {}).remarks[0]
    assert (found.code, found.hosts) == ("VEN-CLUSTER-ADDRESS", ("b",))


def test_a_host_that_cannot_be_connected_does_not_keep_the_others(
    tmp_path: Path, settings: Settings
) -> None:
    spec = cluster(tmp_path)
    closed: list[str] = []

    @contextmanager
    def open_host(host: HostSpec) -> Iterator[LiveHost]:
        command = [AGENT, "host"] if host.name != "h2" else [sys.executable, "-c", "exit(7)"]
        with remote.connected(command, host.name) as found:
            try:
                yield found
            finally:
                closed.append(host.name)

    with connected(spec, open_host) as reached:
        asked = survey(spec, reached.results, settings)
    assert sorted(closed) == ["h0", "h1", "h3"]
    assert list(asked.results) == ["h0", "h1", "h3"]
    checked = judge(spec, asked.results, {**reached.failures, **asked.failures})
    assert checked.wrong
    assert "4 hosts, 1 did not answer" in checked.verdict
    assert checked.remarks[0].hosts == ("h2",)


def test_a_host_that_hangs_is_given_up_and_closed_when_it_comes(tmp_path: Path) -> None:
    spec = cluster(tmp_path)
    answer, closed = threading.Event(), threading.Event()

    @contextmanager
    def open_host(host: HostSpec) -> Iterator[LiveHost]:
        if host.name == "h1":
            answer.wait(60)
        yield HOST
        if host.name == "h1":
            closed.set()

    with connected(spec, open_host, timeout_s=2) as reached:
        assert list(reached.results) == ["h0", "h2", "h3"]
        assert [error.code for error in reached.failures.values()] == ["VEN-HOST-TIMEOUT"]
        answer.set()
        assert closed.wait(60)


def test_what_a_host_raises_is_told_with_its_name() -> None:
    def work(name: str) -> str:
        if name == "b":
            raise VenturiError("VEN-HOST-LOST", "gone")
        if name == "c":
            raise PermissionError(13, "no", "/x")
        if name == "e":
            raise KeyError("errno")
        return name.upper()

    found = on_each("abcde", work, timeout_s=60)
    assert found.results == {"a": "A", "d": "D"}
    assert [error.where["host"] for error in found.failures.values()] == ["b", "c", "e"]
    assert found.failures["e"].code == "VEN-HOST-VERSION"
    assert "its answer cannot be read (KeyError: 'errno')" in found.failures["e"].message
    with pytest.raises(VenturiError, match="gone") as raised:
        found.all()
    assert raised.value.where["hosts that failed"] == "b, c, e"
    with pytest.raises(ZeroDivisionError):
        on_each("a", lambda name: 1 / 0, timeout_s=60)


def test_a_host_for_which_there_is_no_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "host b":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    found = on_each("abc", str.upper, timeout_s=60)
    assert found.results == {"a": "A", "c": "C"}
    assert found.failures["b"].code == "VEN-SYSTEM"


class _Off(remote.RemoteHost):
    """A host with a clock an hour ahead, which sometimes answers slowly."""

    asked = 0

    def unix_time_s(self) -> float:
        self.asked += 1
        if self.asked % 2:
            time.sleep(0.05)
        return super().unix_time_s() + 3600


def test_the_shortest_round_trip_tells_how_far_a_clock_is_off() -> None:
    with remote.connected([AGENT, "host"], "h") as host:
        found = clocks.measure(_Off(host._link))
    assert found.error_s < 0.025
    assert abs(found.offset_s - 3600) <= found.error_s
