"""Divides an application's elapsed time into parts without overlap.

The time is cut at every start and end. While stages are active, each piece is divided over the
offered slots: a slot runs a task, which splits by cause, or is idle. All other time is the
driver's, split by open work: a job, a query or neither. In a query without a job, the driver's
own timers are subtracted first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from venturi.jobs.stages.causes import NOT_IN_LOG, UNATTRIBUTED, Floats, Seconds, TaskTimes, Truths
from venturi.jobs.stages.path import StageSpan
from venturi.jobs.stages.queries import unrecorded_commits_ms
from venturi.jobs.stages.replay import slots_used
from venturi.jobs.stages.slots import SlotOffer, implied_offer
from venturi.jobs.stages.tasks import Tasks
from venturi.record.gaps import Gaps, Span
from venturi.record.job_account import JobAccount

IDLE = "idle slots"
OTHER_STAGES = "tasks of other stages"
NO_EXECUTOR = "waiting for executors"
START_UP = "start-up"
BEFORE = "before the first query"
SCHEDULING = "between stages"
COMMIT = "committing output"
LISTING = "listing files"
BROADCAST = "broadcasting"
IN_QUERY = "planning queries"
BETWEEN = "between queries"
AFTER = "after the last query"
MASTER = "application master"
DRIVER_TIMERS = (COMMIT, LISTING, BROADCAST)
ON_DRIVER = (START_UP, BEFORE, *DRIVER_TIMERS, IN_QUERY, SCHEDULING, BETWEEN, AFTER, MASTER)
"""The parts in which the driver does something, or nothing does."""
Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ElapsedParts:
    """Seconds by part, which add up to the elapsed time; those of them in each stage.

    `shares` divides the elapsed time of each stage by itself, and adds up to 1. `lacking` names the
    known gaps of the log, if any.
    """

    parts: Mapping[str, float]
    of_stages: Mapping[Key, Mapping[str, float]]
    shares: Mapping[Key, Mapping[str, float]]
    lacking: str | None = None


def elapsed_parts(
    account: JobAccount,
    tasks: Tasks,
    spans: Sequence[StageSpan],
    there: SlotOffer | None,
    *,
    gaps: Gaps,
    elapsed_s: float,
) -> ElapsedParts:
    """Divides the time of `account` from its start to `elapsed_s`; `tasks` are its tasks.

    `there` are the offered slots. If None, the peak number of concurrent tasks of the active stages
    counts. Executors without a start have implied slots.
    """
    jobs = _OpenWork(account, gaps, tasks.origin_ms, elapsed_s)
    exact_s = 0.0
    if not gaps.slots_known:
        there, exact_s = implied_offer(account, tasks.origin_ms) or (None, np.inf)
    edges = np.concatenate(
        [
            [0.0, elapsed_s, exact_s],
            jobs.moments,
            [] if there is None else there.from_s,
            [moment for span in spans for moment in (span.from_s, span.to_s)],
        ]
    )
    pieces = Pieces(np.unique(edges[(edges >= 0) & (edges <= elapsed_s)]))
    slots, used_s, active = np.zeros((3, len(pieces.length_s)))
    for span in spans:
        here = pieces.between(span.from_s, span.to_s)
        work = WorkByCause(tasks.times.at(tasks.of(span.key)))
        active[here] += 1
        used_s[here] += work.within(pieces, here).sum(axis=1)
        if there is None:
            slots[here] += max(work.at_once, 1)
    if there is not None:
        slots = np.maximum(there.at(pieces.edges[:-1]), 0.0)
    exact = pieces.edges[:-1] >= exact_s
    bounded = gaps.slots_known or there is not None
    whole_s = np.maximum(slots * pieces.length_s, used_s)
    filled = _SlotUse(whole_s, used_s, active, exact, bounded)
    parts: dict[str, float] = {}
    of_stages, shares = {}, {}
    unsure = np.zeros(len(pieces.length_s), bool)
    for span in spans:
        if span.key in gaps.stages | gaps.endless:
            unsure[pieces.between(span.from_s, span.to_s)] = True
    for from_s, to_s in jobs.missing(gaps.spans):
        unsure[pieces.between(from_s, to_s)] = True
    for span in spans:
        here = pieces.between(span.from_s, span.to_s)
        # Made a second time: kept, the work of all stages would be several times their tasks.
        work = WorkByCause(tasks.times.at(tasks.of(span.key)))
        of_stages[span.key], shares[span.key] = _divided(work, pieces, here, filled, unsure[here])
        for part, time_s in of_stages[span.key].items():
            parts[part] = parts.get(part, 0.0) + time_s
    for part, time_s in jobs.driver(pieces, active > 0, spans).items():
        parts[part] = parts.get(part, 0.0) + time_s
    return ElapsedParts(parts, of_stages, shares, gaps.sentence)


@dataclass(frozen=True, slots=True)
class _SlotUse:
    """For each piece the slot-seconds that there are, those used, and its active stages.

    If the log lacks starts of executors, these are upper bounds except where they are `exact`.
    They are not `bounded` if nothing shows how many they were.
    """

    whole_s: Floats
    used_s: Floats
    active: Floats
    exact: Truths
    bounded: bool


def _divided(
    work: WorkByCause, pieces: Pieces, here: slice, filled: _SlotUse, unsure: Truths
) -> tuple[dict[str, float], dict[str, float]]:
    """The seconds of the application in a stage, by part; and the shares of the stage's own.

    Slots that no task held were idle. Where it is `unsure`, events of tasks are missing.
    """
    length_s, whole_s = pieces.length_s[here], filled.whole_s[here]
    used_s, active, exact = filled.used_s[here], filled.active[here], filled.exact[here]
    there = whole_s > 0
    known = there & filled.bounded
    per_slot_s = np.divide(length_s, whole_s, out=np.zeros_like(length_s), where=known)
    within_s = work.within(pieces, here)
    own_s, own_pieces_s = per_slot_s @ within_s, per_slot_s * within_s.sum(axis=1)
    found = dict(zip(work.names, own_s.tolist(), strict=True))
    # Active stages share idle slots equally.
    idle_s = np.where(there | ~exact, length_s - used_s * per_slot_s, 0.0)
    unsure = unsure | ~exact
    empty_s = np.where(there | ~exact, 0.0, length_s)
    shared = found | {NO_EXECUTOR: float((empty_s / active).sum())}
    shared[IDLE] = float((idle_s / active)[~unsure].sum())
    shared[NOT_IN_LOG] = float((idle_s / active)[unsure].sum())
    elapsed_s = float(length_s.sum())
    if elapsed_s <= 0:
        return {}, {}
    alone = found | {NO_EXECUTOR: float(empty_s.sum())}
    others_s = np.maximum(used_s * per_slot_s - own_pieces_s, 0.0)
    alone[IDLE] = float(idle_s[~unsure].sum())
    alone[NOT_IN_LOG] = float((idle_s + others_s)[unsure].sum())
    alone[OTHER_STAGES] = float(others_s[~unsure].sum())
    return _there(shared), _there({part: time_s / elapsed_s for part, time_s in alone.items()})


def _there(parts: Mapping[str, float]) -> dict[str, float]:
    return {part: value for part, value in parts.items() if value > 0}


class Pieces:
    """A span of time, cut at `edges` into pieces of length `length_s`."""

    def __init__(self, edges: Seconds) -> None:
        self.edges = edges
        self.length_s: Seconds = np.diff(edges)

    def between(self, from_s: float, to_s: float) -> slice:
        """The pieces from one edge to another."""
        first, last = np.searchsorted(self.edges, [max(from_s, 0.0), to_s])
        return slice(int(first), max(min(int(last), len(self.length_s)), int(first)))


class WorkByCause:
    """Task time by cause within any interval, spread evenly over each task."""

    def __init__(self, times: TaskTimes) -> None:
        self.names = [*times.causes, UNATTRIBUTED]
        lasted_s = times.elapsed_s
        known = lasted_s > 0  # NaN is not
        rates = np.array([*times.causes.values(), times.unattributed_s])[:, known]
        rates /= lasted_s[known]
        starts, ends = times.launched_s[known], times.finished_s[known]
        self._starts, self._ends = starts, ends
        moments = np.concatenate([starts, ends])
        order = np.argsort(moments, kind="stable")
        self._moments = moments[order]
        # A row for each cause: sums run along memory.
        changes = np.concatenate([rates, -rates], axis=1)[:, order]
        self._rates = _sums(changes)
        self._shifts = _sums(changes * self._moments)

    @property
    def at_once(self) -> int:
        """Peak number of concurrent tasks."""
        return slots_used(self._starts, self._ends)

    def within(self, pieces: Pieces, here: slice) -> Floats:
        """Task seconds in the pieces `here`: a row for each, a column for each of `names`."""
        edges = pieces.edges[here.start : here.stop + 1]
        places = np.searchsorted(self._moments, edges, "right")
        done_s = self._rates[:, places] * edges - self._shifts[:, places]
        passed: Floats = np.maximum(np.diff(done_s), 0.0).T
        return passed


def _sums(rows: Floats) -> Floats:
    """Prefix sums of each row, starting with 0."""
    found = np.zeros((rows.shape[0], rows.shape[1] + 1))
    np.cumsum(rows, axis=1, out=found[:, 1:])
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    """The span of a query, and the driver's own work in it by its timers, in this order."""

    from_s: float
    to_s: float
    did: tuple[tuple[str, float], ...]


@dataclass(slots=True)
class _OpenWork:
    """The jobs and queries of an application that were open when no stage was active."""

    account: JobAccount
    gaps: Gaps
    origin_ms: float
    elapsed_s: float
    jobs: list[tuple[float, float]] = field(init=False)
    queries: list[_Query] = field(init=False)
    first_executor_s: float = field(init=False)

    def __post_init__(self) -> None:
        rows = self.account.jobs.select("submitted_ms", "ended_ms").rows()
        self.jobs = [self._span(*row) for row in rows if row[0] is not None]
        self.queries = []
        if self.account.queries is not None:
            names = ("submitted_ms", "ended_ms", "commit_ms", "listing_ms", "broadcast_ms")
            unrecorded_ms = unrecorded_commits_ms(self.account)
            rows = self.account.queries.select("query_id", "outcome", *names).rows()
            for id_, outcome, start, end, *times in rows:
                if start is not None and (end is not None or outcome is not None):
                    times[0] = times[0] or unrecorded_ms.get(id_)
                    did = zip(DRIVER_TIMERS, ((each or 0) / 1e3 for each in times), strict=True)
                    self.queries.append(_Query(*self._span(start, end), tuple(did)))
        added = self.account.executors["added_ms"].drop_nulls().to_list()
        self.first_executor_s = self._s(min(added)) if added else 0.0

    def _span(self, start_ms: float, end_ms: float | None) -> tuple[float, float]:
        return self._s(start_ms), self.elapsed_s if end_ms is None else self._s(end_ms)

    def _s(self, moment_ms: float) -> float:
        return min(max((moment_ms - self.origin_ms) / 1e3, 0.0), self.elapsed_s)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """From when to when each job and each query was open."""
        return [*self.jobs, *((query.from_s, query.to_s) for query in self.queries)]

    @property
    def moments(self) -> Seconds:
        """The times at which the set of open spans changes."""
        spans = [*self.spans, *self.missing(self.gaps.spans), *self.missing(self.gaps.queries)]
        return np.array([*(each for span in spans for each in span), self.first_executor_s])

    def missing(self, spans: Sequence[Span]) -> list[tuple[float, float]]:
        """From when to when something is not in the log."""
        return [self._span(start or self.origin_ms, end) for start, end in spans]

    def driver(
        self, pieces: Pieces, active: Truths, spans: Sequence[StageSpan]
    ) -> dict[str, float]:
        """The seconds in which no stage was `active`, by part."""
        left = ~active
        if self.account.kind.can("containers"):
            return _there({MASTER: float(pieces.length_s[left].sum())})
        open_jobs, open_queries = np.zeros((2, len(pieces.length_s)))
        for from_s, to_s in self.jobs:
            open_jobs[pieces.between(from_s, to_s)] += 1
        for query in self.queries:
            open_queries[pieces.between(query.from_s, query.to_s)] += 1
        lost = self.missing(self.gaps.queries)
        missing, perhaps = np.zeros((2, len(pieces.length_s)), bool)
        for from_s, to_s in self.missing(self.gaps.spans):
            missing[pieces.between(from_s, to_s)] = True
        for from_s, to_s in lost:
            perhaps[pieces.between(from_s, to_s)] = True
        every = [*self.spans, *lost, *((span.from_s, span.to_s) for span in spans)]
        starts, first_s = (
            pieces.edges[:-1],
            min((from_s for from_s, _ in every), default=self.elapsed_s),
        )
        if not self.gaps.slots_known:
            perhaps |= starts < first_s
        part = np.select(
            [
                missing & (starts >= self.first_executor_s),
                open_jobs > 0,
                open_queries > 0,
                perhaps,
                starts < self.first_executor_s,
                starts < first_s,
                starts >= max((to_s for _, to_s in every), default=self.elapsed_s),
            ],
            [NOT_IN_LOG, SCHEDULING, IN_QUERY, NOT_IN_LOG, START_UP, BEFORE, AFTER],
            BETWEEN,
        )
        names = (*ON_DRIVER, NOT_IN_LOG)
        found = {name: float(pieces.length_s[left & (part == name)].sum()) for name in names}
        in_query = left & (part == IN_QUERY)
        return _there(found | self._in_queries(pieces, in_query, open_queries))

    def _in_queries(self, pieces: Pieces, there: Truths, n_open: Floats) -> dict[str, float]:
        """The seconds of the pieces `there`, in which `n_open` queries were open, by part."""
        own_s = np.divide(pieces.length_s, n_open, out=np.zeros_like(n_open), where=there)
        found = dict.fromkeys((*DRIVER_TIMERS, IN_QUERY), 0.0)
        for query in self.queries:
            left_s = float(own_s[pieces.between(query.from_s, query.to_s)].sum())
            for name, time_s in query.did:
                found[name] += min(time_s, left_s)
                left_s -= min(time_s, left_s)
            found[IN_QUERY] += left_s
        return found
