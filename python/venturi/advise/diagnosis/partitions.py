"""How a stage's data is divided over its tasks: unevenly, not at all, too little, too much."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from venturi.advise.diagnosis.case import Case, Confidence, Hit, Places, Where
from venturi.model.stages.causes import Floats, total
from venturi.model.stages.plans import Operator
from venturi.model.stages.stage import Stage
from venturi.units import format_bytes, format_duration

_JOIN = ("SortMergeJoin", "ShuffledHashJoin")
_AGGREGATE = ("HashAggregate", "ObjectHashAggregate", "SortAggregate")
_MIB = 1 << 20
_SHOWN_TASKS = 5
_OF_CONFIGURED = 0.8  # of the hot task's bytes and ratio: below them, so that it is caught
_SHORTEST = 10  # percent of the tasks


def skew(case: Case) -> Iterator[Hit]:
    """Tasks that take long because they have more data than the others."""
    limit = case.limit
    for stage in case.stages:
        places, times = case.ran(stage.key)
        done = case.line.tasks.succeeded[places]
        if int(done.sum()) < limit("skew", "tasks"):
            continue
        elapsed_s = times.elapsed_s
        read, unit = _read(case, places)
        usual = _median(read[done])
        much = done & (read >= limit("skew", "bytes_ratio") * usual)
        if not usual > 0 or not (done & ~much).any():
            continue
        # Of those with no more data than usual: where tasks are few, the median is of hot ones too.
        usual_s = float(np.median(elapsed_s[done & ~much]))
        hot = much & (elapsed_s >= limit("skew", "time_ratio") * usual_s)
        if not hot.any():
            continue
        saved_s = case.saved_s(stage.key, np.where(hot, elapsed_s - usual_s, 0.0))
        worst = np.flatnonzero(hot)[np.argsort(-elapsed_s[hot])]
        top = int(worst[0])
        ratio = float(read[top]) / usual
        amount = format_bytes(int(read[top])) if unit == "B" else f"{int(read[top]):,} records"
        rows = case.line.tasks.rows
        there = case.plans.of_stage(stage.key)
        variant = "join" if any(each.name in _JOIN for each in there) else "other"
        if variant == "other" and any(each.name in _AGGREGATE for each in there):
            variant = "aggregate"
        yield Hit(
            f"in {stage.title} task {rows['index'][int(places[top])]} took "
            f"{format_duration(float(elapsed_s[top]))}, beside {format_duration(usual_s)} of "
            f"those with usual data, and read {amount}, {ratio:.1f} times the median",
            tuple(_task(case, stage, int(place)) for place in places[worst[:_SHOWN_TASKS]]),
            min(saved_s, case.spread_s(stage.key)),
            Confidence.MEDIUM,
            variant if unit == "B" or variant != "join" else "other",
            {
                "threshold": f"{max(int(_OF_CONFIGURED * read[top] / _MIB), 1)}m",
                "factor": f"{max(_OF_CONFIGURED * ratio, 1.1):.1f}",
                "parts": f"{math.ceil(ratio)}",
            },
        )


def one_task(case: Case) -> Iterator[Hit]:
    """Much data in a single task."""
    for stage in case.stages:
        places, times = case.ran(stage.key)
        if stage.n_tasks != 1 or stage.slots < 2:
            continue
        read_bytes = total(case.line.tasks.bytes_read[places])
        records = total(_records(case, places))
        few = records < case.limit("one-task", "records")
        if read_bytes < case.limit("one-task", "bytes") and few:
            continue
        parts = stage.slots
        if read_bytes:  # a partition of less than 1 MiB does not repay its task
            parts = max(min(parts, int(read_bytes / _MIB)), 1)
        wanted = max(math.ceil(read_bytes / (128 * _MIB)), stage.slots)
        window = next((o for o in case.plans.of_stage(stage.key) if o.name == "Window"), None)
        yield Hit(
            f"{stage.title} had a single task of {format_duration(stage.task_s)} on "
            f"{stage.slots} slots, which read {format_bytes(int(read_bytes))} in "
            f"{int(records):,} records",
            (_task(case, stage, int(places[0]), window),),
            case.saved_s(stage.key, times.elapsed_s * (1 - 1 / parts)),
            Confidence.MEDIUM,
            "other" if window is None else "window",
            {"partitions": f"{wanted:,}"},
        )


def too_few_tasks(case: Case) -> Iterator[Hit]:
    """Long tasks, fewer than there are slots."""
    for stage in case.stages:
        n = stage.n_tasks or 0
        if not 2 <= n < stage.slots:
            continue
        _, times = case.ran(stage.key)
        usual_s = float(np.median(times.elapsed_s))
        if usual_s < case.limit("too-few-tasks", "task_s"):
            continue
        yield Hit(
            f"{stage.title} had {n:,} tasks of {format_duration(usual_s)} on {stage.slots:,} slots",
            (Where(stage=stage.label),),
            min(
                case.saved_s(stage.key, times.elapsed_s * (1 - n / stage.slots)),
                case.spread_s(stage.key),
            ),
            Confidence.LOW,
            values={"partitions": f"{stage.slots:,}"},
        )


def too_many_tasks(case: Case) -> Iterator[Hit]:
    """Many short tasks with little data. Those of small files have rules of their own."""
    of_files = {key for each in _with_files(case) for key in each[1]}
    for stage in case.stages:
        n = stage.n_tasks or 0
        slots = max(stage.slots, 1)
        if n <= case.limit("too-many-tasks", "per_slot") * slots or stage.key in of_files:
            continue
        places, times = case.ran(stage.key)
        usual_s = float(np.median(times.elapsed_s))
        read_bytes = total(case.line.tasks.bytes_read[places])
        wanted = math.ceil(read_bytes / case.limit("too-many-tasks", "partition_bytes"))
        wanted = max(wanted, slots)
        if usual_s >= case.limit("too-many-tasks", "task_s") or wanted >= n:
            continue
        there = case.plans.of_stage(stage.key)
        shuffled = any(each.name == "Exchange" for each in there)
        adaptive = case.setting("spark.sql.adaptive.enabled") != "false"
        yield Hit(
            f"{stage.title} had {n:,} tasks, half of them shorter than "
            f"{format_duration(usual_s)}, for {format_bytes(int(read_bytes))}",
            (Where(stage=stage.label),),
            case.saved_s(stage.key, _fixed_s(times.elapsed_s, n, wanted)),
            Confidence.MEDIUM,
            "other" if not shuffled else "partitions" if adaptive else "adaptive",
            {"partitions": f"{wanted:,}"},
        )


def small_files_written(case: Case) -> Iterator[Hit]:
    """Files far smaller than what is read at once."""
    for operator, keys, n, size in _with_files(case):
        if "number of written files" not in operator.counted:
            continue
        at_once = max(stage.slots for stage in case.analysis.stages if stage.key in keys)
        wanted = math.ceil(size / case.limit("small-files-written", "file_bytes"))
        wanted = max(wanted, at_once)
        if wanted >= n:
            continue
        saved_s = sum(
            case.saved_s(key, _fixed_s(times.elapsed_s, n, wanted))
            for key in keys
            for _, times in [case.ran(key)]
            if len(times.elapsed_s)
        )
        commit_s = operator.timed.get("job commit time", 0.0)
        yield Hit(
            f"query {operator.query_id} wrote {n:,} files of {format_bytes(int(size / n))} on "
            f"average, and took {format_duration(commit_s)} to commit them",
            (_operator(operator), *_stages(case, keys)),
            saved_s + commit_s * (1 - wanted / n),
            Confidence.MEDIUM,
            values=_sizes(n, size, wanted),
        )


def small_files_read(case: Case) -> Iterator[Hit]:
    """The same, for those that are read."""
    for operator, keys, n, size in _with_files(case):
        if "number of files read" not in operator.counted:
            continue
        wanted = max(math.ceil(size / case.limit("small-files-read", "file_bytes")), 1)
        saved_s = 0.0
        for key in keys:
            _, times = case.ran(key)
            if len(times.elapsed_s):
                reading_s = times.causes["reading input"]
                saved_s += case.saved_s(key, reading_s * (1 - wanted / n))
        yield Hit(
            f"query {operator.query_id} read {n:,} files of {format_bytes(int(size / n))} on "
            "average",
            (_operator(operator), *_stages(case, keys)),
            saved_s + operator.timed.get("metadata time", 0.0) * (1 - wanted / n),
            Confidence.MEDIUM,
            values=_sizes(n, size, wanted),
        )


def _with_files(case: Case) -> Iterator[tuple[Operator, frozenset[tuple[int, int]], int, int]]:
    """Operators that read or write small files: the stages of that, how many, and their bytes."""
    for operator in case.plans.operators.values():
        for rule, files, size in (
            ("small-files-written", "number of written files", "written output"),
            ("small-files-read", "number of files read", "size of files read"),
        ):
            n, n_bytes = operator.counted.get(files, 0), operator.counted.get(size, 0)
            if n <= case.limit(rule, "files") or n_bytes / n >= case.limit(rule, "mean_bytes"):
                continue
            yield operator, operator.stages, n, n_bytes


def _fixed_s(elapsed_s: Floats, n: int, wanted: int) -> Floats:
    """What each task would be spared if only `wanted` of the `n` had to be started."""
    fixed_s = float(np.percentile(elapsed_s, _SHORTEST))
    return np.minimum(elapsed_s, fixed_s * (1 - wanted / n))


def _sizes(n: int, size: int, wanted: int) -> dict[str, str]:
    return {
        "files": f"{wanted:,}",
        "size": format_bytes(int(size / wanted)),
        "mean": format_bytes(int(size / n)),
    }


def _median(values: Floats) -> float:
    """That of what is known, 0 if nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _read(case: Case, places: Places) -> tuple[Floats, str]:
    """What each attempt read: bytes; where no bytes are told, records."""
    read = case.line.tasks.bytes_read[places]
    return (read, "B") if np.nansum(read) > 0 else (_records(case, places), "1")


def _records(case: Case, places: Places) -> Floats:
    rows = case.line.tasks.rows
    names = ("inputRecordsRead", "shuffleRecordsRead")
    parts = np.array([rows[name].cast(float).to_numpy()[places] for name in names])
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))


def _task(case: Case, stage: Stage, place: int, operator: Operator | None = None) -> Where:
    row = case.line.tasks.rows.row(place, named=True)
    return Where(
        stage.label, row["task_id"], row["host"], row["executor_id"],
        None if operator is None else operator.query_id,
        None if operator is None else operator.text,
    )  # fmt: skip


def _operator(operator: Operator) -> Where:
    return Where(query=operator.query_id, operator=operator.text)


def _stages(case: Case, keys: frozenset[tuple[int, int]]) -> tuple[Where, ...]:
    return tuple(Where(stage=each.label) for each in case.analysis.stages if each.key in keys)
