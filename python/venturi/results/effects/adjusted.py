"""An effect adjusted by a model, for where too little is matched: a hint, never the same thing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.quantiles import student_quantile
from venturi.core.statistics.stats import Interval
from venturi.results.effects.strata import SucceededTrials, equivalent_keys

TERMS_MAX = 300
ROWS_MAX = 20_000
NORMAL_FREEDOM = 1_000  # from which on Student's t is the normal distribution


@dataclass(frozen=True, slots=True)
class AdjustedRatio:
    """A ratio that a model adjusts for all keys, from `kept` of `trials` trials."""

    ratio: float
    interval: Interval
    kept: int
    trials: int


def adjusted(
    trials: SucceededTrials, second: npt.NDArray[np.bool_], level: float
) -> AdjustedRatio | None:
    """Least squares of ln t on the target and the values of all keys, as categories.

    It uses only trials with values that all occur on both sides. The interval is
    heteroskedasticity- consistent (HC1; MacKinnon and White 1985). None without common values,
    where the target is a combination of other keys, or where the model is too large. It assumes no
    interactions: each key's effect doesn't depend on the others.
    """
    kept = np.arange(len(second))
    columns = [split for _, split in equivalent_keys(trials.columns)]
    while True:
        side, sizes = second[kept], len(kept)
        for codes in columns:
            here, here_side = codes[kept], second[kept]
            both = np.intersect1d(here[here_side], here[~here_side])
            kept = kept[np.isin(here, both)]
        if len(kept) == sizes:
            break
    side = second[kept]
    if not side.any() or side.all() or len(kept) > ROWS_MAX:
        return None
    terms = [np.ones(len(kept)), side.astype(np.float64)]
    for codes in columns:
        values = np.unique(codes[kept])
        if len(terms) + len(values) > TERMS_MAX:
            return None
        terms += [(codes[kept] == value).astype(np.float64) for value in values[1:]]
    return _fit(np.column_stack(terms), trials.logs[kept], len(second), level)


def _fit(
    design: npt.NDArray[np.float64], logs: npt.NDArray[np.float64], trials: int, level: float
) -> AdjustedRatio | None:
    n = len(logs)
    inverse = np.linalg.pinv(design.T @ design, rcond=1e-12, hermitian=True)
    # Whether the target's coefficient is identifiable: no other terms add up to it.
    if abs((inverse @ (design.T @ design))[1, 1] - 1) > 1e-6:
        return None
    rank = round(float(np.trace(inverse @ (design.T @ design))))
    if n <= rank:
        return None
    solved = inverse @ (design.T @ logs)
    left = logs - design @ solved
    weighted = design * left[:, np.newaxis]
    covariance = inverse @ (weighted.T @ weighted) @ inverse * n / (n - rank)
    t = student_quantile(min(n - rank, NORMAL_FREEDOM), (1 + level) / 2)
    half = t * math.sqrt(max(0.0, float(covariance[1, 1])))
    middle = float(solved[1])
    method = "least squares of ln t on all keys, HC1"
    interval = Interval(math.exp(middle - half), math.exp(middle + half), level, method)
    return AdjustedRatio(math.exp(middle), interval, n, trials)
