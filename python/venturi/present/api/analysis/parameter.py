"""`/api/parameter`: times by the value of any key, and its effect where all else is equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from venturi.model.compare.groups import groups_from
from venturi.model.compare.ranking import Objective, Rank, rank_groups
from venturi.present.api.analysis.cells import (
    ByDep,
    Cell,
    alike,
    in_order,
    joined,
    keys_of,
    refused,
    shown,
)
from venturi.present.api.analysis.matched import effects_of, repeats_of
from venturi.present.api.analysis.speedup import split
from venturi.present.api.analysis.spreads import spread_of
from venturi.present.api.asking import Parameter
from venturi.present.api.context import SelectionDep, Services
from venturi.present.api.shapes import Key, ParameterEvaluation, ParameterGroup, ParameterValue

GROUPS_MAX = 200
VALUES_MAX = 50


def parameter(
    services: Services,
    selection: SelectionDep,
    *,
    key: Annotated[
        str,
        Parameter(
            min_length=1,
            max_length=200,
            description="The key that is evaluated.",
            examples=["maps"],
        ),
    ],
    by: ByDep = None,
    baseline: Annotated[
        str | None,
        Parameter(max_length=200, description="The value against which; none: the most frequent."),
    ] = None,
    least: Annotated[
        int, Parameter(ge=1, le=1_000_000, description="Only values with so many trials.")
    ] = 1,
) -> ParameterEvaluation:
    """Times by the value of a key within like work, and its effect over matched strata."""
    keys = tuple(each for each in keys_of(by) if each != key)
    every, found, said = alike(services.repository, selection, (key, *keys))
    kept, without = split(found)
    if not kept and found:
        raise refused(f"no trial of the selection has {key!r}", "key", "see /api/keys")
    repeats = repeats_of(services.repository, selection, (key,))
    effects, warnings = effects_of(repeats, key, baseline)
    groups = evaluated(kept, least)
    more = []
    if without:
        more.append(f"{without:,} trials have no {key}")
    if len(groups) > GROUPS_MAX:
        more.append(f"only the {GROUPS_MAX} biggest of {len(groups):,} groups are shown")
    return ParameterEvaluation(
        key, every[1:], groups[:GROUPS_MAX], effects, (*said, *warnings, *more)
    )


def evaluated(found: Sequence[Cell], least: int) -> tuple[ParameterGroup, ...]:
    """Each group's values of the key with at least `least` trials, the biggest groups first."""
    groups: dict[Key, list[Cell]] = {}
    for cell in found:
        if cell.n >= least:
            groups.setdefault(cell.key[1:], []).append(cell)
    return tuple(
        ParameterGroup(
            key,
            tuple(
                ParameterValue(cell.key[0], cell.n, cell.failed, spread_of(cell.elapsed_s))
                for cell in sorted(of_group, key=lambda cell: in_order(cell.key[0]))[:VALUES_MAX]
            ),
            _verdict(of_group),
        )
        for key, of_group in list(groups.items())[: GROUPS_MAX + 1]
    )


def _verdict(of_group: Sequence[Cell]) -> str:
    single = [Cell((c.key[0],), c.n, c.by_state, c.elapsed_s, {}) for c in of_group[:VALUES_MAX]]
    ranking = rank_groups(groups_from(single), Objective.TIME)
    placed = [one for one in ranking.groups if one.rank is not None]
    if len(placed) < 2:
        return "cannot tell: fewer than two values have five succeeded trials"
    best = [shown(one.key[0]) for one in placed if one.standing is Rank.BEST]  # type: ignore[arg-type]
    tied = [shown(one.key[0]) for one in placed if one.standing is Rank.TIED]  # type: ignore[arg-type]
    if not tied:
        return f"{joined(best)} takes the least time"
    if len(best) + len(tied) == len(placed):
        return f"cannot tell: by medians {joined(best)} is fastest, but no value is found slower"
    return f"{joined(best)} takes the least time by medians; cannot be told from {joined(tied)}"
