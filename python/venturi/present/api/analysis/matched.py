"""The effect of one key where all that was chosen besides it is equal (`model.effects`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from venturi.model.compare.effects import Effect, going_along, matched_effect, pairs_of
from venturi.present.api.analysis.cells import (
    COMPARABLE,
    Cell,
    cells,
    in_order,
    joined,
    named,
    shown,
)
from venturi.present.api.analysis.speedup import by_count, split
from venturi.present.api.analysis.spreads import interval, times
from venturi.present.api.context import Selection
from venturi.present.api.shapes import ParameterEffect, Scalar
from venturi.record.query.grouping import GROUPS_MAX, TooManyGroupsError
from venturi.record.query.repeats import Settings, chosen_of
from venturi.record.repository import Repository
from venturi.wording import percent

VALUES_MAX = 50  # effects of one key
ALWAYS_EQUAL = frozenset({*COMPARABLE, "provenance", "source"})


@dataclass(frozen=True, slots=True)
class Repeats:
    """The repeat groups of a selection, each with what was chosen for it.

    `cells` are by the values of the keys asked for, then the repeat group's own key; `reason` says
    why there are none.
    """

    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    chosen: Mapping[str, Settings]
    reason: str | None = None


def repeats_of(repository: Repository, selection: Selection, keys: Sequence[str]) -> Repeats:
    """The repeat groups; none where there are more than 10,000."""
    try:
        found = cells(repository, selection, (*keys, "group"))
    except TooManyGroupsError:
        reason = (
            f"effects are told of at most {GROUPS_MAX:,} repeat groups: narrow the selection, such "
            "as to one workload"
        )
        return Repeats(tuple(keys), (), {}, reason)
    chosen = chosen_of(repository, (str(cell.key[-1]) for cell in found))
    return Repeats(tuple(keys), found, chosen)


def effects_of(
    repeats: Repeats, key: str, baseline: str | None
) -> tuple[tuple[ParameterEffect, ...], tuple[str, ...]]:
    """The effect of each value of `key` against the baseline, and what has to be said of it."""
    if repeats.reason is not None:
        return (), (repeats.reason,)
    place = repeats.keys.index(key)
    plain = key.removeprefix("configuration.")
    rows = [cell for cell in repeats.cells if cell.key[place] is not None and cell.elapsed_s]
    values = [cell.key[place] for cell in rows]
    settings = {
        name: column
        for name, column in columns_of([repeats.chosen[str(cell.key[-1])] for cell in rows]).items()
        if name not in {key, plain if key != plain else f"configuration.{key}"}
    }
    # Different work stays different, however it goes along with what was set.
    along = going_along(values, settings) - ALWAYS_EQUAL
    varying = [column for name, column in settings.items() if name not in along]
    strata: dict[Hashable, dict[Hashable, tuple[float, ...]]] = {}
    together = zip(*varying, strict=True) if varying else repeat((), len(rows))
    for value, stratum, cell in zip(values, together, rows, strict=True):
        by_value = strata.setdefault(stratum, {})
        by_value[value] = by_value.get(value, ()) + cell.elapsed_s
    kept, _ = split([Cell((c.key[place],), c.n, c.by_state, c.elapsed_s, {})
                     for c in repeats.cells])  # fmt: skip
    measured = set(values)
    frequent = [value for value in by_count(kept) if value in measured]
    if not frequent:
        return (), ()
    base = frequent[0] if baseline is None else named(baseline, by_count(kept), "baseline")
    others = sorted((value for value in frequent[: VALUES_MAX + 1] if value != base), key=in_order)
    said: tuple[str, ...] = ()
    if along:
        said = (
            f"{joined(sorted(along))} change{'s' if len(along) == 1 else ''} only together with "
            f"{key}: the effects shown are of all of them together",
        )
    return tuple(
        effect_of(matched_effect(pairs_of(strata, value, base)), value, base) for value in others
    ), said


def columns_of(chosen: Sequence[Settings]) -> dict[str, list[Scalar]]:
    """A column of each setting that is not the same in all."""
    names = sorted(set[str]().union(*chosen))
    columns = {name: [settings.get(name) for settings in chosen] for name in names}
    return {name: column for name, column in columns.items() if len(set(column)) > 1}


def effect_of(effect: Effect, value: Scalar, base: Scalar) -> ParameterEffect:
    """The effect as it is published."""
    return ParameterEffect(
        value=value,
        baseline=base,
        strata=effect.strata,
        trials=effect.trials,
        ratio=effect.ratio.value,
        interval=interval(effect.ratio.interval),
        verdict=_in_words(effect, shown(value), shown(base)),
    )


def _in_words(effect: Effect, value: str, base: str) -> str:
    ratio, within = effect.ratio.value, effect.ratio.interval
    if ratio is None or within is None:
        return f"cannot tell: {effect.ratio.reason}"
    over = f"over {effect.strata} matched strata"
    if within.low <= 1 <= within.high:
        return (
            f"cannot tell: {times(ratio)} times the time of {base}, and the {within.percent} "
            f"interval from {times(within.low)} to {times(within.high)} has 1 in it, {over}"
        )
    word = "less" if ratio < 1 else "more"
    ends = sorted(abs(end - 1) for end in (within.low, within.high))
    told = "–".join(percent(end).removesuffix(" %") for end in ends)
    return f"{value} takes {percent(ratio - 1)} ({told} %) {word} time than {base}, {over}"
