"""First screens of failures that were provoked with Spark 4.3: the failure, where, and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import on_terminal
from venturi.core.settings import Settings

CASES = Path(__file__).parents[2] / "data/cases"


def screen(log: Path, tmp_path: Path) -> tuple[str, str]:
    """The first line about the job, and everything below it as one line."""
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    imported = on_terminal(settings, "import", str(log))
    shown = on_terminal(settings, "show", "last")
    for lines in (imported, shown):
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
    return shown[0], " ".join(line.strip() for line in shown[1:])


@pytest.mark.parametrize(
    ("name", "ends", "parts"),
    [
        (
            "no-space",
            "failed",
            [
                "job 0 failed: java.io.IOException: No space left on device (task 5 of stage 0 "
                "failed 4 times, the last time on host2, executor 5)",
                "Where: 11 failed attempts, all on host2",
                "Full: SPARK_LOCAL_DIRS of its worker",
                "on host2; no task recorded bytes",
                "a local disk is full of shuffle files and spills",
                "larger or more disks",
            ],
        ),
        (
            "open-files",
            "failed",
            [
                "java.io.FileNotFoundException: /data/local2/... (Too many open files)",
                "Where: 14 failed attempts, all in stage 1",
                "raise the limit (ulimit -n)",
            ],
        ),
        (
            "heap",
            "failed",
            [
                "java.lang.OutOfMemoryError: Java heap space (task 1 of stage 0 failed 4 times",
                "raise spark.executor.memory",
                "more partitions",
            ],
        ),
        (
            "readonly",
            "failed",
            [
                "/data/local2/...: Read-only file system (task 2",
                "12 failed attempts, all on host2",
                "a disk of the host failed",
            ],
        ),
        (
            "damaged",
            "failed",
            [
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file",
                "all of task 1 in stage 2",
                "an input file is damaged or cut off",
            ],
        ),
        (
            "broadcast-timeout",
            "failed",
            [
                "Query failed: Could not execute broadcast in 2 secs.",
                "raise spark.sql.broadcastTimeout",
                "spark.sql.autoBroadcastJoinThreshold=-1",
            ],
        ),
        (
            "executor-killed",
            "succeeded",
            ["Executor 1 on host2 was lost", "was killed (signal 9)", "the kernel log"],
        ),
        (
            "executor-heap",
            "succeeded",
            ["Lost executor: saves about", "Executor 4 on host2", "the JVM ran out of heap memory"],
        ),
        (
            "decommission",
            "succeeded",
            [
                "Executors decommissioned or preemp",
                "Executor 0 on host1 left after 14.8 s",
                "and with it 2 attempts of 29.0 s",
                "spark.executor.decommission.forceKillTimeout",
            ],
        ),
    ],
)
def test_failure_screen(name: str, ends: str, parts: list[str], tmp_path: Path) -> None:
    first, text = screen(CASES / f"provoked/{name}.log", tmp_path)
    assert first.endswith(f"· {ends}")
    for part in parts:
        assert part in text


def test_a_long_message_is_shown_once(tmp_path: Path) -> None:
    _, text = screen(CASES / "provoked/open-files.log", tmp_path)
    assert text.count("Too many open files") == 1
