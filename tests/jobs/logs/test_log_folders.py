"""Folders with the parts of one application's log, or with several logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import lost, trial_of
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.whatif.outlook import outlooks
from venturi.record.importing.recognise import recognise
from venturi.record.trial import State

TINY = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "tiny.log"


def delivered(folder: Path) -> list[Path]:
    """A log as Databricks delivers it: rolled and compressed parts, and the last one."""
    lines = TINY.read_bytes().splitlines(keepends=True)
    third = len(lines) // 3
    parts = {
        "eventlog-2024-02-29--23-50.gz": lines[:third],
        "eventlog-2024-03-01--00-05.gz": lines[third : 2 * third],
        "eventlog": lines[2 * third :],
    }
    for name, part in parts.items():
        text = b"".join(part)
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return [folder / name for name in parts]


def test_parts_that_databricks_cut_off_are_one_application(tmp_path: Path) -> None:
    parts = delivered(tmp_path)
    (log,) = spark_logs(tmp_path)
    assert log.files == tuple(parts)
    account, whole = spark.read(log), spark.read(spark_logs(TINY)[0])
    assert account.application == whole.application
    assert account.application.outcome == "succeeded"
    assert account.tasks.equals(whole.tasks)
    assert account.reading.sha256 == whole.reading.sha256


def test_other_logs_beside_cut_off_parts_stay_logs_of_their_own(tmp_path: Path) -> None:
    delivered(tmp_path)
    (tmp_path / "app-1").write_bytes(TINY.read_bytes())
    (tmp_path / "eventlog-notes.txt").write_text("no log\n")
    assert [log.path.name for log in spark_logs(tmp_path)] == [
        tmp_path.name,
        "app-1",
        "eventlog-notes.txt",
    ]


def test_a_log_that_was_never_cut_is_a_file_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "eventlog").write_bytes(TINY.read_bytes())
    (log,) = spark_logs(tmp_path)
    assert (log.path, log.files) == (tmp_path / "eventlog", (tmp_path / "eventlog",))


def rolled(folder: Path, *numbers: int) -> Path:
    """Some of the five parts of a rolling log."""
    folder.mkdir(exist_ok=True)
    lines = TINY.read_bytes().splitlines(keepends=True)
    size = -(-len(lines) // 5)
    for number in numbers:
        part = b"".join(lines[(number - 1) * size : number * size])
        (folder / f"events_{number}_app-1").write_bytes(part)
    (folder / "appstatus_app-1").touch()
    return folder


@pytest.mark.parametrize("name", ["eventlog_v2_app-1", "downloaded"])
@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((2, 3, 4, 5), "part 1 of the rolling log is missing (events_1_...)"),
        ((1, 3, 5), "parts 2 and 4 of the rolling log are missing (events_2_...)"),
        ((5,), "parts 1 to 4 of the rolling log are missing (events_1_...)"),
    ],
)
def test_missing_parts_of_a_rolling_log_are_named(
    name: str, numbers: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    (log,) = spark_logs(rolled(tmp_path / name, *numbers))
    account = spark.read(log)
    assert account.reading.truncated == said
    assert f"the log is not whole: {said}" in lost(account.reading)
    assert "listener queue" not in " ".join(lost(account.reading))
    line = timeline(account)
    analysis = analyse(account, None, line)
    assert analysis.cores is None
    assert "idle slots" not in analysis.verdict.shares
    assert all(stage.slot_use is None for stage in analysis.stages)
    assert outlooks(line).found == ()


def test_all_parts_of_a_rolling_log_lack_nothing(tmp_path: Path) -> None:
    (log,) = spark_logs(rolled(tmp_path / "downloaded", 1, 2, 3, 4, 5))
    account = spark.read(log)
    assert account.application == spark.read(spark_logs(TINY)[0]).application
    assert list(lost(account.reading)) == []


def test_a_single_part_says_which_are_missing(tmp_path: Path) -> None:
    path = rolled(tmp_path / "a", 3) / "events_3_app-1"
    (log,) = spark_logs(path)
    assert log.missing == "parts 1 and 2 of the rolling log are missing (events_1_...)"


@pytest.mark.parametrize(
    ("numbers", "state"), [((1, 2, 3, 5), State.SUCCEEDED), ((1, 2, 3, 4), State.UNKNOWN)]
)
def test_an_application_that_ended_is_not_interrupted(
    numbers: tuple[int, ...], state: State, tmp_path: Path
) -> None:
    """Its end is recorded, or its status file says so."""
    (log,) = spark_logs(rolled(tmp_path / "a", *numbers))
    trial = trial_of(spark.read(log))
    assert trial.state is state
    if state is State.UNKNOWN:
        assert trial.failure is not None
        assert "the end of the rolling log is missing (events_5_...)" in trial.failure.message
        (tmp_path / "a/appstatus_app-1").rename(tmp_path / "a/appstatus_app-1.inprogress")
        assert trial_of(spark.read(*spark_logs(tmp_path / "a"))).state is State.INTERRUPTED


def test_a_folder_with_the_status_alone_is_an_error(tmp_path: Path) -> None:
    folder = rolled(tmp_path / "eventlog_v2_app-1")
    with pytest.raises(VenturiError) as error:
        recognise(folder)
    assert "but no part of the log" in error.value.message
    with pytest.raises(VenturiError) as error:
        spark_logs(folder)
    assert error.value.code == "VEN-INGEST-FORMAT"
    assert "events_1_..." in error.value.message
