"""The result of a case in a process of its own: seen, failed, died, or too big."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture import worker
from torture.play import Play

ODD = """
import os, signal

def attempts(folder):
    (folder / "own").mkdir()
    def attempt(chance):
        drawn = chance.random()
        with (folder.parent / "drawn").open("a") as file:
            file.write(f"{drawn}\\n")
        if drawn == BAD[0]:
            raise KeyError("odd")
        if drawn == BAD[1]:
            os.kill(os.getpid(), signal.SIGKILL)
        if drawn == BAD[2]:
            bytearray(3 << 30)
        return "well"
    return attempt
"""


def test_what_fails_dies_or_takes_too_much_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    module = tmp_path / "odd_attempts.py"
    module.write_text("BAD = (None, None, None)\n" + ODD)
    first = Play(tmp_path / "first", 7, 6)
    first.folder.mkdir()
    worker.play(first, "odd_attempts")
    assert (first.done, first.seen, first.faults) == (6, {"well": 6}, [])
    drawn = (first.folder / "drawn").read_text().split()

    module.write_text(f"BAD = ({drawn[1]}, {drawn[2]}, {drawn[4]})\n" + ODD)
    told: list[str] = []
    again = Play(tmp_path / "again", 7, 6, told.append)
    again.folder.mkdir()
    worker.play(again, "odd_attempts")
    assert (again.done, again.seen) == (6, {"well": 3})
    assert [fault.partition(": ")[0] for fault in sorted(again.faults)] == [
        "seed 7, case 1",
        "seed 7, case 2",
        "seed 7, case 4",
    ]
    assert told == [f"FAULT {fault}" for fault in again.faults]
    said = "\n".join(sorted(again.faults))
    assert "KeyError: 'odd'" in said
    assert "the process died (-9)" in said
    assert "MemoryError" in said
