"""The mapping file of a table: which column gives which field of a trial."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from venturi.cli.results.import_messages import FileOutcome
from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.recognise import refuse_special

_CODE = "VEN-IMPORT-FORMAT"
_BYTES = 1 << 20
_HEAD = """\
# The columns of a table: FIELD = "COLUMN" or "COLUMN:UNIT", as after `venturi import --column`.
# Columns that aren't named here become settings.

[columns]
"""


def read_mapping(path: Path) -> tuple[str, ...]:
    """Return the columns in the file as FIELD=COLUMN[:UNIT]; VEN-IMPORT-FORMAT if it has none."""
    refuse_special(path, _CODE)
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error, _CODE) from error
    if len(content) > _BYTES:
        raise _unusable(path, f"it has more than {_BYTES:,} bytes")
    try:
        columns = tomllib.loads(content.decode()).get("columns")
    except (ValueError, RecursionError) as error:
        raise _unusable(path, str(error)) from error
    if not isinstance(columns, dict):
        raise _unusable(path, "no table [columns]")
    for field, column in columns.items():
        if not isinstance(column, str):
            raise _unusable(path, f"columns.{field} is not a text")
    return tuple(f"{field}={column}" for field, column in columns.items())


def require_writable(path: Path) -> None:
    """VEN-IMPORT-FORMAT if the new mapping file can't be written, before anything is imported."""
    try:
        with path.open("x"):
            pass
        path.unlink()
    except OSError as error:
        raise VenturiError(
            _CODE,
            f"{path} can't be written: {error.strerror}",
            where={"file": str(path)},
            hint="name a file in a folder that you can write to",
        ) from error


def mapping_text(columns: Iterable[str], outcomes: Iterable[FileOutcome]) -> str:
    """The content of a mapping file: the named `columns`, and those that were guessed."""
    found: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.imported is not None:
            found |= {
                each.taken_as: each.written
                for each in outcome.imported.spellings
                if each.field == "column"
            }
    found |= dict(each.split("=", 1) for each in columns)
    return _HEAD + "".join(_line(each, found) for each in found)


def _line(field: str, columns: Mapping[str, str]) -> str:
    # JSON texts are basic strings of TOML, too.
    return f"{json.dumps(field)} = {json.dumps(columns[field])}\n"


def _unusable(path: Path, why: str) -> VenturiError:
    return VenturiError(
        _CODE,
        f"{path} is not a mapping of columns: {why}",
        where={"file": str(path)},
        hint="name a new file: the import then writes its columns there",
    )
