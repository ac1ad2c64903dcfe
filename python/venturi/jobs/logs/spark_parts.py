"""The lines of a log: which application each event is of, with the event's kind first.

Logs may follow one another in a file. A log begins with some events before it names its
application, and a rolling log begins each of its files with the first of these. So they are held
back until the application is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pydantic_core import from_json, to_json

from venturi.core.errors import VenturiError
from venturi.jobs.logs.columnar import word
from venturi.record.importing.streams import OversizedLine

MOST = 1_000
_AS_SPARK = b'{"Event":"'
_HEAD = re.compile(
    rb'\{\s*"Event"\s*:\s*"SparkListener(LogStart|ApplicationStart|ResourceProfileAdded'
    rb'|ExecutorAdded|BlockManagerAdded|EnvironmentUpdate|MiscellaneousProcessAdded)"'
)
_HELD, _HELD_BYTES = 100, 32 << 20


def with_event_first(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line of JSON with its event's kind first; other lines as they are."""
    for line in lines:
        as_spark = line.startswith(_AS_SPARK) or isinstance(line, OversizedLine)
        yield line if as_spark else _with_event_first(line)


def _with_event_first(line: bytes) -> bytes:
    try:
        event = from_json(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or "Event" not in event:
        return line
    return to_json({"Event": event.pop("Event")} | event)


def by_application(lines: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """For each of `lines`, the number of its application (from 0), its own number (from 1) and the
    line.

    VEN-INGEST-LIMIT if there are more than `MOST` applications.
    """
    numbers: dict[object, int] = {}
    now = 0
    held: list[tuple[int, bytes]] = []
    room = _HELD_BYTES
    for count, line in enumerate(lines, 1):
        head = _HEAD.match(line)
        kind = None if head is None else head[1]
        if kind == b"ApplicationStart":
            now = _number(numbers, line)
        elif (kind == b"LogStart" and numbers) or (held and kind):
            room -= len(line)
            if room >= 0 and len(held) < _HELD:
                held.append((count, line))
                continue
        yield from ((now, number, each) for number, each in held)
        held.clear()
        room = _HELD_BYTES
        yield now, count, line
    yield from ((now, number, each) for number, each in held)


def started_application(line: bytes) -> tuple[str, str] | None:
    """The id and attempt of the application that `line` starts; None if it starts none."""
    head = _HEAD.match(line)
    if head is None or head[1] != b"ApplicationStart":
        return None
    try:
        event = from_json(line)
    except ValueError:
        return None
    return word(event.get("App ID")) or "", word(event.get("App Attempt ID")) or ""


def _number(numbers: dict[object, int], line: bytes) -> int:
    """That of the application that begins in `line`."""
    try:
        id_ = from_json(line).get("App ID")
    except (ValueError, AttributeError):
        id_ = None
    if isinstance(id_, dict | list):
        id_ = None
    if id_ not in numbers and len(numbers) >= MOST:
        raise VenturiError(
            "VEN-INGEST-LIMIT",
            f"the log is of more than {MOST:,} applications",
            hint="cut the file where a SparkListenerLogStart stands, and import the parts",
        )
    return numbers.setdefault(id_, len(numbers))
