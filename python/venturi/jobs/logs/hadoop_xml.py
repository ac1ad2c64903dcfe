"""Hadoop's configuration files, read within limits and without anything XML can do beyond text."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.formats import FormatKind

_FILE_BYTES = 32 << 20
_PROPERTIES = 50_000
_DEPTH = 8
_CHARACTERS = 1 << 20
_CHUNK = 1 << 16


def read_properties(path: Path) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The properties in `path`, and for each the files it came from, the first one first.

    A document type, entities, too much of anything, or no XML: VEN-INGEST-FORMAT.
    """
    reader = _Reader(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    # No document type, hence no entity, hence nothing that expands or is fetched.
    parser.StartDoctypeDeclHandler = reader.doctype
    read_bytes = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                read_bytes += len(chunk)
                if read_bytes > _FILE_BYTES:
                    reader.refuse(f"more than {_FILE_BYTES:,} bytes")
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
    except OSError as error:
        raise unreadable(path, error, FormatKind.LOG.value) from error
    except expat.ExpatError as error:
        reader.refuse(f"no XML: {error}")
    return reader.properties, reader.sources


class _Reader:
    def __init__(self, path: Path) -> None:
        self.properties: dict[str, str] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        self._path = path
        self._depth = 0
        self._property: dict[str, list[str]] = {}
        self._text: list[str] = []
        self._size = 0

    def refuse(self, why: str) -> NoReturn:
        raise VenturiError(
            "VEN-INGEST-FORMAT",
            f"{self._path} is not a Hadoop configuration: {why}",
            where={"file": str(self._path)},
            hint="move it away to import the history without a configuration",
        )

    def doctype(self, *_: object) -> None:
        self.refuse("it declares a document type")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            self.refuse(f"nested deeper than {_DEPTH}")
        if name == "property":
            self._property = {}
        self._text, self._size = [], 0

    def text(self, text: str) -> None:
        self._size += len(text)
        if self._size > _CHARACTERS:
            self.refuse(f"a text longer than {_CHARACTERS:,} characters")
        self._text.append(text)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name != "property":
            self._property.setdefault(name, []).append("".join(self._text).strip())
            return
        key = (self._property.get("name") or [""])[0]
        if key:
            self.properties[key] = (self._property.get("value") or [""])[-1]
            self.sources[key] = tuple(self._property.get("source", ()))
        if len(self.properties) > _PROPERTIES:
            self.refuse(f"more than {_PROPERTIES:,} properties")
