"""Sorts killed at random instants, in memory, in part in memory, and in two passes."""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import subprocess
import time
from pathlib import Path

from torture.agent import AGENT, run
from torture.play import Case, Play, Round
from torture.sort_state import RECORD, Decoys, Truth, noise

MIB = 1 << 20
_INPUT_BYTES = 120_000 * RECORD
_BUDGETS_MIB = (4, 8, 64)
_PART = "part-000000"


class Folders:
    """Where a sort reads and writes, among the files of others."""

    def __init__(self, folder: Path, input_bytes: int) -> None:
        self.input = folder / "input"
        self.input.write_bytes(noise(input_bytes))
        self.little = folder / "little"
        self.little.write_bytes(noise(RECORD))
        self.output, self.scratch, self.copy = (
            folder / name for name in ("output", "scratch", "copy")
        )
        self.decoys: list[Decoys] = []
        self.truth = Truth(self.input)
        self._fresh()

    def _fresh(self) -> None:
        """Folders with nothing but the files of others."""
        for each in (self.output, self.scratch, self.copy):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        self.decoys = [Decoys(each) for each in (self.output, self.scratch, self.copy)]

    def sort(self, source: Path, memory_bytes: int) -> list[object]:
        """Arguments of the agent."""
        return [
            "sort", "--input", source, "--output", self.output, "--scratch", self.scratch,
            "--replica", self.copy, "--overwrite", "--memory", memory_bytes, "--threads", 2,
        ]  # fmt: skip

    def check(self, earlier: bytes | None) -> str:
        """What is there: an old output, a new one, whole parts of one, or nothing."""
        for decoy in self.decoys:
            decoy.check()
        assert self.decoys[1].others() == [], "scratch files have no names"
        return self.truth.check_state(self.output, earlier)

    def mend(self) -> bytes:
        """The next sort removes what the last one left; returns its output."""
        try:
            self._mend()
        except AssertionError:
            # Or what is left would be a fault of all later cases.
            self._fresh()
            assert run(self.sort(self.little, 4 * MIB)).result
            raise
        return self.little.read_bytes()

    def _mend(self) -> None:
        ended = run(self.sort(self.little, 4 * MIB))
        assert ended.result, f"the next sort failed: {ended.stderr}"
        for decoy, wanted in zip(self.decoys, (["manifest.json", _PART], [], [_PART]), strict=True):
            found = decoy.others()
            assert found == wanted, f"the next sort leaves {found} in {decoy.folder.name}"


def play(round_: Play) -> None:
    """Kills at instants spread over a little more than the time of a sort."""
    folders = Folders(round_.folder, _INPUT_BYTES)
    whole_s: dict[int, float] = {}
    for budget in _BUDGETS_MIB:
        started_s = time.monotonic()
        assert run(folders.sort(folders.input, budget * MIB)).result
        whole_s[budget] = time.monotonic() - started_s
    earlier = folders.mend()
    for case in round_.cases():
        with case:
            budget = round_.chance.choice(_BUDGETS_MIB)
            delay_s = round_.chance.uniform(0, 1.05 * whole_s[budget])
            case.label = f"budget {budget} MiB, killed after {1000 * delay_s:.1f} ms"
            took_s = _kill(case, folders, budget * MIB, delay_s, earlier)
            whole_s[budget] = min(whole_s[budget], took_s)
            earlier = folders.mend()


def _kill(
    case: Case, folders: Folders, memory_bytes: int, delay_s: float, earlier: bytes | None
) -> float:
    """Seconds that the sort took; infinity if it was killed."""
    command = [str(AGENT), *map(str, folders.sort(folders.input, memory_bytes))]
    started_s = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    took_s = time.monotonic() - started_s
    process.send_signal(signal.SIGKILL)
    killed = process.wait() == -signal.SIGKILL
    state = folders.check(earlier)
    case.saw(f"killed, {state}" if killed else "done before")
    assert killed or state == "new", f"a sort that ended well left {state}"
    return math.inf if killed else took_s


ROUND = Round(
    name="sort-kills",
    question="A sort is killed at a random instant: is its output whole or absent, and nothing "
    "of others touched?",
    count=1000,
    few=12,
    run=play,
)
