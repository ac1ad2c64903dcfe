"""Whether an effect is the same in all strata, and by which key it differs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.quantiles import chi_squared_tail
from venturi.record.query.columns import Column
from venturi.results.effects.strata import PooledRatio, equivalent_keys, pooled

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STRATA_LEAST = 3  # of a value
SHARE_LEAST = 0.06  # of the ranks' variance; our choice: a medium effect
P_MOST = 0.05  # after Holm's correction
MARGIN = 0.05  # smaller differences count as equal
OPPOSITE_ALPHA = 0.10  # shared by the values of one key


@dataclass(frozen=True, slots=True)
class DependencePart:
    """The effect over the strata with one value of a key; `trials` of both sides."""

    value: Any
    strata: int
    trials: int
    effect: PooledRatio


@dataclass(frozen=True, slots=True)
class Dependence:
    """A key on which the effect depends, with those that split the strata in the same way.

    `share` is epsilon squared, the share of the ranks' variance between its values; `opposite` are
    two values for which the effect is surely below and surely above 1, or None.
    """

    keys: tuple[str, ...]
    share: float
    p_value: float
    parts: tuple[DependencePart, ...]
    opposite: tuple[DependencePart, DependencePart] | None


def dependences(
    logs: Floats, trials: Integers, keys: Mapping[str, Column], level: float
) -> list[Dependence]:
    """The keys by which the strata's effects `logs` differ; the one with the widest range first.

    Kruskal and Wallis's H over the values with at least 3 strata, epsilon squared H / (N - 1)
    (Tomczak and Tomczak 2014), p corrected over the keys (Holm 1979).
    """
    tested = []
    for names, codes in equivalent_keys(keys):
        counts = np.bincount(codes)
        enough = (counts >= STRATA_LEAST)[codes]
        if (counts >= STRATA_LEAST).sum() < 2:
            continue
        h, values = kruskal_wallis(logs[enough], codes[enough])
        share = h / (int(enough.sum()) - 1)
        tested.append((chi_squared_tail(values - 1, h), share, names))
    found, worst = [], 0.0
    for place, (p, share, names) in enumerate(sorted(tested, key=lambda each: each[0])):
        worst = max(worst, min(1.0, p * (len(tested) - place)))
        if worst <= P_MOST and share >= SHARE_LEAST:
            parts = parts_by(logs, trials, keys[names[0]], level)
            opposite = _opposite(logs, keys[names[0]], parts)
            found.append(Dependence(names, share, worst, parts, opposite))
    return sorted(found, key=lambda each: (-_range(each.parts), -each.share))


def _range(parts: tuple[DependencePart, ...]) -> float:
    """The largest effect over the smallest, of the parts with enough strata."""
    ratios = [part.effect.ratio for part in parts if part.strata >= STRATA_LEAST]
    return max(ratios) / min(ratios)


def kruskal_wallis(values: Floats, group: Integers) -> tuple[float, int]:
    """H, corrected for ties, and the number of groups."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    n = len(values)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]
    counts = np.bincount(group)
    sums = np.bincount(group, ranks)
    there = counts > 0
    h = 12 / (n * (n + 1)) * float((sums[there] ** 2 / counts[there]).sum()) - 3 * (n + 1)
    correction = 1 - float((ties.astype(np.float64) ** 3 - ties).sum()) / (n**3 - n)
    return (h / correction if correction > 0 else 0.0), int(there.sum())


def parts_by(
    logs: Floats, trials: Integers, key: Column, level: float
) -> tuple[DependencePart, ...]:
    """The effect for each value of `key`, of whatever number of strata; the most strata first."""
    parts = []
    for code in np.unique(key.codes).tolist():
        here = key.codes == code
        n = int(here.sum())
        parts.append(
            DependencePart(key.values[code], n, int(trials[here].sum()), pooled(logs[here], level))
        )
    return tuple(sorted(parts, key=lambda part: -part.strata))


def _opposite(
    logs: Floats, key: Column, parts: tuple[DependencePart, ...]
) -> tuple[DependencePart, DependencePart] | None:
    """The values with the most different effects among those surely below and surely above 1.

    A difference within the margin counts as neither.
    """
    enough = [part for part in parts if part.strata >= STRATA_LEAST]
    below, above = [], []
    for part in enough:
        if abs(math.log(part.effect.ratio)) <= math.log1p(MARGIN):
            continue
        here = np.array([value == part.value for value in key.values])[key.codes]
        interval = pooled(logs[here], 1 - OPPOSITE_ALPHA / len(enough)).interval
        if interval is not None and interval.high < 1:
            below.append(part)
        elif interval is not None and interval.low > 1:
            above.append(part)
    if not below or not above:
        return None
    return min(below, key=_ratio), max(above, key=_ratio)


def _ratio(part: DependencePart) -> float:
    return part.effect.ratio
