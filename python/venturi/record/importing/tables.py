"""Parses untrusted delimited text within limits: a header to check, then rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from venturi.core.errors import VenturiError
from venturi.record.importing.text import Origin, Refusal
from venturi.record.importing.text import lines as text_lines

# A number in a table; stricter than `float`, which accepts `1_0`, `nan` and other digits.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
STRAY = 3
"""Lines above the header of a table, at most."""
_LARGEST_WHOLE = 1 << 53  # beyond it a double skips whole numbers


@dataclass(frozen=True, slots=True)
class TableLimits:
    """Limits of the resources that a table may use."""

    line_bytes: int = 64 << 10
    field_characters: int = 8 << 10
    rows: int = 1_000_000


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the line it begins on (from 1) and its fields by column, without outer blanks."""

    line: int
    fields: Mapping[str, str]

    def refuse(self, column: str, reason: str) -> Refusal:
        """Return a refusal of this row because of the value in `column`."""
        return Refusal(self.line, column, self.fields[column], reason)


class UnreadableError(ValueError):
    """A field with an invalid value for its column; `refusal` says which and why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def number(
    row: TableRow,
    column: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """The finite number in `column`: greater than `above`, from `least` to `most`, if given."""
    written = row.fields[column]
    value = float(written) if _NUMBER.fullmatch(written) else None
    if value is None or abs(value) == float("inf"):
        raise UnreadableError(row.refuse(column, "not a number"))
    if above is not None and value <= above:
        raise UnreadableError(row.refuse(column, f"not above {above:g}"))
    if least is not None and value < least:
        raise UnreadableError(row.refuse(column, f"below {least:g}"))
    if most is not None and value > most:
        raise UnreadableError(row.refuse(column, f"above {most:g}"))
    return value


def whole(row: TableRow, column: str, *, least: int = 0, most: int = _LARGEST_WHOLE) -> int:
    """Return the whole number in `column`, from `least` to `most`; accepts `8.000`, not `8.5`."""
    value = number(row, column, least=least, most=most)
    if not value.is_integer():
        raise UnreadableError(row.refuse(column, "not a whole number"))
    return int(value)


def plain(value: float) -> int | float:
    """Return a whole number as an int, which prints without `.0`."""
    return int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value


def bytes_of_gib(row: TableRow, column: str) -> int:
    """Return the bytes of the GiB in `column`."""
    return round(number(row, column, above=0, most=1 << 20) * (1 << 30))


def positive_or_none(row: TableRow, column: str) -> float | None:
    """Return the number in `column` if it is above 0, else None."""
    try:
        return number(row, column, above=0)
    except UnreadableError:
        return None


def text(row: TableRow, column: str) -> str:
    """The text in `column`, which must not be empty."""
    if not row.fields[column]:
        raise UnreadableError(row.refuse(column, "empty"))
    return row.fields[column]


def rows(
    file: BinaryIO,
    source: Origin,
    columns: Collection[str],
    optional: Collection[str] | None = (),
    *,
    together: Collection[str] = (),
    delimiter: str = ",",
    limits: TableLimits | None = None,
) -> Iterator[TableRow | Refusal]:
    """The rows below a header with `columns`, in any order, and nothing unknown.

    It may also have some of `optional` (None: any that have a name), and all or none of `together`.
    A row with too many or too few fields is a refusal, and so are a truncated last line and up to
    `STRAY` lines above the header. A wrong header, text that is not UTF-8, NUL bytes, an open
    quotation and whatever is beyond `limits` raise VEN-IMPORT-FORMAT with the line.
    """

    def check(header: list[str]) -> None:
        _check_header(header, columns, optional, together, source)

    return named_rows(file, source, check, delimiter=delimiter, limits=limits or TableLimits())


def named_rows(
    file: BinaryIO,
    origin: Origin,
    check: Callable[[list[str]], None],
    *,
    delimiter: str = ",",
    limits: TableLimits,
    ended: bool = True,
) -> Iterator[TableRow | Refusal]:
    """As `rows`, for a header that `check` accepts; it may rename columns. Empty for an empty file.

    With `ended`, a last line that lacks fields and a line end is reported as truncated.
    """
    whole_lines = _Lines(file, origin, limits)
    reader = csv.reader(whole_lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    stray = _StrayLines(check)
    line = 1
    try:
        for count, fields in enumerate(reader):
            if count > limits.rows:
                raise origin.malformed(f"more than {limits.rows} rows", line=line)
            _check_lengths(fields, header, origin, line, limits)
            if header is None:
                header = stray.header([field.strip() for field in fields], line)
            elif not any(map(str.strip, fields)):
                pass  # a row of a spreadsheet without a value
            elif len(fields) == len(header):
                named = zip(header, (field.strip() for field in fields), strict=True)
                yield TableRow(line, dict(named))
            elif ended and len(fields) < len(header) and not whole_lines.ended:
                yield Refusal(line, "", delimiter.join(fields)[:100], "the last line is truncated")
            else:
                reason = f"{len(fields)} fields, but the header has {len(header)}"
                yield Refusal(line, "", delimiter.join(fields)[:100], reason)
            if header is not None:
                yield from stray.refusals()
            line = reader.line_num + 1
    except VenturiError:
        if header is None:
            stray.none_found()
        raise
    except csv.Error as error:
        raise origin.malformed(f"not a table: {error}", line=line) from error
    if header is None:
        stray.none_found()
        check([])


class _StrayLines:
    """The lines above a header, such as a title: refused if a header follows."""

    def __init__(self, check: Callable[[list[str]], None]) -> None:
        self._check = check
        self._lines: list[Refusal] = []
        self._error: VenturiError | None = None

    def header(self, fields: list[str], line: int) -> list[str] | None:
        """Return `fields` if they are the header; VEN-IMPORT-FORMAT if it comes too late."""
        try:
            self._check(fields)
        except VenturiError as error:
            self._error = self._error or error
            reason = "a line above the header"
            if any(fields) and not fields[0].startswith("sep="):  # as spreadsheets write it
                self._lines.append(Refusal(line, "", ",".join(fields)[:100], reason))
            if line > STRAY:
                raise self._error from None
            return None
        return fields

    def refusals(self) -> Iterator[Refusal]:
        """Yield each stray line once."""
        yield from self._lines
        self._lines = []

    def none_found(self) -> None:
        """Raise the error of the first line, if that was looked at."""
        if self._error is not None:
            raise self._error


class _Lines:
    """The lines of a file as text; `ended` says whether the last one had a line end."""

    def __init__(self, file: BinaryIO, origin: Origin, limits: TableLimits) -> None:
        self._lines, self._origin = text_lines(file, origin, limits.line_bytes), origin
        self.ended = True

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            if "\0" in line:
                raise self._origin.malformed("a NUL byte: not text", line=number)
            self.ended = line.endswith("\n")
            yield line


def _check_lengths(
    fields: list[str], header: list[str] | None, source: Origin, line: int, limits: TableLimits
) -> None:
    for place, field in enumerate(fields):
        if len(field) > limits.field_characters:
            raise source.malformed(
                f"a field longer than {limits.field_characters} characters",
                line=line,
                field=header[place] if header and place < len(header) else str(place + 1),
            )


def _check_header(
    header: list[str],
    columns: Collection[str],
    optional: Collection[str] | None,
    together: Collection[str],
    source: Origin,
) -> None:
    if not any(header):
        raise source.malformed("the file is empty, or its first line is")
    required = [*columns, *(together if set(together) & set(header) else ())]
    faults = {
        "twice": [name for name, count in Counter(header).items() if count > 1],
        "missing": [name for name in required if name not in header],
        "unknown": [
            name for name in header if name not in required and _is_unknown(name, optional)
        ],
    }
    for what, names in faults.items():
        if names:
            shown = ", ".join(repr(name[:80]) for name in names[:30])
            raise source.malformed(
                f"wrong header: {what}: {shown}", line=1, field=names[0][:80] or None
            )


def _is_unknown(name: str, optional: Collection[str] | None) -> bool:
    return not name if optional is None else name not in optional
