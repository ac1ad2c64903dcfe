"""Time of each task by cause, from the engine's metrics; see docs/method/stages.md.

A task's time runs from its launch to its end on the driver's clock. Recorded parts are subtracted
in a fixed order. A part larger than the remainder is cut, and the cut is reported as overlap, so
parts and remainder ("unattributed") add up to the task's time. Time without a metric stays
unattributed; it is never called compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from venturi.record.account_kind import DELAY, AccountKind
from venturi.record.account_tables import MOMENT

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
PYTHON, READING, STATE, SPILLING, WRITING, TO_COMPUTE, MAPS = (
    "Python workers",
    "reading input",
    "state store",
    "spilling",
    "writing output",
    "off-CPU, cause unknown",
    "waiting for maps",
)
SENDING = ("getting result", "result serialization")
"""Parts of a Spark task that send its result to the driver."""
BY_ELIMINATION: Mapping[str, str] = MappingProxyType(
    {
        PYTHON: "time to run Python workers; if missing, the rest where they run",
        READING: "scan time; if missing, the rest where input is read",
        STATE: "time to update, remove and commit streaming state",
        SPILLING: "the rest where diskBytesSpilled is not 0, at SPILL_BYTES_PER_S at least",
        WRITING: "the rest where outputBytesWritten is not 0",
        TO_COMPUTE: "the rest where by its plan a stage only computes: `Plans.fully_explained`",
        MAPS: "of a reduce of MapReduce the rest until the last map ended",
    }
)
"""Causes for time without a metric, in the order in which they are applied: the task was off-CPU
and did nothing else that the log records.
"""
_PER_SECOND = {"ms": 1e3, "ns": 1e9}
SPILL_BYTES_PER_S = 5e6
"""Chosen by us: even a disk shared with other tasks is faster."""
WITHOUT_END: Mapping[str, str] = MappingProxyType(
    {
        UNFINISHED: "attempts without an end, to where `tasks.Tasks` says that they lasted",
    }
)
"""Causes of attempts without a recorded end."""


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


def task_times(tasks: pl.DataFrame, kind: AccountKind, origin_ms: float) -> TaskTimes:
    """The times of `tasks` by cause; 0 s is at `origin_ms`.

    They are a table of `record.account_tables`, with the columns of timers.
    """
    launched_s = (_column(tasks, "launched_ms") - origin_ms) / 1e3
    finished_s = (_column(tasks, "finished_ms") - origin_ms) / 1e3
    # A clock that was set back gives no time, not a negative one.
    finished_s = np.where(finished_s < launched_s, np.nan, finished_s)

    def seconds(name: str) -> Seconds:
        """The time in a metric; NaN where it is not recorded."""
        values = _column(tasks, name)
        unit = next(each.unit for each in kind.metrics if each.name == name)
        if unit == MOMENT:
            return finished_s - (values - origin_ms) / 1e3
        return values / _PER_SECOND[unit or ""]

    measured = np.ones(len(tasks), bool)
    if kind.measured_by is not None:
        measured = ~np.isnan(_column(tasks, kind.measured_by))
    outside = inside = _TimeBudget(finished_s - launched_s)
    found: dict[str, Seconds] = {
        each.cause: outside.take(seconds(each.metric)) for each in kind.outside
    }
    unmeasured = np.zeros(len(tasks))
    if kind.run_time is not None:
        inside = _TimeBudget(outside.take(seconds(kind.run_time)))
        # Without metrics nothing separates a delay from work.
        found[DELAY] = np.where(measured, outside.left, 0.0)
        unmeasured = np.where(measured, 0.0, outside.left)
    for each in kind.within:
        time_s = seconds(each.metric)
        if np.isnan(time_s).all():
            continue
        if each.less is not None:
            time_s = np.maximum(time_s - np.nan_to_num(seconds(each.less)), 0.0)
        found[each.cause] = inside.take(time_s)
    causes = {cause: found[cause] for cause in kind.causes if cause in found}
    if kind.can("thread time"):
        causes |= _off_the_processor(tasks, kind, inside)
    if kind.can("maps"):
        waited_s = _waited_for_maps_s(tasks, launched_s, finished_s)
        causes[MAPS] = inside.take(np.minimum(waited_s, inside.left))
    cut_s = outside.cut if outside is inside else outside.cut + inside.cut
    return TaskTimes(launched_s, finished_s, causes, inside.left + unmeasured, cut_s, measured)


def _off_the_processor(
    tasks: pl.DataFrame, kind: AccountKind, inside: _TimeBudget
) -> dict[str, Seconds]:
    """Attributes the remaining run time of tasks by `BY_ELIMINATION`."""
    python = tasks["python"].fill_null(value=False).to_numpy()
    run_s, scan_s, state_s = (
        _column(tasks, name) / 1e3 for name in ("python_ms", "scan_ms", "state_ms")
    )
    read = _sum(tasks, kind.input_bytes)
    spilled, written = bytes_spilled(tasks, kind), _sum(tasks, _some(kind.output_bytes))
    found = {}
    for cause, there, timer_s in (
        (PYTHON, python, run_s),
        (READING, (read > 0) | ~np.isnan(scan_s), scan_s),
        (STATE, ~np.isnan(state_s), state_s),
        (SPILLING, spilled > 0, 2 * spilled / SPILL_BYTES_PER_S),  # written, and read again
        (WRITING, written > 0, np.full_like(run_s, np.nan)),
    ):
        at_most = np.where(np.isnan(timer_s), inside.left, np.minimum(timer_s, inside.left))
        found[cause] = inside.take(np.where(there, at_most, 0.0))
    return found


def _waited_for_maps_s(tasks: pl.DataFrame, launched_s: Seconds, finished_s: Seconds) -> Seconds:
    """How long each reduce was there before the last map ended; 0 of maps."""
    is_map = tasks["stage_id"].to_numpy() == MAP
    succeeded = (tasks["outcome"] == "succeeded").fill_null(value=False).to_numpy()
    last_s = finished_s[is_map & succeeded & ~np.isnan(finished_s)].max(initial=-np.inf)
    return np.where(is_map, 0.0, np.maximum(np.minimum(finished_s, last_s) - launched_s, 0.0))


class _TimeBudget:
    """Task times still to be divided into parts, and the excess of parts that didn't fit."""

    def __init__(self, total_s: Seconds) -> None:
        self.left: Seconds = total_s
        self.cut: Seconds = np.zeros_like(total_s)

    def take(self, part_s: Seconds) -> Seconds:
        """The part, cut to the time left; NaN only where the task's time is unknown."""
        wanted = np.maximum(np.nan_to_num(part_s), 0.0)
        given: Seconds = np.minimum(wanted, self.left)
        self.left = self.left - given
        self.cut = self.cut + (wanted - given)
        return given


def _column(tasks: pl.DataFrame, name: str) -> Floats:
    return np.asarray(tasks[name].cast(float).to_numpy(), dtype=np.float64)


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _sum(tasks: pl.DataFrame, names: Sequence[str]) -> Floats:
    """The sum of some metrics of each task; NaN where none of them is recorded."""
    if not names:
        return np.full(len(tasks), np.nan)
    parts = np.array([_column(tasks, name) for name in names])
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))


def bytes_read(tasks: pl.DataFrame, kind: AccountKind) -> Floats:
    """Input and shuffle bytes that each task read, neither of which contains the other; NaN where
    nothing is recorded."""
    return _sum(tasks, (*kind.input_bytes, *kind.shuffle_bytes))


def bytes_spilled(tasks: pl.DataFrame, kind: AccountKind) -> Floats:
    """Bytes that each task spilled to disk; NaN where it is not recorded."""
    return _sum(tasks, _some(kind.spilled_bytes))


def total(values: Seconds) -> float:
    """The sum without the unknown values (NaN)."""
    whole = float(values.sum())
    return whole if whole == whole else float(np.nansum(values))  # noqa: PLR0124 - NaN is not
