"""What changed between two catalogues: types, and value by value, prices first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from venturi.machines.catalog import ATTRIBUTES, Catalog, Fact, InstanceType

PRICES = tuple(name for name, (unit, _) in ATTRIBUTES.items() if unit.startswith("USD"))


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs, or is known otherwise. None: the catalogue does not have it.

    `relative` is new / old - 1 where both are numbers in one unit.
    """

    instance_type: str
    attribute: str
    old: Fact | None
    new: Fact | None
    relative: float | None


@dataclass(frozen=True, slots=True)
class CatalogDifference:
    """Types only in the first, only in the second, and what changed in those of both."""

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
    """What counts as the same; an unknown value is as good as an absent one."""
    if fact is None or fact.value is None:
        return None
    return fact.value, fact.low, fact.high, fact.unit, fact.kind
