"""Folders with the parts of one application's log, or with several logs."""

from __future__ import annotations

import gzip
from pathlib import Path

from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs

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
