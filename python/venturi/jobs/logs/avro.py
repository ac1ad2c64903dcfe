"""Read Avro's binary encoding, as Hadoop's job histories use it, with fastavro and within limits.

Neither the schema nor the data is trusted:

- A schema has the types that Hadoop uses, nested to a bounded depth and never in themselves.
- A type that takes no bytes (`null`, an empty record) is a branch of a union only. So the data
  bounds the length of every array and map.
- A value takes a bounded number of reads, and each read gets a bounded number of bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException

_DEPTH = 32
_TEXT_BYTES = 64 << 20
_PARTS = 1 << 20  # reads of a value, at least one for each part: a part is far more in memory
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class DamagedError(ValueError):
    """The schema is unusable, or the data does not follow it."""


def compiled(schema: object) -> Callable[[BufferedReader], Any]:
    """Return a function that reads the next value of `schema` (decoded JSON) from a file."""
    try:
        parsed = fastavro.parse_schema(_Types().checked(schema).schema)
    except SchemaParseException as error:
        raise DamagedError(f"a schema with an invalid type: {error}") from error

    def read(file: BufferedReader) -> Any:
        try:
            return fastavro.schemaless_reader(
                _BoundedFile(file),  # type: ignore[arg-type]
                parsed,
                None,
                handle_unicode_errors="replace",
            )
        except IndexError as error:
            raise DamagedError("a union or an enumeration has no such entry") from error

    return read


class _BoundedFile:
    """The bytes of one value: `read` returns the requested number, or raises DamagedError."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._parts = 0

    def read(self, size: int) -> bytes:
        self._parts += 1
        if self._parts > _PARTS:
            raise DamagedError("a value of too many parts")
        if not 0 <= size <= _TEXT_BYTES:
            raise DamagedError("a text of impossible length")
        data = self._file.read(size)
        if len(data) < size:
            raise DamagedError("cut off in the middle of a value")
        return data


@dataclass(frozen=True, slots=True)
class _Type:
    """A type as fastavro gets it: without defaults, aliases and logical types."""

    schema: Any
    depth: int = 0
    empty: bool = False

    def __post_init__(self) -> None:
        if self.depth > _DEPTH:
            raise DamagedError("a schema nested too deeply")


class _Types:
    """The types of a schema, by name."""

    def __init__(self) -> None:
        self._types = {name: _Type(name, empty=name == "null") for name in _PRIMITIVES}

    def checked(self, schema: object) -> _Type:
        """Return the type that `schema` describes; a name must have been described before."""
        if isinstance(schema, str):
            found = self._types.get(schema.rpartition(".")[2])
            if found is None:
                raise DamagedError(f"a schema with an unknown type {schema[:50]!r}")
            return found
        if isinstance(schema, list):
            branches = [self.checked(each) for each in schema]
            return _Type([each.schema for each in branches], _above(branches))
        if not isinstance(schema, dict):
            raise DamagedError("a type that is neither a name, a list nor an object")
        kind = schema.get("type")
        if kind == "record":
            return self._record(schema)
        if kind == "enum":
            symbols = [str(each) for each in schema.get("symbols") or ()]
            return self._named(schema, _Type({"type": "enum", "symbols": symbols}))
        if kind in ("array", "map"):
            key = {"array": "items", "map": "values"}[kind]
            part = self._part(schema.get(key))
            return _Type({"type": kind, key: part.schema}, _above([part]))
        return self.checked(kind)

    def _part(self, schema: object) -> _Type:
        """Return the type of a field, an item or a map's value."""
        found = self.checked(schema)
        if found.empty:
            raise DamagedError("a schema with a part that takes no bytes")
        return found

    def _record(self, schema: dict[str, Any]) -> _Type:
        fields, parts = [], []
        for each in schema.get("fields") or ():
            if not isinstance(each, dict):
                raise DamagedError("a schema with a field that is not an object")
            parts.append(self._part(each.get("type")))
            fields.append({"name": str(each.get("name")), "type": parts[-1].schema})
        record = _Type({"type": "record", "fields": fields}, _above(parts), empty=not fields)
        return self._named(schema, record)

    def _named(self, schema: dict[str, Any], found: _Type) -> _Type:
        """Return `found` with its name, by which later types refer to it."""
        name = str(schema.get("name")).rpartition(".")[2]
        self._types[name] = _Type(name, found.depth, found.empty)
        return _Type({**found.schema, "name": name}, found.depth, found.empty)


def _above(parts: list[_Type]) -> int:
    return 1 + max((each.depth for each in parts), default=0)
