"""Commands that cannot say what they do, or get no thread."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command_line import AGENT, PROGRAM
from torture.agent import strace

_RUN = ("run", "terasort", "--bytes", "96kB", "--repeat", 1, "--warm-up", 0)


def _ended(
    home: Path, *words: object, before: tuple[str, ...] = (), talk: str = ""
) -> tuple[int, str]:
    """Return the exit status and the output, unless that goes to the file `talk`."""
    with (home / "talk" if not talk else Path(talk)).open("wb") as said:
        command = [*before, *PROGRAM, *map(str, words)]
        environment = {
            "VENTURI_HOME": str(home),
            "VENTURI_AGENT": str(AGENT),
            "VENTURI_LOCK": str(home / "lock"),
            "PATH": "/usr/bin:/bin",
        }
        ended = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=home,
            timeout=60,
            check=False,
        )
    return ended.returncode, "" if talk else (home / "talk").read_text()


@pytest.mark.parametrize(
    ("words", "status"),
    [(("show", "nothing"), 1), (_RUN, 0)],
)
def test_what_cannot_be_said_does_not_end_the_work(
    tmp_path: Path, words: tuple[object, ...], status: int
) -> None:
    assert _ended(tmp_path, *words)[0] == status
    assert _ended(tmp_path, *words, talk="/dev/full")[0] == status


def test_a_trial_without_threads_fails_with_a_code(tmp_path: Path) -> None:
    tracer = strace()
    if tracer is None:
        pytest.skip("needs strace (Debian: strace)")
    # Every thread of Venturi itself, but not of its children.
    none = (tracer, "-qq", "-o", "/dev/null", "-e", "inject=clone3:error=EAGAIN")
    status, said = _ended(tmp_path, *_RUN, before=none)
    assert status == 1
    assert "Traceback" not in said
    assert "[VEN-SYSTEM]" in said
    assert "ulimit -u" in said


def test_a_table_without_threads_is_a_code(tmp_path: Path) -> None:
    tracer = strace()
    if tracer is None:
        pytest.skip("needs strace (Debian: strace)")
    assert _ended(tmp_path, *_RUN)[0] == 0
    none = (tracer, "-qq", "-o", "/dev/null", "-e", "inject=clone3:error=EAGAIN")
    status, said = _ended(tmp_path, "export", "--all", "-o", "made.parquet", before=none)
    assert status == 1
    assert "Traceback" not in said
    assert "[VEN-SYSTEM]" in said
