"""Other differences between two sets of trials, and how much each alone changes their ratio.

The ratio of all trials of one set to all of another is an effect only if no other relevant key
differs. Each key is checked separately: how much its distribution differs (`apart`), and how the
ratio changes if only trials with the same value are compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.results.effects.strata import SucceededTrials, equivalent_keys, strata_of

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

APART_LEAST = 0.10  # chosen: 0 of 60 random divisions of 10,841 trials had a key beyond both
CHANGE_LEAST = 0.05
OMITTED_MAX = 12  # keys that are omitted for a try


@dataclass(frozen=True, slots=True)
class Confounder:
    """Keys that split the trials in the same way, and their effect on the ratio of the two sets.

    `apart` is half the summed |share in one - share in the other| over the values. It is 0 if both
    have the same shares, and 1 if no value is in both. `ratio` is the ratio of medians within equal
    values, None if no value is in both. `change` is that ratio over the crude one, minus 1.
    `flagged`: it matters.
    """

    keys: tuple[str, ...]
    apart: float
    ratio: float | None
    change: float | None
    flagged: bool


@dataclass(frozen=True, slots=True)
class Omission:
    """How many strata there would be if these keys were not asked to be equal."""

    keys: tuple[str, ...]
    strata: int


def confounders(trials: SucceededTrials, second: Flags) -> list[Confounder]:
    """The differences between the trials that are `second` and the others; the worst come first.

    For a key with values v the ratio is exp of the mean of ln(median second / median first) within
    v, weighted by n1 n2 / (n1 + n2).
    """
    if not second.any() or second.all():
        return []
    order = np.argsort(trials.logs)
    side, logs = second[order].astype(np.int64), trials.logs[order]
    crude = float(np.median(logs[side == 1]) - np.median(logs[side == 0]))
    found = [
        _one(names, codes[order], side, logs, crude)
        for names, codes in equivalent_keys(trials.columns)
    ]
    return sorted(found, key=_least_change)


def _least_change(found: Confounder) -> tuple[float, tuple[str, ...]]:
    """The most change, of which no common value is the worst, comes first."""
    return -math.inf if found.change is None else -abs(math.log1p(found.change)), found.keys


def _one(
    keys: tuple[str, ...], codes: Integers, side: Integers, logs: Floats, crude: float
) -> Confounder:
    cell = 2 * codes + side  # its trials stay in the order of their times
    size = 2 * (int(codes.max()) + 1)
    counts = np.bincount(cell, minlength=size)
    small = cell.astype(np.uint16) if size < 2**16 else cell  # sorted by radix
    x = logs[np.argsort(small, kind="stable")]
    ends = np.cumsum(counts)
    starts = ends - counts
    first, second = counts[::2], counts[1::2]
    apart = float(np.abs(first / first.sum() - second / second.sum()).sum()) / 2
    both = np.flatnonzero((first > 0) & (second > 0))
    if not len(both):
        return Confounder(keys, apart, None, None, flagged=True)
    n, m = first[both], second[both]
    a, b = starts[2 * both], starts[2 * both + 1]
    middles = (x[b + (m - 1) // 2] + x[b + m // 2] - x[a + (n - 1) // 2] - x[a + n // 2]) / 2
    weights = n * m / (n + m)
    adjusted = float((weights * middles).sum() / weights.sum())
    change = math.expm1(adjusted - crude)
    flagged = apart >= APART_LEAST and abs(change) >= CHANGE_LEAST
    return Confounder(keys, apart, math.exp(adjusted), change, flagged)


def omissions(trials: SucceededTrials, second: Flags, kept: Collection[str]) -> list[Omission]:
    """The keys without which most strata would have both sets; never those that are `kept`."""
    found = []
    groups = equivalent_keys(trials.columns)
    free = [each for each in groups if not set(each[0]) & set(kept)]
    side = second.astype(np.int64)
    for names, _ in sorted(free, key=lambda each: _shared(each[1], side))[:OMITTED_MAX]:
        left = [trials.columns[others[0]] for others, _ in groups if others != names]
        stratum = strata_of(left, len(side))
        sides = np.bincount(stratum[second]), np.bincount(stratum[~second])
        least = min(map(len, sides))
        strata = int(((sides[0][:least] > 0) & (sides[1][:least] > 0)).sum())
        if strata:
            found.append(Omission(names, strata))
    return sorted(found, key=lambda each: -each.strata)


def _shared(codes: Integers, side: Integers) -> float:
    """The share of one set with values that the other has in the same share."""
    size = int(codes.max()) + 1
    first = np.bincount(codes[side == 0], minlength=size) / max(1, int((side == 0).sum()))
    second = np.bincount(codes[side == 1], minlength=size) / max(1, int(side.sum()))
    return float(np.minimum(first, second).sum())
