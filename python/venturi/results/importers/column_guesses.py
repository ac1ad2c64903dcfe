"""Guesses the fields of a table's columns by their names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import VenturiError
from venturi.core.units import parse_duration_s
from venturi.record.importing.tables import TableRow
from venturi.record.importing.text import Refusal
from venturi.record.trial import LABEL

_COMMIT = frozenset(
    {"commit", "commit hash", "commit sha", "commit id", "commit.sha", "commit.hash", "git sha"}
    | {"git hash", "git commit", "git rev", "git revision", "sha", "revision"}
)
_LABELS = frozenset(
    {"branch", "git branch", "commit.branch", "build", "build id", "build number", "run id"}
    | {"run reason", "batch id", "commit.timestamp", "commit.message", "commit.repository"}
    | {"repository", "comment", "comments", "note", "notes", "remark", "remarks"}
)
_MIDDLES = frozenset({"median", "mean", "avg", "average"})
_SPREADS = frozenset({"min", "max", "stddev", "stdev", "std", "std dev", "sd"})
_OTHERS = frozenset(
    {"unit", "time unit", "iqr", "q1", "q3", "p25", "p50", "p75", "p90", "p95", "p99", "rounds"}
    | {"iterations", "runs", "outliers", "iqr outliers", "stddev outliers", "ops", "total"}
    | {"ld15iqr", "hd15iqr", "user", "system", "variance", "data", "times"}
)
_OF_TIME = re.compile(r"stats\.|time wall clock ")
_OF_OTHER = re.compile(r"(?:time (?:cpu|user|system)|memory peak resident) ")
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)")
_RATE = re.compile(r"(?:/s(?:ec)?|%|percent)[)\]]?$")
_FEW = 4
DECIMAL_COMMA = re.compile(r"(?<![\w.,])[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?![\w.,])")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")
_PARAMETER = re.compile(r"(?:param:|parameter_)(?=.)")
_HYPERFINE = {"command", "mean", "stddev", "median", "user", "system", "min", "max"}
_PYTEST = {"rounds", "iterations"}
"""Both tools give seconds."""


def words(name: str) -> str:
    """The words of a column's name in lower case, with blanks between them."""
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def label_of(column: str) -> str | None:
    """The label that a column of revisions, builds or notes gives, such as `label.commit`."""
    name = words(column)
    if name in _COMMIT:
        return LABEL + "commit"
    return LABEL + re.sub(r"[ .]", "_", name) if name in _LABELS else None


def parameter_of(column: str) -> str | None:
    """The key of a parameter's column, as hyperfine and pytest-benchmark name it, or None."""
    found = _PARAMETER.match(column)
    return None if found is None else column[found.end() :]


def numbered(header: Sequence[str]) -> list[str]:
    """`header` with a number after each name that came before: `time`, `time (2)`."""
    return [
        f"{each} ({count})" if each and (count := header[: place + 1].count(each)) > 1 else each
        for place, each in enumerate(header)
    ]


def first_cells(
    lines: Sequence[str], delimiter: str, header: Sequence[str]
) -> dict[str, list[str]]:
    """The texts below each column in the first lines of a table."""
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if len(row) == len(header)]
    return {
        column: [text for row in rows[1:] if (text := row[place].strip())]
        for place, column in enumerate(header)
    }


def measurements(cells: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The columns of rates and shares that have another value in most rows."""
    return frozenset(
        column
        for column, texts in cells.items()
        if (_RATE.search(column) or (texts and all(text.endswith("%") for text in texts)))
        and len(set(texts)) > max(_FEW, len(texts) // 2)
    )


def are_times(texts: Sequence[str]) -> bool:
    """Whether the first of a column's texts are times with units."""
    return bool(texts) and seconds_of(texts[0]) is not None


def seconds_of(cell: str) -> float | None:
    """The seconds of a time above 0 with a unit or colons, such as `98.2 s`; None for others."""
    clock = _CLOCK.fullmatch(cell)
    if clock is not None:
        hours, minutes, seconds = clock.groups()
        if hours is None and "." not in seconds:  # hours and minutes, or minutes and seconds
            return None
        return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds) or None
    try:
        return parse_duration_s(cell) or None
    except VenturiError:
        return None


def with_points(row: TableRow | Refusal) -> TableRow | Refusal:
    """`row` with the numbers of `with_point`."""
    if isinstance(row, Refusal):
        return row
    return replace(row, fields={key: with_point(value) for key, value in row.fields.items()})


def with_point(value: str) -> str:
    """Return a number with a decimal comma, or with points between thousands, as others write it.

    Other texts stay as they are.
    """
    if DECIMAL_COMMA.fullmatch(value) or _THOUSANDS.fullmatch(value):
        return value.replace(".", "").replace(",", ".")
    return value


@dataclass(frozen=True, slots=True)
class Statistics:
    """The columns of a table with a summary of several runs in each row.

    `middle` has the median, else the mean. `others` aren't settings. `unit` is the column of the
    time's unit, `seconds` whether the table is of a tool that gives seconds.
    """

    middle: str
    others: frozenset[str]
    unit: str | None
    seconds: bool


def statistics_of(header: Sequence[str], bare: Iterable[str]) -> Statistics | None:
    """The statistics in a table, by its `header` and its columns' `bare` names without units.

    None unless a median or mean comes with a minimum, maximum or standard deviation.
    """
    found: dict[str, str] = {}
    others: set[str] = set()
    for column, plain in zip(header, bare, strict=True):
        # The unit of `time_min` is part of its name: a minimum.
        name = words(column) if words(column).endswith(" min") else words(plain)
        short = _OF_TIME.sub("", name, count=1)
        if short in _MIDDLES | _SPREADS | _OTHERS:
            found.setdefault(short, column)
            others.add(column)
        elif (other := _OF_OTHER.match(name)) and name[
            other.end() :
        ] in _SPREADS | _MIDDLES | _OTHERS:
            others.add(column)
    middle = next(
        (found[name] for name in ("median", "mean", "avg", "average") if name in found), None
    )
    if middle is None or not _SPREADS & found.keys():
        return None
    unit = found.get("unit") or found.get("time unit")
    names = {words(each) for each in header}
    seconds = names >= _HYPERFINE or names >= _PYTEST
    return Statistics(middle, frozenset(others), unit, seconds)
