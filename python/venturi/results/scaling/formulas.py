"""The formulas of time against x, and their relative least squares, for many curves together."""

from __future__ import annotations

import math
from enum import StrEnum
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Meaning(StrEnum):
    """The meaning of x, which decides the formula; only the exponent may be below 0."""

    RESOURCE = "a + b / x + c log2 x + d x"  # Ernest: shared, growing with the nodes
    AMOUNT = "a + b x"
    OTHER = "a x^b"  # nothing is known of it: half of the exponent that fits best


def _design(meaning: Meaning, x: Array) -> Array:
    ones = np.ones_like(x)
    if meaning is Meaning.RESOURCE:
        return np.stack([ones, 1 / x, np.maximum(np.log2(x), 0), x], axis=-1)
    return np.stack([ones, x if meaning is Meaning.AMOUNT else np.log(x)], axis=-1)


def logs(meaning: Meaning, coefficients: Array, x: Array) -> Array:
    """ln t of the formula at each x; of a stack of coefficients a row of x each."""
    value = (_design(meaning, x) * coefficients[..., None, :]).sum(axis=-1)
    if meaning is Meaning.OTHER:
        return np.asarray(value, dtype=np.float64)
    return np.asarray(np.log(np.maximum(value, 1e-300)), dtype=np.float64)


def solve(meaning: Meaning, x: Array, elapsed_s: Array, kept: Array) -> Array:
    """Coefficients for each row of `kept`, which has 1 for a point that counts and 0 for others.

    x and seconds are of one curve, or a row for each of `kept`. Least squares of relative errors
    with no coefficient below 0. OTHER has half of the exponent that least squares of ln t give: it
    is the mean of that curve and of a constant.
    """
    design = _design(meaning, x)
    if meaning is Meaning.OTHER:
        by, level = design[..., 1], np.log(elapsed_s)
        count = kept.sum(axis=1)
        middle, mean = (kept * by).sum(axis=1) / count, (kept * level).sum(axis=1) / count
        apart = (by - middle[:, None]) * kept
        squares = np.maximum((apart**2).sum(axis=1), 1e-300)
        slope = (apart * (level - mean[:, None])).sum(axis=1) / squares / 2
        return np.column_stack([mean - slope * middle, slope])
    return _nonnegative(design / elapsed_s[..., None] * kept[:, :, None], kept)


def _nonnegative(design: Array, target: Array) -> Array:
    """Least squares with no coefficient below 0, for each of a stack of designs and targets.

    The answer is the ordinary least squares on its own support (Lawson and Hanson 1974, 23), so
    with at most four coefficients all supports are tried, the smallest first.
    """
    scale = np.linalg.norm(design, axis=1)
    scaled = design / scale[:, None, :]
    count = design.shape[2]
    best = np.full(len(design), math.inf)
    found = np.zeros((len(design), count))
    rows = int((np.abs(design).sum(axis=2) > 0).sum(axis=1).min())
    for size in range(1, min(count, rows) + 1):
        supports = list(combinations(range(count), size))
        # Solve all supports of a size together: for one, most of the time is numpy's call.
        chosen = np.moveaxis(scaled[:, :, np.array(supports)], 2, 1)
        solved = (np.linalg.pinv(chosen) @ target[:, None, :, None])[..., 0]
        squares = ((target[:, None] - (chosen @ solved[..., None])[..., 0]) ** 2).sum(axis=-1)
        allowed = np.all(solved >= 0, axis=-1)
        for place, support in enumerate(supports):
            better = allowed[:, place] & (squares[:, place] < best * (1 - 1e-9) - 1e-18)
            best[better] = squares[better, place]
            found[better] = 0.0
            found[np.ix_(better, support)] = solved[better, place]
    return np.asarray(found / scale, dtype=np.float64)
