"""DiskBench, NetBench and facts as trials, every iteration raw, by the contract's names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.machines.cost.predict import disk_rates_from_trial
from venturi.measure.probes.disk_cluster import ClusterDiskOptions
from venturi.measure.probes.probes import DiskOptions, NetOptions, probe_disk, probe_host, probe_net
from venturi.measure.trial.runner import Session
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State
from venturi.record.vocabulary import CORE_SPEED


def test_the_longest_time_of_a_disk_probe() -> None:
    # 10 kinds of random reads of 2 s each, and two others of 10 s at most, three times.
    assert DiskOptions((), ("read", "write", "random_read")).longest_s == pytest.approx(120)
    brief = DiskOptions((), ("random_read",), iterations=1, random_block_bytes=(4096,))
    assert brief.longest_s == pytest.approx(4)
    assert ClusterDiskOptions(alone=None).rounds(4) == 5
    assert ClusterDiskOptions(alone=False).rounds(4) == 1


def test_every_iteration_of_the_disk_is_kept(session: Session, tmp_path: Path) -> None:
    options = DiskOptions(
        dirs=(tmp_path,),
        modes=("read", "write", "read_write", "random_read", "shuffle_read"),
        random_block_bytes=(4096, 65536),
    )
    trial = probe_disk(session, options, "night")
    assert trial.state is State.SUCCEEDED
    assert (trial.workload.name, trial.engine.name) == ("diskbench", "diskbench")
    assert trial.experiment == "night"
    assert trial.values("disk_read_bytes_per_s", dir=None) == [2e9, 2.2e9]
    assert trial.values("disk_read_bytes_per_s", dir=str(tmp_path), iteration=1) == [2.2e9]
    assert trial.values("disk_write_bytes_per_s", dir=None, block_bytes=4 << 20) == [1e9, 1.1e9]
    assert trial.values("disk_mixed_read_bytes_per_s", dir=None) == [8e8, 9e8]
    assert trial.values("disk_mixed_write_bytes_per_s", dir=None) == [7e8, 6e8]
    assert trial.values("disk_shuffle_read_bytes_per_s", dir=None) == [1e9, 1.1e9]
    assert trial.values("disk_random_read_iops", dir=None) == pytest.approx(
        [4e7 / 4096, 4.4e7 / 4096]
    )
    assert trial.values("disk_latency_s", dir=None, mode="read", quantile="p99_9") == [0.004]
    assert trial.configuration["random_block_bytes"] == "4096,65536"
    assert trial.configuration["bytes"] is None
    assert trial.configuration["io_method"] == "io_uring+direct"
    # One directory: what is unsteady is said once, not again for "all together".
    said = [w.code for w in trial.warnings if w.code != "VEN-MEASURE-SERIES"]
    assert said == ["VEN-MEASURE-UNSTEADY", "VEN-MEASURE-SLOW"]


def test_the_model_can_read_what_the_probe_wrote(session: Session, tmp_path: Path) -> None:
    rates = disk_rates_from_trial(probe_disk(session, DiskOptions(dirs=(tmp_path,))))
    assert rates.read is not None
    assert rates.read.bytes_per_s == pytest.approx(2.1e9)
    assert rates.mixed_total is not None
    assert rates.mixed_total.bytes_per_s == pytest.approx(1.5e9)


def test_a_mode_that_was_not_measured_is_invalid(
    session: Session, tmp_path: Path, fault: Callable[[str], None]
) -> None:
    fault("no-write")
    trial = probe_disk(session, DiskOptions(dirs=(tmp_path,)))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert "write" in trial.failure.message


def test_directories_must_be_there_and_have_room(session: Session, tmp_path: Path) -> None:
    with pytest.raises(VenturiError) as caught:
        probe_disk(session, DiskOptions(dirs=(tmp_path / "x",)))
    assert caught.value.code == "VEN-MEASURE-INPUT"
    with pytest.raises(VenturiError) as caught:
        probe_disk(session, DiskOptions(dirs=(tmp_path,), bytes=10**18))
    assert caught.value.code == "VEN-MEASURE-SPACE"
    assert {t.state for t in whole_trials(session.repository)} == {State.FAILED}


def test_loopback_is_labelled_as_such(session: Session) -> None:
    trial = probe_net(session, NetOptions(loopback=4, scale=(2, 4)))
    assert trial.state is State.SUCCEEDED
    assert trial.cluster.network == "loopback: memory copying, not a network"
    assert trial.values("net_pairwise_bytes_per_s", peers=4, slowest=False) == [3e9, 4e9]
    assert trial.values("net_all_to_all_bytes_per_s", peers=2, slowest=True) == [2.5e9]
    assert [phase.name for phase in trial.phases] == ["pairwise", "all_to_all"]


def test_a_lost_message_makes_it_invalid(session: Session, fault: Callable[[str], None]) -> None:
    fault("lost-message")
    trial = probe_net(session, NetOptions(loopback=2, patterns=("all_to_all",)))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert "10 messages" in trial.failure.message
    assert "9 (" in trial.failure.message


def test_host_facts_are_in_the_cluster(session: Session) -> None:
    trial = probe_host(session)
    assert trial.state is State.SUCCEEDED
    assert trial.cluster.hosts[0].facts["memory_total_bytes"] == 8 << 30
    assert trial.artifacts == ()
    speeds = [each for each in trial.samples if each.metric == CORE_SPEED]
    assert {(each.labels["kind"], each.unit) for each in speeds} == {
        ("integer", "1/s"),
        *((kind, "B/s") for kind in ("memory", "compression", "serialization")),
    }
    assert [each.value for each in speeds[:3]] == [1e8, 2e8, 3e8]
