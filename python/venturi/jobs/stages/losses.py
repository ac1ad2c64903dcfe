"""Wasted work: failed and killed attempts, lost output, lost executors.

Counts the work thrown away, not its repetition, so that nothing counts twice. Where the log doesn't
identify the lost work (a stage runs again), the repetition stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venturi.core.units import format_duration
from venturi.jobs.failures.meanings import meaning_of
from venturi.jobs.failures.messages import headline
from venturi.jobs.stages.causes import Truths
from venturi.jobs.stages.stage import LostExecutor, NarrowestPoint, WastedTime
from venturi.jobs.stages.tasks import Tasks
from venturi.record.job_account import OUTPUT_LOST, JobAccount

_DISTINCT = 100
# Chosen by us, as shares of the task time: where the verdict mentions losses, and puts them first.
LEAST_SHARE, FIRST_SHARE = 0.01, 0.5
ERROR = "attempts with an error"
FETCH = "attempts that could not fetch shuffle data"
EXECUTOR = "attempts on lost executors"
KILLED = "killed attempts"
RACE = "attempts that lost to a faster copy"
OUTPUT = "successful attempts with lost output"
AGAIN = "tasks repeated after an earlier attempt at their stage"
_FAILED = {"FetchFailed": FETCH, "ExecutorLostFailure": EXECUTOR}
_RACE = re.compile(r"another attempt succeeded|speculat", re.IGNORECASE)
_WANTED = re.compile(
    r"\bidle for\b|explicit termination request|decommission|killed by driver", re.IGNORECASE
)


def explained(reason: str | None) -> str | None:
    """Return the meaning of a message and the remedy, None if it is unknown."""
    found = meaning_of(reason)
    return None if found is None else found.text


@dataclass(frozen=True, slots=True)
class _WasteReason:
    what: str
    said: str | None


def losses(tasks: Tasks) -> tuple[WastedTime, ...]:
    """Wasted time by outcome and message, the most first."""
    elapsed_s = np.nan_to_num(tasks.times.elapsed_s)
    found: dict[_WasteReason, list[int]] = {}
    for place, part in _wasted_attempts(tasks):
        known = part in found or len(found) < _DISTINCT
        found.setdefault(part if known else _WasteReason(part.what, "something else"), []).append(
            place
        )
    whole = [
        WastedTime(
            part.what, len(places), float(elapsed_s[places].sum()), part.said, explained(part.said)
        )
        for part, places in found.items()
    ]
    return tuple(sorted(whole, key=lambda each: -each.time_s))


def wasted_attempts(tasks: Tasks, what: Sequence[str]) -> npt.NDArray[np.intp]:
    """The places of the attempts wasted for one of the reasons `what`."""
    found = [place for place, part in _wasted_attempts(tasks) if part.what in what]
    return np.array(found, dtype=np.intp)


def _wasted_attempts(tasks: Tasks) -> Iterator[tuple[int, _WasteReason]]:
    """Yields the place and the reason of each wasted attempt."""
    concerned = tasks.rows["outcome"].is_in(["failed", "killed"]).fill_null(value=False).to_numpy()
    places = np.flatnonzero(concerned | tasks.output_lost | _run_again(tasks))
    said = tasks.rows.select("outcome", "reason")[places].rows() if len(places) else []
    for place, told in zip(places.tolist(), said, strict=True):
        yield place, _part(*told)


def _part(outcome: str, reason: str | None) -> _WasteReason:
    if outcome == "succeeded":
        return _WasteReason(OUTPUT if reason == OUTPUT_LOST else AGAIN, None)
    if outcome == "killed":
        race = reason is not None and _RACE.search(reason) is not None
        return _WasteReason(RACE, None) if race else _WasteReason(KILLED, headline(reason))
    kind = (reason or "").partition(":")[0]
    return _WasteReason(_FAILED.get(kind, ERROR), headline(reason) or "no reason is recorded")


def _run_again(tasks: Tasks) -> Truths:
    """Which attempts succeeded at a task that had succeeded in an earlier attempt at its stage."""
    again = np.zeros(len(tasks.index), bool)
    if not (tasks.rows["stage_attempt"] > 0).any():
        return again
    done: set[tuple[int, int]] = set()
    # Sorted by stage and attempt: those of one attempt count only for the next ones.
    for key in sorted(tasks.places):
        here = tasks.places[key]
        own = [place for place in range(here.start, here.stop) if tasks.succeeded[place]]
        again[[place for place in own if (key[0], tasks.index[place]) in done]] = True
        done |= {(key[0], tasks.index[place]) for place in own}
    return again


def lost_executors(account: JobAccount, origin_ms: float) -> tuple[LostExecutor, ...]:
    """The executors that were removed unexpectedly, in time order."""
    rows = account.executors.select("executor_id", "host", "removed_ms", "reason").rows()
    return tuple(
        LostExecutor(executor, host, (removed_ms - origin_ms) / 1e3, reason, explained(reason))
        for executor, host, removed_ms, reason in sorted(
            (row for row in rows if row[2] is not None), key=lambda row: row[2]
        )
        if reason is not None and not _WANTED.search(reason)
    )


def with_losses(
    verdict: NarrowestPoint,
    found: Sequence[WastedTime],
    executors: Sequence[LostExecutor],
    task_s: float,
) -> NarrowestPoint:
    """Adds the wasted share of `task_s` to `verdict`: first if it is most, not if it is little."""
    lost_s = sum(loss.time_s for loss in found)
    sentence = verdict.sentence
    if lost_s > 0 and lost_s >= LEAST_SHARE * task_s:
        most = found[0]
        why = f" ({most.n:,} x {most.said})" if most.said else f" ({most.n:,})"
        said = (
            f"{lost_s / task_s:.0%} of the task time ({format_duration(lost_s)}) was wasted, "
            f"most of it by {most.what}{why}"
        )
        first = lost_s >= FIRST_SHARE * task_s
        sentence = f"{said}; {sentence}" if first else f"{sentence}; {said}"
    if executors:
        gone = executors[0]
        meaning = f": {gone.meaning}" if gone.meaning else f" ({gone.reason})"
        lost = "1 executor was lost"
        if len(executors) > 1:
            lost = f"{len(executors):,} executors were lost, the first one"
        sentence += f"; {lost}{meaning}"
    return replace(verdict, sentence=sentence)
