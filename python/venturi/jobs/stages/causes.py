"""Time by cause of each task, from what the engine records of it; see docs/method/stages.md.

A task's time is from its launch to its end on the driver's clock. Recorded parts are taken from it
in a fixed order; a part larger than what is left is cut to it, and the cut is told as overlap. So
the parts and the rest, which is "unattributed", always add up to the task's time. What the engine
does not record has no part: it is within the unattributed time, never called compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]
Seconds = Floats

Truths = npt.NDArray[np.bool_]

MAP, REDUCE = 0, 1
"""The stages of MapReduce."""
UNATTRIBUTED = "unattributed"
UNFINISHED = "unfinished"
NOT_IN_LOG = "not in the log"
CAUSES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "spark": MappingProxyType(
            {
                "cpu": "executorCpuTime",
                "shuffle fetch wait": "shuffleFetchWaitTime",
                "garbage collection": "jvmGCTime",
                "shuffle write": "shuffleWriteTime",
                "scheduler delay": "what is left of the task's time when the others are taken off",
                "deserialisation": "executorDeserializeTime",
                "result serialisation": "resultSerializationTime",
                "getting result": "from gettingResultTime to the end",
            }
        ),
        "mapreduce": MappingProxyType(
            {
                "cpu": "CPU_MILLISECONDS less GC_TIME_MILLIS",
                "garbage collection": "GC_TIME_MILLIS",
            }
        ),
    }
)
"""The causes that an engine records, and from which of its metrics they are taken."""
PYTHON, READING, SPILLING, WRITING, TO_COMPUTE, MAPS = (
    "Python workers",
    "reading input",
    "spilling",
    "writing output",
    "waiting to compute",
    "waiting for maps",
)
BY_ELIMINATION: Mapping[str, str] = MappingProxyType(
    {
        PYTHON: "time to run Python workers; without it, the rest where they run",
        READING: "scan time; without it, the rest where input is read",
        SPILLING: "the rest where diskBytesSpilled is not 0, at SPILL_BYTES_PER_S at least",
        WRITING: "the rest where outputBytesWritten is not 0",
        TO_COMPUTE: "the rest where by its plan a stage only computes: `plans.Plans.told_whole`",
        MAPS: "of a reduce of MapReduce the rest until the last map ended",
    }
)
"""Causes of what the engines' metrics leave, in the order in which they are taken: the task was off
the processor, and nothing else that the log tells of was done."""
SPILL_BYTES_PER_S = 5e6
"""Our judgement: no task waits longer for a disk that others share."""
WITHOUT_END: Mapping[str, str] = MappingProxyType(
    {
        UNFINISHED: "attempts without an end, to where `tasks.Tasks` says that they lasted",
        NOT_IN_LOG: "attempts that did end, but not in this log",
    }
)
"""What is told of the time of attempts whose end is not recorded."""


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """The tasks of an application as arrays; seconds since its start, NaN where unknown.

    `causes` has an array for each cause that any task records; the others are absent.
    """

    launched_s: Seconds
    finished_s: Seconds
    causes: Mapping[str, Seconds]
    unattributed_s: Seconds
    overlap_s: Seconds
    measured: Truths

    @property
    def elapsed_s(self) -> Seconds:
        """From launch to end."""
        return self.finished_s - self.launched_s

    def at(self, places: slice | npt.NDArray[np.intp]) -> TaskTimes:
        """Those at `places`."""
        return TaskTimes(
            self.launched_s[places],
            self.finished_s[places],
            {cause: values[places] for cause, values in self.causes.items()},
            self.unattributed_s[places],
            self.overlap_s[places],
            self.measured[places],
        )


def task_times(tasks: pl.DataFrame, engine: str, origin_ms: float) -> TaskTimes:
    """The times of `tasks` by cause; 0 s is at `origin_ms`.

    They are a table of `record.job_account`, those of Spark with the columns of its timers.
    """
    launched_s = (_column(tasks, "launched_ms") - origin_ms) / 1e3
    finished_s = (_column(tasks, "finished_ms") - origin_ms) / 1e3
    # A clock that was set back gives no time, not a negative one.
    finished_s = np.where(finished_s < launched_s, np.nan, finished_s)
    attribute = _spark if engine == "spark" else _mapreduce
    return attribute(tasks, launched_s, finished_s, origin_ms)


def _spark(
    tasks: pl.DataFrame, launched_s: Seconds, finished_s: Seconds, origin_ms: float
) -> TaskTimes:
    run_s = _column(tasks, "executorRunTime") / 1e3
    measured = ~np.isnan(run_s)
    getting_s = finished_s - (_column(tasks, "gettingResultTime") - origin_ms) / 1e3
    outside = _Budget(finished_s - launched_s)
    causes = {
        "getting result": outside.take(np.where(np.isnan(getting_s), 0.0, getting_s)),
        "deserialisation": outside.take(_column(tasks, "executorDeserializeTime") / 1e3),
        "result serialisation": outside.take(_column(tasks, "resultSerializationTime") / 1e3),
    }
    inside = _Budget(outside.take(run_s))
    # Without metrics nothing tells a delay from work.
    causes["scheduler delay"] = np.where(measured, outside.left, 0.0)
    unmeasured = np.where(measured, 0.0, outside.left)
    for cause, metric, per_s in (
        ("cpu", "executorCpuTime", 1e9),
        ("shuffle fetch wait", "shuffleFetchWaitTime", 1e3),
        ("garbage collection", "jvmGCTime", 1e3),
        ("shuffle write", "shuffleWriteTime", 1e9),  # partly on the processor, so taken last
    ):
        values = _column(tasks, metric) / per_s
        if not np.isnan(values).all():
            causes[cause] = inside.take(values)
    ordered = {cause: causes[cause] for cause in CAUSES["spark"] if cause in causes}
    ordered |= _off_the_processor(tasks, inside)
    return TaskTimes(
        launched_s,
        finished_s,
        ordered,
        inside.left + unmeasured,
        outside.cut + inside.cut,
        measured,
    )


def _off_the_processor(tasks: pl.DataFrame, inside: _Budget) -> dict[str, Seconds]:
    """What is left of the time in which tasks ran, by `BY_ELIMINATION`."""
    python = tasks["python"].fill_null(value=False).to_numpy()
    run_s, scan_s = (_column(tasks, name) / 1e3 for name in ("python_ms", "scan_ms"))
    read, spilled, written = (
        _column(tasks, name)
        for name in ("inputBytesRead", "diskBytesSpilled", "outputBytesWritten")
    )
    found = {}
    for cause, there, timer_s in (
        (PYTHON, python, run_s),
        (READING, (read > 0) | ~np.isnan(scan_s), scan_s),
        (SPILLING, spilled > 0, 2 * spilled / SPILL_BYTES_PER_S),  # written, and read again
        (WRITING, written > 0, np.full_like(run_s, np.nan)),
    ):
        at_most = np.where(np.isnan(timer_s), inside.left, np.minimum(timer_s, inside.left))
        found[cause] = inside.take(np.where(there, at_most, 0.0))
    return found


def _mapreduce(
    tasks: pl.DataFrame, launched_s: Seconds, finished_s: Seconds, origin_ms: float
) -> TaskTimes:
    cpu_s = _column(tasks, "CPU_MILLISECONDS") / 1e3
    gc_s = _column(tasks, "GC_TIME_MILLIS") / 1e3
    budget = _Budget(finished_s - launched_s)
    causes = {}
    if not np.isnan(gc_s).all():
        causes["garbage collection"] = budget.take(gc_s)
    if not np.isnan(cpu_s).all():
        # The processor time of the process contains that of its collector.
        of_tasks = np.maximum(cpu_s - np.nan_to_num(gc_s), 0.0)
        causes = {"cpu": budget.take(of_tasks), **causes}
    waited_s = _waited_for_maps_s(tasks, launched_s, finished_s)
    causes[MAPS] = budget.take(np.minimum(waited_s, budget.left))
    return TaskTimes(launched_s, finished_s, causes, budget.left, budget.cut, ~np.isnan(cpu_s))


def _waited_for_maps_s(tasks: pl.DataFrame, launched_s: Seconds, finished_s: Seconds) -> Seconds:
    """How long each reduce was there before the last map ended; 0 of maps."""
    is_map = tasks["stage_id"].to_numpy() == MAP
    succeeded = (tasks["outcome"] == "succeeded").fill_null(value=False).to_numpy()
    last_s = finished_s[is_map & succeeded & ~np.isnan(finished_s)].max(initial=-np.inf)
    return np.where(is_map, 0.0, np.maximum(np.minimum(finished_s, last_s) - launched_s, 0.0))


class _Budget:
    """Time that parts are taken from, and what of the parts it did not hold."""

    def __init__(self, total_s: Seconds) -> None:
        self.left: Seconds = total_s
        self.cut: Seconds = np.zeros_like(total_s)

    def take(self, part_s: Seconds) -> Seconds:
        """The part, cut to what is left; NaN only where the task's time is unknown."""
        wanted = np.maximum(np.nan_to_num(part_s), 0.0)
        given: Seconds = np.minimum(wanted, self.left)
        self.left = self.left - given
        self.cut = self.cut + (wanted - given)
        return given


def _column(tasks: pl.DataFrame, name: str) -> Floats:
    return np.asarray(tasks[name].cast(float).to_numpy(), dtype=np.float64)


# What a task reads: input and shuffle data, neither of which contains the other.
_READ = {
    "spark": ("inputBytesRead", "shuffleRemoteBytesRead", "shuffleLocalBytesRead"),
    "mapreduce": ("BYTES_READ", "REDUCE_SHUFFLE_BYTES"),
}


def bytes_read(tasks: pl.DataFrame, engine: str) -> Floats:
    """Bytes that each task read; NaN where nothing is recorded."""
    parts = np.array([_column(tasks, name) for name in _READ[engine]])
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))


def bytes_spilled(tasks: pl.DataFrame, engine: str) -> Floats:
    """Bytes that each task spilled to disk; NaN where it is not recorded."""
    if engine != "spark":
        return np.full(len(tasks), np.nan)
    return _column(tasks, "diskBytesSpilled")


def total(values: Seconds) -> float:
    """The sum of what is known."""
    whole = float(values.sum())
    return whole if whole == whole else float(np.nansum(values))  # noqa: PLR0124 - NaN is not
