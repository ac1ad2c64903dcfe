"""Milliseconds of the fleet page with 100,000 jobs: `python -m benchmarks.web.fleet`.

The trials of 1,000 recurring jobs with 100 runs each, and their summaries, are copies of one real
event log's with other names and times, stored in a new folder, on SQLite or in the empty database
of VENTURI_DATABASE_URL. The requests are timed as in `benchmarks.web.pages`; the bar is 300 ms at
the 95th percentile.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.web.pages import measure, served
from venturi.core.settings import Settings
from venturi.jobs.fleet.summaries import known_summaries, store_summaries, summarise
from venturi.record.importing.importer import import_file
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

LOG = Path(__file__).parents[2] / "tests" / "data" / "spark" / "4.3.0" / "join.log"
JOBS, RUNS = 1_000, 100
BEGAN = datetime(2026, 8, 1, tzinfo=UTC)
_STEP = 10_000


def copies(trial: Trial) -> Iterator[Trial]:
    """The trials of all runs: one a day of each job, of which every tenth gets slower."""
    draw = random.Random(0)
    assert trial.elapsed_s is not None
    for run in range(RUNS):
        for job in range(JOBS):
            slower = 1.3 if job % 10 == 0 and run >= RUNS // 2 else 1.0
            yield replace(
                trial,
                id=f"spark-eventlog-{job:020x}{run:020x}",
                workload=replace(trial.workload, name=f"job-{job:04}"),
                started_at=BEGAN + timedelta(days=run, seconds=job),
                elapsed_s=trial.elapsed_s * slower * draw.gauss(1, 0.05),
            )


def fill(repository: TrialRepository) -> None:
    """Store the trials and the summaries of their jobs."""
    import_file(repository, "spark-eventlog", LOG)
    (trial,) = whole_trials(repository)
    summary = summarise(repository, trial.id)
    found = list(copies(trial))
    repository.add_many(found)
    for begin in range(0, len(found), _STEP):
        some = found[begin : begin + _STEP]
        store_summaries(
            repository,
            {each.id: replace(summary, elapsed_s=each.elapsed_s) for each in some},
        )
    assert len(known_summaries(repository, [each.id for each in found])) == len(found)


def main() -> None:
    """Store the jobs, start the server, send the requests."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = os.environ.get("VENTURI_DATABASE_URL")
        with TrialRepository.open(Settings(home, url, None, allow_debug=False)) as repository:
            fill(repository)
        asked = {
            "fleet": "/api/fleet",
            "fleet, 100 rows": "/api/fleet?limit=100",
            "fleet, filter": "/api/fleet?where=elapsed_s%3E1",
            "fleet, one job": "/api/fleet?where=workload%3Djob-0010&each=true",
            "fleet, every run": "/api/fleet?each=true",
            "start": "/api/status",
        }
        with served(home) as client:
            measure(client, asked)


if __name__ == "__main__":
    main()
