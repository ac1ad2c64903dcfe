"""Compares groups like with like: each one's effect, all else being equal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Literal

import numpy as np
import numpy.typing as npt

from venturi.core.errors import VenturiError
from venturi.record.query.trial_columns import DISK_FOLDERS, HOST_NAMES, WORK
from venturi.results.compare.printed import about_printed
from venturi.results.effects.effect import Effect, EffectOutcome, Effects
from venturi.results.effects.effect_words import ratio_text
from venturi.results.effects.strata import SucceededTrials
from venturi.results.ranking.matched_ranking import other_and_linked_keys
from venturi.results.ranking.rank_trials import counted
from venturi.web.api.context import Selection, Services
from venturi.web.api.results.cells import Cell, same, scalar
from venturi.web.api.shapes import ComparedGroup, Key
from venturi.web.effects import Question, effects

SHOWN = 4
_OUTCOMES: dict[EffectOutcome, Literal["lower", "higher", "cannot tell"]] = {
    EffectOutcome.FASTER: "lower",
    EffectOutcome.SLOWER: "higher",
}


def effects_between(
    services: Services, selection: Selection, keys: Sequence[str], groups: Sequence[Key]
) -> Effects | None:
    """The effects of `keys`: the groups against the first of them, or without groups the leading
    effect.

    None where the keys are not settings, such as the kind of work.
    """
    if not keys or (groups and None in groups[0]):
        return None
    texts = [_written(key) for key in groups if None not in key]
    if len(texts) == 1:
        return None
    first = texts[0] if texts else None
    question = Question(keys, first, values=texts[1:])
    try:
        return effects(services.repository, selection.query(), question)
    except VenturiError:
        return None  # groups that aren't settings can only be compared by their measurements


def _written(key: Key) -> str:
    return str(key[0]) if len(key) == 1 else json.dumps(list(key))


def most_similar(found: Sequence[Cell], told: Effects | None) -> tuple[Cell, ...]:
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


def _effect(cell: Cell, told: Effects | None) -> Effect | None:
    effects_ = () if told is None else told.effects
    return next((e for e in effects_ if same(cell.key, tuple(map(scalar, e.value)))), None)


def unlike(
    services: Services,
    selection: Selection,
    keys: Sequence[str],
    pair: tuple[Cell, Cell],
    told: Effects | None,
) -> str | None:
    """Why two groups without an effect are not compared: their trials differ in more than `keys`,
    or did different work. None where nothing else differs.
    """
    if not keys or _effect(pair[1], told) is not None:
        return None
    if work := [key for key in keys if key in WORK]:
        return f"they differ in {work[0]}: times of different workloads aren't compared"
    trials = counted(services.repository, selection.query(), keys)
    sides = [_of(trials, keys, cell) for cell in pair]
    besides, along = other_and_linked_keys(trials.taken(sides[0] | sides[1]), keys)
    if "group" in keys:  # all settings are part of a repeat group
        works = [key for key in (*besides, *along) if key in WORK]
        return f"they differ in {works[0]}: their work isn't the same" if works else None
    differ = [key for key in (*besides, *along) if key not in {HOST_NAMES, DISK_FOLDERS}]
    if not all(side.any() for side in sides) or not (besides or along):
        return None
    more = f" and {len(differ) - SHOWN} more" if len(differ) > SHOWN else ""
    return f"confounded by {', '.join(differ[:SHOWN]) or 'the machines'}{more}"


def _of(trials: SucceededTrials, keys: Sequence[str], cell: Cell) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(trials.logs), dtype=np.bool_)
    for key, value in zip(keys, cell.key, strict=True):
        column = trials.columns[key]
        inside &= np.array([same((scalar(v),), (value,)) for v in column.values])[column.codes]
    return inside


def matched(cell: Cell, first: Cell, told: Effects | None) -> Effect | None:
    """The effect of a group against the first; None where its trials differ in nothing else, so
    that all of them can be compared, or where there is no effect of it."""
    one = _effect(cell, told)
    if one is None:
        return None
    counts = len(cell.elapsed_s), len(first.elapsed_s)
    if one.strata == 1 and (one.n, one.n_baseline) == counts and not about_printed(one.reason):
        return None
    return one


def like_with_like(group: ComparedGroup, first: Cell, cell: Cell, one: Effect) -> ComparedGroup:
    """`group` with its matched effect; the verdict over all trials is its `crude` sentence."""
    return replace(
        group,
        outcome=_OUTCOMES.get(one.outcome, "cannot tell"),
        ratio=one.ratio,
        ratio_interval=one.interval,
        verdict=one.verdict,
        crude=_crude(cell, first),
    )


def _crude(cell: Cell, first: Cell) -> str | None:
    if not cell.elapsed_s or not first.elapsed_s:
        return None
    ratio = median(cell.elapsed_s) / median(first.elapsed_s)
    return f"its median time is {ratio_text(ratio)} times that of the first group"
