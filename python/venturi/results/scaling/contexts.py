"""Contexts: trials with equal settings except for one number, x.

A curve of time against x is of one context; nothing is pooled over machine types, sizes of data or
parameters. Keys that change only together with x are confounded with it, and are listed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.record.query.columns import Column, combined, select_trials
from venturi.record.query.trial_columns import DISK_FOLDERS, HOST_NAMES
from venturi.record.store.tables import number_of
from venturi.results.scaling.curves import Points

SAME_AMOUNT = 0.02  # measured amounts of data that differ by less are one
MEASURED_AMOUNTS = frozenset({"input_bytes", "input_records"})
_LAST = frozenset(
    {"workload_version", "engine_version", "provenance", "source", HOST_NAMES, DISK_FOLDERS}
)
TOGETHER_MAX = 3  # keys that are checked as confounded with x

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The trials of one context: `settings` by which it differs, times by x, ascending."""

    settings: Mapping[str, Any]
    x: tuple[float, ...]
    times: tuple[tuple[float, ...], ...]

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return sum(map(len, self.times))

    @property
    def points(self) -> Points:
        """Its medians, with the times of single trials."""
        medians = [statistics.median(times) for times in self.times]
        # Ascending and above 0 already.
        return Points(np.array(self.x), np.array(medians), self.times)


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts with two values of x or more, those with the most first.

    `single` counts those with one; x has `distinct` values in all. `along` grow with x in
    proportion (`slots` with `hosts`): they are equal per x. `left_out` were allowed to differ, by
    request. `confounded` change together with x: without them there would be contexts.
    """

    x: str
    contexts: tuple[Context, ...]
    single: int
    distinct: int
    along: tuple[str, ...]
    left_out: tuple[str, ...]
    confounded: tuple[str, ...]


_TABLE_CELLS = 20_000_000


def numbers_of(column: Column) -> Floats:
    """The number of each value of a column, nan for other values."""
    if isinstance(column.values, tuple):  # of a setting: texts, which stay until the next change
        return _numbers(column.values)
    return np.array([_number(value) for value in column.values], dtype=np.float64)


@lru_cache(64, typed=True)
def _numbers(texts: tuple[str | None, ...]) -> Floats:
    found = np.array([_number(text) for text in texts], dtype=np.float64)
    found.flags.writeable = False
    return found


def _number(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        return np.nan
    found = number_of(value) if isinstance(value, str) else value
    return float(found) if isinstance(found, int | float) else np.nan


def contexts_of(
    columns: Mapping[str, Column], elapsed_s: Floats, x: str, leave_out: Sequence[str] = ()
) -> Contexts:
    """The contexts of the trials in `columns` (an entry each, seconds in `elapsed_s`).

    Only trials with a number x above 0 count. Contexts with one value of x are only counted.
    """
    values = numbers_of(columns[x])[columns[x].codes]
    kept = np.flatnonzero(values > 0)
    values, times = values[kept], elapsed_s[kept]
    others, along = _others(columns, x, values, kept)
    left = tuple(key for key in others if key.removesuffix(f" per {x}") in leave_out)
    others = {key: each for key, each in others.items() if key not in left}
    found, first = _strata(others, len(values))
    wanted = _several(found, _numbered(values))
    settings = _rows(list(others.values()), first[wanted])
    made = [
        Context(dict(zip(others, own, strict=True)), at, by_x)
        for own, (at, by_x) in zip(settings, _by_x(found, values, times, wanted), strict=True)
    ]
    made.sort(key=lambda each: (-len(each.x), -each.trials))
    confounded = () if len(wanted) else _confounded(others, found, values)
    return Contexts(
        x, tuple(made), len(first) - len(wanted), len(np.unique(values)), along, left, confounded
    )


def _rows(columns: Sequence[Column], places: Integers) -> list[tuple[Any, ...]]:
    """The values of all columns at each of `places`."""
    of_each = [[each.values[code] for code in each.codes[places].tolist()] for each in columns]
    return list(zip(*of_each, strict=True)) if of_each else [()] * len(places)


def _others(
    columns: Mapping[str, Column], x: str, values: Floats, kept: Integers
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Each other key that differs, and the keys that grow in proportion to x.

    Of those only the ratio to x counts, as `KEY per X`.
    """
    found: dict[str, Column] = {}
    along: list[str] = []
    for key, column in columns.items():
        each = Column(column.values, column.codes[kept])
        if key == x or not _varies(each):
            continue
        numbers = numbers_of(column)[each.codes]
        name = key
        known = np.isfinite(numbers)
        # A column with words among its numbers is not an amount; missing is a separate value.
        if known.any() and all(each.values[code] is None for code in set(each.codes[~known])):
            each = _binned(numbers) if key in MEASURED_AMOUNTS else each
            per_x = _binned(numbers / values)
            if len(per_x.values) < len(np.unique(each.codes)):
                along.append(key)
                name, each = f"{key} per {x}", per_x
        if _varies(each):
            found[name] = each
    hidden: set[str] = set()
    if x == "hosts" or "hosts" in along:  # other hosts have other names
        hidden |= {HOST_NAMES, DISK_FOLDERS}
    if x in MEASURED_AMOUNTS or MEASURED_AMOUNTS & set(along):  # a scale is the name of an amount
        hidden.add("scale")
    return {key: each for key, each in found.items() if key not in hidden}, tuple(along)


def _varies(column: Column) -> bool:
    return len(column.codes) > 0 and bool((column.codes != column.codes[0]).any())


def _binned(numbers: Floats) -> Column:
    """Numbers within 2 % of the least of their bin are one; nan is missing."""
    unique, place = np.unique(numbers, return_inverse=True)
    least: list[float | int | None] = []
    codes = []
    limit = -math.inf
    for value in unique.tolist():
        if not value <= limit:
            shown = int(value) if value.is_integer() else value
            least.append(None if math.isnan(value) else shown)
            limit = value + abs(value) * SAME_AMOUNT
        codes.append(len(least) - 1)
    return Column(least, np.array(codes, dtype=np.int64)[place])


def _strata(others: Mapping[str, Column], count: int) -> tuple[Integers, Integers]:
    """For each trial the number of its stratum, equal in all keys, and a trial of each."""
    return combined(list(others.values()), count)


def _by_x(
    found: Integers, values: Floats, times: Floats, wanted: Integers
) -> list[tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]]:
    """For each `wanted` stratum, ascending: its x, ascending, and the sorted times at each."""
    kept = np.flatnonzero(np.isin(found, wanted))
    order = kept[np.lexsort((times[kept], values[kept], found[kept]))]
    strata, x, seconds = found[order], values[order], times[order].tolist()
    new = np.r_[True, (np.diff(strata) != 0) | (np.diff(x) != 0)] if len(order) else order
    starts = np.flatnonzero(new)
    at, bounds = x[starts].tolist(), [*starts.tolist(), len(order)]
    cells = [tuple(seconds[begin:end]) for begin, end in pairwise(bounds)]
    firsts = [*np.searchsorted(strata[starts], wanted).tolist(), len(at)]
    return [(tuple(at[begin:end]), tuple(cells[begin:end])) for begin, end in pairwise(firsts)]


def _numbered(values: Floats) -> Integers:
    """The number of each value among the different ones."""
    _, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64)


def _several(found: Integers, x: Integers) -> Integers:
    """The strata that have two values of x or more; `x` has their numbers."""
    if not len(found):
        return found
    size, strata = int(x.max()) + 1, int(found.max()) + 1
    cells = found * size + x
    if strata * size <= _TABLE_CELLS:  # a table takes a tenth of the time of sorting
        there = np.zeros(strata * size, dtype=np.bool_)
        there[cells] = True
        return np.flatnonzero(there.reshape(strata, size).sum(axis=1) > 1)
    return np.flatnonzero(np.bincount(np.unique(cells) // size) > 1)


def _confounded(others: Mapping[str, Column], found: Integers, values: Floats) -> tuple[str, ...]:
    """Keys without which some stratum has two values of x: those that say x, then one by one."""
    x = _numbered(values)
    if not len(x) or not x.max():
        return ()
    left = [key for key, each in others.items() if not len(_several(each.codes, x))]
    for _ in range(TOGETHER_MAX):
        rest = {key: each for key, each in others.items() if key not in left}
        strata = _strata(rest, len(values))[0]
        if left and len(_several(strata, x)):
            return tuple(left)
        if not rest:
            break
        counts = _counts_without(rest, x)
        left.append(max(rest, key=lambda key: counts[key]))
    return tuple(left)


def _counts_without(keys: Mapping[str, Column], x: Integers) -> dict[str, tuple[int, int]]:
    """For each key how many strata without it have two values of x, and minus all of them."""
    counts = {}
    for half in (list(keys)[::2], list(keys)[1::2]):
        others = {key: each for key, each in keys.items() if key not in half}
        strata = _strata(others, len(x))[0]
        # A trial that the other half alone distinguishes is the only one of its stratum.
        shared = np.flatnonzero((np.bincount(strata) > 1)[strata])
        some = select_trials(keys, shared)
        for key in half:
            strata = _strata({k: each for k, each in some.items() if k != key}, len(shared))[0]
            size = len(x) - len(shared) + int(strata.max(initial=-1))
            counts[key] = len(_several(strata, x[shared])), -size
    return counts


def distinguishing_keys(contexts: Sequence[Context]) -> tuple[str, ...]:
    """Keys that distinguish the contexts; each adds information to those before it.

    Versions, sources and the names of hosts come last: another key is usually clearer.
    """
    if not contexts:
        return ()
    keys = sorted(contexts[0].settings, key=lambda key: key in _LAST or " per " in key)
    told: list[str] = []
    known: list[Any] = [()] * len(contexts)
    apart = 1
    for key in keys:
        joined = [
            (before, each.settings[key]) for before, each in zip(known, contexts, strict=True)
        ]
        numbers = {pair: place for place, pair in enumerate(dict.fromkeys(joined))}
        if len(numbers) > apart:
            told.append(key)
            known, apart = [numbers[pair] for pair in joined], len(numbers)
        if apart == len(contexts):
            break
    return tuple(told)


def comparable_first(contexts: Contexts, by: Sequence[str]) -> Contexts:
    """The same contexts; the largest set that differs only in `by` comes first."""
    sets: dict[tuple[Any, ...], list[Context]] = {}
    for each in contexts.contexts:
        rest = tuple(value for key, value in each.settings.items() if key not in by)
        sets.setdefault(rest, []).append(each)

    def most(one: list[Context]) -> tuple[int, int]:
        return -len(one), -sum(len(each.x) for each in one)

    ordered = sorted(sets.values(), key=most)
    return replace(contexts, contexts=tuple(chain.from_iterable(ordered)))
