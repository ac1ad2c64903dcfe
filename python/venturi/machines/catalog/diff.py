"""The differences between two catalogs: types, then values, prices first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from venturi.machines.catalog import ATTRIBUTES, Catalog, Fact, InstanceType

PRICES = tuple(name for name, (unit, _) in ATTRIBUTES.items() if unit.startswith("USD"))


@dataclass(frozen=True, slots=True)
class Change:
    """A value that differs in amount or origin. None: the catalog doesn't have it.

    `relative` is new / old - 1 if both are numbers in the same unit.
    """

    instance_type: str
    attribute: str
    old: Fact | None
    new: Fact | None
    relative: float | None


@dataclass(frozen=True, slots=True)
class CatalogDifference:
    """Types only in the first catalog, types only in the second, and changes of types in both."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    changes: tuple[Change, ...]


def diff(old: Catalog, new: Catalog) -> CatalogDifference:
    """From `old` to `new`. Price changes come first, then the rest in the order of `ATTRIBUTES`.

    A value changed if it, its range, its unit or its kind did; source, date and note alone are no
    change.
    """
    before, after = old.entries, new.entries
    both = [name for name in before if name in after]
    changes = [change for name in both for change in _changes(before[name], after[name])]
    order = {name: place for place, name in enumerate(ATTRIBUTES)}
    changes.sort(key=lambda c: (c.attribute not in PRICES, order[c.attribute]))
    return CatalogDifference(
        tuple(name for name in before if name not in after),
        tuple(name for name in after if name not in before),
        tuple(changes),
    )


def _changes(old: InstanceType, new: InstanceType) -> Iterator[Change]:
    for attribute in dict.fromkeys((*old.facts, *new.facts)):
        before, after = old.facts.get(attribute), new.facts.get(attribute)
        if _said(before) != _said(after):
            yield Change(old.name, attribute, before, after, _relative(before, after))


def _relative(old: Fact | None, new: Fact | None) -> float | None:
    if old is None or new is None or old.unit != new.unit:
        return None
    if not isinstance(old.value, float) or not isinstance(new.value, float):
        return None
    return new.value / old.value - 1


def _said(fact: Fact | None) -> tuple[object, ...] | None:
    """Normalized value for comparison; unknown equals absent."""
    if fact is None or fact.value is None:
        return None
    return fact.value, fact.low, fact.high, fact.unit, fact.kind
