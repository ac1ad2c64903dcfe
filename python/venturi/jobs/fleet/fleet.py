"""The jobs of a repository: one row each, sorted by the time that can be saved, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median

from venturi.core.statistics.change_point import LEAST_VALUES, change_p, located_change
from venturi.core.statistics.stats import ALPHA
from venturi.core.units import about_cost, format_duration
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.sentences import rounded
from venturi.jobs.fleet.runs import JobRun, grouped
from venturi.jobs.fleet.summary import JobSummary
from venturi.machines.cost.job_prices import JobCost, JobPrices, job_cost
from venturi.record.trial import State

TIMES_SHOWN = 60
"""A job's newest runs that are shown and searched for a change."""
LEAST_CHANGE = 1.05
"""A smaller change of a job's time isn't mentioned."""
_WAITING = "this run isn't diagnosed yet"


@dataclass(frozen=True, slots=True)
class JobTrend:
    """The time of a job's runs `since` a run is `ratio` times that of its earlier runs.

    `before` and `after` are the ids of the runs around the change.
    """

    text: str
    since: datetime | None
    ratio: float
    ratio_low: float
    ratio_high: float
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FleetJob:
    """A job by its latest run: `id` to `cost_reason` are that run's.

    `cost_basis` says in words how the cost was calculated. `price` is the price used: `recorded`,
    or one that the user has set, such as `core-hour`. `saving_usd` is the cost of the saved time.
    `runs` counts the runs of the job, and `median_s` is the median time of the successful ones.
    `times_s` has the times of the newest of them, oldest first. `trend` is None unless a change is
    proven. The fields named `..._reason` explain other missing values.
    """

    id: str
    name: str
    application: str | None
    engine: str
    state: str
    started_at: datetime | None
    elapsed_s: float | None
    diagnosed: bool
    finding: str | None
    finding_reason: str | None
    fix: str | None
    saving: str | None
    saving_s: float | None
    saving_low_s: float | None
    saving_high_s: float | None
    saving_reason: str | None
    cost_usd: float | None
    cost_basis: str | None
    price: str | None
    saving_usd: float | None
    cost_reason: str | None
    runs: int
    median_s: float | None
    times_s: tuple[float, ...]
    trend: JobTrend | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The first of `n` jobs, the biggest saving first; totals are over the latest runs of all.

    A job's saving is that of its biggest finding, because savings of several may overlap. It isn't
    known yet for `undiagnosed` jobs. Exclusion rules leave out `excluded_runs`. `saving_usd` leaves
    out the savings of jobs without a price; `cost_usd` is only known if all jobs have one.
    """

    sentence: str
    jobs: tuple[FleetJob, ...]
    n: int
    runs: int
    elapsed_s: float
    saving_s: float
    saving_low_s: float
    saving_high_s: float
    saving_usd: float | None
    cost_usd: float | None
    cost_reason: str | None
    failed: int
    undiagnosed: int
    excluded_runs: int


def latest_runs(runs: Sequence[JobRun], *, each: bool) -> list[list[JobRun]]:
    """The runs of each job, newest first; with `each`, every run as a job of its own."""
    return [[run] for run in runs] if each else grouped(runs)


def fleet_of(
    jobs: Sequence[Sequence[JobRun]],
    summaries: Mapping[str, JobSummary],
    prices: JobPrices,
    *,
    each: bool = False,
    excluded_runs: int = 0,
) -> Fleet:
    """The rows of `jobs`, each with its runs, newest first; `summaries` are by run."""
    trends = trends_of(jobs)
    found = [
        _row(runs, summaries.get(runs[0].id), prices, trend)
        for runs, trend in zip(jobs, trends, strict=True)
    ]
    rows = sorted(found, key=_order)
    low_s, saving_s, high_s = (
        sum(value or 0.0 for value in values)
        for values in (
            [row.saving_low_s for row in rows],
            [row.saving_s for row in rows],
            [row.saving_high_s for row in rows],
        )
    )
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    unpriced = len(rows) - len(costs)
    saved = [row.saving_usd for row in rows if row.saving_usd is not None]
    fleet = Fleet(
        sentence="",
        jobs=tuple(rows),
        n=len(rows),
        runs=sum(map(len, jobs)),
        elapsed_s=sum(row.elapsed_s or 0.0 for row in rows),
        saving_s=saving_s,
        saving_low_s=low_s,
        saving_high_s=high_s,
        saving_usd=sum(saved) if saved else None,
        cost_usd=sum(costs) if costs and not unpriced else None,
        cost_reason=f"{count_of(unpriced, 'job')} without a price" if unpriced else None,
        failed=sum(row.state == State.FAILED for row in rows),
        undiagnosed=sum(not row.diagnosed for row in rows),
        excluded_runs=excluded_runs,
    )
    return replace(fleet, sentence=_sentence(fleet, each=each))


def _row(
    runs: Sequence[JobRun],
    summary: JobSummary | None,
    prices: JobPrices,
    trend: JobTrend | None,
) -> FleetJob:
    latest = runs[0]
    counted = [run for run in runs if run.counted]
    times = [run.elapsed_s for run in counted if run.elapsed_s is not None]
    found = summary or JobSummary(finding_reason=_WAITING, saving_reason=_WAITING)
    cost = JobCost(reason=_WAITING) if summary is None else job_cost(found.use, prices)
    elapsed_s = latest.elapsed_s if latest.elapsed_s is not None else found.elapsed_s
    return FleetJob(
        id=latest.id,
        name=latest.name,
        application=found.application,
        engine=latest.engine,
        state=latest.state,
        started_at=latest.started_at,
        elapsed_s=elapsed_s,
        diagnosed=summary is not None,
        finding=found.finding,
        finding_reason=found.finding_reason,
        fix=found.fix,
        saving=found.saving,
        saving_s=found.saving_s,
        saving_low_s=found.saving_low_s,
        saving_high_s=found.saving_high_s,
        saving_reason=found.saving_reason,
        cost_usd=cost.usd,
        cost_basis=cost.basis,
        price=cost.price,
        saving_usd=cost.of_saving(found.saving_s),
        cost_reason=cost.reason,
        runs=len(runs),
        median_s=median(times) if times else None,
        times_s=tuple(reversed(times[:TIMES_SHOWN])),
        trend=trend,
    )


def trends_of(jobs: Sequence[Sequence[JobRun]]) -> list[JobTrend | None]:
    """For the runs of each job, newest first, the proven change in its time, or None.

    With Holm's method, the chance that any change is a false alarm is at most `ALPHA`, however many
    jobs have enough runs.
    """
    trends: list[JobTrend | None] = [None] * len(jobs)
    dated = [_dated(runs) for runs in jobs]
    tested = sorted(
        (change_p(_times(runs)), place)
        for place, runs in enumerate(dated)
        if len(runs) >= LEAST_VALUES
    )
    for rank, (p, place) in enumerate(tested):
        if p > ALPHA / (len(tested) - rank):
            break
        trends[place] = _trend(dated[place], p)
    return trends


def _dated(runs: Sequence[JobRun]) -> list[JobRun]:
    """The newest successful runs with a date, oldest first."""
    found = [run for run in runs if run.counted and run.started_at is not None and run.elapsed_s]
    return found[:TIMES_SHOWN][::-1]


def _times(runs: Sequence[JobRun]) -> tuple[float, ...]:
    return tuple(run.elapsed_s or 0.0 for run in runs)


def _trend(runs: Sequence[JobRun], p: float) -> JobTrend | None:
    change = located_change(_times(runs), p)
    if change is None or 1 / LEAST_CHANGE < change.ratio < LEAST_CHANGE:
        return None
    first = runs[change.index]
    assert first.started_at is not None
    faster = change.ratio < 1
    factor = 1 / change.ratio if faster else change.ratio
    local = first.started_at.astimezone()
    return JobTrend(
        text=f"{factor:.2g}x {'faster' if faster else 'slower'} since {local.day} {local:%b %Y}",
        since=first.started_at,
        ratio=change.ratio,
        ratio_low=change.interval.low,
        ratio_high=change.interval.high,
        before=runs[change.index - 1].id,
        after=first.id,
    )


def _worth(fleet: Fleet) -> str:
    """`, about $4.20,`; `at least` if some of the savings have no price; "" if none has."""
    if fleet.saving_usd is None:
        return ""
    partial = any(row.saving_s is not None and row.saving_usd is None for row in fleet.jobs)
    cost = about_cost(fleet.saving_usd)
    return f", {cost.replace('about', 'at least') if partial else cost},"


def _order(row: FleetJob) -> tuple[float, bool, float]:
    """The biggest saving first, then failed jobs, then the longest."""
    return -(row.saving_s or 0.0), row.state != State.FAILED, -(row.elapsed_s or 0.0)


def _sentence(fleet: Fleet, *, each: bool) -> str:
    """Return "27 jobs, 14 h 12 min; about 3.1 h (2–5 h) can be saved; start with nightly-etl.".

    With prices: "about 3.1 h (2–5 h), about $4.20, can be saved".
    """
    if not fleet.jobs:
        return "No jobs are recorded."
    n, took = len(fleet.jobs), format_duration(fleet.elapsed_s)
    if each or fleet.runs == n:
        said = [f"{count_of(n, 'run' if each else 'job')}, {took}"]
    else:
        runs = count_of(fleet.runs, "run")
        said = [f"{count_of(n, 'job')} ({runs}); the latest runs took {took}"]
    if fleet.failed:
        said.append(f"{fleet.failed:,} failed")
    if fleet.saving_s:
        (about, low, high), unit = rounded(fleet.saving_s, fleet.saving_low_s, fleet.saving_high_s)
        said.append(f"about {about} {unit} ({low}–{high} {unit}){_worth(fleet)} can be saved")
        if not fleet.undiagnosed:  # another one may save more
            said.append(f"start with {fleet.jobs[0].name}")
    elif fleet.undiagnosed < n:
        said.append("no known problem costs time")
    if fleet.undiagnosed:
        said.append(f"{fleet.undiagnosed:,} not diagnosed yet")
    return "; ".join(said) + "."
