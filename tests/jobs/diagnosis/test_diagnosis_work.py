"""Findings about work in sequence, work done again, and the start of Python workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline

START, LOAD = "time to start Python workers", "time to initialize Python workers"


def found(folder: Path, log: SparkLog, end_s: float) -> dict[str, Finding]:
    log.end(end_s)
    account = log.account(folder)
    line = timeline(account)
    return {each.rule: each for each in diagnose(line, analyse(account, None, line)).findings}


def in_turn(n: int, apart_s: float, call: str = "save at app.py:3", took_s: float = 2) -> SparkLog:
    """Stages of one task of `took_s`, which begin `apart_s` after each other, on two slots."""
    log = SparkLog()
    log.executor("1", 2, 0)
    for each in range(n):
        from_s = each * apart_s
        log.job(each, from_s, from_s + took_s, [each])
        log.stage(each, from_s, from_s + took_s, 1)
        log.task(each, from_s, from_s + took_s)
    log.lines = [line.replace(b"collect at app.py:", f"{call}#".encode()) for line in log.lines]
    return log


def test_single_tasks_one_after_another_could_share_the_slots(tmp_path: Path) -> None:
    finding = found(tmp_path, in_turn(6, 2), 12)["tasks-in-turn"]
    assert finding.says.startswith(
        "6 stages of one task ran one after another on 2 slots, for 12.0 s"
    )
    # Half of 12 s, less the wait of tasks that share the cores (a fifth of their time then).
    assert finding.replayed_s == pytest.approx(12 - 12 / 0.8 / 2)
    assert "from 2 or more threads" in finding.do


def test_an_iterator_over_partitions_gets_its_own_advice(tmp_path: Path) -> None:
    log = in_turn(6, 2, "toLocalIterator at app.py:3")
    assert "collect()" in found(tmp_path, log, 12)["tasks-in-turn"].do


@pytest.mark.parametrize(
    "log",
    [
        in_turn(3, 2),  # too few
        in_turn(6, 1),  # two at a time
        in_turn(6, 2, took_s=0.1),  # mostly scheduling
        in_turn(6, 2, "take at app.py:3"),  # the first partition suffices
    ],
)
def test_other_single_tasks_are_no_finding(tmp_path: Path, log: SparkLog) -> None:
    assert "tasks-in-turn" not in found(tmp_path, log, 12)


def batches(n: int, took_s: float, in_task_s: float, apart_s: float) -> SparkLog:
    log = SparkLog()
    log.executor("1", 2, 0)
    for each in range(n):
        from_s = each * apart_s
        log.job(each, from_s, from_s + in_task_s, [each])
        log.stage(each, from_s, from_s + in_task_s, 1)
        log.task(each, from_s, from_s + in_task_s)
        log.batch(each, from_s, took_s, 500, 0, addBatch=took_s)
    return log


def test_small_batches_without_a_pause_cost_driver_time(tmp_path: Path) -> None:
    finding = found(tmp_path, batches(21, 1, 0.2, 1), 21)["small-batches"]
    assert (
        "21 batches without a pause, of 500 rows on average. 80% of their time, 16.0 s"
        in finding.says
    )
    # The first batch warms up. Nine tenths of the time outside tasks are saved.
    assert finding.replayed_s == pytest.approx(20 * 0.8 * 0.9)


@pytest.mark.parametrize(
    "log",
    [
        batches(21, 1, 0.2, 5),  # they wait for input
        batches(21, 1, 0.9, 1),  # tasks take the time
        batches(8, 1, 0.2, 1),
    ],
)
def test_other_batches_are_not_too_small(tmp_path: Path, log: SparkLog) -> None:
    assert "small-batches" not in found(tmp_path, log, 110)


def read_twice(call: str, *, wrote: int = 0) -> SparkLog:
    """A job that reads 64 MB and is of no query, before a job of a query."""
    log = SparkLog()
    log.executor("1", 2, 0)
    metrics = {
        "Executor Run Time": 8_000,
        "Executor CPU Time": 4 * 10**9,
        "Input Metrics": {"Bytes Read": 64_000_000, "Records Read": 1_000_000},
        "Output Metrics": {"Bytes Written": wrote, "Records Written": 0},
    }
    log.job(0, 0, 8, [0])
    log.stage(0, 0, 8, 1)
    log.task(0, 0, 8, metrics=metrics)
    log.query(0, 8, 20)
    log.job(1, 8, 20, [1], query=0)
    log.stage(1, 8, 20, 1)
    log.task(1, 8, 20)
    log.lines = [line.replace(b"collect at app.py:0", call.encode()) for line in log.lines]
    return log


def test_input_that_is_read_for_its_schema(tmp_path: Path) -> None:
    finding = found(tmp_path, read_twice("csv at NativeMethodAccessorImpl.java:0"), 20)
    assert finding["schema-inferred"].replayed_s == pytest.approx(8)
    assert "read 61.0 MiB" in finding["schema-inferred"].says


@pytest.mark.parametrize(
    "log", [read_twice("count at app.py:1"), read_twice("csv at app.py:1", wrote=9_000_000)]
)
def test_a_program_that_reads_or_writes_infers_no_schema(tmp_path: Path, log: SparkLog) -> None:
    assert "schema-inferred" not in found(tmp_path, log, 20)


def python(tasks: int, start_ms: int, load_ms: int, **settings: str) -> SparkLog:
    """Tasks of 1 s of a Python function on two slots, of which all workers start in `start_ms` and
    load their functions in `load_ms`."""
    log = SparkLog(**settings)
    log.executor("1", 2, 0)
    log.query(0, 0, tasks / 2)
    log.plan(0, ("BatchEvalPython", "BatchEvalPython [f(id#0L)#5], [p#9]", {START: 1, LOAD: 2}))
    log.job(0, 0, tasks / 2, [0], query=0)
    log.stage(0, 0, tasks / 2, tasks, metrics={1: start_ms, 2: load_ms})
    for n in range(tasks):
        log.task(
            0,
            n // 2,
            n // 2 + 1,
            metrics={"Executor Run Time": 1_000},
            data_sent_to_python_workers=1,
        )
    return log


@pytest.mark.parametrize(
    ("log", "fix"),
    [
        (python(20, 12_000, 200, **{"spark.python.worker.reuse": "false"}), "reuse = true"),
        (python(20, 100, 12_100), "broadcast variable"),
        (python(20, 12_000, 200), "fewer, longer tasks"),
    ],
)
def test_python_workers_that_take_long_to_start(tmp_path: Path, log: SparkLog, fix: str) -> None:
    finding = found(tmp_path, log, 10)["python-start"]
    assert fix in finding.do
    # 12.2 s of tasks on two slots, but for the first task on each slot.
    assert finding.replayed_s == pytest.approx(12.2 / 2 * 0.9, rel=0.01)


def test_spark_3_does_not_time_the_start_of_workers(tmp_path: Path) -> None:
    finding = found(tmp_path, python(20, 0, 0, **{"spark.python.worker.reuse": "false"}), 10)[
        "python-start"
    ]
    assert "reuse = true" in finding.do
    assert finding.replayed_s == pytest.approx(20 * 0.4 / 2 * 0.9, rel=0.01)


def test_the_first_worker_of_each_slot_has_to_start(tmp_path: Path) -> None:
    assert "python-start" not in found(tmp_path, python(2, 600, 600), 1)


def test_a_long_first_task_on_each_slot_counts_as_the_start_of_its_worker(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 14)
    log.plan(0, ("BatchEvalPython", "BatchEvalPython [f(id#0L)#5], [p#9]", {START: 1, LOAD: 2}))
    log.job(0, 0, 14, [0], query=0)
    log.stage(0, 0, 14, 20, metrics={1: 10_000, 2: 200})
    for _ in range(2):
        log.task(0, 0, 5, data_sent_to_python_workers=1)
        for n in range(9):
            log.task(0, 5 + n, 6 + n, data_sent_to_python_workers=1)
    assert "python-start" not in found(tmp_path, log, 14)


def repartitioned(upper: str, tasks: int = 4) -> SparkLog:
    """A repartition of 10 million rows of `tasks` tasks, and above it another operator."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 30)
    log.plan(
        0,
        (upper.split(maxsplit=1)[0], upper, {}),
        ("HashAggregate", "HashAggregate(keys=[k#1])", {"number of output rows": 4}),
        (
            "Exchange",
            "Exchange RoundRobinPartitioning(4), REPARTITION_BY_NUM, [plan_id=7]",
            {"shuffle write time": 1, "shuffle records written": 2, "records read": 3},
        ),
    )
    log.job(0, 0, 30, [0, 1], query=0)
    log.stage(0, 0, 20, tasks, metrics={1: 4 * 10**9, 2: 10_000_000})
    for n in range(tasks):
        log.task(0, n // 2 * 10, n // 2 * 10 + 10)
    log.stage(1, 20, 30, 2, metrics={3: 10_000_000, 4: 4})
    for _ in range(2):
        log.task(1, 20, 30)
    return log


def test_repartitioned_rows_that_are_shuffled_again(tmp_path: Path) -> None:
    log = repartitioned("Exchange hashpartitioning(k#1, 200), ENSURE_REQUIREMENTS, [plan_id=9]")
    finding = found(tmp_path, log, 30)["shuffled-again"]
    assert "repartitioned 10,000,000 rows" in finding.says
    assert finding.replayed_s > 1


@pytest.mark.parametrize(
    "log",
    [
        repartitioned("Sort [k#1 ASC], false, 0"),
        # So that two tasks can work on the rows of one.
        repartitioned("Exchange hashpartitioning(k#1, 200), ENSURE_REQUIREMENTS", tasks=1),
    ],
)
def test_a_repartition_that_is_used(tmp_path: Path, log: SparkLog) -> None:
    assert "shuffled-again" not in found(tmp_path, log, 30)


def computing(slots: int, cpu: float) -> SparkLog:
    """Tasks of 10 s that only compute and get `cpu` of a core, on all slots."""
    log = SparkLog()
    log.executor("1", slots, 0)
    log.query(0, 0, 10)
    log.plan(0, ("Range", "Range (0, 100)", {"number of output rows": 1}))
    log.job(0, 0, 10, [0], query=0)
    log.stage(0, 0, 10, slots, metrics={1: 100})
    for _ in range(slots):
        ran = {"Executor Run Time": 10_000, "Executor CPU Time": int(cpu * 10**10)}
        log.task(0, 0, 10, metrics=ran)
    return log


def test_more_slots_than_cores(tmp_path: Path) -> None:
    finding = found(tmp_path, computing(8, 0.25), 10)["too-few-cores"]
    assert "75% of their time: the 8 slots of an executor got the time of 2.0 cores" in finding.says
    assert "spark.executor.cores = 2" in finding.do


@pytest.mark.parametrize(
    "log",
    [
        computing(8, 0.7),
        computing(2, 0.25),  # not even one core: other work took it
    ],
)
def test_slots_that_get_their_cores(tmp_path: Path, log: SparkLog) -> None:
    assert "too-few-cores" not in found(tmp_path, log, 10)


def of_rdds(records: int) -> SparkLog:
    """A stage of RDDs that took Python workers nearly all of 20 s, and read some records."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 2, rdds=("PythonRDD", "MapPartitionsRDD"))
    for _ in range(2):
        ran = {
            "Executor Run Time": 20_000,
            "Executor CPU Time": 10**9,
            "Input Metrics": {"Bytes Read": 1_000, "Records Read": records // 2},
        }
        log.task(0, 0, 20, metrics=ran)
    return log


def test_python_functions_of_rdds_that_compute(tmp_path: Path) -> None:
    finding = found(tmp_path, of_rdds(2_000_000), 20)["python-rows"]
    assert "95% of the task time" in finding.says
    assert "19.0 µs for each of 2,000,000 records" in finding.says
    assert "DataFrames" in finding.do


def test_sampled_cpu_time_of_python_workers_limits_what_a_function_costs(tmp_path: Path) -> None:
    log = of_rdds(2_000_000)
    log.end(20)
    line = timeline(log.account(tmp_path))
    analysis = analyse(line.account, None, line)
    (stage,) = analysis.stages

    def findings(cpu_s: float) -> dict[str, Finding]:
        return {each.rule: each for each in diagnose(line, analysis, {stage.key: cpu_s}).findings}

    # 38 s in Python workers, which used a CPU for 2 % of 40 s: they waited.
    assert "python-rows" not in findings(0.8)
    assert "75% of the task time" in findings(30)["python-rows"].says
    assert findings(100) == findings(38)


@pytest.mark.parametrize("records", [0, 150_000])
def test_a_python_function_that_may_wait_is_not_slow_python(tmp_path: Path, records: int) -> None:
    assert "python-rows" not in found(tmp_path, of_rdds(records), 20)
