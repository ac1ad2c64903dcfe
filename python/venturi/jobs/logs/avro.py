"""Avro's binary encoding, as far as Hadoop's job history uses it: one value after another.

Source: the Avro specification, "Binary Encoding". A compiled reader takes the data and a place in
it, and gives the value and the place after it. Data that does not fit raises `DamagedError`.

Memory and time are bounded by the data: whatever a record or array holds takes at least a byte, so
types without any (`null`, an empty record) are read as branches of unions only, as Hadoop has them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Read = Callable[[Any, int], tuple[Any, int]]
"""Reads a value from a buffer at a place; the value, and where the next begins."""

_DEPTH = 32
_VARINT_BYTES = 10
_TEXT_BYTES = 64 << 20
_PARTS = (
    1 << 20
)  # fields and items that a value may consist of: a byte of data is far more in memory


class DamagedError(ValueError):
    """The data does not follow its schema."""


class CutOffError(DamagedError):
    """The data ends in the middle of a value."""


def compiled(schema: object) -> Read:
    """A reader of values of `schema`, which is decoded JSON."""
    types = _Types()
    read_value = _compiled(schema, types, 0)

    def read(data: Any, place: int) -> tuple[Any, int]:
        types.parts = 0
        return read_value(data, place)

    return read


class _Types:
    """The named types of a schema, and how many parts the value being read has so far."""

    def __init__(self) -> None:
        self.named: dict[str, Read] = {}
        self.empty: set[Read] = {_null}
        self.parts = 0

    def add_parts(self, count: int) -> None:
        self.parts += count
        if self.parts > _PARTS:
            raise DamagedError("a value of too many parts")


def _part(schema: object, types: _Types, depth: int) -> Read:
    """A reader of what a record, array or map consists of."""
    read = _compiled(schema, types, depth + 1)
    if read in types.empty:
        raise DamagedError("a schema with a part that takes no bytes")
    return read


def _compiled(schema: object, types: _Types, depth: int) -> Read:
    if depth > _DEPTH:
        raise DamagedError("a schema nested too deeply")
    if isinstance(schema, str):
        found = _PRIMITIVES.get(schema) or types.named.get(schema.rpartition(".")[2])
        if found is None:
            raise DamagedError(f"a schema with an unknown type {schema[:50]!r}")
        return found
    if isinstance(schema, list):
        return _union([_compiled(each, types, depth + 1) for each in schema])
    if not isinstance(schema, dict):
        raise DamagedError("a schema that is none")
    kind = schema.get("type")
    if kind == "record":
        read = _record(schema, types, depth)
    elif kind == "enum":
        read = _enum([str(symbol) for symbol in schema.get("symbols") or ()])
        types.named[str(schema.get("name"))] = read
    elif kind == "array":
        read = _array(_part(schema.get("items"), types, depth), types)
    elif kind == "map":
        read = _map(_part(schema.get("values"), types, depth), types)
    else:
        read = _compiled(kind, types, depth + 1)
    return read


def _byte(data: Any, place: int) -> int:
    if place >= len(data):
        raise CutOffError("cut off in the middle of a value")
    return int(data[place])


def _long(data: Any, place: int) -> tuple[int, int]:
    value = shift = 0
    for _ in range(_VARINT_BYTES):
        byte = _byte(data, place)
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7
    raise DamagedError("a number that is too long")


def _slice(data: Any, place: int, size: int) -> tuple[bytes, int]:
    if not 0 <= size <= _TEXT_BYTES:
        raise DamagedError("a text of impossible length")
    if place + size > len(data):
        raise CutOffError("cut off in the middle of a text")
    return data[place : place + size], place + size


def _bytes(data: Any, place: int) -> tuple[bytes, int]:
    size, place = _long(data, place)
    return _slice(data, place, size)


def _string(data: Any, place: int) -> tuple[str, int]:
    raw, place = _bytes(data, place)
    return raw.decode("utf-8", "replace"), place


def _null(data: Any, place: int) -> tuple[None, int]:
    return None, place


def _boolean(data: Any, place: int) -> tuple[bool, int]:
    return _byte(data, place) != 0, place + 1


def _float(data: Any, place: int) -> tuple[float, int]:
    raw, place = _slice(data, place, 4)
    return struct.unpack("<f", raw)[0], place


def _double(data: Any, place: int) -> tuple[float, int]:
    raw, place = _slice(data, place, 8)
    return struct.unpack("<d", raw)[0], place


_PRIMITIVES: dict[str, Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": _long,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def _union(branches: list[Read]) -> Read:
    def read(data: Any, place: int) -> tuple[Any, int]:
        branch, place = _long(data, place)
        if not 0 <= branch < len(branches):
            raise DamagedError("a union without such a branch")
        return branches[branch](data, place)

    return read


def _enum(symbols: list[str]) -> Read:
    def read(data: Any, place: int) -> tuple[str, int]:
        symbol, place = _long(data, place)
        if not 0 <= symbol < len(symbols):
            raise DamagedError("an enumeration without such a symbol")
        return symbols[symbol], place

    return read


def _record(schema: dict[str, Any], types: _Types, depth: int) -> Read:
    fields: list[tuple[str, Read]] = []

    def read(data: Any, place: int) -> tuple[dict[str, Any], int]:
        types.add_parts(len(fields))
        record = {}
        for name, read_field in fields:
            record[name], place = read_field(data, place)
        return record, place

    # No type of the history contains itself: the name is known only after its fields were read.
    for each in schema.get("fields") or ():
        if not isinstance(each, dict):
            raise DamagedError("a schema with a field that is none")
        fields.append((str(each.get("name")), _part(each.get("type"), types, depth)))
    if not fields:
        types.empty.add(read)
    types.named[str(schema.get("name"))] = read
    return read


def _blocks(data: Any, place: int, types: _Types, item: Callable[[int], int]) -> int:
    """Calls `item` with the place of each item of an array or map; the place after the last."""
    while True:
        count, place = _long(data, place)
        if count == 0:
            return place
        if count < 0:  # followed by the size of the block
            count = -count
            _, place = _long(data, place)
        types.add_parts(count)
        for _ in range(count):
            place = item(place)


def _array(read_item: Read, types: _Types) -> Read:
    def read(data: Any, place: int) -> tuple[list[Any], int]:
        items: list[Any] = []

        def item(at: int) -> int:
            value, at = read_item(data, at)
            items.append(value)
            return at

        place = _blocks(data, place, types, item)
        return items, place

    return read


def _map(read_value: Read, types: _Types) -> Read:
    def read(data: Any, place: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}

        def item(at: int) -> int:
            key, at = _string(data, at)
            found[key], at = read_value(data, at)
            return at

        place = _blocks(data, place, types, item)
        return found, place

    return read
