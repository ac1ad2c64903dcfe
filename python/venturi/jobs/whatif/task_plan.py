"""The tasks that a job has on the target, with more data, other partitions or other slots.

Each task of the target is like a recorded one, with `size` times its data. Spark's own rules set
the number of tasks. A rule counts only where it gives the recorded number, within a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from venturi.core.errors import VenturiError
from venturi.core.units import parse_bytes
from venturi.jobs.stages.causes import Floats
from venturi.jobs.whatif.demand import FIXED, JobDemand

PARTITIONS = "spark.sql.shuffle.partitions"
ADAPTIVE = "spark.sql.adaptive.enabled"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
MOST_BYTES = "spark.sql.files.maxPartitionBytes"
DEFAULTS: Mapping[str, str] = {
    PARTITIONS: "200",
    ADAPTIVE: "true",
    ADVISORY: "64m",
    MOST_BYTES: "128m",
}
"""Spark's own, from 3.2 on."""
_OPEN_COST_BYTES, _LEAST_BYTES = 4 * 2**20, 2**20  # spark.sql.files.openCostInBytes; AQE's minimum
_BLOCK_BYTES = 128 * 2**20
_FITS = 0.2
_NO_RULE = "some stages don't follow Spark's rules for splits; their tasks grow with the data"
_Settings = tuple[Mapping[str, str], Mapping[str, str]]
MOST_TASKS = 2_000_000


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """The tasks on the target, in launch order within each stage.

    Task n is like attempt `rows[n]` of the demand, with `size[n]` times its data. `assumes` says
    what the numbers of tasks rest on.
    """

    starts: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    size: Floats
    assumes: tuple[str, ...]
    as_recorded: bool = False


def setting(settings: Mapping[str, str], name: str) -> str:
    """A setting's value, or Spark's default."""
    return settings.get(name) or DEFAULTS[name]


def size_setting(settings: Mapping[str, str], name: str) -> float:
    """A size in bytes, as Spark reads it: a bare number is bytes, `m` is MiB."""
    text = setting(settings, name).strip().lower()
    unit = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}.get(text.removesuffix("b")[-1:], "")
    try:
        return float(parse_bytes(text.removesuffix("b")[: -1 if unit else None] + unit))
    except VenturiError as error:
        error.where = {"setting": name, **error.where}
        raise


def same_tasks(demand: JobDemand) -> TaskPlan:
    """The recorded tasks."""
    n = int(demand.starts[-1])
    return TaskPlan(demand.starts, np.arange(n), np.ones(n), (), as_recorded=True)


def task_plan(
    demand: JobDemand,
    rules: Sequence[SplitRule | None],
    data: float,
    slots: tuple[int, int],
    settings: _Settings,
) -> TaskPlan:
    """The tasks for `data` times the data; `slots` and `settings` are those before and after.

    `rules` are those of each stage, by `split_rules`.
    """
    if data == 1 and slots[0] == slots[1] and settings[0] == settings[1]:
        return same_tasks(demand)
    counts = np.diff(demand.starts)
    assumes: dict[str, None] = {}
    wanted = [
        _count(n, rule, data, slots=slots, settings=settings, assumes=assumes)
        for n, rule in zip(counts.tolist(), rules, strict=True)
    ]
    if data == 1 and wanted == counts.tolist():
        return same_tasks(demand)
    if (total := sum(wanted)) > MOST_TASKS:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"the job would have {total:,} tasks; the model places at most {MOST_TASKS:,}",
            where={"tasks": total},
            hint="ask for less data or fewer partitions",
        )
    starts = np.concatenate([[0], np.cumsum(wanted)]).astype(np.intp)
    rows, size = [], []
    work_s = np.delete(demand.parts_s, FIXED, 0).sum(axis=0)
    for at, count in enumerate(wanted):
        first, n = int(demand.starts[at]), int(counts[at])
        own = first + np.arange(count) * n // max(count, 1)
        whole_s, picked_s = work_s[first : first + n].sum(), work_s[own].sum()
        ratio = whole_s / picked_s if picked_s > 0 else n / max(count, 1)
        rows.append(own)
        size.append(np.full(count, data * (1.0 if count == n else ratio)))
    return TaskPlan(starts, np.concatenate(rows), np.concatenate(size), tuple(assumes))


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How Spark sets the number of tasks for `total` bytes; `count` takes bytes, slots, settings.

    Without `count` they are blocks of files.
    """

    total: float
    count: Callable[[float, int, Mapping[str, str]], int] | None


def split_rules(demand: JobDemand) -> list[SplitRule | None]:
    """The rule for each stage; None where the program chose the number of tasks."""
    read, fetched = demand.sums(demand.input_bytes), demand.sums(demand.fetched)
    plans = demand.line.plans
    found: list[SplitRule | None] = []
    for key, read_bytes, fetched_bytes in zip(
        demand.keys, read.tolist(), fetched.tolist(), strict=True
    ):
        sql = bool(plans.of_stage(key))
        if fetched_bytes > 0 and fetched_bytes >= read_bytes:
            found.append(SplitRule(fetched_bytes, shuffle_partitions) if sql else None)
        elif read_bytes > 0:
            found.append(SplitRule(read_bytes, file_splits if sql else None))
        else:
            found.append(None)
    return found


def _count(
    n: int,
    rule: SplitRule | None,
    data: float,
    *,
    slots: tuple[int, int],
    settings: _Settings,
    assumes: dict[str, None],
) -> int:
    """The number of tasks of a stage on the target."""
    if rule is None:
        return n
    if rule.count is None:
        return _blocks(n, rule.total, data)
    before = rule.count(rule.total, slots[0], settings[0])
    if abs(before - n) > _FITS * n:
        if data != 1:
            assumes[_NO_RULE] = None
        return n
    after = rule.count(data * rule.total, slots[1], settings[1])
    return max(round(n * after / before), 1)


def shuffle_partitions(total: float, slots: int, settings: Mapping[str, str]) -> int:
    """The partitions of a shuffle; adaptive execution merges them to the advisory size."""
    most = int(setting(settings, PARTITIONS))
    if setting(settings, ADAPTIVE) == "false":
        return most
    each = max(min(size_setting(settings, ADVISORY), total / slots), _LEAST_BYTES)
    return min(ceil(total / each), most)


def file_splits(total: float, slots: int, settings: Mapping[str, str]) -> int:
    """The splits of files that SQL reads: FilePartition.maxSplitBytes."""
    each = min(size_setting(settings, MOST_BYTES), max(_OPEN_COST_BYTES, total / slots))
    return ceil(total / each)


def _blocks(n: int, total: float, data: float) -> int:
    """Splits of Hadoop's input formats: at least two, each a block at most."""
    if n > 2:
        return max(round(n * data), 1)
    return max(ceil(data * total / _BLOCK_BYTES), n)
