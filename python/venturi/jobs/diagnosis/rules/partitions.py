"""How a stage's data is divided over its tasks: unevenly, not at all, too little, too much."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit, Places
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.skewed_joins import AGGREGATES, Split, split
from venturi.jobs.diagnosis.uneven import AttemptData, data_of, records_of
from venturi.jobs.stages.causes import PYTHON, READING, TO_COMPUTE, Seconds, TaskTimes, total
from venturi.jobs.stages.plans import SCAN, SHUFFLED_JOINS, Operator
from venturi.jobs.stages.stage import Stage

_LIMITS = ("CollectLimit", "TakeOrderedAndProject", "CollectTail")
_SOME = re.compile(r"(?:^|; )(?:take|first|head|isEmpty|show)\w* at ")
_COALESCED = re.compile(r"Coalesce 1\b")
_UNSPLIT = re.compile(r"\.(?:gz|gzip|zip|deflate)\b")
STARTING = ("scheduler delay", "deserialization", "result serialization")
_FILE_METRICS = {
    "written": ("number of written files", "written output"),
    "read": ("number of files read", "size of files read"),
}
_MIB = 1 << 20
_SHOWN_TASKS = 5
_LEAST = 10  # percent of the tasks


@rule("skew")
def skew(case: Case) -> Iterator[Hit]:
    """Tasks that take long because they have more data than the others."""
    limit = case.limit
    for stage in case.stages:
        places, times = case.ran(stage.key)
        done = case.line.tasks.succeeded[places]
        if int(done.sum()) < limit("skew", "tasks"):
            continue
        elapsed_s = times.elapsed_s
        data = data_of(case, places)
        if not (done & ~data.much).any():
            continue
        # Median of tasks without excess data: in small stages, hot tasks would raise the median.
        usual_s = float(np.median(elapsed_s[done & ~data.much]))
        hot = data.much & (elapsed_s >= limit("skew", "time_ratio") * usual_s)
        if not hot.any():
            continue
        worst = np.flatnonzero(hot)[np.argsort(-elapsed_s[hot])]
        top = int(worst[0])
        advice = _spread(case, stage, data, top)
        left_s = np.maximum(elapsed_s / advice.pieces, usual_s)
        saved_s = case.saved_s(stage.key, np.where(hot, np.maximum(elapsed_s - left_s, 0.0), 0.0))
        who = case.line.tasks.who(int(places[top]))
        yield Hit(
            f"in {stage.title}, task {who.task_id} read {data.amount(top)}, "
            f"{data.ratio(top):.1f} times the median, and took "
            f"{format_duration(float(elapsed_s[top]))} (tasks with usual data: "
            f"{format_duration(usual_s)})",
            tuple(_task(case, stage, int(place)) for place in places[worst[:_SHOWN_TASKS]]),
            min(saved_s, case.spread_s(stage.key)),
            Confidence.MEDIUM,
            advice.variant,
            advice.values,
        )


def _spread(case: Case, stage: Stage, data: AttemptData, top: int) -> Split:
    """The way to split the rows of attempt `top`, given its stage's operators."""
    there = case.plans.of_stage(stage.key)
    join = next((each for each in there if each.name in SHUFFLED_JOINS), None)
    if join is not None and data.unit == "B":
        return split(case, stage, join, float(data.read[top]), data.ratio(top))
    aggregates = join is None and any(each.name in AGGREGATES for each in there)
    parts = {"parts": f"{math.ceil(data.ratio(top))}"}
    return Split("aggregate" if aggregates else "other", parts, math.inf)


@rule("one-task")
def one_task(case: Case) -> Iterator[Hit]:
    """Much data in a single task."""
    for stage in case.stages:
        places, times = case.ran(stage.key)
        if stage.n_tasks != 1 or stage.slots < 2 or stage.is_retry or takes_some(case, stage):
            continue
        read_bytes = total(case.line.tasks.bytes_read[places])
        records = total(records_of(case, places))
        little = read_bytes < case.limit("one-task", "bytes")
        little &= records < case.limit("one-task", "records")
        # Sources other than files count neither: the task's time is evidence enough.
        if little and stage.task_s < case.limit("one-task", "task_s"):
            continue
        parts = stage.slots
        if read_bytes:  # a partition of less than 1 MiB does not repay its task
            parts = max(min(parts, int(read_bytes / _MIB)), 1)
        wanted = max(math.ceil(read_bytes / (128 * _MIB)), stage.slots)
        there = case.plans.of_stage(stage.key)
        window = next((each for each in there if each.name == "Window"), None)
        saved_s = np.maximum(times.elapsed_s - shared_slot_s(case, times) / parts, 0.0)
        if window is not None:
            saved_s = np.maximum(saved_s - _compared_s(case, there, records, parts), 0.0)
        yield Hit(
            f"{stage.title} had a single task of {format_duration(stage.task_s)} on "
            f"{stage.slots} slots{_amount(read_bytes, records)}",
            (_task(case, stage, int(places[0]), window),),
            case.saved_s(stage.key, saved_s),
            Confidence.LOW if little else Confidence.MEDIUM,
            single_cause(there, read_bytes),
            {"partitions": f"{wanted}"},
        )


def _amount(read_bytes: float, records: float) -> str:
    """Return ", which read …" with the data that was counted, "" if none was."""
    counted = [format_bytes(int(read_bytes))] if read_bytes else []
    if records:
        counted.append(f"{int(records):,} records")
    return f", which read {' in '.join(counted)}" if counted else ""


def single_cause(there: Sequence[Operator], read_bytes: float = 0.0) -> str:
    """Return the variant of the advice that fits the cause of the single task."""
    if any(each.name == "Window" for each in there):
        return "window"
    if any(_COALESCED.match(each.text) for each in there):
        return "coalesce"
    scans = [each for each in there if SCAN.match(each.name)]
    if any("JDBC" in each.name for each in scans):
        return "jdbc"
    if any(_UNSPLIT.search(each.text) for each in scans):
        return "file"
    shuffled = any(each.name == "Exchange" for each in there)
    return "source" if (scans or not read_bytes) and not shuffled else "other"


def shared_slot_s(case: Case, times: TaskTimes) -> Seconds:
    """How long attempts that ran alone would take where tasks are on all slots: they then share
    the cores with one another and with the threads of the JVM, and wait as others of the job do."""
    own_s = times.elapsed_s - times.causes[TO_COMPUTE]
    return np.maximum(own_s / (1 - case.waiting), times.elapsed_s)


def _compared_s(case: Case, there: Sequence[Operator], records: float, parts: int) -> float:
    """By how much longer each of `parts` tasks would sort a part of a window's `records`.

    Rows with one key that is a number are sorted by its bits. With the key of the partition before
    it rows are compared with one another.
    """
    sorted_s = sum(each.timed.get("sort time", 0.0) for each in there if each.name == "Sort")
    comparisons = records * math.log2(max(records / parts, 2))
    compared_s = comparisons * case.limit("one-task", "comparison_ns") / 1e9
    return max(compared_s - sorted_s, 0.0) / parts


def takes_some(case: Case, stage: Stage) -> bool:
    """Whether a stage only looks at the first partition, as for `show` and `take`."""
    there = case.plans.of_stage(stage.key)
    return any(each.name in _LIMITS for each in there) or bool(_SOME.search(stage.name))


@rule("too-few-tasks")
def too_few_tasks(case: Case) -> Iterator[Hit]:
    """Long tasks, fewer than there are slots."""
    for stage in case.stages:
        n = stage.n_tasks or 0
        if not 2 <= n < stage.slots or stage.is_retry:
            continue
        _, times = case.ran(stage.key)
        usual_s = float(np.median(times.elapsed_s))
        if usual_s < case.limit("too-few-tasks", "task_s"):
            continue
        yield Hit(
            f"{stage.title} had {n:,} tasks of {format_duration(usual_s)} on {stage.slots:,} slots",
            (FindingScope(stage=stage.label),),
            min(
                case.saved_s(stage.key, times.elapsed_s * (1 - n / stage.slots)),
                case.spread_s(stage.key),
            ),
            Confidence.LOW,
            values={"partitions": f"{stage.slots}"},
        )


@rule("too-many-tasks")
def too_many_tasks(case: Case) -> Iterator[Hit]:
    """Many short tasks with little data. Those of small files have rules of their own."""
    kinds = ("written", "read")
    of_files = {key for kind in kinds for each in _with_files(case, kind) for key in each.stages}
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
        if any("StateStore" in each.name for each in there):
            continue  # each task commits its state: a rule of streams
        shuffled = any(each.name == "Exchange" for each in there)
        yield Hit(
            f"{stage.title} had {n:,} tasks, half of them shorter than "
            f"{format_duration(usual_s)}, for {format_bytes(int(read_bytes))}",
            (FindingScope(stage=stage.label),),
            case.merged_s(stage.key, _work_s(case, places, times), wanted),
            Confidence.MEDIUM,
            "other" if not shuffled else "partitions" if case.adaptive else "adaptive",
            {"partitions": f"{wanted}"},
        )


@rule("small-files-written")
def small_files_written(case: Case) -> Iterator[Hit]:
    """Written files far smaller than a read split, and the later queries that read them."""
    reads = list(_with_files(case, "read"))
    for files, wanted in _too_many_written(case):
        commit_s = files.operator.timed.get("job commit time", 0.0)
        again = _read_again(files, reads)
        yield Hit(
            f"query {files.operator.query_id} wrote {files}, and took {format_duration(commit_s)} "
            "to commit them" + ("; they are read later" if again else ""),
            (*files.places(case), *(place for each in again for place in each.places(case))),
            _writing_s(case, files, wanted, again),
            Confidence.MEDIUM,
            files.way_to(wanted),
            files.advice(wanted),
        )


def _too_many_written(case: Case) -> Iterator[tuple[_Files, int]]:
    """Small files that are written, with how many there should be: one for each slot at least, and
    one for each partition of a table, if that is fewer than there are."""
    for files in _with_files(case, "written"):
        at_once = max((s.slots for s in case.analysis.stages if s.key in files.stages), default=1)
        wanted = max(math.ceil(files.size / case.limit(files.rule, "file_bytes")), at_once)
        if wanted < files.partitions < files.n:
            wanted = files.partitions
        if wanted < files.n:
            yield files, wanted


@rule("small-files-read")
def small_files_read(case: Case) -> Iterator[Hit]:
    """Read files that are too small. Skips files that the job wrote itself if writing fewer
    would save as much: `small_files_written` reports those.
    """
    reads = list(_with_files(case, "read"))
    there_s: dict[tuple[int, int], float] = {}
    for own, wanted in _too_many_written(case):
        if again := _read_again(own, reads):
            own_s = _writing_s(case, own, wanted, again)
            for each in again:
                there_s[each.place] = max(there_s.get(each.place, 0.0), own_s)
    for files in reads:
        wanted = max(math.ceil(files.size / case.limit(files.rule, "file_bytes")), 1)
        saved_s = _reading_s(case, files, wanted)
        if files.place in there_s and there_s[files.place] >= saved_s:
            continue
        yield Hit(
            f"query {files.operator.query_id} read {files}",
            files.places(case),
            saved_s,
            Confidence.LOW,
            values=files.advice(wanted),
        )


@dataclass(frozen=True, slots=True)
class _Files:
    """The small files, `n` of `size` bytes in all, that an operator reads or writes."""

    rule: str
    operator: Operator
    n: int
    size: int

    @property
    def place(self) -> tuple[int, int]:
        """The query and the operator's node in its plan."""
        return self.operator.query_id, self.operator.node

    @property
    def stages(self) -> frozenset[tuple[int, int]]:
        """In which it does that."""
        return self.operator.stages

    @property
    def partitions(self) -> int:
        """Partitions of the written table, each with its own files; 0 if it isn't partitioned."""
        return self.operator.counted.get("number of dynamic part", 0)

    def __str__(self) -> str:
        return f"{self.n:,} files of {format_bytes(int(self.size / self.n))} on average"

    def places(self, case: Case) -> tuple[FindingScope, ...]:
        """The query with the operator, and its stages."""
        labels = [each.label for each in case.analysis.stages if each.key in self.stages]
        at = FindingScope(query=self.operator.query_id, operator=self.operator.text)
        return (at, *(FindingScope(stage=label) for label in labels))

    def way_to(self, wanted: int) -> str:
        """Which advice brings `wanted` files."""
        if self.partitions < wanted:
            return "any"
        return "scattered" if self.partitions == wanted else "partitions"

    def advice(self, wanted: int) -> dict[str, str]:
        """How many of which size they should be."""
        sizes = (self.size / wanted, self.size / self.n)
        size, mean = (format_bytes(int(each)) for each in sizes)
        return {"files": f"{wanted:,}", "size": size, "mean": mean}


def _read_again(written: _Files, reads: Sequence[_Files]) -> list[_Files]:
    """Those of `reads` in later queries that match `written` in number of files and bytes."""
    return [
        each
        for each in reads
        if (each.n, each.size) == (written.n, written.size)
        and each.operator.query_id > written.operator.query_id
    ]


def _writing_s(case: Case, files: _Files, wanted: int, again: Sequence[_Files]) -> float:
    """Time saved if `wanted` files were written instead, and read `again`."""
    saved_s = files.operator.timed.get("job commit time", 0.0) * (1 - wanted / files.n)
    for key in files.stages:
        places, times = case.ran(key)
        if not len(times.elapsed_s):
            continue
        work_s = _work_s(case, places, times)
        if len(places) > wanted:
            saved_s += case.merged_s(key, work_s, wanted)
        else:
            saved_s += case.saved_s(key, (times.elapsed_s - work_s) * (1 - wanted / files.n))
    return saved_s + sum(_reading_s(case, each, wanted) for each in again)


def _reading_s(case: Case, files: _Files, wanted: int) -> float:
    """Time saved if `wanted` files were read instead."""
    saved_s = files.operator.timed.get("metadata time", 0.0) * (1 - wanted / files.n)
    for key in files.stages:
        _, times = case.ran(key)
        if len(times.elapsed_s):
            saved_s += case.saved_s(key, times.causes[READING] * (1 - wanted / files.n))
    return saved_s


def _with_files(case: Case, what: str) -> Iterator[_Files]:
    """The operators that have small files `written` or `read`."""
    rule = f"small-files-{what}"
    number, size = _FILE_METRICS[what]
    for operator in case.plans.operators.values():
        n, n_bytes = operator.counted.get(number), operator.counted.get(size)
        if n is None or n_bytes is None or n <= case.limit(rule, "files"):
            continue
        if n_bytes / n < case.limit(rule, "mean_bytes"):
            yield _Files(rule, operator, n, n_bytes)


def _work_s(case: Case, places: Places, times: TaskTimes) -> Seconds:
    """Time of each task that grows with its data, which tasks with more data would spend, too.

    That is reading, Python, and the CPU time beyond that of the tasks with the least, but at least
    the time of the bytes at the usual rate. Without a record of bytes, it is all CPU time.
    """
    cpu_s, read = of_causes(times, ("cpu",)), np.nan_to_num(case.line.tasks.bytes_read[places])
    if read.any():
        beyond_s = cpu_s - float(np.percentile(cpu_s, _LEAST))
        cpu_s = np.maximum(beyond_s, read / case.limit("too-many-tasks", "bytes_per_s"))
    return np.minimum(cpu_s + of_causes(times, (PYTHON, READING)), times.elapsed_s)


def of_causes(times: TaskTimes, causes: Sequence[str]) -> Seconds:
    """The time of each task that went to some causes."""
    found = [times.causes[cause] for cause in causes if cause in times.causes]
    whole: Seconds = np.sum([np.zeros_like(times.elapsed_s), *found], axis=0)
    return whole


def _task(case: Case, stage: Stage, place: int, operator: Operator | None = None) -> FindingScope:
    who = case.line.tasks.who(place)
    return FindingScope(
        stage.label,
        who.task_id,
        who.host,
        who.executor_id,
        None if operator is None else operator.query_id,
        None if operator is None else operator.text,
    )
