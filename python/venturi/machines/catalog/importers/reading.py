"""Shared parts of all importers: input texts, accepted and rejected rows, dates, regions.

An importer is a pure function from texts to an `ImportedCatalog`. A row with an invalid value is
rejected with place, field, value and reason, and the others are kept; an invalid file is an error.
A value missing from the source is an unknown fact with the reason, never 0.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath
from typing import Any

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.catalog import (
    ATTRIBUTES,
    Catalog,
    Fact,
    InstanceType,
    disk_kind,
    format_error,
    not_commas,
)
from venturi.machines.catalog.find import unknown
from venturi.record.importing.tables import TableLimits, TableRow, named_rows
from venturi.record.importing.text import Refusal

MAX_IMPORT_BYTES = 256 * 2**20
MAX_ROWS = 500_000
_LEAST, _MOST = 1e-12, 1e18  # far beyond what there is; their products are still numbers
_ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "aarch64": "arm64"}
_UNMEASURED = {
    "storage_rate": "no bandwidth of the local disks is published: measure it with "
    "`venturi probe disk`",
    "network_rate": "only the line rate is published: measure it with `venturi probe net`",
}


@dataclass(frozen=True, slots=True)
class CatalogSource:
    """The content of one file, and the name faults are reported with."""

    file: str
    text: str

    @property
    def name(self) -> str:
        """The file without its folder, as facts name their source."""
        return PurePath(self.file).name

    def malformed(
        self,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> VenturiError:
        """As `format_error`; `field` is the line where nothing more exact is said."""
        return format_error(self.file, message, line=line, field=field or "line", value=value)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Choices of the user: the region, the date of the source, the catalog's name."""

    region: str | None = None
    as_of: date | None = None
    name: str = "imported"


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was not imported, and why. `place` is a file with a line or a JSON path."""

    place: str
    instance_type: str
    field: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedCatalog:
    """A catalog, the rejected rows, notes about ignored data, and the place of each value."""

    catalog: Catalog
    refused: tuple[RefusedRow, ...]
    notes: tuple[str, ...]
    places: Mapping[tuple[str, str], str]


class BadRowError(Exception):
    """A row cannot be kept."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"{field} {reason}: {value!r}")
        self.field, self.value, self.reason = field, str(value), reason


def json_of(source: CatalogSource) -> Any:
    """The content of a JSON file; VEN-CATALOG-FORMAT, with line and column, if it isn't JSON."""
    try:
        return json.loads(source.text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise format_error(
            source.file,
            f"is not JSON: {error.msg} (column {error.colno})",
            line=error.lineno,
            field=f"column {error.colno}",
        ) from error
    except RecursionError as error:
        raise format_error(source.file, "is nested too deeply", field="$") from error
    except ValueError as error:  # a number of thousands of digits
        raise format_error(source.file, f"is not JSON: {error}", field="$") from error


def number(name: str, value: object) -> float | None:
    """`value` as a number above 0 that a machine can have; None if it is absent; otherwise the row
    is bad."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        found = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise BadRowError(name, value, "is not a number")
    if found <= 0:
        raise BadRowError(name, value, "must be above 0; leave it empty if it is unknown")
    if not _LEAST <= found <= _MOST:
        raise BadRowError(name, value, "is impossible for a machine")
    return found


@dataclass(slots=True)
class TypeEntry:
    """The facts of one instance type in the making."""

    name: str
    place: str
    source: str
    as_of: date
    facts: dict[str, Fact] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def put(
        self,
        attribute: str,
        value: float | str | None,
        why: str = "",
        *,
        kind: ValueKind = ValueKind.ADVERTISED,
        note: str = "",
        low: float | None = None,
        high: float | None = None,
        currency: str = "USD",
        column: str = "",
    ) -> None:
        """Sets a fact in the attribute's unit. None is unknown, because of `why`."""
        unit = ATTRIBUTES[attribute][0]
        if unit.startswith("USD"):
            unit = currency + unit.removeprefix("USD")
        if attribute == "disk_kind" and isinstance(value, str):
            value = disk_kind(value)
        self.places[attribute] = f"{self.place}, {column}" if column else self.place
        if value is None or value == "":
            reason = why or f"{column or attribute} is empty in the source"
            self.facts[attribute] = Fact(None, unit, None, self.source, self.as_of, reason)
        else:
            self.facts[attribute] = Fact(
                value, unit, kind, self.source, self.as_of, note, low, high
            )

    def put_architecture(self, value: str, column: str = "") -> None:
        """Sets the architecture, in the catalog's spelling."""
        name = _ARCHITECTURES.get(value.strip().lower(), value.strip())
        self.put("architecture", name, column=column)

    def put_volume_rate(self, values: Mapping[str, float | None], why: str = "") -> None:
        """Set the rate of volumes from two columns: the maximum, then the sustained rate.

        The sustained rate is the low end of the range.
        """
        (column, most), (sustained, low) = values.items()
        most = most or low
        if most is not None and low is not None and low > most:
            raise BadRowError(sustained, f"{low:g}", f"is above {column} {most:g}")
        note = "the maximum; low is the sustained rate" if low else "the maximum"
        self.put("volume_line_rate", most, why, low=low, note=note, column=column)

    def put_unmeasured(self) -> None:
        """Marks the two important rates as unknown because they aren't published."""
        for attribute, why in _UNMEASURED.items():
            if attribute not in self.facts:
                self.put(attribute, None, why)


class Builder:
    """Collects entries, refusals and notes."""

    def __init__(self, options: ImportOptions) -> None:
        self._name = options.name
        self._entries: dict[str, TypeEntry] = {}
        self._refused: list[RefusedRow] = []
        self._notes: list[str] = []

    @contextmanager
    def row(self, place: str, name: str) -> Iterator[None]:
        """Turns a `BadRowError` inside into a refusal."""
        try:
            yield
        except BadRowError as bad:
            self.refuse(place, name, bad.field, bad.value, bad.reason)

    def refuse(self, place: str, name: str, field: str, value: str, reason: str) -> None:
        """Records that a row was left out."""
        self._refused.append(RefusedRow(place, name, field, value[:80], reason))

    def keep(self, entry: TypeEntry) -> None:
        """Takes the entry in; a second one of the same name is bad."""
        if not entry.name:
            raise BadRowError("instance_type", "", "is empty")
        first = self._entries.setdefault(entry.name, entry)
        if first is not entry:
            raise BadRowError(
                "instance_type", entry.name, f"is given twice, first in {first.place}"
            )

    def note(self, text: str) -> None:
        """Says something about the whole source."""
        self._notes.append(text)

    def done(self, file: str) -> ImportedCatalog:
        """The imported catalog; an error if it is empty."""
        if not self._entries:
            first = self._refused[0] if self._refused else None
            raise format_error(
                file,
                f"no instance type could be imported: {len(self._refused)} rows are invalid",
                field=first.field if first else "",
                value=first.value if first else None,
                hint=f"the first: {first.place}: {first.field} {first.reason}" if first else "",
            )
        types = {name: InstanceType(name, entry.facts) for name, entry in self._entries.items()}
        places = {
            (name, attribute): place
            for name, entry in self._entries.items()
            for attribute, place in entry.places.items()
        }
        return ImportedCatalog(
            Catalog(self._name, types), tuple(self._refused), tuple(self._notes), places
        )


def csv_rows(
    source: CatalogSource,
    builder: Builder,
    *,
    required: Collection[str],
    known: Collection[str],
    unused: Collection[str] = (),
) -> Iterator[tuple[str, dict[str, str]]]:
    """(place, column -> cell) of each row; columns that are not understood are noted."""

    def check(header: list[str]) -> None:
        _check_header(source.file, header, required, [*required, *known, *unused])
        if aside := [c for c in header if c not in required and c not in known]:
            builder.note(f"{source.file}: unused columns: {', '.join(aside)}")

    file = io.BytesIO(source.text.encode())
    for row in named_rows(file, source, check, limits=TableLimits(rows=MAX_ROWS), ended=False):
        place = f"{source.file}, line {row.line}"
        if isinstance(row, TableRow) and any(row.fields.values()):
            yield place, dict(row.fields)
        elif isinstance(row, Refusal) and row.value.strip(", "):
            name = row.value.partition(",")[0]
            builder.refuse(place, name, "line", row.value, f"has {row.reason}")


def _check_header(
    file: str, header: list[str], required: Collection[str], understood: Collection[str]
) -> None:
    absent = [column for column in required if column not in header]
    double = sorted({column for column in header if header.count(column) > 1})
    if absent or double:
        problem = f"lacks {', '.join(absent)}" if absent else f"has {', '.join(double)} twice"
        raise format_error(
            file,
            f"the header {problem}",
            line=1,
            field="header",
            value=",".join(header)[:200],
            hint=not_commas(header) or "columns: " + ", ".join(dict.fromkeys(understood)),
        )


def need_date(found: date | None, options: ImportOptions, file: str) -> date:
    """The date of the source: its own, else the user's; an error without either."""
    day = found or options.as_of
    if day is None:
        raise format_error(
            file,
            "the source doesn't date its figures",
            field="as_of",
            hint="give the date with --as-of, such as --as-of 2026-07-20",
            exit_code=ExitCode.USAGE,
        )
    return day


def parse_date(name: str, value: str) -> date | None:
    """The ISO date in `value`; None if it is empty; otherwise the row is bad."""
    try:
        return date.fromisoformat(value) if value else None
    except ValueError as error:
        raise BadRowError(name, value, "is not a date like 2026-07-20") from error


def choose_region(regions: Iterable[str], wanted: str | None, file: str) -> str:
    """The requested region, or the only one; an error if it doesn't exist or is ambiguous."""
    known = list(dict.fromkeys(region for region in regions if region))
    if wanted is not None:
        if wanted in known:
            return wanted
        raise unknown(
            f"{file} has no region {wanted!r}",
            wanted,
            known,
            "it has",
            {"file": file, "region": wanted},
        )
    if len(known) == 1:
        return known[0]
    shown = ", ".join(known[:10]) + (" ..." if len(known) > 10 else "")
    raise format_error(
        file,
        f"has prices of {len(known)} regions",
        field="region",
        hint=f"choose one with --region: {shown}",
        exit_code=ExitCode.USAGE,
    )
