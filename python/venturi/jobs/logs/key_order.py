"""Event logs that another tool wrote again: keys in any order, spaces between them.

The reader looks for names by patterns before it decodes a line, in the order in which Spark writes
keys. An object has no order, so `jq -S`, pandas or a JSON library may have changed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json, to_json

from venturi.record.importing.streams import OversizedLine

_AS_SPARK = b'{"Event":"'
# Source: JsonProtocol.scala and SparkPlanInfo: what patterns of the reader expect first.
_FIRST = (
    "Event",
    "executionId",
    "name",
    "accumulatorId",
    "ID",
    "Name",
    "Update",
)
_METRIC, _AFTER_NAME = b'"accumulatorId"', b'","accumulatorId":'


def as_spark_writes(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line of JSON with its keys in Spark's order; other lines as they are."""
    for line in lines:
        as_spark = line.startswith(_AS_SPARK) and (_METRIC not in line or _AFTER_NAME in line)
        yield line if as_spark or isinstance(line, OversizedLine) else _reordered(line)


def _reordered(line: bytes) -> bytes:
    try:
        event = from_json(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or "Event" not in event:
        return line
    return to_json(_ordered(event))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        names = [name for name in _FIRST if name in value]
        names += [name for name in value if name not in _FIRST]
        return {name: _ordered(value[name]) for name in names}
    return [_ordered(each) for each in value] if isinstance(value, list) else value
