"""The input of the analyses: the selected trials in cells of equal keys, with their other keys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Annotated, Any

from venturi.core.wording import joined
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import at_most, refused
from venturi.record.query.grouping import GROUP_KEYS_MAX, group_rows
from venturi.record.query.trial_columns import BELONGING, check_settings, column_for, trial_columns
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import number_of, text_of
from venturi.web.api.context import Selection, Services
from venturi.web.api.request_arguments import Dependency, Parameter
from venturi.web.api.shapes import Key, Scalar

COMPARABLE = ("workload", "workload_version", "scale", "input_bytes", "engine")
"""Trials that differ in one of these did different work: their times are not pooled."""
ORIGIN = ("provenance",)


def known_by(
    services: Services,
    by: Annotated[
        list[str] | None,
        Parameter(
            max_length=GROUP_KEYS_MAX,
            description="Group by this column or configuration key; several in this order.",
            examples=[["net", "disk"]],
        ),
    ] = None,
) -> list[str] | None:
    """The parameter `by`, the recorded names of its keys; each is of some trial, and chosen."""
    if by is None:
        return None
    keys = require_keys(services.repository, by)
    check_settings(keys, "by", BELONGING)
    return list(keys)


ByDep = Annotated[list[str] | None, Dependency(known_by)]
KeepKeys = Annotated[
    list[str] | None,
    Parameter(
        max_length=20,
        description="Don't ignore these keys, although they are unique per trial.",
        examples=[["work_dir"]],
    ),
]
"""The parameter `keep`."""
IgnoredKeys = Annotated[
    list[str] | None,
    Parameter(
        max_length=50,
        description="Ignore differences in these keys when matching trials.",
        examples=[["io_sort_factor"]],
    ),
]
"""The parameter `ignore`."""


def keys_of(by: Sequence[str] | None) -> tuple[str, ...]:
    """The keys to group by, each once."""
    return tuple(dict.fromkeys(by or ()))


@dataclass(frozen=True, slots=True)
class Cell:
    """The trials with the values `key` of the requested keys; `elapsed_s` of the counted, sorted.

    `other` has, for each other key, the values that occur among all `n` trials.
    """

    key: Key
    n: int
    by_state: Mapping[str, int]
    elapsed_s: tuple[float, ...]
    other: Mapping[str, frozenset[Scalar]]

    @property
    def values(self) -> Key:
        """The key, as `model.groups.groups_from` asks for it."""
        return self.key

    @property
    def failed(self) -> int:
        """How many trials failed or were not valid."""
        return self.by_state.get("failed", 0) + self.by_state.get("invalid", 0)


def scalar(value: Any) -> Scalar:
    """A value as it is published: timestamps as text."""
    return value.isoformat() if isinstance(value, datetime) else value


def cells(
    repository: TrialRepository, selection: Selection, by: Sequence[str], other: Sequence[str] = ()
) -> tuple[Cell, ...]:
    """The selected trials grouped by `by`, the biggest first, with which values of `other` occur.

    At most 8 keys and 10,000 groups, counting those that `other` makes (VEN-QUERY-VALUE).
    """
    others = tuple(key for key in dict.fromkeys(other) if key not in by)
    at_most("keys to group by", len(by) + len(others), GROUP_KEYS_MAX)
    every = trial_columns(repository, selection.query())
    columns = {key: column_for(repository, every, key) for key in (*by, *others)}
    found = [
        Cell(tuple(map(scalar, group.values)), group.n, group.by_state, group.elapsed_s, {})
        for group in group_rows({**columns, **every.became}, (*by, *others))
    ]
    return merged(found, len(by), others)


def merged(found: Iterable[Cell], keep: int, others: Sequence[str] = ()) -> tuple[Cell, ...]:
    """Cells with the first `keep` values of their keys; the rest are values of `others`."""
    together: dict[Key, list[Cell]] = {}
    for cell in found:
        together.setdefault(cell.key[:keep], []).append(cell)
    made = [_joined(key, parts, keep, others) for key, parts in together.items()]
    return tuple(sorted(made, key=lambda cell: (-cell.n, str(cell.key))))


def _joined(key: Key, parts: Sequence[Cell], keep: int, others: Sequence[str]) -> Cell:
    other = {
        name: frozenset(part.key[keep + place] for part in parts)
        for place, name in enumerate(others)
    }
    if len(parts) == 1:
        return replace(parts[0], key=key, other=other)
    states: Counter[str] = Counter()
    for part in parts:
        states.update(part.by_state)
    times = tuple(sorted(chain.from_iterable(part.elapsed_s for part in parts)))
    return Cell(key, sum(part.n for part in parts), states, times, other)


def alike(
    repository: TrialRepository, selection: Selection, by: Sequence[str], *, but: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[Cell, ...], tuple[str, ...]]:
    """Cells that only pool equal work: the keys, the cells, and the necessary warnings.

    The keys are `by`, then those of `COMPARABLE` (besides `but`) that differ in the selection.
    """
    further = [key for key in COMPARABLE if key not in by and key not in but]
    if len(by) + len(further) <= GROUP_KEYS_MAX:
        every = tuple(by) + tuple(further)
        found = cells(repository, selection, every)
    else:
        known = cells(repository, selection, (), further)
        every = tuple(by) + _differing(further, known)
        found = cells(repository, selection, every)
    start = len(by)
    varying = [
        place for place in range(start, len(every)) if len({cell.key[place] for cell in found}) > 1
    ]
    kept = (*range(start), *varying)
    keys = tuple(every[place] for place in kept)
    if len(kept) < len(every):
        narrowed = [replace(cell, key=tuple(cell.key[place] for place in kept)) for cell in found]
        found = merged(narrowed, len(kept))
    if len(keys) == start:
        return keys, found, ()
    added = joined(keys[start:])
    return keys, found, (f"also grouped by {added}: times of different workloads aren't pooled",)


def _differing(keys: Sequence[str], known: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(k for k in keys if any(len(cell.other.get(k, ())) > 1 for cell in known))


def number(value: Scalar) -> float | None:
    """The number that a value is or writes, or None."""
    if isinstance(value, bool) or value is None:
        return None
    return float(value) if isinstance(value, int | float) else number_of(value)


def in_order(value: Scalar) -> tuple[int, float, str]:
    """Sort key: numbers by size, then texts, then missing values."""
    if value is None:
        return 2, 0.0, ""
    found = number(value)
    return (1, 0.0, str(value)) if found is None else (0, found, str(value))


def shown(value: Scalar) -> str:
    """A value for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "—" if value is None else str(value)


def label(key: Key) -> str:
    """A group's key for people."""
    return " ".join(map(shown, key)) or "all trials"


def named_key(text: str, by: Sequence[str], field: str) -> Key:
    """The group that a JSON list of values names, in the order of `by`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    plain = isinstance(found, list) and len(found) == len(by)
    if not plain or any(isinstance(value, list | dict) for value in found):
        raise refused(
            f"{text[:80]!r} is not a group",
            field,
            f"give a JSON list with a value for each of {', '.join(by) or 'no key'}, such as "
            '["IB", "SSD"]; null is a missing one',
        )
    return tuple(found)


def same(first: Key, second: Key) -> bool:
    """Whether two keys are equal, whatever the types of values (2 or "2")."""
    return len(first) == len(second) and all(
        a == b or (a is not None and b is not None and text_of(a) == text_of(b))
        for a, b in zip(first, second, strict=True)
    )


def mixtures(found: Sequence[Cell], by: Sequence[str]) -> tuple[str, ...]:
    """Warnings where groups mix different work or origins, or differ in them.

    Checks the keys that `cells` got in `other`.
    """
    said = []
    for key in dict.fromkeys(key for cell in found for key in cell.other):
        mixing = [cell for cell in found if len(cell.other[key]) > 1]
        for cell in mixing[:5]:
            values = sorted(cell.other[key], key=in_order)
            listed = ", ".join(map(shown, values[:5])) + (", ..." if len(values) > 5 else "")
            said.append(f"{label(cell.key)} mixes different values of {key}: {listed}")
        if len(mixing) > 5:
            said.append(f"{len(mixing) - 5} more groups mix different values of {key}")
        if not mixing and len({cell.other[key] for cell in found}) > 1:
            said.append(
                f"the groups differ in {key}, not only in the keys that they are grouped by"
            )
    # Groups of different work aren't comparable, even if the user grouped by it.
    for place, key in enumerate(by):
        if key in {"workload", "workload_version", "engine"}:
            names = sorted({shown(cell.key[place]) for cell in found})
            if len(names) > 1:
                said.append(f"the groups differ in {key}: {', '.join(names[:5])}")
    return tuple(said)
