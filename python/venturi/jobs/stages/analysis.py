"""Job analysis from its engine's own account: where its time went, stage by stage.

Reads only the tables of `record.job_account`. docs/method/stages.md has the formulas, their sources
and the meaning of each engine metric. Times are in seconds; None is unknown, with a reason where
the engine gives one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import (
    BY_ELIMINATION,
    READING,
    SPILLING,
    STATE,
    TO_COMPUTE,
    WITHOUT_END,
    WRITING,
    Floats,
    Seconds,
    TaskTimes,
    total,
)
from venturi.jobs.stages.elapsed import ElapsedParts, elapsed_parts
from venturi.jobs.stages.losses import losses, lost_executors, with_losses
from venturi.jobs.stages.path import PathStep, StageSpan, critical_path, without_stage_s
from venturi.jobs.stages.replay import Schedule, schedule, slots_used
from venturi.jobs.stages.slots import SlotOffer, core_use
from venturi.jobs.stages.spread import spreads_of
from venturi.jobs.stages.stage import (
    Analysis,
    Bound,
    CauseTime,
    Skew,
    SpeculationSummary,
    Stage,
    Straggler,
)
from venturi.jobs.stages.tasks import Tasks
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.jobs.stages.verdict import application_verdict, stage_verdict, with_background_load
from venturi.record.job_account import JobAccount
from venturi.record.trial import CPU_OTHERS, Trial

# Chosen by us, not measured; the factor is the default of spark.speculation.multiplier before 4.0
# and Mantri's bar for an outlier (Ananthanarayanan and others, OSDI 2010).
STRAGGLER_FACTOR = 1.5
STRAGGLER_Z = 3.5  # Iglewicz and Hoaglin 1993
NORMAL_MAD = 0.6745  # the median absolute deviation of a normal distribution, in its sigmas
STRAGGLER_LEAST_S = 0.1
LEAST_TASKS = 5  # for stragglers
LEAST_SKEW = 2
SHOWN_STRAGGLERS = 10


def analyse_trial(trial: Trial, line: Timeline) -> Analysis:
    """Analyze the job of `trial`, with the load of other processes that it recorded."""
    return analyse(line.account, next(iter(trial.values(CPU_OTHERS)), None), line)


def analyse(
    account: JobAccount, others: float | None = None, line: Timeline | None = None
) -> Analysis:
    """Analyzes the application of `account`; VEN-MODEL-INPUT if its values are invalid.

    `others` is the share of the host's CPU time that other processes used, None if unknown. `line`
    is the account's timeline, if the caller has already built it.
    """
    application = account.application
    line = line or timeline(account)
    tasks, spans, there, elapsed_s = line.tasks, line.spans, line.there, line.elapsed_s
    timed = list(spans.values())
    rows = {(row["stage_id"], row["attempt"]): row for row in account.stages.rows(named=True)}
    parts, cores = ElapsedParts({}, {}, {}), None
    if elapsed_s:
        parts = elapsed_parts(account, tasks, timed, there, gaps=line.gaps, elapsed_s=elapsed_s)
        if there is not None and not line.gaps.stages and not line.gaps.spans:
            n_tasks = [rows[key]["n_tasks"] for key in spans]
            cores = core_use(tasks, timed, n_tasks, there, elapsed_s)
    stages = [_stage(row, line, parts.shares.get(key, {})) for key, row in rows.items()]
    path = critical_path(timed, elapsed_s) if elapsed_s else ()
    verdict = application_verdict(stages, parts, elapsed_s, account.kind.silence)
    verdict = with_background_load(verdict, others)
    lost, executors = losses(tasks, account.configuration), lost_executors(account, tasks.origin_ms)
    task_s = sum(stage.task_s for stage in stages)
    absent = line.gaps.n_stages or line.gaps.n_jobs
    verdict = with_losses(verdict, lost, executors, task_s, whole=not line.gaps.lacks)
    return Analysis(
        elapsed_s=elapsed_s,
        stages=tuple(stages),
        path=path,
        driver_s=without_stage_s(timed, elapsed_s) if elapsed_s and not absent else None,
        cores=cores,
        losses=lost,
        lost_executors=executors,
        bounds=() if line.gaps.lacks or not line.gaps.plans_known else _on_path(stages, path),
        speculation=SpeculationSummary(
            sum(stage.speculation.launched for stage in stages),
            sum(stage.speculation.won for stage in stages),
            sum(stage.speculation.wasted_s for stage in stages),
            sum(stage.speculation.unended for stage in stages),
        ),
        verdict=replace(verdict, sentence=f"as far as the log goes: {verdict.sentence}")
        if application.outcome == "unfinished"
        else verdict,
        lacking=line.gaps.sentence,
    )


def _stage(
    row: Mapping[str, Any],
    line: Timeline,
    shares: Mapping[str, float],
) -> Stage:
    key = row["stage_id"], row["attempt"]
    tasks, there, span = line.tasks, line.there, line.spans.get(key)
    here = tasks.of(key)
    times = tasks.times.at(here)
    # Places (indexes into all tasks) of this stage's tasks with a known time.
    done = here.start + np.flatnonzero(~np.isnan(times.elapsed_s))
    ran, succeeded = tasks.times.at(done), tasks.succeeded[done]
    at_once = slots_used(ran.launched_s, ran.finished_s)
    started_s = elapsed_s = slot_use = slots = None
    if row["submitted_ms"] is not None:
        started_s = (row["submitted_ms"] - tasks.origin_ms) / 1e3
    bounds: tuple[Bound, ...] = ()
    if span is not None:
        elapsed_s = span.to_s - span.from_s
        slots = None if there is None else there.most(span.from_s, span.to_s) or None
    if slots:  # the driver learns of a task's end late, after the next launch
        at_once = min(at_once, slots)
    partial = key in line.gaps.stages
    known = not partial and line.gaps.slots_known
    if span is not None and elapsed_s and at_once:
        slot_use = _slot_use(ran, span, there, at_once)
        needed = succeeded if succeeded.any() else np.ones_like(succeeded)
        plan = schedule(ran, needed, at_once, (span.from_s, span.to_s))
        line.schedules[key] = plan
        bounds = _bounds(ran, plan, tasks)
    causes = _causes(ran, tasks, whole=line.gaps.plans_known)
    # A hanging task has taken its time, whatever its outcome.
    counted = succeeded | tasks.hanging[done]
    skews: tuple[Skew, ...] = (
        _skew("task time", "s", ran.elapsed_s[counted]),
        _skew("bytes read", "B", tasks.bytes_read[done][succeeded]),
    )
    n_stragglers, stragglers = _stragglers(tasks, done, ran.elapsed_s, succeeded)
    if partial:
        skews = tuple(map(_without_ratio, skews))
        n_stragglers, stragglers = 0, ()
    unfinished = tasks.unfinished_of(key)
    return Stage(
        key=key,
        name=line.plans.name(key, row["name"] or ""),
        outcome=row["outcome"] or "unknown",
        reason=row["reason"],
        started_s=started_s,
        elapsed_s=elapsed_s,
        n_tasks=row["n_tasks"],
        n_attempts=here.stop - here.start,
        attempts_by_outcome=tasks.outcomes(key),
        task_s=total(ran.elapsed_s),
        causes=causes,
        unattributed_s=total(ran.unattributed_s),
        overlap_s=total(ran.overlap_s),
        n_without_metrics=int((~ran.measured).sum()),
        skews=skews,
        spreads=spreads_of(tasks, key),
        n_stragglers=n_stragglers,
        stragglers=stragglers,
        unfinished=unfinished,
        at_once=at_once,
        offered_slots=slots,
        waves=len(done) / (slots or at_once) if at_once and known else None,
        slot_use=None if not known or key in line.gaps.endless else slot_use,
        speculation=_speculation(tasks, here),
        spilled_bytes=_spilled(tasks.bytes_spilled[here]),
        bounds=() if partial else bounds,
        verdict=stage_verdict(
            elapsed_s,
            shares if len(done) or (partial and here.stop > here.start) else {},
            skews,
            unfinished,
            whole=line.gaps.plans_known,
        ),
        partial=partial,
        end_by=row["end_by"],
    )


def _slot_use(ran: TaskTimes, span: StageSpan, there: SlotOffer | None, at_once: int) -> float:
    inside_s = np.clip(ran.finished_s, span.from_s, span.to_s) - np.clip(
        ran.launched_s, span.from_s, span.to_s
    )
    offered_s = 0.0 if there is None else there.between(span.from_s, span.to_s)
    return min(total(inside_s) / (offered_s or at_once * (span.to_s - span.from_s)), 1.0)


def _causes(times: TaskTimes, tasks: Tasks, *, whole: bool) -> tuple[CauseTime, ...]:
    """Task time by cause; unless the log is `whole`, plans may not show that it only computes."""
    found = []
    for cause in tasks.kind.causes:
        values = times.causes.get(cause)
        if values is None or not len(values):
            found.append(CauseTime(cause, None, "not recorded by the engine"))
        else:
            found.append(CauseTime(cause, total(values)))
    for cause in (*BY_ELIMINATION, *WITHOUT_END):
        if total(tasks.times.causes.get(cause, np.zeros(0))) > 0:  # of some stage
            time_s = total(times.causes[cause])
            if time_s or whole or cause != TO_COMPUTE:
                found.append(CauseTime(cause, time_s))
            else:
                found.append(CauseTime(cause, None, "events are missing from the log"))
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


def _without_ratio(skew: Skew) -> Skew:
    """Events of tasks are missing: another may be larger, and the median another."""
    why = "events of its tasks are missing from the log"
    return Skew(skew.what, skew.unit, None, None, None, skew.reason or why)


def _stragglers(
    tasks: Tasks,
    done: npt.NDArray[np.intp],
    elapsed_s: Seconds,
    succeeded: npt.NDArray[np.bool_],
) -> tuple[int, tuple[Straggler, ...]]:
    """Returns the number of stragglers and the slowest of them, longest first.

    A straggler takes over 1.5 medians and has a modified z-score over 3.5.
    """
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
        who = tasks.who(int(done[place]))
        ratio = None
        if usual_bytes > 0 and not np.isnan(read_bytes[place]):
            ratio = float(read_bytes[place]) / usual_bytes
        time_s = float(elapsed_s[place])
        shown.append(
            Straggler(
                who.task_id,
                who.host,
                who.executor_id,
                time_s,
                time_s / usual_s if usual_s > 0 else None,
                ratio,
            )
        )
    return len(found), tuple(shown)


def _speculation(tasks: Tasks, here: slice) -> SpeculationSummary:
    copies = tasks.speculative[here]
    if not copies.any():
        return SpeculationSummary(0, 0, 0.0, 0)
    won, index = tasks.succeeded[here], tasks.index[here]
    lost = np.isin(index, index[copies]) & ~won
    lost_s = tasks.times.at(here).elapsed_s[lost]
    unended = tasks.unfinished[here][lost] | np.isnan(lost_s)
    return SpeculationSummary(
        int(copies.sum()), int((copies & won).sum()), total(lost_s), int(unended.sum())
    )


def _spilled(spilled_bytes: Floats) -> int | None:
    return None if np.isnan(spilled_bytes).all() else int(total(spilled_bytes))


def _bounds(times: TaskTimes, plan: Schedule, tasks: Tasks) -> tuple[Bound, ...]:
    def saved(*parts: Seconds | None) -> float:
        present = [part for part in parts if part is not None]
        if not present:
            return 0.0
        return max(plan.whole_s - plan.stage_s(np.sum(present, axis=0)), 0.0)

    cause = times.causes.get
    unknown = np.sum([times.unattributed_s, *(times.causes[each] for each in WITHOUT_END)], axis=0)
    silent = f"{tasks.kind.engine} doesn't record this time"
    gc = cause("garbage collection")
    write, fetch, result = (
        cause("shuffle write"),
        cause("shuffle fetch wait"),
        cause("getting result"),
    )
    none = None if write is not None else silent
    no_gc = Bound("garbage collection", None, saved(unknown), silent)
    if gc is not None:
        of_gc_s = saved(gc)
        no_gc = Bound("garbage collection", of_gc_s, of_gc_s)
    sent = () if tasks.all_in_driver else (fetch, result)
    return (
        no_gc,
        Bound(
            "waiting for disks",
            saved(write) if write is not None else None,
            # A fetch may wait for the disk at the other end, who waits for memory for one here.
            saved(
                write, fetch, unknown, *map(cause, (READING, STATE, SPILLING, WRITING, TO_COMPUTE))
            ),
            none,
        ),
        Bound(
            "waiting for the network",
            saved(*sent) if fetch is not None else None,
            saved(*sent, unknown, cause(READING), cause(WRITING)),
            None if fetch is not None else silent,
        ),
    )


def _on_path(stages: Sequence[Stage], path: Sequence[PathStep]) -> tuple[Bound, ...]:
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
