"""Findings in logs of jobs with a planted fault, and in those of the same jobs without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.case import Confidence
from venturi.jobs.diagnosis.find import Diagnosis, Finding, diagnose
from venturi.jobs.diagnosis.registry import rule_functions
from venturi.jobs.diagnosis.table import load_rules
from venturi.jobs.logs import mapreduce, spark
from venturi.jobs.logs.find import histories, spark_logs
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount

LOGS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"
HISTORIES = Path(__file__).parents[2] / "data" / "mapreduce" / "3.4.2"
# The first finding, and text in its evidence and its advice.
PLANTED = {
    "skewed-join": ("skew", "6.2 times the median", "skewedPartitionThresholdInBytes = 208m"),
    "one-task-window": ("one-task", "5,000,000 records", "PARTITION BY"),
    "python-udf": ("python-rows", "88% of the task time", "<lambda>(cast(id as string))"),
    "driver-loop": ("driver-loop", "60 times collect at programs.py:", "the 60 queries"),
    "small-files": ("small-files-written", "1,000 files of 70.3 KiB", "repartition into 2"),
    "spill": ("spill", "2 of 2 tasks", "spark.memory.fraction = 0.03"),
    "executor-killed": ("executor-lost", "signal 9", "out-of-memory killer"),
    "retried-failures": ("failed-attempts", "3 attempts failed", "ValueError: no such record"),
    "partition-count": ("too-many-tasks", "2,000 tasks", "spark.sql.adaptive.enabled"),
    "missed-broadcast": ("broadcast-missed", "671.4 MiB", "autoBroadcastJoinThreshold = 10m"),
    "broadcast-too-large": ("broadcast-large", "3,000,000 rows to join", "the other side"),
    "rdd-lineage": ("recomputed", "6 jobs start from RDD 0", "unpersist()"),
}

# Without a log of their sound twin.
ALSO_PLANTED = {
    "local-iterator": ("tasks-in-turn", "20 stages of one task", "collect()"),
    "schema-inference": ("schema-inferred", "read 187.6 MiB", "inferSchema"),
    "needless-repartition": ("shuffled-again", "5,000,000 rows", "remove the repartition()"),
    "large-closure": ("python-start", "Python workers of 40 tasks", "broadcast variable"),
    "rdd-lambda": ("python-rows", "each of 2,000,000 records", "DataFrames"),
    "cache-too-small": ("cache-incomplete", "2,400,000 rows again", "MEMORY_AND_DISK"),
    "uncached-reuse": ("recomputed", "3 queries read the same rows", "after the first step"),
    "jdbc-one-partition": ("one-task", "a single task of 7.5 s", "numPartitions = 2"),
    "partition-filter-missed": ("full-scan", "kept 3.3% of them", "filter on day"),
}


def diagnosis(account: JobAccount) -> Diagnosis:
    line = timeline(account)
    return diagnose(line, analyse(account, None, line))


def found(folder: Path, log: SparkLog) -> list[Finding]:
    return list(diagnosis(log.account(folder)).findings)


@pytest.mark.parametrize("name", PLANTED | ALSO_PLANTED)
def test_the_first_finding_is_the_planted_fault(name: str) -> None:
    account = spark.read(spark_logs(LOGS / f"{name}-faulty.zstd")[0])
    told = diagnosis(account)
    rule, evidence, advice = (PLANTED | ALSO_PLANTED)[name]
    first = told.findings[0]
    assert first.rule == rule
    assert evidence in first.says
    assert advice in first.do
    assert first.where
    assert first.saving_s == pytest.approx(first.share * (account.application.elapsed_s or 0))
    assert [each.saving_s for each in told.findings] == sorted(
        (each.saving_s for each in told.findings), reverse=True
    )
    assert told.silence is None


@pytest.mark.parametrize("name", PLANTED)
def test_without_the_fault_nothing_is_found(name: str) -> None:
    account = spark.read(spark_logs(LOGS / f"{name}-sound.zstd")[0])
    told = diagnosis(account)
    assert [each.rule for each in told.findings if each.share > 0.1] == []


def test_small_files_that_the_job_wrote_itself_are_told_once() -> None:
    account = spark.read(spark_logs(LOGS / "small-files-faulty.zstd")[0])
    first, *others = diagnosis(account).findings
    assert "they are read later" in first.says
    assert "small-files-read" not in {each.rule for each in others}


@pytest.mark.parametrize(
    ("metric", "value"), [("written output", 7), ("number of written files", 2)]
)
def test_small_files_that_may_be_others_are_told_by_themselves(metric: str, value: int) -> None:
    """As many files of other sizes, or as many bytes in other files, were written by the job."""
    account = spark.read(spark_logs(LOGS / "small-files-faulty.zstd")[0])
    told = account.operator_metrics
    assert told is not None
    scaled = pl.when(pl.col("metric") == metric).then(pl.col("value") * value)
    others = told.with_columns(
        scaled.otherwise(pl.col("value")).cast(told["value"].dtype).alias("value")
    )
    first, second = diagnosis(replace(account, operator_metrics=others)).findings[:2]
    assert "read again" not in first.says + second.says
    assert {first.rule, second.rule} == {"small-files-written", "small-files-read"}


@pytest.mark.parametrize(
    ("partitions", "do"),
    [
        (1, "repartition into 2 before the write"),
        (100, "by the columns of partitionBy before the write, so that each of the 100 partitions"),
        (
            1_000,
            "partition by columns with fewer values: each value has its own files of 70.3 KiB",
        ),
    ],
)
def test_small_files_of_a_partitioned_table_are_not_made_fewer_by_fewer_tasks(
    partitions: int, do: str
) -> None:
    account = spark.read(spark_logs(LOGS / "small-files-faulty.zstd")[0])
    told = account.operator_metrics
    assert told is not None
    files = told.filter(pl.col("metric") == "number of written files")
    parts = files.with_columns(
        pl.lit("number of dynamic part").alias("metric"),
        pl.lit(partitions).alias("value"),
    ).cast(dict(told.schema))
    whole = replace(account, operator_metrics=pl.concat([told, parts]))
    first = diagnosis(whole).findings[0]
    assert first.rule == "small-files-written"
    assert do in first.do


def test_each_rule_of_the_table_is_looked_for_and_each_advice_has_its_values() -> None:
    rules = load_rules()
    assert list(rules) == list(rule_functions())
    for rule in rules.values():
        assert rule.do
        assert all(each.source for each in rule.thresholds.values())


def test_failed_attempts_of_mapreduce_are_found_and_all_of_it_was_looked_at() -> None:
    (log,) = (each for each in histories(HISTORIES) if "TeraSort" in each.path.name)
    told = diagnosis(mapreduce.read(log))
    (first,) = told.findings
    assert first.rule == "failed-attempts"
    assert "can't read partitions file" in first.do
    # The job ended with it: its full time is unknown.
    assert first.confidence is Confidence.LOW
    assert "a job that failed would have continued" in first.assumes
    assert told.unseen == ()


def reading(n_bytes: int) -> dict[str, object]:
    return {"Shuffle Read Metrics": {"Local Bytes Read": n_bytes, "Total Records Read": 1}}


def uneven(folder: Path, long_s: float, long_bytes: int) -> list[Finding]:
    """Seven tasks of 10 s on four slots, and a longer one on its own slot."""
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, long_s, [0])
    log.stage(0, 0, long_s, 8)
    ran = {"Executor Run Time": 10_000, "Executor CPU Time": 10**10}
    log.task(0, 0, long_s, metrics=ran | reading(long_bytes))
    for place in range(7):
        log.task(0, 10 * (place // 3), 10 * (place // 3) + 10, metrics=ran | reading(1_000_000))
    log.end(long_s)
    return found(folder, log)


def test_a_long_task_with_more_data_is_skew_and_saves_what_it_takes_alone(tmp_path: Path) -> None:
    (told,) = uneven(tmp_path, 90, 9_000_000)
    assert told.rule == "skew"
    assert told.replayed_s == pytest.approx(90 - (90 + 70) / 4)
    assert told.share == pytest.approx(told.saving_s / 90)
    assert told.where[0].stage == "0"
    assert told.where[0].host == "h1"


def test_a_long_task_without_more_data_is_not_skew(tmp_path: Path) -> None:
    assert uneven(tmp_path, 90, 1_000_000) == []


def test_a_stage_off_the_critical_path_costs_nothing(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, 100, [0, 1])
    log.stage(0, 0, 100, 4)
    log.stage(1, 0, 60, 1)
    for _ in range(4):
        log.task(0, 0, 100)
    log.task(1, 0, 60, metrics={"Executor Run Time": 60_000, **reading(1 << 30)})
    log.end(100)
    told = diagnosis(log.account(tmp_path))
    assert told.findings == ()
    assert told.silence == "no known problem costs more than 2.0 s"


def test_one_task_for_much_data_is_told_by_its_slots(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 128, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 0, 100, metrics={"Executor Run Time": 100_000, **reading(1 << 30)})
    log.end(100)
    (told,) = found(tmp_path, log)
    assert told.rule == "one-task"
    assert "on 128 slots" in told.says
    assert "repartition into 128" in told.do
    # The log doesn't show core waits with tasks on all slots: a fifth of the time is assumed.
    assert told.replayed_s == pytest.approx(100 * (1 - 1 / 128 / 0.8))


@pytest.mark.parametrize(("sorted_ms", "saved_s"), [(1_000, 5.68), (12_000, 10.0)])
def test_a_window_s_parts_are_sorted_by_comparing(
    sorted_ms: int, saved_s: float, tmp_path: Path
) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 20)
    log.plan(0, ("Window", "Window [x]", {}), ("Sort", "Sort [x]", {"sort time": 7}))
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 1, metrics={7: sorted_ms})
    read = {"Local Bytes Read": 1 << 30, "Total Records Read": 1 << 24}
    log.task(0, 0, 20, metrics={"Executor Run Time": 20_000, "Shuffle Read Metrics": read})
    log.end(20)
    (told,) = found(tmp_path, log)
    assert told.rule == "one-task"
    # 2 ** 24 rows in two parts are 2 ** 24 * 23 comparisons of 25 ns.
    assert told.replayed_s == pytest.approx(saved_s, abs=0.01)


def test_a_task_that_only_takes_some_rows_needs_no_others(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 8, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 0, 100, metrics={"Executor Run Time": 100_000, **reading(1 << 30)})
    log.end(100)
    log.lines = [line.replace(b"collect at app.py", b"take at app.py") for line in log.lines]
    assert found(tmp_path, log) == []


def short_tasks(folder: Path, cpu_ms: int) -> list[Finding]:
    """A thousand tasks of 150 ms on two slots: 10 ms of deserialization, `cpu_ms` of work."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 75, [0])
    log.stage(0, 0, 75, 1_000)
    ran = {
        "Executor Deserialize Time": 10,
        "Executor Run Time": cpu_ms,
        "Executor CPU Time": cpu_ms * 10**6,
    }
    for place in range(1_000):
        begin_s = 0.15 * (place // 2)
        log.task(0, begin_s, begin_s + 0.15, metrics=ran)
    log.end(75)
    return found(folder, log)


def test_many_short_tasks_cost_what_starting_them_does_not_their_work(tmp_path: Path) -> None:
    (told,) = short_tasks(tmp_path, 20)
    assert told.rule == "too-many-tasks"
    assert told.replayed_s == pytest.approx(500 * 0.13 * (1 - 2 / 1_000), rel=0.01)
    (told,) = short_tasks(tmp_path, 140)
    assert told.replayed_s == pytest.approx(500 * 0.01 * (1 - 2 / 1_000), rel=0.01)


def loop(folder: Path, pause_s: float) -> list[Finding]:
    """Forty queries of a second from one line, with a pause between them."""
    log = SparkLog()
    log.executor("1", 1, 0)
    for id_ in range(40):
        begin_s = id_ * (1 + pause_s)
        log.query(id_, begin_s, begin_s + 1, name="collect at app.py:7")
    log.end(40 * (1 + pause_s))
    return found(folder, log)


def test_a_loop_of_queries_is_one_but_somebody_who_thinks_is_none(tmp_path: Path) -> None:
    (told,) = loop(tmp_path, 1)
    assert told.rule == "driver-loop"
    assert told.replayed_s == pytest.approx(39 + 39)
    assert loop(tmp_path, 60) == []


def twice(folder: Path, one: str, other: str) -> list[Finding]:
    """Two queries that scan a table for 20 s each, and filter it by `one` and by `other`."""
    log = SparkLog()
    log.executor("1", 1, 0)
    for id_, condition in enumerate((one, other)):
        begin_s = 20.0 * id_
        log.query(id_, begin_s, begin_s + 20)
        scan = f"FileScan parquet [a#{id_}L] Location: /t"
        log.plan(
            id_,
            ("Filter", f"Filter {condition}", {"number of output rows": 10 * id_}),
            ("Scan parquet ", scan, {"number of files read": 10 * id_ + 1}),
        )
        log.job(id_, begin_s, begin_s + 20, [id_])
        log.stage(id_, begin_s, begin_s + 20, 1, metrics={10 * id_: 5, 10 * id_ + 1: 1})
        log.task(id_, begin_s, begin_s + 20)
    log.end(40)
    return found(folder, log)


def test_what_two_queries_read_and_filter_alike_is_computed_twice(tmp_path: Path) -> None:
    (told,) = twice(tmp_path, "(a#7 > 1)", "(a#8 > 1)")
    assert told.rule == "recomputed"
    assert told.replayed_s == pytest.approx(20)
    assert "stage 0 (scan parquet; collect at app.py:0)" in told.says
    assert twice(tmp_path, "(a#7 > 1)", "(a#8 > 2)") == []
    # Truncated texts may differ, and so may unnamed functions.
    for same in ("(a#7 > 1)" + " " * 300, "(a#7 IN (1, 2, ...))", "<lambda>(a#7)"):
        assert twice(tmp_path, same, same) == []


def test_the_driver_s_time_with_files_is_told_by_what_took_most(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.query(0, 0, 20, metadata_time=2_000, job_commit_time=6_000)
    log.end(20)
    (told,) = found(tmp_path, log)
    assert (told.rule, told.confidence) == ("driver-files", "high")
    assert told.replayed_s == pytest.approx(8)
    assert "fileoutputcommitter" in told.do
    assert [at.query for at in told.where] == [0]


@pytest.mark.parametrize(("master", "rules"), [("yarn", ["late-executors"]), ("local[2]", [])])
def test_only_a_cluster_manager_can_be_late(tmp_path: Path, master: str, rules: list[str]) -> None:
    log = SparkLog(**{"spark.master": master})
    log.executor("1", 1, 30)
    log.job(0, 30, 100, [0])
    log.stage(0, 30, 100, 1)
    log.task(0, 30, 100)
    log.end(100)
    assert [each.rule for each in found(tmp_path, log)] == rules


def test_tasks_that_took_no_time_do_no_harm(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 50, 50, metrics={"Executor Run Time": 0, **reading(1 << 30)})
    log.end(100)
    assert found(tmp_path, log) == []


def test_what_a_log_lacks_is_said_beside_the_findings(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(3, 50, 100, [0])
    log.stage(0, 50, 100, 1)
    log.task(0, 50, 100)
    log.end(100)
    told = diagnosis(log.account(tmp_path))
    assert told.unseen == (
        "the log lacks the events of 3 jobs, so this time was not analyzed",
        "6 rules about the slots of the application, because events are missing from the log",
    )


def test_slots_are_judged_in_stages_that_lack_nothing(tmp_path: Path) -> None:
    """A stage with a missing end of a task says nothing of its own slots, only."""
    log = SparkLog()
    log.executor("1", 8, 0)
    for stage, begin in ((0, 0), (1, 100)):
        log.job(stage, begin, begin + 90, [stage])
        log.stage(stage, begin, begin + 90, 2)
        for _ in range(2):
            log.task(stage, begin, begin + 90)
    log.end(200)
    places = {place.stage for each in found(tmp_path, log) for place in each.where}
    assert places == {"0", "1"}
    del log.lines[next(n for n, each in enumerate(log.lines) if b"ListenerTaskEnd" in each)]
    told = diagnosis(log.account(tmp_path))
    assert [(each.rule, each.where[0].stage) for each in told.findings] == [("too-few-tasks", "1")]
    assert any("those of 1 of 2 stages" in each for each in told.unseen)


def in_python(folder: Path, name: str, text: str) -> list[Finding]:
    """A stage that spends 60 s of 100 s in Python workers, for an operator of its plan."""
    log = SparkLog()
    log.executor("1", 1, 0)
    log.query(0, 0, 100)
    log.plan(0, (name, text, {"time to run Python workers": 7}))
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1, metrics={7: 60_000})
    ran = {"Executor Run Time": 100_000, "Executor CPU Time": 40 * 10**9}
    log.task(0, 0, 100, metrics=ran, time_to_run_python_workers=60_000)
    log.end(100)
    return found(folder, log)


# As Spark 3.5.9 and 4.3.0 write them.
@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("BatchEvalPython", "BatchEvalPython [f(id#0L)#2], [pythonUDF0#4]", "is pickled"),
        (
            "ArrowEvalPython",
            "ArrowEvalPython [f(id#0L)#2], [pythonUDF0#4], 101",
            "Arrow already sends",
        ),
        ("ArrowEvalPython", "ArrowEvalPython [f(id#0L)#2], [pythonUDF0#4], 200", "whole columns"),
        ("ArrowEvalPython", f"ArrowEvalPython [f(id#0L)#2], [{'x' * 300}", "for every row"),
        ("MapInPandas", "MapInPandas f(id#0L)#2, [id#3L], false", "whole columns"),
        (
            "FlatMapGroupsInPandas",
            "FlatMapGroupsInPandas [k#1L], f(id#0L, k#1L)#2, [id#3L]",
            "whole columns",
        ),
    ],
)
def test_python_functions_are_found_by_how_rows_get_to_them(
    name: str, text: str, advice: str, tmp_path: Path
) -> None:
    (told,) = in_python(tmp_path, name, text)
    assert (told.rule, told.replayed_s) == ("python-rows", pytest.approx(60))
    assert "write f(id" in told.do
    assert advice in told.do


def hot_join(
    folder: Path, size: int, join: tuple[str, str], *, writers: int = 8, **settings: str
) -> list[Finding]:
    """A stage of eight tasks on four slots that joins; the first reads `size` bytes for 90 s, the
    others 4 MiB for 10 s. `writers` tasks of no time wrote what it reads."""
    log = SparkLog(**settings)
    log.executor("1", 4, 0)
    log.query(0, 0, 90)
    shuffle = "Exchange hashpartitioning(k#1L, 8), ENSURE_REQUIREMENTS"
    log.plan(
        0,
        (*join, {}),
        ("SortMergeJoin", "SortMergeJoin [k#1L], [k#2L], Inner", {"number of output rows": 1}),
        ("Sort", "Sort [k#1L]", {}),
        ("Exchange", shuffle, {"data size": 2, "records read": 3}),
    )
    log.job(0, 0, 90, [0, 1])
    log.stage(0, 0, 0, writers, metrics={2: size})
    for _ in range(writers):
        log.task(0, 0, 0)
    log.stage(1, 0, 90, 8, metrics={1: 5, 3: 5})
    ran = {"Executor Run Time": 10_000, "Executor CPU Time": 10**10}
    log.task(1, 0, 90, metrics=ran | reading(size))
    for place in range(7):
        log.task(1, 10 * (place // 3), 10 * (place // 3) + 10, metrics=ran | reading(4 << 20))
    log.end(90)
    return found(folder, log)


NOTHING = ("Project", "Project [k#1L]")


def test_what_aqe_is_told_of_a_skewed_join_is_never_blunter_than_what_was_in_force(
    tmp_path: Path,
) -> None:
    skew = "spark.sql.adaptive.skewJoin."
    (told,) = hot_join(tmp_path, 400 << 20, NOTHING, **{f"{skew}enabled": "false"})
    assert told.settings[f"{skew}enabled"] == "true"
    assert told.settings[f"{skew}skewedPartitionThresholdInBytes"] == "256m"
    assert told.settings[f"{skew}skewedPartitionFactor"] == "5"
    (told,) = hot_join(tmp_path, 200 << 20, NOTHING)
    assert told.settings[f"{skew}skewedPartitionThresholdInBytes"] == "160m"
    assert "turn on" not in told.do
    # In one piece, as its target is 64 MiB, unless that is smaller, too.
    (told,) = hot_join(tmp_path, 80 << 20, NOTHING)
    assert told.settings["spark.sql.adaptive.advisoryPartitionSizeInBytes"] == "20m"


def test_a_side_that_is_sorted_beside_a_subquery_is_still_of_its_shuffle(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 4, 0)
    log.query(0, 0, 90)
    log.plan(
        0,
        ("SortMergeJoin", "SortMergeJoin [k#1L], [k#2L], Inner", {"rows": 1}),
        ("Sort", "Sort [k#1L]", {}),
        ("Exchange", "Exchange hashpartitioning(k#1L, 8)", {"data size": 2, "records read": 3}),
    )
    log.job(0, 0, 90, [0, 1])
    log.stage(0, 0, 0, 8, metrics={2: 200 << 20})
    log.stage(1, 0, 90, 8, metrics={1: 5, 3: 5})
    ran = {"Executor Run Time": 10_000, "Executor CPU Time": 10**10}
    log.task(1, 0, 90, metrics=ran | reading(200 << 20))
    for place in range(7):
        log.task(1, 10 * (place // 3), 10 * (place // 3) + 10, metrics=ran | reading(4 << 20))
    log.end(90)
    account = log.account(tmp_path)
    operators = account.operators
    assert operators is not None
    # A subquery may also stand below the sort, as in an untrusted plan.
    other = operators.tail(1).with_columns(node=pl.col("node") + 1, name=pl.lit("Subquery"))
    told = diagnosis(replace(account, operators=pl.concat([operators, other])))
    assert told.findings[0].rule == "skew"


def test_a_stream_whose_first_batches_took_no_time_is_told(tmp_path: Path) -> None:
    log = SparkLog()
    took = ((0, 0, 0), (0, 0, 0), (0, 10, 0), (10, 10, 0), (20, 10, 500), (30, 10, 1_000))
    for n, (began_s, took_s, left) in enumerate(took):
        log.batch(n, began_s, took_s, 1_000, 0, left=left, addBatch=took_s)
    log.end(40)
    (told,) = found(tmp_path, log)
    assert told.rule == "stream-behind"


def test_two_writers_make_two_pieces_of_a_partition_and_one_makes_one(tmp_path: Path) -> None:
    (many,) = hot_join(tmp_path, 200 << 20, NOTHING)
    (two,) = hot_join(tmp_path, 200 << 20, NOTHING, writers=2)
    assert two.replayed_s == pytest.approx(45)
    assert many.replayed_s == pytest.approx(90 - 160 / 4)
    (one,) = hot_join(tmp_path, 200 << 20, NOTHING, writers=1)
    assert "salt the key" in one.do
    assert "from one task of the previous stage" in one.do
    assert one.settings == {}


def test_what_would_have_been_split_already_is_left_to_the_program(tmp_path: Path) -> None:
    (told,) = hot_join(tmp_path, 400 << 20, NOTHING)
    assert told.do.startswith("salt the key")
    assert told.settings == {}
    window = ("Window", "Window [row_number()]")
    (told,) = hot_join(tmp_path, 400 << 20, window)
    assert "Window after the join needs all rows of a key" in told.do
    assert told.settings == {}


def spilling(folder: Path, hot_bytes: int) -> list[Finding]:
    """Four tasks of an RDD on four slots; the first spills for 9 s, and read `hot_bytes`."""
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, 10, [0])
    log.stage(0, 0, 10, 4)
    ran = {"Executor Run Time": 1_000, "Executor CPU Time": 10**9}
    spilled = ran | {
        "Executor Run Time": 10_000,
        "Disk Bytes Spilled": 449 << 20,
        "Memory Bytes Spilled": 2 << 30,
        "Peak Execution Memory": 1 << 20,
    }
    log.task(0, 0, 10, metrics=spilled | reading(hot_bytes))
    for _ in range(3):
        log.task(0, 0, 1, metrics=ran | reading(1 << 20))
    log.end(10)
    return [each for each in found(folder, log) if each.rule == "spill"]


def test_a_spill_of_skewed_tasks_is_not_for_more_partitions(tmp_path: Path) -> None:
    (even,) = spilling(tmp_path, 1 << 20)
    assert "partitions in this stage" in even.do
    (told,) = spilling(tmp_path, 300 << 20)
    assert told.says.startswith("1 of 4 tasks")
    assert "and was off-CPU for 9.0 s, plus about " in told.says
    assert " of CPU time for the spill; it read 300.0 MiB, 300.0 times" in told.says
    assert "spread the rows" in told.do
    assert "partitions in this stage" not in told.do


def test_a_log_that_ends_too_early_gives_no_all_clear(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, None, [0])
    log.stage(0, 0, None, 2)
    log.task(0, 0, None)
    log.task(0, 50, None)
    told = diagnosis(log.account(tmp_path))
    assert told.silence == (
        "cannot tell: the log ends before the application does, and no task ended in it"
    )
    log.task(0, 60, 61)
    silence = diagnosis(log.account(tmp_path)).silence or ""
    assert silence.startswith("cannot tell: the log ends before the application does. In its ")
    assert "(1 ended task), no known problem" in silence
