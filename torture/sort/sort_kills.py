"""Sorts killed in all their stages, in memory, in part in memory, and in two passes."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

from torture.agent import AGENT, run
from torture.changes import Changes, Kill, follow
from torture.play import Play, Round
from torture.sort.sort_state import RECORD, Decoys, Truth, noise

MIB = 1 << 20
_INPUT_BYTES = 120_000 * RECORD
_BUDGETS_MIB = (4, 8, 64)
_PART = "part-000000"
_LOOK_S = 0.0001


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
            "sort",
            "--input",
            source,
            "--output",
            self.output,
            "--scratch",
            self.scratch,
            "--replica",
            self.copy,
            "--overwrite",
            "--memory",
            memory_bytes,
            "--threads",
            2,
        ]

    def check(self, earlier: bytes | None) -> str:
        """Return the state of the output: old, new, complete parts of a new one, or nothing."""
        for decoy in self.decoys:
            decoy.check()
        assert self.decoys[1].others() == [], "scratch files have no names"
        return self.truth.check_state(self.output, earlier)

    def stage(self) -> str:
        """Return the stage of a running sort according to its files."""
        names = self.decoys[0].others()
        own = {name.partition(".")[2] for name in names if name.startswith(".venturi-sort-")}
        own = {name.partition(".")[2] for name in own}
        parts = sum(name.startswith("part-") for name in names)
        unnamed = sum(name[:6].isdigit() for name in own)
        if "journal.tmp" in own and "manifest.json" not in names:
            if "manifest.tmp" in own:
                return "writing its manifest"
            return "naming parts" if parts > 1 or not unnamed else "removing the old output"
        if "journal.tmp" in own:
            return "with its journal written"
        if unnamed:
            return "writing parts"
        return "sorting" if "lock" in own else "beginning"

    def mend(self) -> bytes:
        """Let the next sort remove the last one's leftovers; return its output."""
        try:
            self._mend()
        except AssertionError:
            # Otherwise the leftover would be a fault of all later cases.
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
    """Kill a sort between its beginning and after its end: see `Changes`."""
    folders = Folders(round_.folder, _INPUT_BYTES)
    changes: dict[int, Changes] = {}
    for budget in _BUDGETS_MIB:
        status, changes[budget] = _sort(folders, budget * MIB, None)
        assert status == 0
    earlier = folders.mend()
    for case in round_.cases():
        with case:
            budget = round_.chance.choice(_BUDGETS_MIB)
            kill = changes[budget].draw(round_.chance)
            case.label = f"budget {budget} MiB, {kill}"
            status, seen = _sort(folders, budget * MIB, kill)
            changes[budget].learn(seen, killed=status != 0)
            stage = folders.stage()
            state = folders.check(earlier)
            if status == 0:
                assert state == "new", f"a sort that ended well left {state}"
                case.saw("done before")
            else:
                assert status == -signal.SIGKILL, f"ended with {status}"
                case.saw(f"killed {'ending' if state == 'new' else stage}, {state}")
            earlier = folders.mend()


def _sort(folders: Folders, memory_bytes: int, kill: Kill | None) -> tuple[int, Changes]:
    """How it ended, and its changes up to there."""
    command = [str(AGENT), *map(str, folders.sort(folders.input, memory_bytes))]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    works = lambda: process.poll() is None  # noqa: E731
    changes = follow(folders.stage, works, kill, process.kill, every_s=_LOOK_S)
    return process.returncode, changes


ROUND = Round(
    name="sort-kills",
    question="A sort is killed at a random instant. Is its output whole or absent, and is "
    "nothing else touched?",
    count=1000,
    few=12,
    run=play,
)
