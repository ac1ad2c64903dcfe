"""The logs that `import --watch` imported, waits for and refused, stored in Venturi's home."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from venturi.cli.open_repository import open_repository
from venturi.cli.results.import_files import is_url
from venturi.core import settings
from venturi.record.store.files import make_folder, modes_in, replacing

REFUSED_SHOWN = 8


class WatchState(StrEnum):
    """The state of a followed log."""

    IMPORTED = "imported"
    WAITING = "waiting"  # tried without success: a server, network, disk or lock was at fault
    REFUSED = "refused"  # tried again when its contents change


@dataclass(frozen=True, slots=True)
class WatchNote:
    """The last try of a log; `stamp` changes when the log does, `at` is a time in UTC.

    `digest` is that of the contents that were refused, if they were downloaded.
    """

    key: str
    stamp: str
    state: WatchState
    at: str
    failures: int = 0
    code: str | None = None
    reason: str | None = None
    digest: str | None = None


_NOTE = TypeAdapter(WatchNote)


class WatchNotes:
    """The notes of one set of sources, a line of JSON for each try; later lines replace earlier."""

    def __init__(self, sources: Sequence[str]) -> None:
        names = sorted(each if is_url(each) else str(Path(each).absolute()) for each in sources)
        name = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        home = settings.load().home
        open_repository().close()  # which makes it
        folder, self._mode = home / "followed", modes_in(home)[1]
        make_folder(folder, modes_in(home)[0])
        self._path = folder / f"{name}.jsonl"
        self._notes: dict[str, WatchNote] = {}
        lines = self._read()
        for line in lines:
            try:
                note = _NOTE.validate_json(line)
            except ValidationError:  # a lost note costs time alone
                continue
            self._notes[note.key] = note
        if len(lines) > 2 * len(self._notes):
            with replacing(self._path, mode=self._mode) as file:
                file.writelines(_line(note) for note in self._notes.values())

    def _read(self) -> list[bytes]:
        try:
            return self._path.read_bytes().splitlines()
        except OSError:
            return []

    def of(self, key: str) -> WatchNote | None:
        """Return the note of a log."""
        return self._notes.get(key)

    def add(self, note: WatchNote) -> None:
        """Store a note."""
        self._notes[note.key] = note
        with suppress(OSError):  # a full disk: a lost note costs time alone
            if not self._path.exists():
                self._path.touch(self._mode)
            with self._path.open("ab") as file:
                file.write(_line(note))

    def status(self) -> dict[str, Any]:
        """The counts by state, the last success, and the logs that wait or were refused."""
        notes = self._notes.values()
        counts = Counter(note.state for note in notes)
        times = [note.at for note in notes if note.state is WatchState.IMPORTED]
        return {
            "followed": len(notes),
            **{state.value: counts[state] for state in WatchState},
            "last_success": max(times, default=None),
            "logs": [asdict(note) for note in notes if note.state is not WatchState.IMPORTED],
        }


def status_lines(status: dict[str, Any]) -> list[str]:
    """The status for people: the counts, then the reason of each log that isn't imported."""
    lines = [
        f"{status['followed']:,} logs followed: {status['imported']:,} imported, "
        f"{status['waiting']:,} waiting, {status['refused']:,} refused",
        f"Last success: {status['last_success'] or 'none'}",
    ]
    for state, remedy in (
        (WatchState.WAITING, "tried again with growing pauses"),
        (WatchState.REFUSED, "tried again when their contents change"),
    ):
        found = [each for each in status["logs"] if each["state"] is state]
        if found:
            lines += ["", f"{state.value.capitalize()}, {remedy}:"]
            lines += [
                f"  {each['key']}: [{each['code']}] {each['reason']}"
                for each in found[:REFUSED_SHOWN]
            ]
        if len(found) > REFUSED_SHOWN:
            lines.append(f"  and {len(found) - REFUSED_SHOWN:,} more; --json has all")
    return lines


def _line(note: WatchNote) -> bytes:
    return json.dumps(asdict(note)).encode() + b"\n"
