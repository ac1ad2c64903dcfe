"""Rows of jobs and their sentence, from runs and summaries."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from venturi.jobs.fleet.fleet import JobTrend, fleet_of, latest_runs, trends_of
from venturi.jobs.fleet.runs import JobRun
from venturi.jobs.fleet.summary import JobSummary
from venturi.machines.cost.job_prices import JobPrices, JobUse

NONE = JobPrices()
NIGHT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def run(
    name: str, number: int, elapsed_s: float | None = 100.0, state: str = "succeeded"
) -> JobRun:
    return JobRun(
        id=f"{name}-{number:03}",
        key=(name, "spark-eventlog", None, None, "spark"),
        name=name,
        engine="spark",
        state=state,
        started_at=NIGHT + timedelta(days=number),
        elapsed_s=elapsed_s,
        counted=state == "succeeded" and elapsed_s is not None,
    )


def runs_of(name: str, times_s: list[float]) -> list[JobRun]:
    """One run a night, newest first."""
    return [run(name, number, time) for number, time in enumerate(times_s)][::-1]


def noisy(n: int, level_s: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [level_s * rng.lognormvariate(0, 0.05) for _ in range(n)]


def trend_of(runs: list[JobRun]) -> JobTrend | None:
    (trend,) = trends_of([runs])
    return trend


SAVES = JobSummary(
    application="application_1_0001",
    elapsed_s=3_600.0,
    finding="spilling to disk",
    fix="Raise spark.executor.memory",
    saving="saves about 20 min (12–34 min) of 1 h 00 min",
    saving_s=1_200.0,
    saving_low_s=720.0,
    saving_high_s=2_040.0,
    use=JobUse(elapsed_s=3_600.0, recorded_usd=6.0, recorded_basis="recorded cost"),
)
SOUND = JobSummary(
    elapsed_s=100.0, finding_reason="no known problem", saving_reason="no known problem"
)


def test_the_biggest_saving_comes_first_and_the_sentence_starts_with_it() -> None:
    runs = [run("sound", 1), run("nightly-etl", 2, 3_600.0)]
    found = fleet_of(
        latest_runs(runs, each=False), {"sound-001": SOUND, "nightly-etl-002": SAVES}, NONE
    )
    assert [job.name for job in found.jobs] == ["nightly-etl", "sound"]
    assert found.sentence == (
        "2 jobs, 1 h 02 min; about 20 min (12–34 min), about $2.00, can be saved; "
        "start with nightly-etl."
    )
    assert (found.saving_s, found.elapsed_s) == (1_200.0, 3_700.0)


def test_runs_of_a_job_are_one_row_with_their_number_and_median() -> None:
    runs = runs_of("etl", [10.0, 30.0, 20.0])
    found = fleet_of(latest_runs(runs, each=False), {"etl-002": SOUND}, NONE)
    (job,) = found.jobs
    assert (job.id, job.runs, job.median_s, job.elapsed_s) == ("etl-002", 3, 20.0, 20.0)
    assert job.times_s == (10.0, 30.0, 20.0)
    assert (
        found.sentence
        == "1 job (3 runs); the latest runs took 20.0 s; no known problem costs time."
    )
    every = fleet_of(latest_runs(runs, each=True), {}, NONE, each=True)
    assert len(every.jobs) == 3
    assert every.sentence == "3 runs, 60.0 s; 3 not diagnosed yet."


def test_a_missing_value_has_a_reason() -> None:
    found = fleet_of(latest_runs([run("new", 1)], each=False), {}, NONE)
    (job,) = found.jobs
    assert not job.diagnosed
    assert (job.finding, job.saving_s, job.cost_usd) == (None, None, None)
    assert all((job.finding_reason, job.saving_reason, job.cost_reason))
    assert found.cost_usd is None
    assert found.cost_reason == "1 job without a price"


def test_the_saving_has_its_share_of_the_cost() -> None:
    found = fleet_of([[run("etl", 1, 3_600.0)]], {"etl-001": SAVES}, NONE)
    assert found.jobs[0].saving_usd == pytest.approx(2.0)
    assert (found.cost_usd, found.cost_reason) == (6.0, None)


def test_the_sentence_has_the_cost_of_what_can_be_saved() -> None:
    cores = replace(SAVES, use=JobUse(elapsed_s=3_600.0, core_s=24 * 3_600.0, cores=24))
    jobs = [[run("etl", 1, 3_600.0)], [run("report", 1, 3_600.0)]]
    summaries = {"etl-001": SAVES, "report-001": cores}
    found = fleet_of(jobs, summaries, JobPrices(0.05))
    assert [job.price for job in found.jobs] == ["recorded", "core-hour"]
    assert found.saving_usd == pytest.approx(2.0 + 0.4)
    assert "about 40 min (24–68 min), about $2.40, can be saved" in found.sentence
    found = fleet_of(jobs, summaries, NONE)
    assert found.saving_usd == pytest.approx(2.0)
    assert found.cost_usd is None
    assert ", at least $2.00, can be saved" in found.sentence


def test_failed_jobs_are_counted_and_follow_those_that_can_save_time() -> None:
    failed = run("crash", 1, None, "failed")
    summaries = {
        "crash-001": JobSummary(elapsed_s=50.0, finding="out of memory", saving_reason="it failed"),
        "sound-001": SOUND,
        "etl-001": SAVES,
    }
    runs = [run("sound", 1), failed, run("etl", 1, 3_600.0)]
    found = fleet_of(latest_runs(runs, each=False), summaries, NONE)
    assert [job.name for job in found.jobs] == ["etl", "crash", "sound"]
    assert found.jobs[1].elapsed_s == 50.0
    assert "; 1 failed; " in found.sentence


def test_a_proven_slowdown_has_its_date_and_factor() -> None:
    runs = runs_of("etl", noisy(11, 100.0, 1) + noisy(6, 150.0, 2))
    trend = trend_of(runs)
    assert trend is not None
    assert trend.text == "1.5x slower since 12 Nov 2026"
    assert (trend.before, trend.after) == ("etl-010", "etl-011")
    assert trend.ratio_low > 1.3
    assert fleet_of([runs], {}, NONE).jobs[0].trend == trend


def test_an_unproven_or_small_change_is_not_mentioned() -> None:
    assert trend_of(runs_of("few", [100.0, 100.0, 180.0, 190.0])) is None
    assert trend_of(runs_of("noise", noisy(30, 100.0, 3))) is None
    assert trend_of(runs_of("small", noisy(40, 100.0, 4)[:20] + [102.0] * 20)) is None
    failing = [replace(each, counted=False) for each in runs_of("x", [1.0] * 8 + [2.0] * 8)]
    assert trend_of(failing) is None


def test_among_many_unchanged_jobs_a_false_alarm_is_rare_and_a_real_change_is_found() -> None:
    alarms = 0
    for fleet in range(20):
        unchanged = [runs_of(f"job-{n}", noisy(20, 100.0, 50 * fleet + n)) for n in range(50)]
        alarms += any(trends_of(unchanged))
    assert alarms <= 4
    slower = runs_of("slower", noisy(10, 100.0, 1) + noisy(10, 130.0, 2))
    *others, found = trends_of([*unchanged, slower])
    assert found is not None
    assert sum(trend is not None for trend in others) <= 1


def test_an_empty_fleet_has_no_jobs() -> None:
    found = fleet_of([], {}, NONE)
    assert (found.sentence, found.jobs) == ("No jobs are recorded.", ())
