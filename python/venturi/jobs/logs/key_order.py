"""Event logs that another tool wrote again, with the keys of an event in another order.

The reader finds the kind of an event at the beginning of its line, where Spark writes it. An object
has no order, so `jq -S`, pandas or a JSON library may have moved it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic_core import from_json, to_json

from venturi.record.importing.streams import OversizedLine

_AS_SPARK = b'{"Event":"'


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
