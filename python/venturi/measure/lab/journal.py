"""The journal of a lab: every change to this machine, recorded before it is made."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from venturi.core.errors import VenturiError

NAME = "journal.jsonl"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LOCK_TIMEOUT_S = 20.0
Notes = dict[str, Any]
Instant = Literal["begun", "done", "ended"]
Heard = Callable[[Instant, str], None]
"""Called when a step is recorded, when it is done, and when that is recorded."""


@dataclass(slots=True)
class JournalEntry:
    """A step: its kind, its arguments, and its notes about the things that it made."""

    kind: str
    asked: Mapping[str, Any]
    notes: Notes = field(default_factory=dict)
    undone: bool = False


@dataclass(slots=True)
class Journal:
    """The journal of one lab, in the lab's folder. A line is durable before the action that it
    describes.
    """

    folder: Path
    about: Mapping[str, Any]
    """The lab: `lab`, `id`, `boot`, `spec`, ..."""
    entries: list[JournalEntry] = field(default_factory=list)
    is_up: bool = False

    @property
    def same_boot(self) -> bool:
        """Whether the machine has not been started again since."""
        return bool(self.about["boot"] == boot())

    def begin(self, kind: str, asked: Mapping[str, Any]) -> JournalEntry:
        """Record a step that is about to be done."""
        self._write({"step": kind, **asked})
        self.entries.append(JournalEntry(kind, asked))
        return self.entries[-1]

    def note(self, entry: JournalEntry, notes: Mapping[str, Any]) -> None:
        """Record how to find the thing that the last step is about to make."""
        self._write({"note": notes})
        entry.notes.update(notes)

    def up(self) -> None:
        """Record that the lab is complete."""
        self._write({"up": True})
        self.is_up = True

    def down(self) -> None:
        """Record that the lab is no longer complete."""
        self._write({"up": False})
        self.is_up = False

    def undo(self, entry: JournalEntry) -> None:
        """Record that a step has been undone completely."""
        entry.undone = True
        self._write({"undone": self.entries.index(entry)})

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line completely, or raise OSError if there is no room and leave nothing of
        it.
        """
        with (self.folder / NAME).open("ab", buffering=0) as file:
            before = file.tell()
            left = json.dumps(line).encode() + b"\n"
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise


def new(folder: Path, about: Mapping[str, Any]) -> Journal:
    """The journal of a new lab in the empty `folder`."""
    journal = Journal(folder, about)
    journal._write({"lab": about})
    for path in (folder, folder.parent):
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    return journal


def read(folder: Path, *, mend: bool = False) -> Journal | None:
    """Read the journal in `folder`; None if it is missing or was never started.

    A last line cut short by a kill describes an action that hadn't begun. Callers that add lines
    hold the lock and have that line removed first.
    """
    try:
        text = (folder / NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    whole = text[: text.rfind(b"\n") + 1]
    if mend and whole != text:
        os.truncate(folder / NAME, len(whole))
    lines = whole.splitlines()
    if not lines:
        return None
    with _damage_reported(folder, 1):
        journal = Journal(folder, json.loads(lines[0])["lab"])
    for number, each in enumerate(lines[1:], start=2):
        with _damage_reported(folder, number):
            _add(journal, json.loads(each))
    return journal


def _add(journal: Journal, line: dict[str, Any]) -> None:
    if "step" in line:
        journal.entries.append(JournalEntry(line.pop("step"), line))
    elif "note" in line:
        journal.entries[-1].notes.update(line["note"])
    elif "undone" in line:
        journal.entries[line["undone"]].undone = True
    else:
        journal.is_up = line["up"]


@contextmanager
def _damage_reported(folder: Path, number: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise VenturiError(
            "VEN-LAB-JOURNAL",
            "the journal of a lab is damaged",
            where={"file": str(folder / NAME), "line": number},
            hint="remove the line, then `venturi lab down`",
        ) from error


def boot() -> str:
    """Return the id of the machine's current boot."""
    return BOOT_ID.read_text().strip()


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the lock on a lab's folder, creating it if necessary; yield its descriptor.

    Processes that inherit the descriptor share the lock: after a kill the next command waits for
    the programs that the last one had started. VEN-LAB-BUSY if another command holds it.
    """
    until_s = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _taken(lock) and _is_still(lock, folder):
                yield lock
                return
        finally:
            os.close(lock)
        if time.monotonic() > until_s:
            raise VenturiError(
                "VEN-LAB-BUSY",
                f"another command is changing the lab {folder.name}",
                where={"folder": str(folder)},
                hint="wait until it has ended",
            )
        time.sleep(0.05)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(lock: int, folder: Path) -> bool:
    """Return whether `folder` is still the one that was locked, neither removed nor replaced."""
    try:
        return os.path.samestat(os.fstat(lock), folder.stat())
    except FileNotFoundError:
        return False
