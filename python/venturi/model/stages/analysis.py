"""Understanding a job from its engine's own account: where its time went, stage by stage.

Works on the tables of `record.job_account` alone. Formulas, sources and what each metric of the
engines means stand in docs/method/stages.md. Times are in seconds; None is "not known", with a
reason where one can be given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.errors import VenturiError
from venturi.model.stages.causes import (
    CAUSES,
    Floats,
    Seconds,
    TaskTimes,
    bytes_read,
    bytes_spilled,
    task_times,
    total,
)
from venturi.model.stages.path import StageSpan, Step, critical_path, without_stage_s
from venturi.model.stages.replay import Schedule, schedule, slots_used
from venturi.model.stages.stage import (
    Analysis,
    Bound,
    CauseTime,
    Skew,
    Speculation,
    Stage,
    Straggler,
)
from venturi.model.stages.verdict import application_verdict, beside_others, stage_verdict
from venturi.record.job_account import JobAccount

# Our judgement, not measured; the factor is the default of spark.speculation.multiplier before 4.0
# and Mantri's bar for an outlier (Ananthanarayanan and others, OSDI 2010).
STRAGGLER_FACTOR = 1.5
STRAGGLER_Z = 3.5  # Iglewicz and Hoaglin 1993
NORMAL_MAD = 0.6745  # the median absolute deviation of a normal distribution, in its sigmas
STRAGGLER_LEAST_S = 0.1
LEAST_TASKS = 5  # for stragglers
LEAST_SKEW = 2
SHOWN_STRAGGLERS = 10


def analyse(account: JobAccount, others: float | None = None) -> Analysis:
    """What `account` tells about its application; VEN-MODEL-INPUT if its engine is not known.

    `others` is the share of its host's processor time that others had meanwhile, if that is known.
    """
    application = account.application
    if application.engine not in CAUSES:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"nothing is known about the accounts of engine {application.engine!r}",
            where={"engine": application.engine},
        )
    origin_ms = _origin_ms(account)
    end_s = None
    if application.ended_ms is not None:
        end_s = (application.ended_ms - origin_ms) / 1e3
    tasks = _Tasks(account, origin_ms)
    stages, spans = [], []
    for row in account.stages.iter_rows(named=True):
        stage = _stage(row, account, tasks, origin_ms, end_s)
        stages.append(stage)
        if stage.started_s is not None and stage.elapsed_s is not None:
            to_s = stage.started_s + stage.elapsed_s
            spans.append(
                StageSpan(stage.key, tuple(row["parent_ids"] or ()), stage.started_s, to_s)
            )
    elapsed_s = end_s if end_s is not None and end_s > 0 else None
    path = critical_path(spans, elapsed_s) if elapsed_s else ()
    verdict = application_verdict(stages, path, elapsed_s, application.engine)
    verdict = beside_others(verdict, others)
    return Analysis(
        elapsed_s=elapsed_s,
        stages=tuple(stages),
        path=path,
        driver_s=without_stage_s(spans, elapsed_s) if elapsed_s else None,
        bounds=_on_path(stages, path),
        speculation=Speculation(
            sum(stage.speculation.launched for stage in stages),
            sum(stage.speculation.won for stage in stages),
            sum(stage.speculation.wasted_s for stage in stages),
            sum(stage.speculation.unended for stage in stages),
        ),
        verdict=replace(verdict, sentence=f"as far as the log goes: {verdict.sentence}")
        if application.outcome == "unfinished"
        else verdict,
    )


def _origin_ms(account: JobAccount) -> int:
    """When the application began; where that is not recorded, when its first stage did."""
    if account.application.started_ms is not None:
        return account.application.started_ms
    return min(account.stages["submitted_ms"].drop_nulls().to_list(), default=0)


class _Tasks:
    """The tasks of an application as arrays, sorted by stage; and what a stage asks about them."""

    def __init__(self, account: JobAccount, origin_ms: float) -> None:
        self.engine = account.application.engine
        self.rows = account.tasks.sort("stage_id", "stage_attempt", maintain_order=True)
        self.times = task_times(self.rows, self.engine, origin_ms)
        self.succeeded = (self.rows["outcome"] == "succeeded").to_numpy()
        self.speculative = self.rows["speculative"].fill_null(value=False).to_numpy()
        self.index = self.rows["index"].to_numpy()
        self.bytes_read = bytes_read(self.rows, self.engine)
        self.bytes_spilled = bytes_spilled(self.rows, self.engine)
        self.executors = account.executors.select("cores", "added_ms", "removed_ms").rows()
        self._places = _places(self.rows)
        self._outcomes: dict[tuple[int, int], dict[str, int]] = {}
        counted = self.rows.group_by("stage_id", "stage_attempt", "outcome", maintain_order=True)
        for stage_id, attempt, outcome, count in counted.len().iter_rows():
            self._outcomes.setdefault((stage_id, attempt), {})[str(outcome)] = count

    def of(self, key: tuple[int, int]) -> slice:
        """Where the tasks of a stage are."""
        return self._places.get(key, slice(0, 0))

    def outcomes(self, key: tuple[int, int]) -> dict[str, int]:
        """How many of its attempts had which outcome."""
        return self._outcomes.get(key, {})


def _places(tasks: Any) -> dict[tuple[int, int], slice]:
    """Where the tasks of each stage lie in `tasks`, which is sorted by stage."""
    keys = np.column_stack([tasks["stage_id"].to_numpy(), tasks["stage_attempt"].to_numpy()])
    if not len(keys):
        return {}
    starts = np.flatnonzero(np.any(np.diff(keys, axis=0, prepend=keys[:1] - 1) != 0, axis=1))
    ends = np.append(starts[1:], len(keys))
    return {
        (int(keys[start][0]), int(keys[start][1])): slice(start, end)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }


def _stage(
    row: Mapping[str, Any],
    account: JobAccount,
    tasks: _Tasks,
    origin_ms: float,
    end_s: float | None,
) -> Stage:
    key = (row["stage_id"], row["attempt"])
    started_s = None if row["submitted_ms"] is None else (row["submitted_ms"] - origin_ms) / 1e3
    ended_s = end_s if row["ended_ms"] is None else (row["ended_ms"] - origin_ms) / 1e3
    elapsed_s = None
    if started_s is not None and ended_s is not None and ended_s >= started_s:
        elapsed_s = ended_s - started_s
    here = tasks.of(key)
    times = tasks.times.at(here)
    # The places, in all tasks, of those whose time is known.
    done = here.start + np.flatnonzero(~np.isnan(times.elapsed_s))
    ran, succeeded = tasks.times.at(done), tasks.succeeded[done]
    offered = _offered(account, tasks.executors, row)
    slots = slots_used(ran.launched_s, ran.finished_s)
    if offered:  # a launch may precede the end of the task before it, which is told a little late
        slots = min(slots, offered)
    slot_use = None
    bounds: tuple[Bound, ...] = ()
    if elapsed_s and slots and started_s is not None and ended_s is not None:
        inside_s = np.clip(ran.finished_s, started_s, ended_s) - np.clip(
            ran.launched_s, started_s, ended_s
        )
        slot_use = min(total(inside_s) / (slots * elapsed_s), 1.0)
        needed = succeeded if succeeded.any() else np.ones_like(succeeded)
        plan = schedule(ran, needed, slots, (started_s, ended_s))
        bounds = _bounds(ran, plan, tasks.engine)
    causes = _causes(ran, tasks.engine)
    unattributed_s = total(ran.unattributed_s)
    skews = (
        _skew("task time", "s", ran.elapsed_s[succeeded]),
        _skew("bytes read", "B", tasks.bytes_read[done][succeeded]),
    )
    n_stragglers, stragglers = _stragglers(tasks, done, ran.elapsed_s, succeeded)
    return Stage(
        key=key,
        name=row["name"] or "",
        outcome=row["outcome"] or "unknown",
        reason=row["reason"],
        started_s=started_s,
        elapsed_s=elapsed_s,
        n_tasks=row["n_tasks"],
        n_attempts=here.stop - here.start,
        attempts_by_outcome=tasks.outcomes(key),
        task_s=total(ran.elapsed_s),
        causes=causes,
        unattributed_s=unattributed_s,
        overlap_s=total(ran.overlap_s),
        n_without_metrics=int((~ran.measured).sum()),
        skews=skews,
        n_stragglers=n_stragglers,
        stragglers=stragglers,
        slots=slots,
        offered_slots=offered,
        waves=len(done) / slots if slots else None,
        slot_use=slot_use,
        speculation=_speculation(tasks, here),
        spilled_bytes=_spilled(tasks.bytes_spilled[here]),
        bounds=bounds,
        verdict=stage_verdict(elapsed_s, slot_use, causes, unattributed_s, skews),
    )


def _causes(times: TaskTimes, engine: str) -> tuple[CauseTime, ...]:
    found = []
    for cause in CAUSES[engine]:
        values = times.causes.get(cause)
        if values is None or not len(values):
            found.append(CauseTime(cause, None, "the engine did not record it"))
        else:
            found.append(CauseTime(cause, total(values)))
    return tuple(found)


def _skew(what: str, unit: str, values: Seconds) -> Skew:
    values = values[~np.isnan(values)]
    if not len(values):
        return Skew(what, unit, None, None, None, "not recorded")
    middle, largest = float(np.median(values)), float(values.max())
    if len(values) < LEAST_SKEW:
        return Skew(what, unit, middle, largest, None, "a single task")
    if middle <= 0:
        return Skew(what, unit, middle, largest, None, "the median is 0")
    return Skew(what, unit, middle, largest, largest / middle)


def _stragglers(
    tasks: _Tasks,
    done: npt.NDArray[np.intp],
    elapsed_s: Seconds,
    succeeded: npt.NDArray[np.bool_],
) -> tuple[int, tuple[Straggler, ...]]:
    """Tasks beyond 1.5 medians whose modified z-score is beyond 3.5, the longest first."""
    if int(succeeded.sum()) < LEAST_TASKS:
        return 0, ()
    usual_s = float(np.median(elapsed_s[succeeded]))
    deviation_s = float(np.median(np.abs(elapsed_s[succeeded] - usual_s)))
    excess_s = elapsed_s - usual_s
    far = NORMAL_MAD * excess_s > STRAGGLER_Z * deviation_s
    long = (elapsed_s > STRAGGLER_FACTOR * usual_s) & (excess_s >= STRAGGLER_LEAST_S)
    found = np.flatnonzero(far & long)
    found = found[np.argsort(-elapsed_s[found], kind="stable")]
    read_bytes = tasks.bytes_read[done]
    known = read_bytes[succeeded & ~np.isnan(read_bytes)]
    usual_bytes = float(np.median(known)) if len(known) else 0.0
    shown = []
    for place in found[:SHOWN_STRAGGLERS].tolist():
        row = tasks.rows.row(int(done[place]), named=True)
        ratio = None
        if usual_bytes > 0 and not np.isnan(read_bytes[place]):
            ratio = float(read_bytes[place]) / usual_bytes
        time_s = float(elapsed_s[place])
        shown.append(
            Straggler(
                row["task_id"], row["host"], row["executor_id"], time_s,
                time_s / usual_s if usual_s > 0 else None, ratio,
            )
        )  # fmt: skip
    return len(found), tuple(shown)


def _offered(
    account: JobAccount, executors: Sequence[tuple[Any, ...]], row: Mapping[str, Any]
) -> int | None:
    """Task slots of the executors that were there at the same time while the stage ran."""
    start, end = row["submitted_ms"], row["ended_ms"]
    if start is None:
        return None
    there = [
        (cores, max(added or start, start), math.inf if removed is None else removed)
        for cores, added, removed in executors
        if (removed is None or removed > start)
        and (added is None or added <= (start if end is None else end))
    ]
    if not there or any(cores is None for cores, _, _ in there):
        return None
    text = account.configuration.get("spark.task.cpus", "1")
    cpus = int(text) if text.isdecimal() and int(text) > 0 else 1
    # One that replaces another comes after it: at one moment, those that go are gone first.
    changes = sorted(
        change
        for cores, added, removed in there
        for change in ((added, int(cores) // cpus), (removed, -(int(cores) // cpus)))
    )
    return max(itertools.accumulate(slots for _, slots in changes))


def _speculation(tasks: _Tasks, here: slice) -> Speculation:
    copies = tasks.speculative[here]
    if not copies.any():
        return Speculation(0, 0, 0.0, 0)
    won, index = tasks.succeeded[here], tasks.index[here]
    lost_s = tasks.times.at(here).elapsed_s[np.isin(index, index[copies]) & ~won]
    return Speculation(
        int(copies.sum()), int((copies & won).sum()), total(lost_s), int(np.isnan(lost_s).sum())
    )


def _spilled(spilled_bytes: Floats) -> int | None:
    return None if np.isnan(spilled_bytes).all() else int(total(spilled_bytes))


def _bounds(times: TaskTimes, plan: Schedule, engine: str) -> tuple[Bound, ...]:
    whole_s = plan.stage_s()

    def saved(*parts: Seconds | None) -> float:
        present = [part for part in parts if part is not None]
        if not present:
            return 0.0
        return max(whole_s - plan.stage_s(np.sum(present, axis=0)), 0.0)

    cause = times.causes.get
    unknown = times.unattributed_s
    silent = f"{engine} records no such time"
    gc = cause("garbage collection")
    write, fetch, result = (
        cause("shuffle write"),
        cause("shuffle fetch wait"),
        cause("getting result"),
    )
    none = None if write is not None else silent
    no_gc = Bound("garbage collection", None, saved(unknown), silent)
    if gc is not None:
        no_gc = Bound("garbage collection", saved(gc), saved(gc))
    return (
        no_gc,
        Bound(
            "waiting for disks",
            saved(write) if write is not None else None,
            saved(write, fetch, unknown),  # a fetch may wait for the disk at the other end
            none,
        ),
        Bound(
            "waiting for the network",
            saved(fetch, result) if fetch is not None else None,
            saved(fetch, result, unknown),
            None if fetch is not None else silent,
        ),
    )


def _on_path(stages: Sequence[Stage], path: Sequence[Step]) -> tuple[Bound, ...]:
    """Savings of the stages on the path, added up: the end cannot come sooner by more."""
    on_path = {step.key for step in path}
    of_stages = [stage.bounds for stage in stages if stage.key in on_path and stage.bounds]
    sums = []
    for same in zip(*of_stages, strict=True):
        known = [bound.recorded_s for bound in same if bound.recorded_s is not None]
        reason = next((bound.reason for bound in same if bound.reason), None)
        recorded_s = sum(known) if known else None
        sums.append(Bound(same[0].without, recorded_s, sum(b.at_most_s for b in same), reason))
    return tuple(sums)
