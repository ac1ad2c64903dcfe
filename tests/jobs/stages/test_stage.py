"""Time by cause, replay, critical path and verdicts, on recorded logs and on invented tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.jobs.logs import mapreduce, spark
from venturi.jobs.logs.find import histories, spark_logs
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import TaskTimes
from venturi.jobs.stages.path import StageSpan, critical_path, without_stage_s
from venturi.jobs.stages.replay import schedule, slots_used
from venturi.jobs.stages.stage import Analysis, Stage
from venturi.record.account_kind import ACCOUNT_KINDS
from venturi.record.job_account import AccountReading, Application, JobAccount

DATA = Path(__file__).parents[2] / "data"
LOGS = sorted(path for path in (DATA / "spark").glob("*/*.log*"))
HISTORIES = [log.path for log in histories(DATA / "mapreduce")]
ORIGIN_MS = 1_000_000_000_000


def recorded(path: Path) -> JobAccount:
    if path.suffix == ".jhist":
        return mapreduce.read(histories(path)[0])
    return spark.read(spark_logs(path)[0])


def table(name: str, engine: str, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return ACCOUNT_KINDS[engine].table(name, rows)


def account(
    tasks: Sequence[dict[str, Any]],
    stages: Sequence[dict[str, Any]],
    *,
    ended_s: float = 100.0,
    engine: str = "spark",
    executors: Sequence[dict[str, Any]] = (),
) -> JobAccount:
    """An invented account; times in its rows are seconds since its start."""

    def absolute(row: dict[str, Any]) -> dict[str, Any]:
        return {
            name: ORIGIN_MS + round(value * 1e3) if name.endswith("_ms") else value
            for name, value in row.items()
        }

    task = {
        "stage_id": 0,
        "stage_attempt": 0,
        "outcome": "succeeded",
        "speculative": False,
        "attempt": 0,
    }
    stage = {"attempt": 0, "name": "s", "outcome": "succeeded", "parent_ids": []}
    return JobAccount(
        application=Application(
            "a",
            "a",
            engine,
            "1",
            started_ms=ORIGIN_MS,
            ended_ms=ORIGIN_MS + round(ended_s * 1e3),
            outcome="succeeded",
        ),
        reading=AccountReading(("a",), "0", 0, None, 1),
        jobs=table("jobs", engine, []),
        stages=table("stages", engine, [stage | absolute(row) for row in stages]),
        tasks=table(
            "tasks",
            engine,
            [task | {"task_id": str(n), "index": n} | absolute(row) for n, row in enumerate(tasks)],
        ),
        executors=table("executors", engine, [absolute(row) for row in executors]),
        configuration={},
        chosen=(),
    )


def cause(stage: Stage, name: str) -> float | None:
    return next(each.time_s for each in stage.causes if each.cause == name)


@pytest.fixture(params=[*LOGS, *HISTORIES], ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def job(request: pytest.FixtureRequest) -> tuple[JobAccount, Analysis]:
    found = recorded(request.param)
    return found, analyse(found)


def test_causes_and_the_rest_are_the_stage_task_time(job: tuple[JobAccount, Analysis]) -> None:
    found, analysis = job
    for stage in analysis.stages:
        tasks = found.tasks.filter(
            (pl.col("stage_id") == stage.key[0]) & (pl.col("stage_attempt") == stage.key[1])
        )
        task_s = ((tasks["finished_ms"] - tasks["launched_ms"]).sum() or 0) / 1e3
        task_s += sum(task.age_s for task in stage.unfinished)
        parts_s = sum(each.time_s or 0.0 for each in stage.causes) + stage.unattributed_s
        assert stage.task_s == pytest.approx(task_s, rel=1e-6, abs=1e-6)
        assert parts_s == pytest.approx(task_s, rel=1e-6, abs=1e-6)
        assert stage.unattributed_s >= 0
        assert all(each.time_s is None or each.time_s >= 0 for each in stage.causes)
        assert stage.overlap_s <= 0.05 * stage.task_s + 0.01


def test_bounds_are_never_negative_nor_more_than_all(job: tuple[JobAccount, Analysis]) -> None:
    _, analysis = job
    for stage in analysis.stages:
        for bound in stage.bounds:
            assert stage.elapsed_s is not None
            assert 0 <= (bound.recorded_s or 0.0) <= bound.at_most_s + 1e-9
            assert bound.at_most_s <= stage.elapsed_s + 1e-6
            assert (bound.recorded_s is None) == (bound.reason is not None)
    for bound in analysis.bounds:
        assert bound.at_most_s <= (analysis.elapsed_s or 0.0)


def test_the_path_covers_the_whole_time(job: tuple[JobAccount, Analysis]) -> None:
    _, analysis = job
    assert analysis.elapsed_s is not None
    assert sum(step.elapsed_s for step in analysis.path) == pytest.approx(analysis.elapsed_s)
    ends = [step.to_s for step in analysis.path]
    starts = [step.from_s for step in analysis.path]
    assert [0.0, *ends] == pytest.approx([*starts, analysis.elapsed_s])
    assert sum(analysis.verdict.shares.values()) == pytest.approx(1.0)
    on_driver_s = sum(step.elapsed_s for step in analysis.path if step.key is None)
    assert analysis.driver_s is not None
    assert analysis.driver_s <= on_driver_s + 1e-6


@pytest.mark.parametrize("path", [*LOGS, *HISTORIES], ids=lambda path: path.name[:30])
def test_replaying_the_recorded_tasks_gives_the_stage_time(path: Path) -> None:
    found = recorded(path)
    for row in found.stages.iter_rows(named=True):
        tasks = found.tasks.filter(
            (pl.col("stage_id") == row["stage_id"])
            & (pl.col("stage_attempt") == row["attempt"])
            & pl.col("finished_ms").is_not_null()
            & pl.col("launched_ms").is_not_null()
        )
        if not len(tasks) or row["submitted_ms"] is None or row["ended_ms"] is None:
            continue
        times = task_times(
            tasks["launched_ms"].to_numpy() / 1e3, tasks["finished_ms"].to_numpy() / 1e3
        )
        needed = (tasks["outcome"] == "succeeded").to_numpy()
        needed = needed if needed.any() else ~needed
        stage_s = (row["submitted_ms"] / 1e3, row["ended_ms"] / 1e3)
        used = slots_used(times.launched_s, times.finished_s)
        for slots in {used, max(used - 1, 1), 1}:
            plan = schedule(times, needed, slots, stage_s)
            replayed_s = plan.stage_s(np.full(len(needed), HARDLY_S))
            assert replayed_s == pytest.approx(plan.whole_s, abs=1e-3)
            begun_s = min(stage_s[0], times.launched_s.min())
            assert replayed_s == pytest.approx(stage_s[1] - begun_s, abs=1e-3)


HARDLY_S = 1e-12  # above 0, because without a change nothing is replayed


def task_times(launched_s: Any, finished_s: Any) -> TaskTimes:
    zero = np.zeros(len(launched_s))
    return TaskTimes(
        np.asarray(launched_s, float), np.asarray(finished_s, float), {}, zero, zero, zero == 0
    )


intervals = st.lists(
    st.tuples(st.floats(0, 1e4), st.floats(0, 1e3), st.floats(0, 1), st.floats(0, 1)),
    min_size=1,
    max_size=40,
)


@given(intervals, st.integers(1, 50))
def test_a_replay_is_exact_and_shortening_never_hurts(
    rows: list[tuple[float, float, float, float]], slots: int
) -> None:
    launched, lasted, share, more = np.array(rows).T
    times = task_times(launched, launched + lasted)
    ended_s = float(times.finished_s.max()) + 1.0
    plan = schedule(times, np.ones(len(rows), bool), slots, (0.0, ended_s))
    tolerance = 1e-9 * ended_s * len(rows)
    assert plan.stage_s(np.full(len(rows), HARDLY_S)) == pytest.approx(ended_s, abs=tolerance)
    assert plan.whole_s == pytest.approx(ended_s, abs=tolerance)
    some, many = lasted * share, lasted * np.maximum(share, more)
    assert plan.stage_s(some) <= plan.whole_s + tolerance
    assert plan.stage_s(many) <= plan.stage_s(some) + tolerance
    assert plan.stage_s(lasted) >= 0


metric = st.one_of(st.none(), st.integers(0, 5_000))
spark_tasks = st.lists(
    st.fixed_dictionaries(
        {"launched_ms": st.floats(0, 50), "lasted": st.floats(0, 20)},
        optional={
            "executorRunTime": metric,
            "executorDeserializeTime": metric,
            "jvmGCTime": metric,
            "resultSerializationTime": metric,
            "shuffleFetchWaitTime": metric,
            "executorCpuTime": st.one_of(st.none(), st.integers(0, 10**10)),
            "shuffleWriteTime": st.one_of(st.none(), st.integers(0, 10**10)),
            "outcome": st.sampled_from(["succeeded", "failed", "killed", "unfinished"]),
            "stage_id": st.integers(0, 1),
            "executor_id": st.sampled_from("12"),
        },
    ),
    max_size=12,
)


executor = st.fixed_dictionaries(
    {"cores": st.integers(0, 4)},
    optional={"added_ms": st.floats(-5, 120), "removed_ms": st.floats(0, 120)},
)


@given(spark_tasks, st.lists(executor, max_size=2), st.floats(0, 100))
def test_whatever_is_recorded_adds_up(
    rows: list[dict[str, Any]], executors: list[dict[str, Any]], other_s: float
) -> None:
    tasks = []
    for row in rows:
        lasted = row.pop("lasted")
        end = (
            {}
            if row.get("outcome") == "unfinished"
            else {"finished_ms": row["launched_ms"] + lasted}
        )
        tasks.append(row | end)
    stages = [
        {"stage_id": 0, "submitted_ms": 0, "ended_ms": 80},
        {"stage_id": 1, "submitted_ms": other_s, "outcome": "unfinished"},
    ]
    there = [each | {"executor_id": str(n)} for n, each in enumerate(executors, 1)]
    analysis = analyse(account(tasks, stages, executors=there))
    assert sum(analysis.verdict.shares.values()) == pytest.approx(1.0)
    assert min(analysis.verdict.shares.values()) >= 0
    for stage in analysis.stages:
        parts_s = sum(each.time_s or 0.0 for each in stage.causes) + stage.unattributed_s
        assert parts_s == pytest.approx(stage.task_s, abs=1e-6)
        assert stage.unattributed_s >= -1e-9
        for bound in stage.bounds:
            assert 0 <= (bound.recorded_s or 0.0) <= bound.at_most_s + 1e-6
            assert bound.at_most_s <= 100 + 1e-5
        whole = 1.0 if stage.n_attempts and stage.elapsed_s else 0.0
        assert sum(stage.verdict.shares.values()) == pytest.approx(whole)
    if (cores := analysis.cores) is not None:
        used_s, unused_s = (sum(c.time_s for c in part) for part in (cores.used, cores.unused))
        assert used_s == pytest.approx(cores.used_s)
        assert used_s + unused_s == pytest.approx(cores.offered_s)


def test_each_cause_is_taken_from_its_metric() -> None:
    task = {
        "launched_ms": 0,
        "finished_ms": 20,
        "executorDeserializeTime": 1_000,
        "executorRunTime": 15_000,
        "resultSerializationTime": 500,
        "gettingResultTime": ORIGIN_MS + 18_000,
        "executorCpuTime": 6 * 10**9,
        "jvmGCTime": 3_000,
        "shuffleFetchWaitTime": 2_000,
        "shuffleWriteTime": 10**9,
    }
    (stage,) = analyse(account([task], [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 20}])).stages
    assert {each.cause: each.time_s for each in stage.causes} == pytest.approx(
        {
            "cpu": 6.0,
            "shuffle fetch wait": 2.0,
            "garbage collection": 3.0,
            "shuffle write": 1.0,
            "scheduler delay": 1.5,
            "deserialization": 1.0,
            "result serialization": 0.5,
            "getting result": 2.0,
        }
    )
    assert stage.unattributed_s == pytest.approx(3.0)
    bounds = {bound.without: (bound.recorded_s, bound.at_most_s) for bound in stage.bounds}
    assert bounds["garbage collection"] == pytest.approx((3.0, 3.0))
    assert bounds["waiting for disks"] == pytest.approx((1.0, 6.0))
    assert bounds["waiting for the network"] == pytest.approx((4.0, 7.0))
    task["executor_id"] = "driver"  # all is in one process
    (stage,) = analyse(account([task], [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 20}])).stages
    told = {bound.without: (bound.recorded_s, bound.at_most_s) for bound in stage.bounds}
    assert told == bounds | {"waiting for the network": pytest.approx((0.0, 3.0))}


def test_what_is_not_recorded_is_none_with_a_reason_and_unattributed() -> None:
    task = {"launched_ms": 0, "finished_ms": 10, "executorRunTime": 10_000}
    (stage,) = analyse(account([task], [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 10}])).stages
    assert cause(stage, "cpu") is None
    assert next(each.reason for each in stage.causes if each.cause == "cpu")
    assert stage.unattributed_s == pytest.approx(10.0)
    assert stage.verdict.narrowest is None
    assert "cannot tell" in stage.verdict.sentence
    bounds = {bound.without: bound for bound in stage.bounds}
    assert bounds["garbage collection"].recorded_s is None
    assert bounds["garbage collection"].at_most_s == pytest.approx(10.0)


def test_parts_that_overlap_are_cut_and_told() -> None:
    task = {
        "launched_ms": 0,
        "finished_ms": 10,
        "executorRunTime": 10_000,
        "executorCpuTime": 8 * 10**9,
        "shuffleWriteTime": 5 * 10**9,
    }
    (stage,) = analyse(account([task], [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 10}])).stages
    assert (cause(stage, "cpu"), cause(stage, "shuffle write")) == pytest.approx((8.0, 2.0))
    assert stage.overlap_s == pytest.approx(3.0)


def test_processor_time_of_mapreduce_contains_its_collector() -> None:
    task = {"launched_ms": 0, "finished_ms": 10, "CPU_MILLISECONDS": 6_000, "GC_TIME_MILLIS": 1_000}
    (stage,) = analyse(
        account([task], [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 10}], engine="mapreduce")
    ).stages
    assert (cause(stage, "cpu"), cause(stage, "garbage collection")) == pytest.approx((5.0, 1.0))
    assert stage.unattributed_s == pytest.approx(4.0)
    assert stage.verdict.narrowest == "cpu"


def test_a_reduce_that_is_there_before_the_last_map_ended_waits_for_it() -> None:
    tasks = [
        {"launched_ms": 0, "finished_ms": 10},
        {"launched_ms": 10, "finished_ms": 20},
        {"launched_ms": 20, "finished_ms": 39, "outcome": "killed"},  # its stage didn't wait for it
        {"stage_id": 1, "launched_ms": 5, "finished_ms": 40, "CPU_MILLISECONDS": 4_000},
        {"stage_id": 1, "launched_ms": 30, "finished_ms": 40, "CPU_MILLISECONDS": 4_000},
        {"stage_id": 1, "launched_ms": 5, "finished_ms": 8, "outcome": "failed"},
    ]
    stages = [
        {"stage_id": 0, "submitted_ms": 0, "ended_ms": 20},
        {"stage_id": 1, "submitted_ms": 5, "ended_ms": 40, "parent_ids": [0]},
    ]
    maps, reduces = analyse(account(tasks, stages, ended_s=40, engine="mapreduce")).stages
    assert cause(maps, "waiting for maps") == 0
    assert cause(reduces, "waiting for maps") == pytest.approx(15 + 3)
    assert reduces.unattributed_s == pytest.approx(16 + 6)
    assert reduces.overlap_s == 0


def test_an_executor_that_replaces_another_offers_no_more_slots() -> None:
    # Three tasks seem to run concurrently, because the end of the first was recorded late.
    tasks = [
        {"launched_ms": begin, "finished_ms": end}
        for begin, end in ((0, 4.01), (0, 4), (4, 6), (6, 10))
    ]
    executors = [
        {"executor_id": "0", "cores": 2, "added_ms": 0, "removed_ms": 4},
        {"executor_id": "1", "cores": 2, "added_ms": 4},
    ]
    stages = [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 10}]
    (stage,) = analyse(account(tasks, stages, executors=executors)).stages
    assert stage.offered_slots == 2
    both = [executors[1], {"executor_id": "2", "cores": 3, "added_ms": 5}]
    (stage,) = analyse(account(tasks, stages, executors=both)).stages
    assert stage.offered_slots == 5


def test_stragglers_skew_and_idle_slots() -> None:
    tasks: list[dict[str, Any]] = [
        {"launched_ms": 0, "finished_ms": 1 + n / 100, "inputBytesRead": 100, "host": f"h{n}"}
        for n in range(9)
    ]
    tasks.append({"launched_ms": 0, "finished_ms": 10, "inputBytesRead": 900, "host": "slow"})
    executors = [{"executor_id": "1", "cores": 10}]
    found = account(
        tasks, [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 10}], ended_s=10, executors=executors
    )
    analysis = analyse(found)
    (stage,) = analysis.stages
    assert (stage.slots, stage.offered_slots, stage.waves) == (10, 10, 1.0)
    (straggler,) = stage.stragglers
    assert (straggler.host, straggler.bytes_ratio) == ("slow", 9.0)
    assert straggler.ratio == pytest.approx(10 / 1.045)
    skews = {skew.what: skew.ratio for skew in stage.skews}
    assert skews == {"task time": pytest.approx(10 / 1.045), "bytes read": 9.0}
    assert stage.slot_use == pytest.approx((sum(1 + n / 100 for n in range(9)) + 10) / 100)
    assert analysis.verdict.narrowest == "idle slots"
    assert "9.6 times the median" in analysis.verdict.sentence


def test_speculative_copies() -> None:
    tasks = [
        {"launched_ms": 0, "finished_ms": 9, "index": 0, "outcome": "killed"},
        {"launched_ms": 2, "finished_ms": 5, "index": 0, "attempt": 1, "speculative": True},
        {"launched_ms": 0, "finished_ms": 4, "index": 1},
        {"launched_ms": 2, "finished_ms": 4, "index": 1, "speculative": True, "outcome": "killed"},
        {"launched_ms": 0, "finished_ms": 1, "index": 2, "outcome": "failed"},
    ]
    found = account(tasks, [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 5}])
    seen = analyse(found).speculation
    assert (seen.launched, seen.won, seen.wasted_s, seen.unended) == (2, 1, 11.0, 0)
    loser = analyse(recorded(DATA / "spark" / "4.3.0" / "speculative.log")).speculation
    assert (loser.launched, loser.won, loser.unended) == (1, 1, 1)


def test_the_driver_is_the_narrowest_point_where_no_stage_runs() -> None:
    task = {"launched_ms": 90, "finished_ms": 99}
    found = account([task], [{"stage_id": 0, "submitted_ms": 90, "ended_ms": 100}])
    analysis = analyse(found)
    assert analysis.driver_s == pytest.approx(90.0)
    assert analysis.verdict.narrowest == "driver"
    assert analysis.verdict.sentence.startswith("the driver took 90% of 1 min")


def spans(*rows: tuple[int, tuple[int, ...], float, float]) -> list[StageSpan]:
    return [StageSpan((id_, 0), parents, start, end) for id_, parents, start, end in rows]


def test_the_path_follows_the_later_parent() -> None:
    graph = spans((0, (), 1, 4), (1, (), 1, 6), (2, (0, 1), 6, 9))
    path = critical_path(graph, 10.0)
    assert [(step.key and step.key[0], step.from_s, step.to_s) for step in path] == [
        (None, 0.0, 1),
        (1, 1, 6),
        (2, 6, 9),
        (None, 9, 10.0),
    ]
    assert without_stage_s(graph, 10.0) == pytest.approx(2.0)


def test_the_path_where_a_child_starts_before_its_parent_ends() -> None:
    path = critical_path(spans((0, (), 0, 6), (1, (0,), 4, 9)), 9.0)
    assert [(step.key, step.from_s, step.to_s) for step in path] == [
        ((0, 0), 0.0, 6),
        ((1, 0), 6, 9),
    ]


graphs = st.lists(
    st.tuples(st.floats(-5, 100), st.floats(0, 50), st.lists(st.integers(0, 15), max_size=3)),
    max_size=15,
)


@given(graphs, st.floats(0.1, 120))
def test_any_graph_has_a_path_without_gap(
    rows: list[tuple[float, float, list[int]]], elapsed_s: float
) -> None:
    graph = [
        StageSpan((n, 0), tuple(parents), start, start + lasted)
        for n, (start, lasted, parents) in enumerate(rows)
    ]
    path = critical_path(graph, elapsed_s)
    assert path[0].from_s == 0
    assert path[-1].to_s == elapsed_s
    assert all(a.to_s == b.from_s for a, b in pairwise(path))
    assert 0 <= without_stage_s(graph, elapsed_s) <= elapsed_s


def test_an_account_without_anything() -> None:
    analysis = analyse(account([], []))
    assert analysis.verdict.narrowest == "driver"
    nothing = account([], [])
    nothing = replace(nothing, application=replace(nothing.application, ended_ms=None))
    assert "cannot tell" in analyse(nothing).verdict.sentence


def test_a_log_that_ends_too_early_is_judged_as_far_as_it_goes() -> None:
    verdict = analyse(recorded(DATA / "spark" / "4.3.0" / "killed.log.inprogress")).verdict
    assert verdict.sentence.startswith("as far as the log goes: ")


def test_an_engine_nobody_knows() -> None:
    found = account([], [])
    with pytest.raises(VenturiError) as raised:
        analyse(replace(found, application=replace(found.application, engine="abacus")))
    assert raised.value.code == "VEN-MODEL-INPUT"


def test_a_clock_that_was_set_back_gives_no_time() -> None:
    tasks = [{"launched_ms": 5, "finished_ms": 3}, {"launched_ms": 0, "finished_ms": 2}]
    (stage,) = analyse(account(tasks, [{"stage_id": 0, "submitted_ms": 0, "ended_ms": 6}])).stages
    assert (stage.n_attempts, stage.task_s) == (2, 2.0)


def test_a_verdict_beside_others_says_so() -> None:
    """The driver may have waited for cores that others had: no engine's account knows."""
    found = recorded(DATA / "spark" / "4.3.0" / "speculative.log")
    alone = analyse(found).verdict
    beside = analyse(found, 0.61).verdict
    assert beside.sentence.startswith(f"{alone.sentence}; other programs used 61% of the host's")
    assert "tasks and the driver may have waited for a core" in beside.sentence
    assert beside.narrowest == alone.narrowest
    assert analyse(found, 0.05).verdict == alone
