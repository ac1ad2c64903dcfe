"""A trial that Venturi ran itself, as it was recorded, for tests of its account and its page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import report_samples
from venturi.jobs.logs import spark
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount, attach
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Phase, Trial

FOLDER = Path(__file__).parents[1] / "data" / "own"
LOG = FOLDER / "eventlog.json"
FACTS: dict[str, Any] = json.loads((FOLDER / "trial.json").read_text())
OWN = f"01JZTHREP0RT{910:014d}"


def account() -> JobAccount:
    """Its account on its own clock."""
    return replace(spark.read(Log(LOG, (LOG,))), origin_ms=FACTS["origin_ms"])


def own_trial(
    repository: TrialRepository, told: JobAccount | None = None, number: int = 910
) -> Trial:
    """The trial, added with its series and this account, by default its own."""
    trial = replace(
        report_samples.trial(number, "terasort", "spark"),
        started_at=datetime.fromisoformat(FACTS["started_at"]),
        elapsed_s=FACTS["elapsed_s"],
        phases=tuple(Phase(*each) for each in FACTS["phases"]),
    )
    trial = repository.attach(trial, "series", "series.parquet", FOLDER / "series.parquet")
    trial = attach(repository, trial, account() if told is None else told)
    repository.add(trial)
    return trial
