"""Verbs of `venturi` in forked processes, which begin to work a few milliseconds after the fork."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torture.agent import AGENT, HANG_S
from torture.change_notes import COMMIT, FILE, WRITE
from torture.changes import Changes, Kill
from venturi.core.settings import Settings
from venturi.record.store.closing import Closing

_WHERE = {
    FILE: "at a file",
    WRITE: "within a transaction",
    COMMIT: "at a commit or after it",
}
_CHANGE = "change "
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class VerbResult:
    """How a verb ended: `status` is negative for a signal.

    `changes` are those that it made, if they were followed: each with its seconds after the start.
    """

    status: int
    elapsed_s: float
    stdout: str
    stderr: str
    changes: tuple[tuple[float, str], ...] = ()

    @property
    def killed(self) -> bool:
        """Whether it was."""
        return self.status in {-signal.SIGKILL, -signal.SIGALRM}

    @property
    def where(self) -> str:
        """The place at which it ended: its last change."""
        return _WHERE[self.changes[-1][1]] if self.changes else "before any change"

    def all_changes(self) -> Changes:
        """For kills that follow them."""
        made_s = {f"{_CHANGE}{number}": s for number, (s, _) in enumerate(self.changes, 1)}
        return Changes(made_s, self.elapsed_s)


class VerbRunner(Closing):
    """Runs verbs one after the other; `folder` is theirs to work in, with `folder/tmp` for
    temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self._modules: list[str] = []
        self._child: int | None = None
        self._program = subprocess.Popen(
            [sys.executable, "-m", "torture.verb_program"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def close(self) -> None:
        """End the program that forks; kill a verb that is still running."""
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)
        with self._program:  # closes the pipes, by which it ends
            pass

    def run(
        self,
        settings: Settings,
        *arguments: object,
        kill_after_s: float | None = None,
        trace: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> VerbResult:
        """Run `venturi ARGUMENTS` on the repository of `settings`; kill it if it still works after
        `kill_after_s`. A hang is a failed assertion.

        `trace` is a command of strace, which ignores the start.
        """
        self.begin(
            settings, *arguments, kill_after_s=kill_after_s, trace=trace, environment=environment
        )
        return self.end()

    def run_followed(
        self, settings: Settings, *arguments: object, kill: Kill | None = None
    ) -> VerbResult:
        """The same with its changes, killed at one of them."""
        kill_at = None
        if kill and kill.after:
            kill_at = int(kill.after.removeprefix(_CHANGE)), kill.delay_s
        self.begin(
            settings,
            *arguments,
            kill_at=kill_at,
            follow=True,
            kill_after_s=kill.delay_s if kill and kill_at is None else None,
        )
        return self.end()

    def learn(self, settings: Settings, *arguments: object) -> VerbResult:
        """The same, for its imports, too: from now on they are there before a verb begins."""
        self.begin(settings, *arguments, learn=True)
        return self.end()

    def begin(
        self,
        settings: Settings,
        *arguments: object,
        kill_after_s: float | None = None,
        trace: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        learn: bool = False,
        follow: bool = False,
        kill_at: tuple[int, float] | None = None,
        end_s: float = HANG_S,
    ) -> int:
        """Begin it; return its process id, which stays its own until `end` is called."""
        for each in (self.stdout, self.stderr, self._names, self._changes):
            each.unlink(missing_ok=True)
        task = {
            "arguments": list(map(str, arguments)),
            "environment": {
                "VENTURI_HOME": str(settings.home),
                "VENTURI_DATABASE_URL": settings.database_url or "",
                "VENTURI_LOCK": str(self.folder / "lock"),
                "VENTURI_AGENT": str(AGENT),
                "VENTURI_ALLOW_DEBUG": "1",
                "TMPDIR": str(self.temporary),
                **(environment or {}),
            },
            "cwd": str(self.folder),
            "stdout": str(self.stdout),
            "stderr": str(self.stderr),
            "modules": self._modules,
            "names": str(self._names) if learn else None,
            "changes": str(self._changes) if follow else None,
            "kill_at": kill_at,
            "kill_after_s": kill_after_s,
            "end_s": end_s,
            "trace": list(trace),
        }
        self._modules = []
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(task) + "\n")
        self._program.stdin.flush()
        self._child = int(self._answer())
        return self._child

    def end(self) -> VerbResult:
        """Wait until it has ended."""
        told = json.loads(self._answer())
        self._child = None
        assert not told["hung"], f"hung for {HANG_S:.0f} s"
        if self._names.exists():
            self._modules = json.loads(self._names.read_text())
        said = [
            each.read_text(errors="replace") if each.exists() else ""
            for each in (self.stdout, self.stderr)
        ]
        lines = self._changes.read_text().splitlines() if self._changes.exists() else []
        noted = ((float(line.split()[0]), line.split()[1]) for line in lines)
        return VerbResult(told["status"], told["elapsed_s"], said[0], said[1], tuple(noted))

    def left(self, *folders: Path) -> list[str]:
        """Return the names in `folders` and the temporary one, and empty the latter.

        Python probes its temporary folder with a file of eight letters: a process killed then
        leaves it, and it isn't counted.
        """
        names = [path.name for each in folders if each.is_dir() for path in each.iterdir()]
        names += [path.name for path in self.temporary.iterdir() if not _is_probe(path)]
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()
        return sorted(names)

    def _answer(self) -> str:
        assert self._program.stdout is not None
        answer = self._program.stdout.readline()
        if not answer:
            raise RuntimeError("the program that forks has ended")
        return answer

    @property
    def _changes(self) -> Path:
        return self.folder / "changes"

    @property
    def _names(self) -> Path:
        return self.folder / "modules"

    @property
    def stdout(self) -> Path:
        """File with the last verb's stdout."""
        return self.folder / "stdout"

    @property
    def stderr(self) -> Path:
        """File with the last verb's stderr."""
        return self.folder / "stderr"


def _is_probe(path: Path) -> bool:
    named = re.fullmatch("[a-z0-9_]{8}", path.name) and path.is_file()
    return bool(named) and path.read_bytes() in {b"", b"blat"}


def processes_of(folder: Path) -> list[int]:
    """Processes that work in `folder` or were started with it as their temporary one."""
    found = []
    mark = f"TMPDIR={folder}/tmp\0".encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]
