"""Checks whether any trial has the keys and values of a question, and suggests similar ones.

A question may use any of a key's names (`record.vocabulary`); the answer uses the recorded one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa

from venturi.core.wording import NAMES_SHOWN, near
from venturi.record.query.conditions import (
    COLUMNS,
    LISTS,
    PREFIX,
    Condition,
    Op,
    is_size,
    joined,
    plain,
    refused,
    setting_of,
    spellings,
    split_condition,
    typed_condition,
    written_size,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION, TRIALS, number_of, storable, text_of
from venturi.record.trial import LABEL, ProvenanceKind, State
from venturi.record.vocabulary import resolve, sayings

VALUES_MAX = 10_000  # of a key, among which similar ones are searched
_STATED = (
    "workload",
    "workload_version",
    "scale",
    "engine",
    "engine_version",
    "source",
    "instance_type",
    "network",
    "experiment",
    "group",
)
"""Columns of free text."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "state": tuple(State),
    "provenance": tuple(ProvenanceKind),
}
"""Columns that have one of a few words, any of which may well be of no trial."""


def require_keys(
    repository: TrialRepository,
    keys: Iterable[str],
    *,
    also: Sequence[str] = (),
    columns: Sequence[str] = tuple(COLUMNS),
) -> tuple[str, ...]:
    """The recorded names of `keys`, as `TrialColumns` has them, each once.

    VEN-QUERY-VALUE, with similar names, for a key that is neither a column, nor of any trial, nor
    in `also`. Only those columns are suggested that are in `columns`.

    A repository without trials knows no configuration, so it rejects no key.
    """
    names: list[str] = []
    with repository.reading() as connection:
        for key in dict.fromkeys(keys):
            if (
                key in COLUMNS
                or key in also
                or not storable(setting_of(key))
                or _occurs(connection, key)
            ):
                names.append(key)
                continue
            known = _settings(connection)
            if LABEL + key in known:
                names.append(LABEL + key)
                continue
            meant = resolve(key.removeprefix(PREFIX), (*COLUMNS, *known, *also))
            if meant is not None:
                names.append(meant)
            elif known or not _empty(repository):
                raise _no_such_key(key, (*known, *also), columns, _keys_with(connection, key))
            else:
                names.append(key)
    return tuple(dict.fromkeys(map(plain, names)))


def conditions_for(
    repository: TrialRepository, texts: Iterable[str], *, values: bool = True
) -> tuple[Condition, ...]:
    """The conditions that `texts` write, with the recorded names of their keys; see `joined`.

    VEN-QUERY-VALUE, with similar names, for a key of no trial, and (unless `values` is false) for a
    text that no trial has, excluded ones included. The value of KEY= may be missing everywhere.
    """
    made = []
    for text in texts:
        key, op, value = split_condition(text)
        if op is not Op.MISSING:
            (known,) = require_keys(repository, (key,))
            key = key if known == plain(key) else known
        made.append(typed_condition(key, op, value))
    conditions = joined(made)
    if values and not _empty(repository):
        for line in near_values(repository, conditions):
            error = refused(line.partition("; ")[0], line.partition("=")[0].rpartition(" ")[2])
            error.hint = line.partition("; ")[2]
            raise error
    return conditions


def _empty(repository: TrialRepository) -> bool:
    with repository.reading() as connection:
        return connection.execute(sa.select(TRIALS.c.id).limit(1)).first() is None


def _keys_with(connection: sa.Connection, value: str) -> list[str]:
    """The keys of the configuration that have `value` in a trial."""
    here = sa.select(CONFIGURATION.c.key).where(CONFIGURATION.c.text == text_of(value)).distinct()
    return sorted(connection.execute(here.limit(NAMES_SHOWN)).scalars())


def _no_such_key(
    key: str, known: Sequence[str], columns: Sequence[str], of: Sequence[str]
) -> Exception:
    """`of` are the keys of which `key` is a value."""
    error = refused(f"no trial has a key {key!r}", key)
    if of:
        error.hint = f"{key} is a value of {' and of '.join(of)}: use {' or '.join(of)}"
        return error
    words = {each: each for each in (*columns, *known)}
    for saying in sayings():
        recorded = resolve(saying, words)
        if recorded is not None:
            words.setdefault(saying, recorded)
    close = list(dict.fromkeys(words[each] for each in near(key, words)))
    error.hint = (
        f"did you mean {' or '.join(close)}? "
        if close
        else f"keys are {', '.join([*known, *columns][:NAMES_SHOWN])} and others: "
    ) + "`venturi keys` lists them"
    return error


def _occurs(connection: sa.Connection, key: str) -> bool:
    here = sa.select(sa.literal(1)).where(CONFIGURATION.c.key == setting_of(key)).limit(1)
    return connection.execute(here).first() is not None


def _settings(connection: sa.Connection) -> list[str]:
    return sorted(connection.execute(sa.select(CONFIGURATION.c.key).distinct()).scalars())


def near_values(repository: TrialRepository, conditions: Sequence[Condition]) -> Iterator[str]:
    """For each condition on a text that no trial has, a sentence with similar texts."""
    with repository.reading() as connection:
        for condition in conditions:
            if condition.op not in LISTS or not isinstance(condition.values[0], str):
                continue
            given = list(map(text_of, condition.values))
            if condition.key in _WORDS:
                known = list(_WORDS[condition.key])
                missing = set(given) - set(known)
            elif condition.key in COLUMNS and condition.key not in _STATED:
                continue
            else:
                column = COLUMNS.get(condition.key, CONFIGURATION.c.text)
                chosen = (
                    []
                    if condition.key in COLUMNS
                    else [CONFIGURATION.c.key == setting_of(condition.key)]
                )
                every = sa.select(column).where(*chosen).distinct()
                written = [text for value in given for text in spellings(condition.key, value)]
                here = set(connection.execute(every.where(column.in_(written))).scalars())
                missing = {v for v in given if not here & {*spellings(condition.key, v)}}
                found = connection.execute(every.limit(VALUES_MAX)).scalars() if missing else ()
                known = sorted(str(value) for value in found if value is not None)
                if is_size(condition.key):
                    known = [written_size(text) for text in sorted(known, key=_by_size)]
            for value in given:
                if value in missing:
                    yield f"no trial has {condition.key}={value}; {_meant(value, known)}"


def _by_size(text: str) -> tuple[float, str]:
    number = number_of(text)
    return (math.inf if number is None else number, text)


def _meant(value: str, known: Sequence[str]) -> str:
    if close := near(value, known):
        return f"did you mean {' or '.join(close)}?"
    if not known:
        return "no trial has a value for it"
    more = f" and {len(known) - NAMES_SHOWN:,} more" if len(known) > NAMES_SHOWN else ""
    return f"values are {', '.join(known[:NAMES_SHOWN])}{more}"
