"""Whether adaptive execution could split a join's large partition, by which settings, or why not.

Its criteria are in Spark's OptimizeSkewedJoin.scala: a partition of one side of a join that is
larger than a threshold and than a factor of medians, and that came straight from a shuffle. It is
divided between the outputs of the tasks that wrote it, never within one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from venturi.jobs.diagnosis.case import Case
from venturi.jobs.stages.plans import SHUFFLED_JOINS, Operator
from venturi.jobs.stages.stage import Stage
from venturi.record.account_tables import OPERATOR_TEXT

AGGREGATES = ("HashAggregate", "ObjectHashAggregate", "SortAggregate")
_SKEW_JOIN = "spark.sql.adaptive.skewJoin."
_ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_THRESHOLD, _ADVISED, _FACTOR = 256 << 20, 64 << 20, 5.0  # Spark's own, in bytes and medians
_SIZE = re.compile(r"(\d{1,15}) ?([kmgt]?)i?b?", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_BELOW = 0.8  # of the side's bytes and ratio: below them, so that it is caught
_MIB = 1 << 20
_WHOLE = re.compile(r"\b(FullOuter|ExistenceJoin)\b")
_BETWEEN = re.compile(
    r"Sort|InputAdapter|WholeStageCodegen.*|(?:Shuffle|Result)QueryStage"
    r"|(?:AQE|Custom)Shuffle\w+"
)


@dataclass(frozen=True, slots=True)
class Split:
    """Which advice fits, with its values, and into how many pieces a task is divided at most."""

    variant: str
    values: dict[str, str]
    pieces: float


def split(case: Case, stage: Stage, join: Operator, size_bytes: float, ratio: float) -> Split:
    """The way to split a task of `join` that read `size_bytes`, `ratio` times the median."""
    threshold = _size(case, f"{_SKEW_JOIN}skewedPartitionThresholdInBytes", _THRESHOLD)
    advisory = _size(case, _ADVISORY, _ADVISED)
    factor = _factor(case)
    off = not case.adaptive or case.setting(f"{_SKEW_JOIN}enabled") == "false"
    writers = _writers(case, join)
    side_bytes = _larger_share(case, join) * size_bytes
    fits = side_bytes > threshold and ratio > factor
    why = _obstacle(case, join, writers, is_piece=fits and "skew=true" in join.text)
    caught = not off and fits
    small = size_bytes < 2 * advisory
    if why is None and (behind := _behind(case, join)) is not None:
        return Split("join-behind", {"behind": behind}, math.inf)
    if why is None and caught and not small:
        why = (
            "with the application's initial settings AQE should have split this partition. "
            "Why it didn't isn't in the log: the program may have changed the settings, or "
            "all rows of a key may come from one task of the previous stage"
        )
    if why is not None:
        return Split("join-whole", {"why": why}, math.inf)
    if small:
        wanted = max(min(math.ceil(ratio), stage.slots), 2)
        advisory = max(math.floor(size_bytes / wanted / _MIB) * _MIB, _MIB)
    values = {
        "begin": f"turn on {_SKEW_JOIN}enabled, with" if off else "set",
        "threshold": _mib(min(threshold, _BELOW * side_bytes)),
        "factor": f"{min(factor, max(_BELOW * ratio, 1.1)):.1f}".removesuffix(".0"),
        "advisory": _mib(advisory),
    }
    pieces = math.ceil(size_bytes / max(advisory, size_bytes / ratio))
    return Split("join-small" if small else "join", values, min(writers or math.inf, pieces))


def _obstacle(case: Case, join: Operator, writers: int | None, *, is_piece: bool) -> str | None:
    """The reason why AQE can't split a partition of `join` under any settings."""
    if kind := _WHOLE.search(join.text):
        return f"AQE splits neither side of a join of type {kind[1]}"
    if is_piece:
        return (
            "it is already a piece: AQE splits only between the outputs of the previous "
            "stage's tasks, and one task wrote this much"
        )
    for side in case.plans.children_of(join):
        operator = side
        while _BETWEEN.fullmatch(operator.name) and case.plans.children_of(operator):
            operator = case.plans.children_of(operator)[0]  # behind it come its subqueries
        if "Exchange" not in operator.name and not _BETWEEN.fullmatch(operator.name):
            return (
                f"AQE splits only the direct output of a shuffle, and {operator.name} is "
                "between the shuffle and the join"
            )
        if "REPARTITION" in operator.text:
            return "AQE doesn't split partitions that the program requested (repartition)"
    if writers == 1:
        return (
            "its rows come from one task of the previous stage, and AQE splits only between "
            "the outputs of tasks"
        )
    return None


def _larger_share(case: Case, join: Operator) -> float:
    """The larger side's share of the shuffle for `join`; AQE looks at each side separately.

    For a hot key's rows it is usually higher, because that side has many of them.
    """
    sides = [each for each in case.plans.exchanges(join) if each is not None]
    sizes = [size for each in sides if (size := each.counted.get("data size", 0)) > 0]
    return max(sizes) / sum(sizes) if len(sizes) == len(sides) > 0 else 0.5


def _writers(case: Case, join: Operator) -> int | None:
    """The number of tasks that wrote the larger side of `join`; None if not recorded."""
    sides = [each for each in case.plans.exchanges(join) if each is not None]
    large = max(sides, key=lambda each: each.counted.get("data size", 0), default=None)
    if large is None:
        return None
    tasks = [
        each.n_tasks or 0
        for each in case.analysis.stages
        if each.key in large.stages and join not in case.plans.of_stage(each.key)
    ]
    return sum(tasks) if tasks and all(tasks) else None


def _behind(case: Case, join: Operator) -> str | None:
    """The operator in the same stage that needs the output of `join` partitioned by key, which
    rules out splitting it; None if there is no such operator.
    """
    found = case.plans.above(join, ("Window", *AGGREGATES, *SHUFFLED_JOINS))
    if found is None or found.name not in AGGREGATES:
        return None if found is None else found.name
    second = case.plans.above(found, AGGREGATES)
    # The first of two halves takes rows as they are, and its second half is behind a shuffle.
    cut = len(found.text) >= OPERATOR_TEXT
    partial = cut or "partial_" in found.text or "functions=[]" in found.text
    return None if second is None and partial else found.name


def _size(case: Case, key: str, default: int) -> int:
    """A setting in bytes; `default` where it was not made or is no size."""
    match = _SIZE.fullmatch((case.setting(key) or "").strip())
    return int(match[1]) << _SHIFTS[match[2].lower()] if match else default


def _factor(case: Case) -> float:
    try:
        return float(case.setting(f"{_SKEW_JOIN}skewedPartitionFactor") or _FACTOR)
    except ValueError:
        return _FACTOR


def _mib(size_bytes: float) -> str:
    return f"{max(int(size_bytes / _MIB), 1)}m"
