"""DiskBench on several hosts, all on this machine: alone, concurrently, with a failure, and the
models' use of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.machines.cost.overlay import overlay_from_trials
from venturi.machines.health.verdict import verdicts
from venturi.machines.scaling.disks_of_hosts import disks_of_hosts
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.measure.probes.disk_cluster import ClusterDiskJob, ClusterDiskOptions, overlap
from venturi.measure.probes.members import ProbedHost
from venturi.measure.probes.probes import DiskOptions
from venturi.measure.trial.runner import open_cluster_session, run_trial
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

EACH = DiskOptions((), ("read", "write"), bytes=4 << 20, iterations=1, min_seconds=0)
Probe = Callable[..., Trial]


@pytest.fixture
def probe(settings: Settings, agent_binary: Path) -> Iterator[Probe]:
    """Measures the folders of hosts, which are by name."""
    with TrialRepository.open(settings) as repository:

        def measure(
            folders: Mapping[str, tuple[Path, ...]],
            alone: bool | None = None,
            each: DiskOptions = EACH,
        ) -> Trial:
            agents = {name: Agent(str(agent_binary), LocalHost()) for name in folders}
            session, _ = open_cluster_session(agents, repository, sample_interval_ms=100)
            places = [
                ProbedHost(name, agents[name], disks={"ssd": paths})
                for name, paths in folders.items()
            ]
            options = ClusterDiskOptions(each, alone)
            return run_trial(session, ClusterDiskJob(places, options, engine_version="test"))

        yield measure


def _folders(tmp_path: Path, *names: str) -> dict[str, tuple[Path, ...]]:
    folders = {name: (tmp_path / name,) for name in names}
    for paths in folders.values():
        paths[0].mkdir()
    return folders


@pytest.mark.slow
def test_each_host_alone_and_all_at_once_are_in_one_trial(probe: Probe, tmp_path: Path) -> None:
    trial = probe(_folders(tmp_path, "h1", "h2", "h3"))
    assert trial.state is State.SUCCEEDED
    for host in ("h1", "h2", "h3"):
        folder = str(tmp_path / host)
        for metric in ("disk_read_bytes_per_s", "disk_write_bytes_per_s"):
            for at_once in (1, 3):
                labels = {"host": host, "dir": folder, "hosts_at_once": at_once}
                assert len(trial.values(metric, **labels)) == 1
        assert len(trial.values("disk_share_of_alone", host=host)) == 2
        assert len(trial.values("disk_share_of_others", host=host, **{"class": "ssd"})) == 2
        assert not list((tmp_path / host).iterdir())
    assert [phase.name for phase in trial.phases] == [
        f"{mode}, {how}"
        for mode in ("read", "write")
        for how in ("each host alone", "all hosts together")
    ]
    assert all(0 <= share <= 1 for share in trial.values("disk_overlap"))

    found = disks_of_hosts(trial)
    assert found is not None
    assert len(found.disks) == 6
    assert all(each.rate is not None and each.of_alone is not None for each in found.disks)
    said = verdicts(trial)
    assert said[0].subject == "disks of 3 hosts"
    assert all(each.subject.split()[0] in {"h1", "h2", "h3"} for each in said[1:])
    # A catalog's figure is the median of the hosts, all under load.
    facts = overlay_from_trials([trial], "box").catalog.types["box"].facts
    assert "of 3 hosts" in facts["local_read_rate"].note
    rates = sorted(
        trial.values("disk_read_bytes_per_s", hosts_at_once=3, host=host, dir=None)[0] / 1e6
        for host in ("h1", "h2", "h3")
    )
    assert facts["local_read_rate"].value == pytest.approx(rates[1])


@pytest.mark.slow
def test_rates_and_shares_of_random_reads_are_of_the_same_quantity(
    probe: Probe, tmp_path: Path
) -> None:
    random = replace(
        EACH, modes=("random_read",), random_block_bytes=(4096, 1 << 20), random_seconds=0.1
    )
    found = disks_of_hosts(probe(_folders(tmp_path, "h1", "h2", "h3"), False, random))
    assert found is not None
    rates = {each.host: each.rate or 0.0 for each in found.disks}
    for each in found.disks:
        others = [rate for host, rate in rates.items() if host != each.host]
        assert (each.unit, each.share) == (
            "1/s",
            pytest.approx((each.rate or 0.0) / median(others)),
        )


@pytest.mark.slow
def test_a_host_without_its_folder_is_named_and_the_others_measured(
    probe: Probe, tmp_path: Path
) -> None:
    folders = _folders(tmp_path, "h1", "h2")
    trial = probe({**folders, "h3": (tmp_path / "missing",)}, False)
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert trial.failure.message.startswith("host h3 was lost in read on all hosts concurrently: ")
    assert len(trial.values("disk_write_bytes_per_s", host="h1", hosts_at_once=2, dir=None)) == 1
    assert trial.values("disk_share_of_alone") == []
    # A disk without peers is listed, too, with the reason for the missing comparison.
    trial = probe({"h1": folders["h1"]}, False)
    found = disks_of_hosts(trial)
    assert found is not None
    assert [each.share for each in found.disks] == [None, None]
    with pytest.raises(VenturiError) as caught:
        probe({"h3": (tmp_path / "missing",)})
    assert caught.value.code == "VEN-MEASURE-HOSTS"
    with pytest.raises(VenturiError) as caught:
        probe({**folders, "h4": ()})
    assert caught.value.code == "VEN-MEASURE-INPUT"
    assert "h4" in caught.value.message


def test_only_the_time_in_which_all_are_at_work_overlaps() -> None:
    assert overlap([(0.0, 4.0), (1.0, 5.0)]) == pytest.approx(0.6)
    assert overlap([(0.0, 1.0), (2.0, 3.0)]) == 0.0
