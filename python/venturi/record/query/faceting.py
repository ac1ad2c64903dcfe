"""How many trials have which value of a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venturi.record.query.columns import Column, read
from venturi.record.query.conditions import COLUMNS, Condition, Value, at_most, canonical
from venturi.record.query.selection import Query, publisher, rules_for, where
from venturi.record.store.repository import TrialRepository

FACET_KEYS_MAX = 50
FACET_VALUES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value, and how many trials have it."""

    value: Value
    n: int


@dataclass(frozen=True, slots=True)
class Facet:
    """How many trials have which value of a key, under the conditions on all other keys.

    `values` holds the 1,000 most frequent of `distinct` values, as a column's type or as the text
    of a configuration value; `missing` counts the trials without one.
    """

    key: str
    values: tuple[FacetValue, ...]
    distinct: int
    missing: int


def facets(repository: TrialRepository, query: Query, keys: Sequence[str]) -> tuple[Facet, ...]:
    """For each of `keys` (at most 50), the number of trials per value.

    Conditions on a key do not narrow its own facet, which thus shows the alternatives.
    """
    at_most("facets", len(keys), FACET_KEYS_MAX)
    # Keys under the same conditions are counted together.
    together: dict[tuple[Condition, ...], list[str]] = {}
    for key in dict.fromkeys(keys):
        others = tuple(c for c in query.conditions if canonical(c.key) != canonical(key))
        together.setdefault(others, []).append(key)
    found: dict[str, Facet] = {}
    with repository.reading() as connection:
        rules = rules_for(connection, query)
        for conditions, of in together.items():
            columns = read(connection, where(conditions, rules), of)
            found |= {key: _facet(key, columns[key]) for key in of}
    return tuple(found[key] for key in keys)


def _facet(key: str, column: Column) -> Facet:
    counts = np.bincount(column.codes, minlength=len(column.values)).tolist()
    pairs = zip(column.values, counts, strict=True)
    present = [(value, n) for value, n in pairs if n and value is not None]
    ranked = sorted(present, key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES_MAX]
    show = publisher(COLUMNS.get(key))
    missing = len(column.codes) - sum(n for _, n in present)
    values = tuple(FacetValue(show(value), n) for value, n in ranked)
    return Facet(key, values, len(present), missing)
