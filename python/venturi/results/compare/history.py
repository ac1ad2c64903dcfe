"""Where the time of a benchmark changed its level in the history of its trials, if it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venturi.core.statistics.change_point import (
    LEAST_VALUES,
    LevelChange,
    change_p,
    located_change,
)
from venturi.core.statistics.stats import ALPHA

HISTORY_MOST = 60
"""A benchmark's newest trials that are searched for a change."""


def current_levels(histories: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """The place in each of `histories` where its present level begins: after its last change.

    The oldest times come first. Changes are proven as in `new_changes`, so a change that was found
    with former new trials isn't found again, and no other change is passed over.
    """
    starts = dict.fromkeys(histories, 0)
    while True:
        found = new_changes({key: histories[key][start:] for key, start in starts.items()})
        if not found:
            return starts
        for key, change in found.items():
            starts[key] += change.index


def new_changes(histories: Mapping[str, Sequence[float]]) -> dict[str, LevelChange]:
    """The proven change in each of `histories`, which has the oldest time first.

    By Holm's method, the chance of any false one is at most `ALPHA`, however many there are.
    """
    found: dict[str, LevelChange] = {}
    tested = sorted(
        (change_p(tuple(times_s)), key)
        for key, times_s in histories.items()
        if len(times_s) >= LEAST_VALUES
    )
    for rank, (p, key) in enumerate(tested):
        if p > ALPHA / (len(tested) - rank):
            break
        change = located_change(tuple(histories[key]), p)
        if change is not None:
            found[key] = change
    return found


def why_unchanged(count: int) -> str:
    """Why `count` trials show no change."""
    if count < LEAST_VALUES:
        return f"{count} trials are too few for a change: at least {LEAST_VALUES}"
    return f"no change is proven in {count} trials"
