"""All settings of many trials in columns, to compare the trials by.

They are cached for each state of the repository, because a comparison reads every key of every
trial, and nothing changes between two comparisons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from venturi.record.query.columns import Column, read_trials, select_trials
from venturi.record.query.conditions import COLUMNS, OF_RECORDS, PREFIX, is_hidden, refused
from venturi.record.query.identifying_keys import identifies, may_identify
from venturi.record.query.selection import Query, fetch, rules_for, where
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES, CONFIGURATION, TRIALS
from venturi.record.trial import LABEL, State
from venturi.record.vocabulary import SOURCE

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WORK = ("workload", "workload_version", "scale", "input_bytes")
"""Trials that differ in one of these did different work."""
ORIGIN = ("provenance", SOURCE)
HOST_NAMES, DISK_FOLDERS, CLUSTER_NAME = OF_RECORDS
MACHINES = (HOST_NAMES, "instance_type", "hosts")
CHOSEN = (*WORK, "engine", "engine_version", "instance_type", "network", "hosts", *ORIGIN)
BELONGING = ("experiment", "group")
"""The units that a trial was measured as a part of."""
CODES_MAX = 50_000_000  # kept between two questions: 400 MB


@dataclass(frozen=True, slots=True)
class TrialColumns:
    """The trials of a query, by their `serials`: a column per key, and each trial's outcome.

    `columns` has every key with at least two values in the repository, `constant` the value of each
    other key. The values of `identifying` keys are unique per trial, so no two trials would match.
    Configuration keys have their plain names unless a column has the same name
    (`configuration.KEY`). `elapsed_s` is the time of the `counted` trials (succeeded, no warm-up),
    else nan; `failed` are those that failed or were not valid. `became` has the outcomes as
    recorded: `elapsed_s`, `state`, `warm_up`. `sources` has the place of origin, such as a figure's
    number: it says where trials are printed, so it never keeps two of them from matching.
    """

    serials: Integers
    columns: Mapping[str, Column]
    constant: Mapping[str, Any]
    elapsed_s: Floats
    counted: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]
    became: Mapping[str, Column]
    identifying: Mapping[str, Column] = field(default_factory=dict)
    sources: Mapping[str, Column] = field(default_factory=dict)

    def column(self, key: str) -> Column:
        """The column of `key`, of None where no trial has it."""
        found = self.columns.get(key) or self.identifying.get(key) or self.sources.get(key)
        if found is not None:
            return found
        return Column([self.constant.get(key)], np.zeros(len(self.counted), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class _CachedColumns:
    change: int
    chosen: TrialColumns


_KNOWN: WeakKeyDictionary[TrialRepository, _CachedColumns] = WeakKeyDictionary()


def check_settings(keys: Iterable[str], field: str, also: tuple[str, ...] = ()) -> None:
    """Raise VEN-QUERY-VALUE for a column that is a result, such as the time; `also` are allowed."""
    for key in keys:
        if key in COLUMNS and key not in (*CHOSEN, *also):
            raise refused(
                "experiment is the name of some trials, not a setting"
                if key == "experiment"
                else f"{key} is a result of a trial, not a setting",
                field,
                "`venturi rank --by experiment` shows which is faster"
                if key == "experiment"
                else (
                    "give a setting: engine, network, hosts or a configuration key (`venturi keys`)"
                ),
            )


def trial_columns(
    repository: TrialRepository, query: Query, keep: Collection[str] = ()
) -> TrialColumns:
    """The settings of the trials that meet the conditions of `query`.

    The keys `keep` count as settings although their values may only identify trials.
    """
    return _without_identifying(_without_source(_of_query(repository, query), keep), keep)


def _without_source(found: TrialColumns, keep: Collection[str]) -> TrialColumns:
    if SOURCE in keep or SOURCE not in found.columns:
        return found
    columns = dict(found.columns)
    return replace(found, sources={SOURCE: columns.pop(SOURCE)}, columns=columns)


def _of_query(repository: TrialRepository, query: Query) -> TrialColumns:
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = _KNOWN.get(repository)
        if known is None or known.change != change:
            known = _read(connection, change)
            if len(known.chosen.serials) * len(known.chosen.columns) <= CODES_MAX:
                _KNOWN[repository] = known
        tests = where(query.conditions, rules_for(connection, query))
        if not tests:
            return known.chosen
        rows = fetch(connection, sa.select(TRIALS.c.serial).where(*tests))
    wanted = np.fromiter((serial for (serial,) in rows), dtype=np.int64, count=len(rows))
    return _selected(known.chosen, np.flatnonzero(np.isin(known.chosen.serials, wanted)))


def _without_identifying(found: TrialColumns, keep: Collection[str]) -> TrialColumns:
    never = {*CHOSEN, *OF_RECORDS, *keep} - ({DISK_FOLDERS} - set(keep))
    identifying = {
        key: column
        for key, column in found.columns.items()
        if key not in never and _identifies(key, column)
    }
    if not identifying:
        return found
    kept = {key: column for key, column in found.columns.items() if key not in identifying}
    return replace(found, columns=kept, identifying=identifying)


def _identifies(key: str, column: Column) -> bool:
    name = key.removeprefix(PREFIX)
    some = list(islice((each for each in column.values if each is not None), 2))
    if len(some) < 2 or not all(may_identify(name, value) for value in some):
        return False
    codes, counts = np.unique(column.codes, return_counts=True)
    present = [(column.values[code], n) for code, n in zip(codes.tolist(), counts, strict=True)]
    stated = {value: int(n) for value, n in present if value is not None}
    return identifies(name, stated, sum(stated.values()))


def column_for(repository: TrialRepository, found: TrialColumns, key: str) -> Column:
    """The column of `key` for the trials of `found`; also for one of `BELONGING`, and a label."""
    if key not in BELONGING and not key.startswith(LABEL):
        return found.column(key)
    with repository.reading() as connection:
        serials, columns = read_trials(connection, (), (key,))
    order = np.argsort(serials)
    places = order[np.searchsorted(serials[order], found.serials)]
    return Column(columns[key].values, columns[key].codes[places])


def _selected(every: TrialColumns, places: Integers) -> TrialColumns:
    return TrialColumns(
        every.serials[places],
        select_trials(every.columns, places),
        every.constant,
        every.elapsed_s[places],
        every.counted[places],
        every.failed[places],
        select_trials(every.became, places),
    )


def _read(connection: sa.Connection, change: int) -> _CachedColumns:
    keys = connection.execute(sa.select(CONFIGURATION.c.key).distinct()).scalars()
    names = [PREFIX + key if is_hidden(key) else key for key in keys if not key.startswith(LABEL)]
    others = ("elapsed_s", "state", "warm_up")
    wanted = (*CHOSEN, *sorted(names), *others)
    serials, found = read_trials(connection, (), wanted, of_records=OF_RECORDS)
    became = {name: found.pop(name) for name in others}
    elapsed, state, warm_up = became.values()
    states = np.array(state.values, dtype=object)
    times = np.array(elapsed.values, dtype=np.float64)[elapsed.codes]  # None: nan
    counted = (states == State.SUCCEEDED)[state.codes] if len(states) else np.zeros(0, np.bool_)
    if len(states):
        counted &= ~np.array(warm_up.values, dtype=bool)[warm_up.codes]
        counted &= np.isfinite(times) & (np.nan_to_num(times) > 0)
        bad = np.isin(states, (State.FAILED, State.INVALID))[state.codes]
    else:
        bad = counted
    varied = {key: column for key, column in found.items() if _varies(column)}
    constant = {
        key: column.values[column.codes[0]]
        for key, column in found.items()
        if len(serials) and key not in varied
    }
    times = np.where(counted, times, np.nan)
    return _CachedColumns(
        change, TrialColumns(serials, varied, constant, times, counted, bad, became)
    )


def _varies(column: Column) -> bool:
    codes = column.codes
    return len(codes) > 0 and bool((codes != codes[0]).any())
