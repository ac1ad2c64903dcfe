"""Host use while a stage ran, compared with the engine's metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import own_samples
from venturi.core.settings import Settings
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.host_use import (
    HostUseByStage,
    host_use_by_stage,
    python_cpu_s,
    sentence,
)
from venturi.jobs.stages.stage import Analysis, Stage
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount, attach
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter, read_series
from venturi.record.trial import Cluster, Host, Link, Trial
from venturi.results.hosts.use import HostUse
from venturi.terminal.job import parts

Rows = Sequence[tuple[float, str, str | None, float | None, str]]
Ask = Callable[..., tuple[Analysis, HostUseByStage]]
BUSY = HostUse(0.95, 0.02, None, "vda", 0.1, 1e6, 2e6, 3e6, 4e6)


@pytest.fixture
def ask(settings: Settings, make_trial: Callable[..., Trial], tmp_path: Path) -> Ask:
    """Host use by stage of a trial with the recorded account and these series."""

    def of(*series: Rows, **changes: object) -> tuple[Analysis, HostUseByStage]:
        told: JobAccount = replace(own_samples.account(), **changes)  # type: ignore[arg-type]
        with TrialRepository.open(settings) as repository:
            trial = attach(repository, make_trial(), told)
            for number, rows in enumerate(series):
                path = tmp_path / f"series{number}.parquet"
                with SeriesWriter(path) as writer:
                    for row in rows:
                        writer.append(*row)
                trial = repository.attach(trial, "series", path.name, path)
            analysis = analyse(told)
            return analysis, host_use_by_stage(repository, trial, told, analysis)

    return of


def rows_at(interval_s: float, until_s: float, *metrics: tuple[str, str | None, float]) -> Rows:
    """Constant metrics, each sampled every `interval_s`."""
    moments = [number * interval_s for number in range(round(until_s / interval_s) + 1)]
    return [(at, name, device, value, "1") for at in moments for name, device, value in metrics]


def test_every_device_is_counted_once(ask: Ask) -> None:
    analysis, host = ask(
        rows_at(
            1.0,
            20.0,
            ("cpu_user", None, 0.5),
            ("cpu_system", None, 0.2),
            ("cpu_softirq", None, 0.05),
            ("cpu_nice", None, 0.0),
            ("own_cpu", None, 0.3),
            ("cpu_iowait", None, 0.1),
            ("cpu_idle", None, 0.15),
            ("disk_read_bytes_per_s", "sda", 10.0),
            ("disk_read_bytes_per_s", "sda1", 10.0),
            ("disk_read_bytes_per_s", "sdb", 3.0),
            ("disk_busy", "sda", 0.4),
            ("disk_busy", "sda1", 0.9),
            ("disk_busy", "sdb", 0.6),
            ("net_receive_bytes_per_s", "eth0", 7.0),
            ("net_receive_bytes_per_s", "lo", 99.0),
        )
    )
    assert host.reason is None
    use = host.uses[analysis.stages[2].key]
    known = (use.cpu_busy, use.cpu_iowait, use.disk_busy, use.disk_read_bytes_per_s)
    assert known == pytest.approx((0.75, 0.1, 0.6, 13.0))
    assert use.cpu_others == pytest.approx(0.4), (
        "of the trial's own and of interrupts it is without"
    )
    assert use.disk == "sdb"
    assert use.net_receive_bytes_per_s == pytest.approx(7.0)
    assert (use.disk_write_bytes_per_s, use.net_transmit_bytes_per_s) == (None, None)


def test_samples_count_by_the_part_of_the_stage_they_cover(ask: Ask) -> None:
    stage = analyse(own_samples.account()).stages[2]
    began_s = own_samples.account().began_s
    assert began_s is not None
    assert stage.started_s is not None
    assert stage.elapsed_s is not None
    start_s, end_s = began_s + stage.started_s, began_s + stage.started_s + stage.elapsed_s
    # A sample is the mean since the one before: the second covers the first quarter of the stage.
    edges_s = (start_s - 1.0, start_s, start_s + stage.elapsed_s / 4, end_s + 2.0)
    values = (None, 0.0, 1.0, 0.2)
    rows = [(at, "cpu_user", None, value, "1") for at, value in zip(edges_s, values, strict=True)]
    _, host = ask(rows)
    assert host.uses[stage.key].cpu_busy == pytest.approx(0.25 * 1.0 + 0.75 * 0.2)


def test_what_is_not_known_has_a_reason(ask: Ask) -> None:
    rows = rows_at(1.0, 20.0, ("cpu_user", None, 0.5))
    for series, changes, said in (
        ((), {}, "no host series"),
        ((rows, rows), {}, "several hosts"),
        ((rows,), {"origin_ms": None, "origin_reason": "another clock"}, "another clock"),
        ((rows_at(5.0, 20.0, ("cpu_user", None, 0.5)),), {}, "sampling interval"),
        ((rows_at(1.0, 2.0, ("cpu_user", None, 0.5)),), {}, "sampling interval"),
    ):
        _, host = ask(*series, **changes)
        assert host.uses == {}
        assert said in (host.reason or "")
    assert ask()[1].watched is False


def test_the_narrowest_of_several_hosts_is_named(
    settings: Settings, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    facts = {
        "file_systems": [{"mount_point": "/data", "block_device": "sdb"}],
        "block_devices": [{"name": "sdb"}],
    }
    links = {"data": Link("10.0.0.1", 100.0)}
    hosts = tuple(
        Host(name, {**facts, "boot_id": name}, ("worker",), links, None, {"ssd": ("/data",)})
        for name in ("w1", "w2")
    )
    told, analysis = own_samples.account(), analyse(own_samples.account())

    def ask(hosts: tuple[Host, ...], **measured: dict[str, float]) -> HostUseByStage:
        cluster = Cluster(hosts, network="data")
        with TrialRepository.open(settings) as repository:
            trial = attach(repository, make_trial(cluster=cluster), told)
            for name, each in measured.items():
                path = tmp_path / f"series.{name}.parquet"
                with SeriesWriter(path) as writer:
                    for row in rows_at(
                        1.0,
                        20.0,
                        ("cpu_user", None, each["cpu"]),
                        ("cpu_nice", None, 0.0),
                        ("cpu_system", None, 0.0),
                        ("own_cpu", None, each["own"]),
                        ("disk_busy", "sda", 1.0),
                        ("disk_read_bytes_per_s", "sda", 1.0),
                        ("disk_busy", "sdb", each["disk"]),
                        ("disk_read_bytes_per_s", "sdb", 1.0),
                        ("net_receive_bytes_per_s", "eth0", each["net"]),
                    ):
                        writer.append(*row)
                trial = repository.attach(trial, "series", path.name, path)
            return host_use_by_stage(repository, trial, told, analysis)

    stage = analysis.stages[2]
    slow_disk = ask(
        hosts,
        w1={"cpu": 0.5, "own": 0.2, "disk": 0.4, "net": 10.0},
        w2={"cpu": 0.3, "own": 0.2, "disk": 0.9, "net": 10.0},
    )
    use = slow_disk.uses[stage.key]
    assert (use.host, use.busiest) == ("w2", ("disk sdb", pytest.approx(0.9)))
    assert slow_disk.narrowest is not None
    assert slow_disk.narrowest.host == "w2"
    shown = str(list(parts(timeline(told), analysis, slow_disk)))
    assert "Narrowest host" in shown
    assert slow_disk.narrowest.sentence in shown
    said = sentence(stage, use)
    assert "w2" in said
    assert "disk sdb was 90% busy" in said
    assert "on the others up to 40%" in said
    slow_link = ask(
        hosts,
        w1={"cpu": 0.5, "own": 0.2, "disk": 0.4, "net": 95.0},
        w2={"cpu": 0.3, "own": 0.2, "disk": 0.5, "net": 20.0},
    )
    use = slow_link.uses[stage.key]
    assert (use.host, use.busiest) == ("w1", ("network", pytest.approx(0.95)))
    one_machine = tuple(replace(host, facts={**facts, "boot_id": "same"}) for host in hosts)
    shared = ask(
        one_machine,
        w1={"cpu": 0.97, "own": 0.5, "disk": 0.4, "net": 9.0},
        w2={"cpu": 0.97, "own": 0.4, "disk": 0.5, "net": 9.0},
    )
    use = shared.uses[stage.key]
    assert use.host is None
    assert "the CPU that all hosts share was 97% busy (CPU 97% (others 7%)" in (
        sentence(stage, use).replace(" meanwhile", "").replace("agree: ", "")
    )
    assert use.disk_busy == pytest.approx(0.5), "beside it the busiest of the hosts' own devices"


def recorded() -> tuple[Stage, ...]:
    return analyse(own_samples.account()).stages


@pytest.mark.parametrize(
    ("use", "begins"),
    [
        (BUSY, "the host agrees: its processor was 95% busy ("),
        (
            replace(BUSY, disk_busy=0.97),
            "the engine's log says CPU; the host's disk vda was 97% busy at that time",
        ),
        (
            replace(BUSY, cpu_busy=0.5),
            "the engine's log says CPU; no device of the host was 80% busy",
        ),
        (
            replace(BUSY, cpu_busy=None, disk_busy=None),
            "the engine's log says CPU; the host metrics name no device",
        ),
    ],
)
def test_engine_and_host_never_contradict_each_other_silently(use: HostUse, begins: str) -> None:
    stage = recorded()[1]
    assert stage.verdict.narrowest == "cpu"
    assert sentence(stage, use).startswith(begins)


def test_what_python_workers_had_of_the_processors_is_told(
    ask: Ask, make_trial: Callable[..., Trial]
) -> None:
    busy = (("cpu_user", None, 0.9), ("own_cpu", None, 0.9))
    analysis, host = ask(rows_at(1.0, 20.0, *busy, ("python_cpu", None, 0.6)))
    stage = next(stage for stage in analysis.stages if stage.key in host.uses)
    use = host.uses[stage.key]
    assert use.cpu_python == pytest.approx(0.6)
    assert "CPU 90% (others 0%, Python workers 60%)" in sentence(stage, use)
    trial = make_trial(cluster=Cluster((Host("here", {"cpu_threads": 4}),)))
    spent_s = python_cpu_s(host, trial, analysis)[stage.key]
    assert spent_s == pytest.approx(0.6 * 4 * (stage.elapsed_s or 0))
    assert python_cpu_s(host, make_trial(cluster=Cluster((Host("here"),))), analysis) == {}


def test_the_host_speaks_where_the_engine_cannot_tell() -> None:
    stage = recorded()[0]
    assert stage.verdict.narrowest is None
    said = sentence(stage, BUSY)
    assert said.startswith("the engine's log cannot tell; the host's processor was 95% busy")
    for figure in ("waiting for I/O 2%", "disk vda 10%", "read 1.00 MB/s", "out 4.00 MB/s"):
        assert figure in said


def test_the_recorded_series_and_the_recorded_stages_agree(ask: Ask) -> None:
    rows = list(read_series(own_samples.FOLDER / "series.parquet").iter_rows())
    analysis, host = ask(rows)
    busy = [host.uses[stage.key].cpu_busy for stage in analysis.stages]
    assert all(value is not None and 0.7 < value <= 1.0 for value in busy)
