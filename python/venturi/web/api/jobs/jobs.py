"""A job as its engine accounts for it: stages, causes, the critical path, for the trial's page."""

from __future__ import annotations

import numpy as np

from venturi.core.errors import VenturiError
from venturi.jobs.diagnosis.find import Diagnosis, diagnose_trial
from venturi.jobs.fleet.kept import KeptSummary, kept_summary
from venturi.jobs.stages.analysis import analyse_trial
from venturi.jobs.stages.caches import cache_uses
from venturi.jobs.stages.causes import Floats
from venturi.jobs.stages.executors import executor_uses
from venturi.jobs.stages.host_use import HostUseByStage, host_use_by_stage, sentence
from venturi.jobs.stages.memory import memory_uses
from venturi.jobs.stages.queries import failure_of
from venturi.jobs.stages.stage import Analysis, NarrowestPoint, Stage
from venturi.jobs.stages.streaming import stream_batches, stream_uses
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.jobs.stages.verdict import in_words
from venturi.jobs.tiers.recorded_tiers import tier_levels, tier_uses
from venturi.jobs.whatif.ideal import ideals
from venturi.jobs.whatif.outlook import Outlooks, outlooks
from venturi.record.account_tables import has_account
from venturi.record.dropped_tables import tables_dropped
from venturi.record.job_account import load
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial
from venturi.results.hosts.use import HostUse
from venturi.web.api.jobs.cached_answers import CachedAnswer
from venturi.web.api.jobs.job_queries import jobs_of, queries_of
from venturi.web.api.jobs.job_shapes import JobData, JobPart, JobRunning, JobStage

SHOWN_STAGES = 200
RUNNING_POINTS = TIER_POINTS = 400
REPLAYED_TASKS = 20_000  # of more, a page would wait too long
SHOWN_TIERS = SHOWN_LOSSES = SHOWN_EXECUTORS = 200
SHOWN_STREAMS = SHOWN_CACHES = 50
SHOWN_MEMORY = SHOWN_BATCHES = 4
JOB = CachedAnswer("job.json", JobData)
TASK_TIME = "task time"
NO_CLOCK = "an imported log has only its own clock"


def line_of(repository: TrialRepository, trial: Trial) -> Timeline:
    """The timeline of the job of `trial`; VEN-MODEL-INPUT if no account of it is kept."""
    if not has_account(trial):
        raise VenturiError(
            "VEN-MODEL-INPUT",
            "no job log was recorded with this trial",
            where={"trial": trial.id},
            hint="import the engine's own log of it: venturi import LOG",
        )
    return timeline(load(repository, trial))


def analysed(repository: TrialRepository, trial: Trial) -> tuple[Timeline, Analysis]:
    """The timeline of the job of `trial`, and its analysis."""
    line = line_of(repository, trial)
    return line, analyse_trial(trial, line)


def job_of(repository: TrialRepository, trial: Trial) -> JobData:
    """The analysis of the account that is kept with `trial`, or why there isn't any."""

    def made() -> JobData:
        line, found = analysed(repository, trial)
        host = host_use_by_stage(repository, trial, line.account, found)
        findings = diagnose_trial(repository, trial, line, found, host)
        return data_of(line, found, host, findings)

    try:
        if (kept := kept_summary(repository, trial)) is not None:
            return _data_of_summary(trial, kept)
        return JOB.of(repository, trial, made)
    except VenturiError as error:
        return _nothing(error.message)


def _nothing(reason: str) -> JobData:
    return JobData(
        Outlooks((), None, reason),
        began_reason=reason,
        silence=reason,
        missing_reason=reason,
    )


def _data_of_summary(trial: Trial, kept: KeptSummary) -> JobData:
    """The answer about a job without task tables."""
    dropped, found, point = tables_dropped(trial), kept.diagnosis, kept.narrowest
    if found is None or point is None:
        return _nothing(f"{kept.row.finding_reason or 'no findings'}; {dropped}")
    return JobData(
        Outlooks((), None, dropped),
        began_s=kept.began_s,
        began_reason=None if kept.began_s is not None else NO_CLOCK,
        failure=kept.failure,
        elapsed_s=kept.elapsed_s,
        lacks_tasks=kept.lacking is not None,
        sentence=found.sentence,
        verdict=point.sentence,
        findings=found.findings,
        silence=found.silence,
        overlap=found.overlap,
        unseen=found.unseen,
        parts=_parts(point),
        dropped=dropped,
    )


def _parts(point: NarrowestPoint) -> tuple[JobPart, ...]:
    whole_s = point.of_s
    return tuple(
        JobPart(part, in_words(part), share * whole_s, share)
        for part, share in point.shares.items()
        if whole_s is not None
    )


def data_of(line: Timeline, found: Analysis, host: HostUseByStage, told: Diagnosis) -> JobData:
    """The answer about a job of which all this was found out."""
    account = line.account
    longest = sorted(found.stages, key=lambda each: -each.task_s)[:SHOWN_STAGES]
    shown, path = {each.key for each in longest}, {step.key for step in found.path}
    uses = executor_uses(line)
    queries, jobs = queries_of(line), jobs_of(line, ideals(line, REPLAYED_TASKS))
    busiest = {each.executor_id for each in sorted(uses, key=lambda e: -e.task_s)[:SHOWN_EXECUTORS]}
    return JobData(
        began_s=account.began_s,
        began_reason=None if account.began_s is not None else account.origin_reason or NO_CLOCK,
        applications=account.applications,
        failure=failure_of(account.application),
        elapsed_s=found.elapsed_s,
        lacks_tasks=line.gaps.lacks,
        driver_s=found.driver_s,
        sentence=told.sentence,
        verdict=found.verdict.sentence,
        findings=told.findings,
        silence=told.silence,
        overlap=told.overlap,
        unseen=told.unseen,
        parts=_parts(found.verdict),
        cores=found.cores,
        losses=found.losses[:SHOWN_LOSSES],
        lost_executors=found.lost_executors[:SHOWN_EXECUTORS],
        stages=tuple(
            _stage(each, each.key in path, host.uses.get(each.key))
            for each in found.stages
            if each.key in shown
        ),
        stages_left_out=len(found.stages) - len(shown),
        running=_running(line),
        bounds=found.bounds,
        outlook=outlooks(line, REPLAYED_TASKS),
        queries=queries,
        queries_left_out=(0 if account.queries is None else len(account.queries)) - len(queries),
        jobs=jobs,
        jobs_left_out=len(account.jobs) - len(jobs),
        executors=tuple(each for each in uses if each.executor_id in busiest),
        executors_left_out=len(uses) - len(busiest),
        memory=memory_uses(line, SHOWN_MEMORY),
        caches=cache_uses(account, SHOWN_CACHES),
        streams=tuple(stream_uses(line))[:SHOWN_STREAMS],
        batches=stream_batches(line, SHOWN_BATCHES),
        tiers=tier_uses(account)[:SHOWN_TIERS],
        tier_levels=tier_levels(account, TIER_POINTS),
    )


def _running(line: Timeline) -> JobRunning | None:
    """The exact mean number of tasks at work in each of equal parts of the application's time."""
    times = line.tasks.times
    if line.account.application.started_ms is None or not line.elapsed_s or not len(times.measured):
        return None
    tasks_s = np.column_stack([times.launched_s, times.finished_s])[~np.isnan(times.elapsed_s)]
    edges_s = np.linspace(0.0, line.elapsed_s, RUNNING_POINTS + 1)

    def passed_s(moments_s: Floats) -> Floats:
        """At each edge, the sum of the times since those `moments_s` that have passed."""
        moments_s = np.sort(moments_s, kind="stable")  # mostly in order, so that this merges
        sums_s = np.concatenate([[0.0], np.cumsum(moments_s)])
        over = np.searchsorted(moments_s, edges_s)
        passed: Floats = over * edges_s - sums_s[over]
        return passed

    worked_s = passed_s(tasks_s[:, 0]) - passed_s(tasks_s[:, 1])
    means = np.diff(worked_s) / np.diff(edges_s)
    middles_s = (edges_s[1:] + edges_s[:-1]) / 2
    return JobRunning(tuple(middles_s.tolist()), tuple(np.maximum(means, 0.0).round(6).tolist()))


def _stage(stage: Stage, on_critical_path: bool, use: HostUse | None) -> JobStage:
    skews = {each.what: each.ratio for each in stage.skews}
    return JobStage(
        label=stage.label,
        name=stage.name,
        outcome=stage.outcome,
        reason=stage.reason,
        started_s=stage.started_s,
        elapsed_s=stage.elapsed_s,
        tasks=stage.n_attempts,
        slots=stage.slots,
        waves=stage.waves,
        slot_use=stage.slot_use,
        task_s=stage.task_s,
        causes=stage.causes,
        unattributed_s=stage.unattributed_s,
        skew=skews.get(TASK_TIME),
        skew_bytes=max(
            (each.ratio for each in stage.skews if each.unit != "s" and each.ratio is not None),
            default=None,
        ),
        stragglers=stage.n_stragglers,
        spilled_bytes=stage.spilled_bytes,
        on_critical_path=on_critical_path,
        verdict=stage.verdict.sentence,
        host=use,
        meanwhile=None if use is None else sentence(stage, use),
        partial=stage.partial,
        time_bound=stage.time_bound,
    )
