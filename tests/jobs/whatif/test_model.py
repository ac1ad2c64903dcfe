"""The model of a job on other machines, against jobs small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from event_log import SparkLog
from venturi.core.quantity import Quantity, ValueKind
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.whatif import slot_simulation
from venturi.jobs.whatif.changes import codec_change
from venturi.jobs.whatif.demand import demand_of
from venturi.jobs.whatif.model import JobModel, ModeledJob
from venturi.jobs.whatif.setup import Setup, SetupChange, recorded_setup, target_setup
from venturi.jobs.whatif.task_plan import same_tasks, split_rules, task_plan
from venturi.machines.catalog import parse
from venturi.record.job_account import JobAccount

DATA = Path(__file__).parents[2] / "data" / "spark" / "4.3.0"
LOGS = [DATA / "join.log", *sorted((DATA / "faults").glob("*-sound.zstd"))]
GB = 10**9
NO_SETTINGS: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})


def exactly(value: float) -> Quantity:
    return Quantity(value, value, value, ValueKind.MEASURED, "the test")


class Modeled:
    """A job with its recorded setup; predicts it on others."""

    def __init__(self, account: JobAccount, **known: float) -> None:
        self.line = timeline(account)
        self.demand = demand_of(self.line)
        setup = recorded_setup(self.line, trial_of(account), None)
        self.source = replace(setup, **{name: exactly(value) for name, value in known.items()})

    def model(self, data: float = 1, **more: Any) -> JobModel:
        slots = self.source.slots, self.source.slots
        plan = task_plan(self.demand, split_rules(self.demand), data, slots, NO_SETTINGS)
        return JobModel(ModeledJob(self.demand, more.pop("plan", plan), **more), self.source)

    def with_(self, change: SetupChange | None = None, **rates: float) -> Setup:
        target = target_setup(self.source, change or SetupChange())
        return replace(target, **{name: exactly(value) for name, value in rates.items()})

    def time_s(self, target: Setup) -> float:
        return self.model().time_s(target)[0]


def log_of(
    tasks: int, each_s: float, *, slots: int = 2, heap: str = "8g", **metrics: Any
) -> SparkLog:
    """A stage of equal tasks after 5 s of the driver, with `metrics` for each task."""
    log = SparkLog(**{"spark.executor.memory": heap})
    log.executor("1", slots, 0)
    waves = -(-tasks // slots)
    log.job(0, 5, 5 + waves * each_s, [0])
    log.stage(0, 5, 5 + waves * each_s, tasks)
    for place in range(tasks):
        from_s = 5 + each_s * (place // slots)
        log.task(0, from_s, from_s + each_s, metrics=task_metrics(each_s, **metrics))
    log.end(5 + waves * each_s)
    return log


def task_metrics(each_s: float, cpu: float = 1.0, **metrics: Any) -> dict[str, Any]:
    ms = round(each_s * 1e3)
    return {"Executor Run Time": ms, "Executor CPU Time": round(ms * cpu * 1e6), **metrics}


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_identical_target_takes_the_recorded_time(log: Path) -> None:
    job = Modeled(spark.read(spark_logs(log)[0]))
    assert job.time_s(job.source) == pytest.approx(job.line.elapsed_s)
    assert job.model().rough_s(job.source) == pytest.approx(job.line.elapsed_s)
    assert abs(job.model().replay_error) < 0.1


def test_faster_cores_shorten_compute_and_leave_the_driver(tmp_path: Path) -> None:
    job = Modeled(log_of(8, 10).account(tmp_path), cores=2)
    assert job.time_s(job.with_(cpu=2.0)) == pytest.approx(5 + 20)
    assert job.time_s(job.with_(cpu=0.5)) == pytest.approx(5 + 80)


def test_more_executors_divide_waves_of_tasks(tmp_path: Path) -> None:
    job = Modeled(log_of(8, 10).account(tmp_path), cores=2)
    assert job.time_s(job.with_(SetupChange(executors=2))) == pytest.approx(5 + 20)
    assert job.time_s(job.with_(SetupChange(executors=3))) == pytest.approx(5 + 20)
    assert job.time_s(job.with_(SetupChange(executors=100))) == pytest.approx(5 + 10)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_slots_that_no_task_uses_make_no_difference(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Modeled(spark.read(spark_logs(log)[0])).demand.recorded
    enough = sum(len(each.lasting_s) for each in replay.tasks.values())
    monkeypatch.setattr(slot_simulation, "MANY_SLOTS", 10**9)
    simulated = replay.on(enough)
    monkeypatch.undo()
    found = replay.on(10**12)
    assert found.elapsed_s == pytest.approx(simulated.elapsed_s)
    assert found.task_s == pytest.approx(simulated.task_s)


def test_a_host_with_more_slots_than_cores_gains_nothing(tmp_path: Path) -> None:
    job = Modeled(log_of(8, 10).account(tmp_path), cores=2)
    four = job.with_(SetupChange(cores_per_executor=4))
    assert (four.slots, four.hosts) == (4, 1)
    assert job.time_s(four) == pytest.approx(5 + 40)


def test_disks_limit_a_stage_to_their_rate(tmp_path: Path) -> None:
    reading = {"Input Metrics": {"Bytes Read": 4 * GB}}
    job = Modeled(log_of(8, 10, cpu=0.5, **reading).account(tmp_path), disk=1e9, cores=2)
    # 32 GB at 1 GB/s is less than the 40 s that the stage took, at 0.1 GB/s it is 320 s.
    found, effects = job.model().time_s(job.with_(disk=1e8))
    assert found == pytest.approx(5 + 320, rel=0.01)
    assert job.model().limits(effects, job.with_(disk=1e8)) == ["disk"]
    # Infinitely fast disks leave the CPU time.
    assert job.time_s(job.with_(disk=1e15)) == pytest.approx(5 + 20, rel=0.01)


def test_without_cpu_times_tasks_wait_for_disks_only_while_these_are_busy(tmp_path: Path) -> None:
    reading = {"Input Metrics": {"Bytes Read": 4 * GB}, "Executor CPU Time": None}
    job = Modeled(log_of(8, 10, **reading).account(tmp_path), disk=1.6e9, cores=2)
    # 32 GB at 1.6 GB/s keep the disks busy for 20 of the 40 s; the rest isn't theirs.
    target = job.with_(disk=1e15)
    found, effects = job.model().time_s(target)
    assert found == pytest.approx(5 + 20, rel=0.01)
    assert job.model().limits(effects, target) == ["waiting"]
    assert job.time_s(job.with_(disk=0.8e9)) == pytest.approx(5 + 20 + 40, rel=0.01)


@pytest.mark.parametrize(("block_bytes", "seeks"), [(1_310_720, 100), (13_107.2, 11)])
def test_small_shuffle_blocks_share_a_seek(tmp_path: Path, block_bytes: float, seeks: int) -> None:
    """100 tasks read a block each of one map task's output: 100 seeks, or 10 parts of 128 KiB."""
    fetched = {"Shuffle Read Metrics": {"Local Bytes Read": round(block_bytes)}}
    job = Modeled(log_of(100, 1, **fetched).account(tmp_path))
    assert job.demand.recorded_sums.requests.tolist() == pytest.approx([seeks], rel=1e-3)


def test_disks_of_a_host_seek_concurrently(tmp_path: Path) -> None:
    fact = "hdd{n},{name},{value},,,{unit},measured,sheet,2026-01-01,\n"
    catalog = parse(
        "instance_type,attribute,value,low,high,unit,kind,source,as_of,note\n"
        + "".join(
            fact.format(n=n, name=name, value=value, unit=unit)
            for n in (1, 8)
            for name, value, unit in (
                ("vcpus", 4, 1),
                ("disk_kind", "HDD", ""),
                ("disk_count", n, 1),
                ("local_read_rate", 100 * n, "MB/s"),
            )
        ),
        "own",
    )
    job = Modeled(log_of(8, 10).account(tmp_path))
    seeks = [job.with_(SetupChange(catalog.types[name])).seek_s for name in ("hdd1", "hdd8")]
    assert seeks == [8e-3, 1e-3]


def test_bytes_that_disks_could_not_have_read_came_from_memory(tmp_path: Path) -> None:
    reading = {"Input Metrics": {"Bytes Read": 4 * GB}}
    job = Modeled(log_of(8, 10, **reading).account(tmp_path), disk=1e8, cores=2)
    assert job.time_s(job.with_(disk=1e8)) == pytest.approx(job.line.elapsed_s)


def test_a_shuffle_between_hosts_takes_their_networks(tmp_path: Path) -> None:
    fetched = {"Shuffle Read Metrics": {"Local Bytes Read": 10 * GB}}
    job = Modeled(log_of(8, 10, **fetched).account(tmp_path), disk=1e15, cores=2, network=1e12)
    two = job.with_(SetupChange(executors=2), network=1e8)
    # Half of 80 GB crosses the network, on two hosts with 0.1 GB/s each.
    assert job.time_s(two) == pytest.approx(5 + 200, rel=0.01)
    zstd, _ = codec_change({}, {"spark.io.compression.codec": "zstd"})
    packed, _ = job.model(codecs=zstd).time_s(two)
    assert packed == pytest.approx(5 + 200 * 2.101 / 2.884, rel=0.02)


def test_less_heap_spills_and_more_heap_does_not(tmp_path: Path) -> None:
    peak = {"Peak Execution Memory": 2 * GB}
    job = Modeled(log_of(8, 10, heap="8g", **peak).account(tmp_path), disk=1e9, cores=2)
    assert job.time_s(job.with_(SetupChange(heap_bytes=16 * GB))) == pytest.approx(45)
    small = job.time_s(job.with_(SetupChange(heap_bytes=2 * GB)))
    smaller = job.time_s(job.with_(SetupChange(heap_bytes=1 * GB)))
    assert 45 < small < smaller


@given(
    cpu=st.floats(0.2, 5),
    disk=st.floats(1e7, 1e10),
    network=st.floats(1e7, 1e10),
    executors=st.integers(1, 40),
    faster=st.floats(1.01, 10),
)
@settings(max_examples=40, deadline=None)
def test_faster_parts_never_make_it_slower(
    cpu: float, disk: float, network: float, executors: int, faster: float
) -> None:
    job = a_mixed_job()
    rates = {"cpu": cpu, "disk": disk, "network": network}
    target = job.with_(SetupChange(executors=executors), **rates)
    time_s = job.time_s(target)
    for name, rate in rates.items():
        better = replace(target, **{name: exactly(faster * rate)})
        assert job.time_s(better) <= time_s * (1 + 1e-9), name
        assert job.model().rough_s(better) <= job.model().rough_s(target) * (1 + 1e-9), name


@given(executors=st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_more_executors_on_more_hosts_never_make_compute_slower(executors: int) -> None:
    job = a_mixed_job()
    fewer, more = (
        job.with_(SetupChange(executors=n), network=1e15) for n in (executors, executors + 1)
    )
    assert job.time_s(more) <= job.time_s(fewer) * (1 + 1e-9)


def test_rough_model_agrees_with_the_replay() -> None:
    job = a_mixed_job()
    for executors in (1, 2, 5, 20):
        target = job.with_(SetupChange(executors=executors))
        assert job.model().rough_s(target) == pytest.approx(job.time_s(target), rel=0.15)


_MIXED: list[Modeled] = []


def a_mixed_job() -> Modeled:
    """Stages of uneven tasks that compute, read, shuffle and wait."""
    if _MIXED:
        return _MIXED[0]
    import tempfile

    rng = np.random.default_rng(1)
    log = SparkLog(**{"spark.executor.memory": "4g"})
    log.executor("1", 4, 0)
    ends: list[tuple[int, float, float]] = []
    at_s = 2.0
    log.job(0, 2, 200, [0, 1, 2])
    for stage in range(3):
        free = [at_s] * 4
        times = []
        for each_s in rng.uniform(1, 6, 30).round(1).tolist():
            slot = free.index(min(free))
            times.append((free[slot], free[slot] + each_s))
            free[slot] += each_s
        log.stage(stage, at_s, max(free), 30)
        for from_s, to_s in times:
            read = {"Local Bytes Read": 10**8} if stage else {}
            log.task(
                stage,
                from_s,
                to_s,
                metrics=task_metrics(
                    to_s - from_s,
                    cpu=0.6,
                    **{
                        "Input Metrics": {"Bytes Read": 0 if stage else 10**8},
                        "Shuffle Read Metrics": read,
                        "Shuffle Write Metrics": {"Shuffle Bytes Written": 10**8},
                    },
                ),
            )
        at_s = max(free)
        ends.append((stage, at_s, at_s))
    log.end(at_s + 1)
    with tempfile.TemporaryDirectory() as folder:
        _MIXED.append(Modeled(log.account(Path(folder)), disk=5e8, network=1e9, cores=4))
    return _MIXED[0]


def test_overhead_does_not_grow_with_data(tmp_path: Path) -> None:
    few = {"Shuffle Read Metrics": {"Local Bytes Read": 10**6}}
    job = Modeled(log_of(8, 10, **few).account(tmp_path), cores=2, disk=1e15)
    # One of the ten seconds of a task is enough for its megabyte.
    assert job.model(3.0).time_s(job.source)[0] == pytest.approx(5 + 4 * 12)
    assert job.model(3.0).rough_s(job.source) == pytest.approx(5 + 4 * 12)


def test_stages_without_data_do_not_grow(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.executor.memory": "8g"})
    log.executor("1", 1, 0)
    log.job(0, 0, 20, [0, 1])
    for stage, read in ((0, 0), (1, GB)):
        log.stage(stage, 10 * stage, 10 * stage + 10, 1)
        shuffle = {"Shuffle Read Metrics": {"Local Bytes Read": read}}
        log.task(stage, 10 * stage, 10 * stage + 10, metrics=task_metrics(10, **shuffle))
    log.end(20)
    job = Modeled(log.account(tmp_path), cores=1, disk=1e15)
    assert job.model(3.0).time_s(job.source)[0] == pytest.approx(10 + 30)


def test_data_of_the_same_size_keeps_all_tasks(tmp_path: Path) -> None:
    job = Modeled(log_of(8, 10).account(tmp_path))
    plan = job.model(1.0).plan
    assert plan.as_recorded
    assert plan.rows.tolist() == same_tasks(job.demand).rows.tolist()


def test_more_data_makes_more_tasks_of_files_and_larger_ones_of_shuffles(tmp_path: Path) -> None:
    files = {"Input Metrics": {"Bytes Read": 10**8}}
    job = Modeled(log_of(8, 10, **files).account(tmp_path), cores=2, disk=1e15)
    plan = job.model(2.0).plan
    assert (len(plan.rows), set(plan.size.tolist())) == (16, {1.0})
    assert job.model(2.0).time_s(job.source)[0] == pytest.approx(5 + 80)

    shuffled = {"Shuffle Read Metrics": {"Local Bytes Read": 10**8}}
    job = Modeled(log_of(8, 10, **shuffled).account(tmp_path), cores=2, disk=1e15)
    plan = job.model(2.0).plan
    assert (len(plan.rows), set(plan.size.tolist())) == (8, {2.0})
    assert job.model(2.0).time_s(job.source)[0] == pytest.approx(5 + 80)
