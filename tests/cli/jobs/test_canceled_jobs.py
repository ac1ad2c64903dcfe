"""Applications with canceled jobs that ended with exit status 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import venturi
from event_log import SparkLog, at

SESSION = "0b1e6a5c-52a8-4f0e-9f0b-5b2d3c1a7e11"


def log_of(folder: Path, reason: str, *, query_error: str | None = None, goes_on: bool) -> Path:
    log = SparkLog()
    log.executor("1", 4, 0)
    query = None if query_error is None else 0
    if query_error is not None:
        log.query(0, 0.5, 31, failed=query_error)
    log.job(0, 1, 30, [0], failed=reason, query=query)
    log.stage(0, 1, 30, 4, failed=reason)
    for _ in range(4):
        log.task(0, 1, 29.9, end={"Reason": "TaskKilled", "Kill Reason": "Stage cancelled"})
    if goes_on:
        log.job(1, 32, 40, [1])
        log.stage(1, 32, 40, 1)
        log.task(1, 32, 39.9)
    log.add("ApplicationEnd", Timestamp=at(41), ExitCode=0)
    path = folder / "application_1_0001"
    path.write_bytes(b"".join(log.lines))
    return path


@pytest.mark.parametrize(
    ("reason", "query_error"),
    [
        (f"Job 0 cancelled part of cancelled job group {SESSION}", "[CANCELED] by the session"),
        ("Job 0 cancelled because of KeyboardInterrupt", None),
        ("[SPARK_JOB_CANCELLED] Job 0 cancelled part of cancelled job tags etl", None),
    ],
)
def test_every_first_screen_names_the_canceled_job_and_the_message(
    reason: str, query_error: str | None, tmp_path: Path
) -> None:
    path = log_of(tmp_path, reason, query_error=query_error, goes_on=False)
    home = tmp_path / "home"
    for said in (
        venturi("import", path, home=home).stdout,
        venturi("show", "last", home=home).stdout,
        venturi("jobs", home=home).stdout,
    ):
        assert reason in " ".join(said.split())


def test_a_canceled_job_in_the_middle_is_shown(tmp_path: Path) -> None:
    reason = "Job 0 cancelled part of cancelled job group nightly"
    path = log_of(tmp_path, reason, goes_on=True)
    said = venturi("import", path, home=tmp_path / "home").stdout
    assert "ended, jobs were canceled" in said
    assert f"Canceled: job 0, by: {reason}" in said
