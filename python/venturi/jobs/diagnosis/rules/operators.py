"""Rules about avoidable work in query plans: Python functions, shuffled joins."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import of_causes
from venturi.jobs.diagnosis.uneven import records_of
from venturi.jobs.stages.causes import (
    PYTHON,
    SENDING,
    Seconds,
    TaskTimes,
    total,
)
from venturi.jobs.stages.elapsed import BROADCAST
from venturi.jobs.stages.plans import CACHED, ROWS, SCAN, SHUFFLED_JOINS, Operator
from venturi.jobs.stages.plans import PYTHON as PYTHON_OPERATOR
from venturi.jobs.stages.stage import Stage
from venturi.jobs.stages.timeline import Key
from venturi.record.account_tables import OPERATOR_TEXT
from venturi.record.plan_texts import without_numbers

# Which sides, left (0) and right (1), can be broadcast for which type of join: JoinSelectionHelper.
_SIDES = {
    "Inner": (0, 1),
    "LeftOuter": (1,),
    "LeftSemi": (1,),
    "LeftAnti": (1,),
    "RightOuter": (0,),
}
_TYPE = re.compile(r"\b(Inner|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|ExistenceJoin)\b")
# How a Python function is called in its operator: `[f(id#0L)#5], [pythonUDF0#9], 101`, or
# of those that get whole groups or partitions `[k#3L], f(id#0L, k#3L)#10, [id#11L]`.
_FUNCTIONS = re.compile(r"\w*EvalPython \[([^\[\]]*)\]")
_CALL = re.compile(r"([\w<>.]+\([^\[\]]*?\))#\d+")
_BY_ROWS = re.compile(r", 101$")  # PythonEvalType.SQL_ARROW_BATCHED_UDF, a plain function's
# Operator texts that may be equal for different work: truncated ones, and unnamed functions.
_OPAQUE = re.compile(r"\.\.\.|<lambda>|UDF|Python|Pandas|Arrow|FromObject|ToObject|MapElements")
_UNNAMED = re.compile(r"<lambda>|UDF|Python|Pandas|FromObject|ToObject|MapElements")
_STEPS = ("Filter", "Project")
_PASSES = ("InputAdapter", "ColumnarToRow")
_CALLS = re.compile(r"\w\(")
_NULL_CHECKS = re.compile(r"\b(?:isnotnull|isnull|cast)\(")
_NO_SOURCE = re.compile(
    r"InMemoryTableScan|LocalTableScan|EmptyRelation|\w*Exchange|\w*QueryStage|InputAdapter"
)
_COLUMNS = re.compile(r"\[[^\]]*\]")
_READ_SCHEMA = re.compile(r", ReadSchema: .*$", re.DOTALL)
_WORKERS = "time to run Python workers"
_STARTING, _INITIALIZING = "time to start Python workers", "time to initialize Python workers"
_REUSE = "spark.python.worker.reuse"
_JOIN = re.compile(r"SortMergeJoin|HashJoin")
_BROADCASTING = ("time to build", "time to broadcast")
_BELOW = 0.8  # of the broadcast size, so that the threshold is below it
_ONLY_JOINS = re.compile(
    r"\w*Join|Sort|Project|Filter|\w*Exchange|\w*QueryStage|AQEShuffleRead|CustomShuffleReader"
    r"|InputAdapter|WholeStageCodegen.*|ColumnarToRow|OverwriteByExpression|AppendData"
)
_GROWN = 1.5  # times the second of several jobs
_MARGIN = 1.2  # of the small side's size, so that the threshold is above it


@rule("python-rows")
def python_rows(case: Case) -> Iterator[Hit]:
    """Python functions that run per row or on batches of rows."""
    for stage in case.stages:
        there = [
            each for each in case.plans.of_stage(stage.key) if PYTHON_OPERATOR.fullmatch(each.name)
        ]
        if not there:
            yield from _rdd_functions(case, stage)
            continue
        operator = max(there, key=lambda each: each.timed.get(_WORKERS, 0.0))
        _, times = case.ran(stage.key)
        again_s = _started_again_s(case, stage, sum(_starting_s(case, stage, there).values()))
        computed = case.python_computed(stage.key)
        python_s = times.causes[PYTHON] * (1.0 if computed is None else computed)
        python_s = np.maximum(python_s - again_s / len(times.elapsed_s), 0.0)
        share = total(python_s) / stage.task_s
        if share < case.limit("python-rows", "share"):
            continue
        function = _FUNCTIONS.search(operator.text) or _CALL.search(operator.text)
        name = without_numbers(function[1]) if function else "it"
        yield Hit(
            f"in {stage.title}, Python workers took {share:.0%} of the task time, "
            f"{format_duration(total(python_s))}, for {name}",
            (FindingScope(stage=stage.label, query=operator.query_id, operator=operator.text),),
            case.saved_s(stage.key, python_s),
            Confidence.MEDIUM if _WORKERS in operator.timed else Confidence.LOW,
            _called(operator),
            {"function": name},
        )


@rule("python-start")
def python_start(case: Case) -> Iterator[Hit]:
    """Find stages with tasks that spend much time until their Python workers can compute."""
    for stage in case.stages:
        there = [
            each for each in case.plans.of_stage(stage.key) if PYTHON_OPERATOR.fullmatch(each.name)
        ]
        spent_s = _starting_s(case, stage, there)
        whole_s, n = sum(spent_s.values()), stage.n_tasks or 1
        again_s = _started_again_s(case, stage, whole_s)
        if not there or again_s < case.limit("python-start", "share") * stage.task_s:
            continue
        places, times = case.ran(stage.key)
        each_s = np.full(len(places), again_s / len(places))
        large = spent_s[_INITIALIZING] / n >= case.limit("python-start", "task_s")
        new = case.setting(_REUSE) == "false"
        timed = spent_s[_INITIALIZING] > 0
        how = (
            f"to start ({format_duration(spent_s[_STARTING])}) and to load functions and their "
            f"data ({format_duration(spent_s[_INITIALIZING])})"
            if timed
            else f"to start ({format_duration(whole_s)}, an estimate: Spark 3 doesn't time it)"
        )
        yield Hit(
            f"in {stage.title}, Python workers of {n:,} tasks took "
            f"{'' if timed else 'about '}{whole_s / stage.task_s:.0%} of the task time {how}",
            (FindingScope(stage=stage.label, query=there[0].query_id, operator=there[0].text),),
            case.saved_s(stage.key, np.minimum(each_s, times.elapsed_s)),
            Confidence.HIGH if timed else Confidence.LOW,
            "reuse" if new else "closure" if large else "tasks",
            {"tasks": f"{max(stage.slots, 1)}"},
        )


def _started_again_s(case: Case, stage: Stage, whole_s: float) -> float:
    """Return the part of a stage's time to start Python workers, `whole_s`, that can be saved.

    The first task of each slot needs a worker. The log has only the sum of all tasks, so the time
    by which the first tasks exceed the median of the others counts as their start.
    """
    _, times = case.ran(stage.key)
    first = np.zeros(len(times.elapsed_s), bool)
    first[np.argsort(times.launched_s, kind="stable")[: stage.slots]] = True
    if first.all():
        return 0.0
    excess_s = np.maximum(times.elapsed_s[first] - np.median(times.elapsed_s[~first]), 0.0)
    return max(whole_s - total(excess_s), 0.0) * float(np.mean(~first))


def _starting_s(case: Case, stage: Stage, there: Sequence[Operator]) -> dict[str, float]:
    """Return the task time of a stage to start and initialize Python workers, by metric.

    Spark before 4.0 doesn't time this. Without reuse each task starts a worker, which takes about
    as long as on Spark 4.
    """
    spent_s = {
        name: sum(case.plans.timed_in(each, stage.key).get(name, 0.0) for each in there)
        for name in (_STARTING, _INITIALIZING)
    }
    if not any(spent_s.values()) and case.setting(_REUSE) == "false":
        python_s = case.ran(stage.key)[1].causes.get(PYTHON, np.zeros(1))
        spent_s[_STARTING] = total(np.minimum(python_s, case.limit("python-start", "start_s")))
    return spent_s


def _rdd_functions(case: Case, stage: Stage) -> Iterator[Hit]:
    """Find Python functions of RDDs that compute, row by row.

    The log lacks the CPU time of Python workers, so a function may also wait, unless the host's
    was sampled. One that takes microseconds for each of many records computes.
    """
    places, times = case.ran(stage.key)
    computed = case.python_computed(stage.key)
    each_task_s = times.causes.get(PYTHON, np.zeros(1)) * (1.0 if computed is None else computed)
    python_s, records = total(each_task_s), total(records_of(case, places))
    if (
        case.plans.of_stage(stage.key)
        or python_s < case.limit("python-rows", "share") * stage.task_s
    ):
        return
    if records < case.limit("python-rows", "records"):
        return
    each_s = python_s / records
    if each_s > case.limit("python-rows", "record_us") / 1e6:
        return
    yield Hit(
        f"in {stage.title}, Python workers took {python_s / stage.task_s:.0%} of the task time, "
        f"{format_duration(python_s)}, for functions of RDDs: {each_s * 1e6:.1f} µs for each of "
        f"{int(records):,} records",
        (FindingScope(stage=stage.label),),
        case.saved_s(stage.key, each_task_s),
        Confidence.LOW,
        "rdd",
    )


def _called(operator: Operator) -> str:
    """How rows get to the function of an operator of Python's: which advice fits."""
    if operator.name == "BatchEvalPython":
        return "pickled"
    if operator.name == "ArrowEvalPython" and len(operator.text) >= OPERATOR_TEXT:
        return "unknown"  # the text was cut before the evaluation type at its end
    by_rows = operator.name == "ArrowEvalPython" and _BY_ROWS.search(operator.text)
    return "arrow" if by_rows else "batches"


@rule("broadcast-missed")
def broadcast_missed(case: Case) -> Iterator[Hit]:
    """Joins that shuffle a large table though the other side is small."""
    for join in case.plans.operators.values():
        kind = _TYPE.search(join.text)
        if join.name not in SHUFFLED_JOINS or kind is None:
            continue
        sides = case.plans.exchanges(join)
        if len(sides) != 2 or sides[0] is None or sides[1] is None:
            continue
        sizes = [side.counted.get("data size") for side in sides if side is not None]
        small = min(
            (place for place in _SIDES.get(kind[1], ()) if sizes[place] is not None),
            key=lambda place: sizes[place] or 0,
            default=None,
        )
        if small is None:
            continue
        size, other = sizes[small], sizes[1 - small]
        if size is None or other is None or size >= case.limit("broadcast-missed", "small_bytes"):
            continue
        large = sides[1 - small]
        if large is None or other < size * case.limit("broadcast-missed", "size_ratio"):
            continue
        threshold = max(int(size * _MARGIN), 10 << 20)
        yield Hit(
            f"query {join.query_id} shuffled {format_bytes(other)} (before compression) to join "
            f"them with {format_bytes(size)}: {without_numbers(join.text)}",
            (FindingScope(query=join.query_id, operator=join.text), *_stages(case, join, large)),
            _saved_s(case, join, large),
            Confidence.MEDIUM,
            values={"threshold": f"{threshold >> 20}m"},
        )


@rule("broadcast-large")
def broadcast_large(case: Case) -> Iterator[Hit]:
    """Find broadcasts that take long, and those of the larger side of a join."""
    whole_s = case.analysis.verdict.shares.get(BROADCAST, 0.0) * (case.line.elapsed_s or 0.0)
    for each in case.plans.operators.values():
        if each.name != "BroadcastExchange":
            continue
        size = each.counted.get("data size", 0)
        took_s = sum(each.timed.get(name, 0.0) for name in _BROADCASTING)
        large = size >= case.limit("broadcast-large", "size_bytes")
        large |= took_s >= case.limit("broadcast-large", "driver_s")
        other = _smaller_side(case, each)
        swap = other is not None and size >= case.limit("broadcast-large", "side_bytes")
        if not (large or swap):
            continue
        saved_s = min(took_s, whole_s) + _sent_s(case, each)
        worth = saved_s >= case.limit("broadcast-large", "share") * (case.line.elapsed_s or 0.0)
        if not (large or worth):
            continue
        rows = case.plans.rows_of(each)
        against = f" of {rows:,} rows to join them with {other:,}" if swap and rows else ""
        yield Hit(
            f"query {each.query_id} broadcast {format_bytes(size)}{against}, and the driver took "
            f"{format_duration(took_s)} to build and send it: {without_numbers(each.text)}",
            (FindingScope(query=each.query_id, operator=each.text),),
            saved_s,
            Confidence.MEDIUM,
            "side" if swap else "any",
            values={"threshold": f"{max(int(size * _BELOW) >> 20, 1)}m"},
        )


def _sent_s(case: Case, broadcast: Operator) -> float:
    """The time saved if the tasks that collect a broadcast sent nothing to the driver."""
    saved_s = 0.0
    for stage in case.stages:
        if case.plans.broadcast_by(stage.key) is not broadcast:
            continue
        causes = case.ran(stage.key)[1].causes
        if sending_s := [causes[name] for name in SENDING if name in causes]:
            saved_s += case.saved_s(stage.key, np.sum(sending_s, axis=0))
    return saved_s


def _smaller_side(case: Case, broadcast: Operator) -> int | None:
    """The rows of the other side of the join, if that could be broadcast and is smaller."""
    rows, child = case.plans.rows_of(broadcast), broadcast
    while rows and child.parent is not None:
        join = case.plans.operators[child.query_id, child.parent]
        sides = case.plans.children_of(join)
        if len(sides) == 2:
            kind = _TYPE.search(join.text)
            place = 1 if sides[0] is child else 0
            other = case.plans.rows_of(sides[place])
            possible = kind is not None and place in _SIDES.get(kind[1], ())
            return other if possible and other is not None and other < rows else None
        child = join
    return None


@rule("join-explodes")
def join_explodes(case: Case) -> Iterator[Hit]:
    """Joins that make far more rows than they are given."""
    for join in case.plans.operators.values():
        made = join.counted.get(ROWS)
        if not _JOIN.search(join.name) or not made:
            continue
        sides = [case.plans.rows_of(side) for side in case.plans.children_of(join)]
        given = [each for each in sides if each is not None]
        if not given or made < case.limit("join-explodes", "ratio") * max(given):
            continue
        # Time to make and pass on rows is proportional to their number; claim no more.
        share = 1 - max(given) / made
        stages = [stage for stage in case.stages if join in case.plans.of_stage(stage.key)]
        saved_s = sum(
            case.saved_s(stage.key, case.ran(stage.key)[1].elapsed_s * share) for stage in stages
        )
        yield Hit(
            f"query {join.query_id} produced {made:,} rows from "
            f"{' and '.join(f'{n:,}' for n in given)}: {without_numbers(join.text)}",
            (
                FindingScope(query=join.query_id, operator=join.text),
                *(FindingScope(stage=stage.label) for stage in stages),
            ),
            saved_s,
            Confidence.LOW,
            "keys",
        )


@rule("recomputed")
def recomputed(case: Case) -> Iterator[Hit]:
    """Stages of several queries that read the same and compute the same from it."""
    alike: dict[tuple[str, ...], list[Stage]] = {}
    for stage in case.stages:
        there = case.plans.of_stage(stage.key)
        texts = [each.text for each in there]
        whole = all(len(text) < OPERATOR_TEXT for text in texts)
        leaves = any(_is_source(case, each) for each in there)
        if whole and leaves and not any(map(_OPAQUE.search, texts)):
            alike.setdefault(tuple(map(_compared, texts)), []).append(stage)
    whole_stages = {s.key for stages in alike.values() if len(stages) > 1 for s in stages}
    for stages in alike.values():
        queries = {each.query_id for stage in stages for each in case.plans.of_stage(stage.key)}
        if len(queries) < case.limit("recomputed", "queries"):
            continue
        costs_s = [case.at_most_s(stage.key, stage.elapsed_s or 0.0) for stage in stages]
        yield Hit(
            f"{len(queries):,} queries compute the same, each in its own stage; the first is "
            f"{stages[0].title}",
            tuple(FindingScope(stage=stage.label) for stage in stages),
            sum(costs_s) - max(costs_s),
            Confidence.MEDIUM,
            values={"n": f"{len(queries):,}"},
        )

    yield from _first_steps(case, whole_stages)
    yield from _lineages(case)


def _first_steps(case: Case, known: Collection[Key]) -> Iterator[Hit]:
    """Find stages of several queries with the same source and the same first step of computing.

    The shared part takes at most as long as the shortest of them, because each adds its own steps.
    """
    alike: dict[tuple[object, ...], list[Stage]] = {}
    for stage in case.stages:
        if stage.key not in known and (step := _first_step(case, stage.key)) is not None:
            alike.setdefault(step, []).append(stage)
    for stages in alike.values():
        n = len({each.query_id for s in stages for each in case.plans.of_stage(s.key)})
        if n < case.limit("recomputed", "queries"):
            continue
        shared_s = min(stage.elapsed_s or 0.0 for stage in stages)
        by_length = sorted(stages, key=lambda stage: stage.elapsed_s or 0.0)
        yield Hit(
            f"{n:,} queries read the same rows and begin with the same step, each in its own "
            f"stage; the first is {stages[0].title}",
            tuple(FindingScope(stage=stage.label) for stage in stages),
            sum(case.at_most_s(stage.key, shared_s) for stage in by_length[:-1]),
            Confidence.LOW,
            "step",
            {"n": f"{n:,}"},
        )


def _first_step(case: Case, key: Key) -> tuple[object, ...] | None:
    """Describe the source of a stage and the first step that calls a function, with their rows.

    Long texts are cut off, so equal numbers of rows have to confirm them.
    """
    upwards = list(reversed(case.plans.of_stage(key)))
    if any(each.name == CACHED for each in upwards):
        return None
    if not upwards or not _is_source(case, upwards[0]) or _UNNAMED.search(upwards[0].text):
        return None
    for each in upwards[1:]:
        if each.name not in {*_STEPS, *_PASSES}:
            return None
        if each.name in _STEPS and _CALLS.search(_NULL_CHECKS.sub("", each.text)):
            rows = case.plans.rows_of(each)
            if rows is None or _UNNAMED.search(each.text):
                return None
            source = _compared(upwards[0].text), case.plans.rows_of(upwards[0])
            return (*source, without_numbers(each.text), rows)
    return None


def _lineages(case: Case) -> Iterator[Hit]:
    """Find jobs of an RDD program that begin at the same RDD, with nothing cached.

    The log doesn't say which steps two jobs share. If the jobs grow, each repeats the work of the
    one before; else half of it counts.
    """
    stages = case.line.account.stages
    if "source_ids" not in stages.columns:
        return
    columns = stages.select("stage_id", "attempt", "job_id", "source_ids").rows()
    known = {
        (stage_id, attempt): (job, tuple(ids or ())) for stage_id, attempt, job, ids in columns
    }
    alike: dict[tuple[int, ...], dict[int, Stage]] = {}
    for stage in case.stages:
        job, ids = known[stage.key]
        if ids and job is not None and not case.plans.of_stage(stage.key):
            alike.setdefault(ids, {}).setdefault(job, stage)
    for ids, by_job in alike.items():
        if len(by_job) < case.limit("recomputed", "jobs"):
            continue
        own = list(by_job.values())
        lasted_s = [stage.elapsed_s or 0.0 for stage in own]
        share = 1.0 if lasted_s[-1] >= _GROWN * lasted_s[1] else 0.5
        pairs = zip(own[1:], lasted_s[1:], lasted_s, strict=False)
        yield Hit(
            f"{len(own):,} jobs start from RDD {ids[0]} and compute it and the next steps again, "
            f"because nothing is cached; the first is {own[0].title}",
            tuple(FindingScope(stage=stage.label) for stage in own),
            sum(
                case.at_most_s(stage.key, share * min(now, before)) for stage, now, before in pairs
            ),
            Confidence.LOW,
            "rdd",
            {"n": f"{len(own):,}"},
        )


def _is_source(case: Case, operator: Operator) -> bool:
    """Whether rows begin here: not in a cache, an exchange or the plan itself."""
    return not case.plans.children_of(operator) and not _NO_SOURCE.match(operator.name)


def _compared(text: str) -> str:
    """Return a text for comparison: two scans of a table may read different columns."""
    if SCAN.match(text):
        text = _READ_SCHEMA.sub("", _COLUMNS.sub("[]", text, count=1))
    return without_numbers(text)


def _saved_s(case: Case, join: Operator, large: Operator) -> float:
    """The large side's shuffle, and the stages that read it to join, without their other work."""
    saved_s = 0.0
    rate = case.limit("broadcast-missed", "bytes_per_s")
    for stage in case.stages:
        here = case.plans.of_stage(stage.key)
        places, times = case.ran(stage.key)
        if join in here:
            kept_s = _other_work_s(here, times, stage.task_s)
            saved_s += case.saved_s(stage.key, times.elapsed_s - kept_s)
        elif large in here:
            written = np.nan_to_num(case.column("shuffleBytesWritten")[places])
            packed = written / max(written.sum(), 1) * large.counted.get("data size", 0)
            write_s = of_causes(times, ("shuffle write",))
            saved_s += case.saved_s(stage.key, np.minimum(write_s + packed / rate, times.elapsed_s))
    return saved_s


def _other_work_s(here: Sequence[Operator], times: TaskTimes, task_s: float) -> Seconds:
    """Work of a join's tasks that stays without the shuffle: CPU time without sorting, and Python.

    A stage with nothing but the join and its sort keeps none.
    """
    if all(_ONLY_JOINS.fullmatch(each.name) for each in here):
        return np.zeros_like(times.elapsed_s)
    sorted_s = sum(each.timed.get("sort time", 0.0) for each in here if each.name == "Sort")
    kept_s = of_causes(times, ("cpu", PYTHON)) - sorted_s / max(task_s, 1e-9) * times.elapsed_s
    return np.maximum(kept_s, 0.0)


def _stages(case: Case, join: Operator, large: Operator) -> Iterator[FindingScope]:
    for stage in case.stages:
        here = case.plans.of_stage(stage.key)
        if join in here or large in here:
            yield FindingScope(stage=stage.label)
