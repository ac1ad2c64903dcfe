"""The latest possible end of attempts without a recorded one.

An executor runs at most one task per slot. An attempt had ended when other attempts held all slots,
or when the next attempt at the same task was launched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from venturi.jobs.stages.causes import Floats, Truths
from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

# Chosen by us: Spark frees a slot before it records the end, which a busy driver does late.
_LATE_MS = 2_000.0
# Measured: on a machine with ten busy threads a core, ends were recorded up to 0.24 s late.
_USUALLY_LATE_MS = 500.0


def task_cpus(account: JobAccount) -> int:
    """The cores that a task takes: `spark.task.cpus`."""
    text = account.configuration.get("spark.task.cpus", "1")
    return int(text) if text.isdecimal() and 0 < int(text) < 1 << 20 else 1


def latest_ends(
    rows: pl.DataFrame, until_ms: pl.Series, lost: Truths, account: JobAccount
) -> Floats:
    """Return `until_ms`, in milliseconds since 1970, with earlier bounds for `lost` attempts."""
    found: Floats = until_ms.cast(float).to_numpy().copy()
    if not lost.any():
        return found
    launched: Floats = rows["launched_ms"].cast(float).to_numpy()
    ended: Floats = rows["finished_ms"].cast(float).to_numpy()
    cpus = task_cpus(account)
    executors = rows["executor_id"].to_numpy()
    for executor, cores in account.executors.select("executor_id", "cores").rows():
        own = np.flatnonzero((executors == executor) & ~np.isnan(launched))
        if cores and lost[own].any():
            full_ms = _full(launched[own], ended[own], lost[own], cores // cpus)
            of = own[lost[own]]
            place = np.searchsorted(full_ms, launched[of], "right")
            latest_ms = np.append(full_ms, np.nan)[place] + _USUALLY_LATE_MS
            found[of] = np.fmin(found[of], latest_ms)
    return np.fmin(found, _next_attempts(rows, lost))


def _full(launched: Floats, ended: Floats, lost: Truths, slots: int) -> Floats:
    """The launches at which attempts that were certainly running held all `slots`, in order."""
    times = np.unique(launched)
    known = ~lost & ~np.isnan(ended)
    begun = np.searchsorted(np.sort(launched[known]), times, "right")
    over = np.searchsorted(np.sort(ended[known] - _LATE_MS), times, "right")
    new = np.searchsorted(np.sort(launched[lost]), times, "right")
    new -= np.searchsorted(np.sort(launched[lost]), times, "left")
    return times[begun - over + new >= slots]


def _next_attempts(rows: pl.DataFrame, lost: Truths) -> Floats:
    """Launch time of the next attempt at the same task, without copies; NaN without one."""
    from venturi.record.store.frames import pl

    same = ["stage_id", "stage_attempt", "index"]
    own = rows.select(*same, "attempt", "launched_ms", "speculative").with_row_index("place")
    later = own.filter(~pl.col("speculative").fill_null(value=False))
    pairs = own.filter(pl.Series(lost)).join(later, on=same, suffix="_next")
    pairs = pairs.filter(pl.col("attempt_next") > pl.col("attempt"))
    first = pairs.group_by("place").agg(pl.min("launched_ms_next"))
    found = np.full(len(rows), np.nan)
    found[first["place"].to_numpy()] = first["launched_ms_next"].cast(float).to_numpy()
    return found
