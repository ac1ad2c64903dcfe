"""The headline of a job: the same on import, by `venturi show`, and on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from api_client import client_of
from event_log import SparkLog
from venturi.cli.main import cli
from venturi.core.settings import Settings
from venturi.jobs.diagnosis.find import diagnose
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository


def hot_key(folder: Path) -> Path:
    """The log of a job with tasks that wait for four fifths of their time, with unknown cause.
    One of them has most of the data and takes as long as the job, 100 s instead of 10.
    """
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 21)
    for place in range(21):
        from_s, took_s = (0, 100) if place == 20 else (10 * (place // 3), 10)
        read = {"Local Bytes Read": took_s * 1_000_000, "Total Records Read": 1}
        ran = {"Executor Run Time": took_s * 1_000, "Executor CPU Time": took_s * 2 * 10**8}
        log.task(0, from_s, from_s + took_s, metrics=ran | {"Shuffle Read Metrics": read})
    log.end(100)
    path = folder / "application_1_0001"
    path.write_bytes(b"".join(log.lines))
    return path


def first_line(log: SparkLog, folder: Path) -> str:
    line = timeline(log.account(folder))
    analysis = analyse(line.account, None, line)
    return diagnose(line, analysis).sentence


def by_one_task(from_s: float, to_s: float) -> SparkLog:
    """A log that begins with a job of a single task, which reads much and computes."""
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, from_s, to_s, [0])
    log.stage(0, from_s, to_s, 1)
    took_s = to_s - from_s
    ran = {"Executor Run Time": round(took_s * 1e3), "Executor CPU Time": round(took_s * 1e9)}
    read = {"Shuffle Read Metrics": {"Local Bytes Read": 1 << 30, "Total Records Read": 1}}
    log.task(0, from_s, to_s, metrics=ran | read)
    return log


def test_the_finding_comes_before_a_driver_that_took_longer(tmp_path: Path) -> None:
    log = by_one_task(45, 85)
    log.end(100)
    first = first_line(log, tmp_path)
    assert first.startswith("Use 8 partitions in stage 0: saves about ")
    assert first.endswith(" of 100 s.")


def test_a_task_without_an_end_comes_before_any_finding(tmp_path: Path) -> None:
    log = by_one_task(0, 60)
    log.job(1, 60, None, [1])
    log.stage(1, 60, None, 4)
    for _ in range(3):
        log.task(1, 60, 62)
    log.task(1, 60, None)
    log.end(100)
    assert first_line(log, tmp_path).endswith(
        " didn't end: it had run for 40.0 s of 1 min 40 s when the log ends."
    )


def test_import_show_and_the_page_begin_with_the_same_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))

    def venturi(*arguments: str) -> tuple[str, str]:
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout, done.stderr

    taken, _ = venturi("import", "spark-eventlog", str(hot_key(tmp_path)))
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        (trial,) = whole_trials(repository)
        first: str = client.get(f"/api/trials/{trial.id}/job").json()["sentence"]
    assert first.startswith("Partition by an evenly distributed key in stage 0: saves about ")
    assert first in " ".join(taken.split())
    shown, _ = venturi("show", trial.id)
    assert first in shown.split("Narrowest point", maxsplit=1)[0]
