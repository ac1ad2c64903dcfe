"""`/api/speedup`: how many times faster each value of a factor is than a chosen baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from venturi.model.compare.effects import Ratio, over_selection
from venturi.model.statistics.stats import ALPHA, Missing, median
from venturi.model.statistics.two_groups import Outcome, compare_samples
from venturi.present.api.analysis.cells import (
    ByDep,
    Cell,
    alike,
    in_order,
    keys_of,
    named,
    refused,
    shown,
)
from venturi.present.api.analysis.spreads import as_fast, interval, times
from venturi.present.api.asking import Parameter
from venturi.present.api.context import SelectionDep, Services
from venturi.present.api.shapes import Key, Scalar, Speedup, Speedups

TOLD_MAX = 400  # speedups with an interval; those of the biggest groups
MOVES = (
    "ALOJA's definition: the mean of all that is selected over the mean of each value; it moves "
    "with the selection, has no interval, and says nothing that holds for another selection"
)


def speedups(
    services: Services,
    selection: SelectionDep,
    *,
    factor: Annotated[
        str,
        Parameter(
            min_length=1,
            max_length=200,
            description="The key whose values are compared.",
            examples=["disk"],
        ),
    ],
    by: ByDep = None,
    baseline: Annotated[
        str | None,
        Parameter(
            max_length=200,
            description="The value against which; none: the most frequent.",
            examples=["HDD"],
        ),
    ] = None,
    definition: Annotated[
        Literal["baseline", "aloja"],
        Parameter(description="aloja: against the mean of all that is selected."),
    ] = "baseline",
) -> Speedups:
    """The middle ratio of the baseline's times to each value's, within groups of like work."""
    keys = tuple(key for key in keys_of(by) if key != factor)
    every, found, said = alike(services.repository, selection, (factor, *keys), but=())
    kept, without = split(found)
    if not kept and found:
        raise refused(f"no trial of the selection has {factor!r}", "factor", "see /api/keys")
    frequent = by_count(kept)
    base = named(baseline, frequent, "baseline") if baseline is not None else next(
        iter(frequent), None)  # fmt: skip
    warnings = list(said)
    if without:
        warnings.append(f"{without:,} trials have no {factor}")
    if definition == "aloja":
        warnings.append(MOVES)
    made, cut = told(kept, base, definition)
    if cut:
        warnings.append(f"only the {TOLD_MAX} biggest of {cut:,} have an interval")
    return Speedups(
        factor=factor,
        baseline=base,
        definition=definition,
        by=every[1:],
        values=tuple(sorted(frequent, key=in_order)),
        speedups=made,
        warnings=tuple(warnings),
    )


def split(found: Sequence[Cell]) -> tuple[tuple[Cell, ...], int]:
    """The cells whose first value is known, and how many trials the others have."""
    kept = tuple(cell for cell in found if cell.key[0] is not None)
    return kept, sum(cell.n for cell in found if cell.key[0] is None)


def by_count(found: Sequence[Cell]) -> list[Scalar]:
    """The first values of the cells, those with the most counted trials first."""
    counts: Counter[Scalar] = Counter()
    for cell in found:
        counts[cell.key[0]] += len(cell.elapsed_s)
    return sorted(counts, key=lambda value: (-counts[value], in_order(value)))


@dataclass(frozen=True, slots=True)
class _One:
    ratio: Ratio
    verdict: str


def told(found: Sequence[Cell], base: Scalar, definition: str) -> tuple[tuple[Speedup, ...], int]:
    """The speedup of each cell in its group, and how many there are if not all are told."""
    groups: dict[Key, list[Cell]] = {}
    for cell in found:
        groups.setdefault(cell.key[1:], []).append(cell)
    made: list[Speedup] = []
    counted = 0
    for key, of_group in groups.items():
        of_base = next((cell for cell in of_group if cell.key[0] == base), None)
        base_times = of_base.elapsed_s if of_base else ()
        if definition == "aloja":
            base_times = tuple(t for cell in of_group for t in cell.elapsed_s)
        alpha = ALPHA / max(1, sum(cell is not of_base for cell in of_group))
        for cell in sorted(of_group, key=lambda cell: in_order(cell.key[0])):
            if definition == "aloja":
                one = _over_selection(cell, base_times)
            elif cell is of_base:
                one = _One(Ratio(1.0 if cell.elapsed_s else None, None), "the baseline")
            else:
                counted += 1
                one = _against(cell, base, base_times, alpha, within=counted <= TOLD_MAX)
            made.append(_answer(key, cell, base_times, one))
    return tuple(made), counted if counted > TOLD_MAX else 0


def _answer(key: Key, cell: Cell, base_times: Sequence[float], one: _One) -> Speedup:
    own, base = median(cell.elapsed_s), median(base_times)
    return Speedup(
        key=key,
        value=cell.key[0],
        n=len(cell.elapsed_s),
        n_baseline=len(base_times),
        median_s=None if isinstance(own, Missing) else own,
        baseline_median_s=None if isinstance(base, Missing) else base,
        speedup=one.ratio.value,
        interval=interval(one.ratio.interval),
        verdict=one.verdict,
        reason=one.ratio.reason,
    )


def _over_selection(cell: Cell, selected: Sequence[float]) -> _One:
    value = over_selection(cell.elapsed_s, selected)
    if isinstance(value, Missing):
        return _One(Ratio(None, None, value.reason), f"cannot tell: {value.reason}")
    ratio = Ratio(value, None, "moves with the selection: no interval")
    return _One(ratio, f"the mean of this selection is {times(value)} times that of "
                f"{shown(cell.key[0])}")  # fmt: skip


def _against(
    cell: Cell, base: Scalar, base_times: Sequence[float], alpha: float, *, within: bool
) -> _One:
    if not within and cell.elapsed_s and base_times:
        return _One(Ratio(None, None, "too many groups"), "cannot tell: too many groups at once")
    if not base_times:
        reason = f"no kept trials of the baseline {shown(base)} in this group"
        return _One(Ratio(None, None, reason), f"cannot tell: {reason}")
    return _One(*against(cell.elapsed_s, base_times, shown(cell.key[0]), shown(base), alpha))


def against(
    own: Sequence[float], base: Sequence[float], name: str, base_name: str, alpha: float
) -> tuple[Ratio, str]:
    """The speedup, which is the baseline's ratio to `own`, with its interval and in words."""
    verdict = compare_samples(own, base, alpha)
    ratio = Ratio(verdict.ratio, verdict.interval, None if verdict.interval else verdict.reason)
    if verdict.outcome is Outcome.CANNOT_TELL:
        return ratio, f"cannot tell: {verdict.reason}"
    return ratio, as_fast(name, base_name, ratio)
