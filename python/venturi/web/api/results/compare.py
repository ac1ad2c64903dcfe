"""`/api/compare`: two to ten groups with all their times, differences and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import numpy as np

from venturi.core.statistics.stats import ALPHA
from venturi.core.statistics.two_groups import ComparisonOutcome, Verdict, compare_samples
from venturi.record.query.conditions import COLUMNS, Condition, Op, refused
from venturi.record.query.grouping import GROUP_KEYS_MAX
from venturi.record.query.paging import rows
from venturi.record.store.repository import TrialRepository
from venturi.results.compare.names import Names, name_groups
from venturi.results.compare.outliers import RULE, shared_spread
from venturi.results.compare.words import in_words
from venturi.results.effects.effect import Effects
from venturi.web.api.context import Selection, SelectionDep, Services
from venturi.web.api.request_arguments import Parameter
from venturi.web.api.results.cells import (
    COMPARABLE,
    ORIGIN,
    ByDep,
    Cell,
    cells,
    keys_of,
    label,
    mixtures,
    named_key,
    same,
    scalar,
    shown,
)
from venturi.web.api.results.matched_groups import (
    effects_between,
    like_with_like,
    matched,
    most_similar,
    unlike,
)
from venturi.web.api.results.spreads import interval, spread_of
from venturi.web.api.shapes import ComparedGroup, ComparisonData, Key, Scalar

GROUPS_MAX = 10
VALUES_MAX = 2_000


def compare(
    services: Services,
    selection: SelectionDep,
    by: ByDep = None,
    group: Annotated[
        list[str] | None,
        Parameter(
            max_length=GROUPS_MAX,
            description="A group: a JSON list of the values of `by`, in its order; the first is "
            "the reference. None: the two that have most settings in common.",
            examples=[['["ETH", "SSD"]', '["IB", "SSD"]']],
        ),
    ] = None,
    *,
    crude: Annotated[
        bool, Parameter(description="Compare all trials, unmatched (confounded).")
    ] = False,
) -> ComparisonData:
    """Groups side by side, and how each differs from the first."""
    keys = keys_of(by)
    further = (*COMPARABLE, *ORIGIN)[: GROUP_KEYS_MAX - len(keys)]
    found = cells(services.repository, selection, keys, further)
    if group:
        chosen, told = chosen_groups(found, keys, group), None
    else:
        told = effects_between(services, selection, keys, ())
        chosen = most_similar(found, told)
    if chosen and not _is_about(told, chosen):
        told = effects_between(services, selection, keys, [cell.key for cell in chosen])
    cold = {
        cell.key: warm_ups(services.repository, selection, keys, cell)
        for cell in chosen
        if cell.by_state.get("succeeded", 0) > len(cell.elapsed_s)
    }
    others = [unlike(services, selection, keys, (chosen[0], cell), told) for cell in chosen[1:]]
    warnings = list(mixtures(chosen, keys))
    if len(chosen) < 2:
        warnings.append("there is only one group, so nothing to compare")
    names = names_of(chosen, keys)
    groups = compared(chosen, cold, (keys, told, (None, *others)), crude=crude)
    return ComparisonData(
        keys,
        groups,
        tuple(warnings),
        RULE,
        names.caption,
        names.explained,
    )


def _is_about(told: Effects | None, chosen: Sequence[Cell]) -> bool:
    """Whether the leading effect is that of the two shown groups."""
    if told is None or told.main is None:
        return False
    one = told.effects[told.main]
    pair = [tuple(map(scalar, key)) for key in (one.baseline, one.value)]
    return len(chosen) == 2 and all(map(same, (cell.key for cell in chosen), pair))


def chosen_groups(
    found: Sequence[Cell], keys: Sequence[str], texts: Sequence[str]
) -> tuple[Cell, ...]:
    """The groups named."""
    chosen: list[Cell] = []
    for text in texts:
        key = named_key(text, keys, "group")
        cell = next((cell for cell in found if same(cell.key, key)), None)
        if cell is None:
            near = "; ".join(label(each.key) for each in found[:5])
            raise refused(f"there is no group {text[:80]}", "group", f"the largest are: {near}")
        if cell not in chosen:
            chosen.append(cell)
    return tuple(chosen)


def compared(
    chosen: Sequence[Cell],
    cold: Mapping[Key, Sequence[float]],
    like: tuple[Sequence[str], Effects | None, Sequence[str | None]],
    *,
    crude: bool,
) -> tuple[ComparedGroup, ...]:
    """Each of `chosen` against the first; several verdicts share alpha (Bonferroni).

    `like` has the keys, their effects over matched settings, and for each group why it isn't
    comparable with the first (None: it is, or an effect answers); `crude` requests the test of all
    trials anyway.
    """
    keys, effects, whys = like
    alpha = ALPHA / max(1, len(chosen) - 1)
    names = names_of(chosen, keys)
    made = []
    marked = shared_spread([cell.elapsed_s for cell in chosen])
    for place, cell in enumerate(chosen):
        alike = matched(cell, chosen[0], effects) if place else None
        # Groups with a matched effect need no test of all trials, which may be many.
        apart = None if place == 0 else whys[place]
        tested = place > 0 and (crude or (alike is None and apart is None))
        verdict = compare_samples(chosen[0].elapsed_s, cell.elapsed_s, alpha) if tested else None
        told = verdict or Verdict(ComparisonOutcome.CANNOT_TELL, None, alpha)
        group = ComparedGroup(
            key=cell.key,
            n=len(cell.elapsed_s),
            by_state=cell.by_state,
            elapsed_s=spread_of(cell.elapsed_s),
            values_s=thinned(cell.elapsed_s),
            warm_ups_s=tuple(cold.get(cell.key, ())),
            outliers_s=tuple(mark.value for mark in marked[place].marks)[:VALUES_MAX],
            outcome=told.outcome.value if place else None,
            ratio=told.ratio,
            ratio_interval=interval(told.interval),
            p_value=told.p_value,
            chance_lower=told.chance_lower,
            verdict=_in_words(names.names[place], names.names[0], verdict),
            name=names.names[place],
        )
        if crude and (alike or apart):
            group = replace(group, verdict=f"Crude (confounded): {group.verdict}")
        elif alike is not None:
            group = like_with_like(group, chosen[0], cell, alike)
        elif apart is not None:
            name, first = names.names[place], names.names[0]
            group = replace(group, verdict=f"Cannot tell {name} from {first}: {apart}")
        made.append(group)
    return tuple(made)


def names_of(chosen: Sequence[Cell], keys: Sequence[str]) -> Names:
    """Names of the groups by their keys, and by other keys with only one value in a group."""

    def settings(cell: Cell) -> dict[str, Scalar]:
        alike = {key: next(iter(values)) for key, values in cell.other.items() if len(values) == 1}
        return {**alike, **dict(zip(keys, cell.key, strict=True))}

    return name_groups([settings(cell) for cell in chosen])


def thinned(values: tuple[float, ...]) -> tuple[float, ...]:
    """At most 2,000 of the sorted values, evenly taken, with both ends."""
    if len(values) <= VALUES_MAX:
        return values
    places = np.linspace(0, len(values) - 1, VALUES_MAX).round().astype(int)
    return tuple(values[place] for place in places)


def _in_words(name: str, first: str, verdict: Verdict | None) -> str:
    """`IB takes 12 % (9–15 %) less time than ETH`, or why there is no verdict."""
    if verdict is None:
        return "the reference"
    return in_words(name, first, verdict)


def warm_ups(
    repository: TrialRepository, selection: Selection, keys: Sequence[str], cell: Cell
) -> tuple[float, ...]:
    """The times of up to 1,000 warm-ups of a group, in the order in which they ran."""
    wanted = Selection(
        (
            *selection.conditions,
            *(_condition(key, value) for key, value in zip(keys, cell.key, strict=True)),
            Condition("warm_up", Op.ONE_OF, (True,)),
            Condition("state", Op.ONE_OF, ("succeeded",)),
        ),
        selection.with_excluded,
    )
    page = rows(repository, wanted.query(sort="started_at", descending=False, limit=1_000))
    return tuple(row.elapsed_s for row in page.rows if row.elapsed_s is not None)


def _condition(key: str, value: Scalar) -> Condition:
    if value is None:
        return Condition(key, Op.MISSING)
    if key == "started_at" and key in COLUMNS:
        return Condition(key, Op.ONE_OF, (datetime.fromisoformat(shown(value)),))
    return Condition(key, Op.ONE_OF, (value,))
