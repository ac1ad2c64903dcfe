"""Avro's binary encoding, as far as Hadoop's job history uses it: one value after another.

Source: the Avro specification, "Binary Encoding". A compiled reader takes the data and a place in
it, and gives the value and the place after it. Data that does not fit raises `DamagedError`.
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


class DamagedError(ValueError):
    """The data does not follow its schema."""


class CutOffError(DamagedError):
    """The data ends in the middle of a value."""


def compiled(schema: object) -> Read:
    """A reader of values of `schema`, which is decoded JSON."""
    return _compiled(schema, {}, 0)


def _compiled(schema: object, named: dict[str, Read], depth: int) -> Read:
    if depth > _DEPTH:
        raise DamagedError("a schema nested too deeply")
    if isinstance(schema, str):
        found = _PRIMITIVES.get(schema) or named.get(schema.rpartition(".")[2])
        if found is None:
            raise DamagedError(f"a schema with an unknown type {schema[:50]!r}")
        return found
    if isinstance(schema, list):
        return _union([_compiled(each, named, depth + 1) for each in schema])
    if not isinstance(schema, dict):
        raise DamagedError("a schema that is none")
    kind = schema.get("type")
    if kind == "record":
        read = _record(schema, named, depth)
    elif kind == "enum":
        read = _enum([str(symbol) for symbol in schema.get("symbols") or ()])
        named[str(schema.get("name"))] = read
    elif kind == "array":
        read = _array(_compiled(schema.get("items"), named, depth + 1))
    elif kind == "map":
        read = _map(_compiled(schema.get("values"), named, depth + 1))
    else:
        read = _compiled(kind, named, depth + 1)
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
    "null": _null, "boolean": _boolean, "int": _long, "long": _long, "float": _float,
    "double": _double, "bytes": _bytes, "string": _string,
}  # fmt: skip


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


def _record(schema: dict[str, Any], named: dict[str, Read], depth: int) -> Read:
    fields: list[tuple[str, Read]] = []

    def read(data: Any, place: int) -> tuple[dict[str, Any], int]:
        record = {}
        for name, read_field in fields:
            record[name], place = read_field(data, place)
        return record, place

    # No type of the history contains itself: the name is known only after its fields were read.
    for each in schema.get("fields") or ():
        if not isinstance(each, dict):
            raise DamagedError("a schema with a field that is none")
        fields.append((str(each.get("name")), _compiled(each.get("type"), named, depth + 1)))
    named[str(schema.get("name"))] = read
    return read


def _blocks(data: Any, place: int, item: Callable[[int], int]) -> int:
    """Calls `item` with the place of each item of an array or map; the place after the last."""
    while True:
        count, place = _long(data, place)
        if count == 0:
            return place
        if count < 0:  # followed by the size of the block
            count = -count
            _, place = _long(data, place)
        if count > len(data):
            raise DamagedError("an array of impossible length")
        for _ in range(count):
            place = item(place)


def _array(read_item: Read) -> Read:
    def read(data: Any, place: int) -> tuple[list[Any], int]:
        items: list[Any] = []

        def item(at: int) -> int:
            value, at = read_item(data, at)
            items.append(value)
            return at

        place = _blocks(data, place, item)
        return items, place

    return read


def _map(read_value: Read) -> Read:
    def read(data: Any, place: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}

        def item(at: int) -> int:
            key, at = _string(data, at)
            found[key], at = read_value(data, at)
            return at

        place = _blocks(data, place, item)
        return found, place

    return read
