"""Groups that are compared, like with like: what each brings over settings alike in all else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from venturi.errors import VenturiError
from venturi.model.compare.effect import Effect, Effects, Outcome
from venturi.present.api.analysis.cells import Cell, same, scalar
from venturi.present.api.context import Selection, Services
from venturi.present.api.shapes import ComparedGroup, Interval, Key
from venturi.present.effects import Question, effects

_OUTCOMES: dict[Outcome, Literal["lower", "higher", "cannot tell"]] = {
    Outcome.FASTER: "lower",
    Outcome.SLOWER: "higher",
}


def effects_between(
    services: Services, selection: Selection, keys: Sequence[str], first: Key | None
) -> Effects | None:
    """What `keys` bring against the group `first` (None: the one that has most in common with the
    others); None where they are no settings, such as the kind of work."""
    if not keys or (first is not None and None in first):
        return None
    baseline = None if first is None else json.dumps(list(first))
    if first is not None and len(keys) == 1:
        baseline = str(first[0])
    try:
        return effects(services.repository, selection.query(), Question(keys, baseline))
    except VenturiError:
        return None  # of groups that no settings make only what was measured can be told


def most_alike(found: Sequence[Cell], told: Effects | None) -> tuple[Cell, ...]:
    """The two groups that have most in common, else the two with the most trials."""
    if told is not None and told.main is not None and told.effects[told.main].strata:
        one = told.effects[told.main]
        pair = [_cell(found, key) for key in (one.baseline, one.value)]
        if None not in pair:
            return tuple(cell for cell in pair if cell is not None)
    return tuple(found[:2])


def _cell(found: Sequence[Cell], key: Sequence[object]) -> Cell | None:
    wanted = tuple(map(scalar, key))
    return next((cell for cell in found if same(cell.key, wanted)), None)


def like_with_like(
    groups: Sequence[ComparedGroup], told: Effects | None
) -> tuple[ComparedGroup, ...]:
    """`groups` with the effect that is matched, where their trials differ in something else too.

    What was measured of all trials is then their `crude` sentence.
    """
    if told is None or not groups:
        return tuple(groups)
    first, *others = groups
    return (first, *(_matched(group, first, told) for group in others))


def _matched(group: ComparedGroup, first: ComparedGroup, told: Effects) -> ComparedGroup:
    one = next(
        (each for each in told.effects if same(group.key, tuple(map(scalar, each.value)))), None
    )
    if one is None or _is_all(one, group, first):
        return group
    found = one.interval
    within = None if found is None else Interval(found.low, found.high, found.level)
    return replace(
        group,
        outcome=_OUTCOMES.get(one.outcome, "cannot tell"),
        ratio=one.ratio,
        ratio_interval=within,
        p_value=None,
        chance_lower=None,
        verdict=one.verdict,
        crude=group.verdict,
    )


def _is_all(one: Effect, group: ComparedGroup, first: ComparedGroup) -> bool:
    """Whether all trials of both are in one setting: then they differ in nothing else."""
    return one.strata == 1 and one.n == group.n and one.n_baseline == first.n
