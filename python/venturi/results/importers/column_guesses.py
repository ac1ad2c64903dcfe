"""Guesses the fields of a table's columns by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
