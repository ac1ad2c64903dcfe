"""How far the replayed saving of a finding is from the measured one.

`measured_savings.csv` has pairs of a faulty program and the same program with the fix, each with
the replayed and the measured saving. `python -m benchmarks.diagnosis.pairs` writes it. The method
is split-free conformal prediction on the logarithm of measured to replayed saving:

- versions of one program are one observation, their mean
- a rule's center is the mean of its observations and, as one more, the median of all
- each observation is predicted without itself; the range holds 90 % of these errors, which are
  divided by sqrt(1 + 1 / n), n the observations behind a center
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from statistics import fmean, median

from venturi.core.statistics.conformal import conformal_error
from venturi.core.statistics.stats import Missing

CONFIDENCE = 0.9
_MOST = 10.0  # ratios beyond it are noise of a small saving; their logarithm has no bound
_FEW = 3.0  # the factor below and above where there are fewer than nine observations
_PRIOR = 1  # observations that the median of all counts for


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """A program with the cause that `rule` finds, and without: replayed and measured saving."""

    rule: str
    program: str
    engine_version: str
    elapsed_s: float
    replayed_s: float
    saved_s: float

    @property
    def log_ratio(self) -> float:
        """The logarithm of measured to replayed saving, limited to a factor of ten."""
        return math.log(min(max(self.saved_s / self.replayed_s, 1 / _MOST), _MOST))


@dataclass(frozen=True, slots=True)
class Saving:
    """A saving in seconds: the expected value, its 90 % range, and how it was found."""

    expected_s: float
    low_s: float
    high_s: float
    method: str


class Calibration:
    """Expected savings and their ranges, from measured pairs."""

    def __init__(self, pairs: Iterable[MeasuredPair]) -> None:
        ratios: dict[tuple[str, str], list[float]] = {}
        for pair in pairs:
            if pair.replayed_s > 0:
                ratios.setdefault((pair.rule, pair.program), []).append(pair.log_ratio)
        self._seen = [(rule, fmean(found)) for (rule, _), found in ratios.items()]
        errors = [
            abs(ratio - center) / spread
            for place, (rule, ratio) in enumerate(self._seen)
            for center, spread in [_center(rule, self._seen[:place] + self._seen[place + 1 :])]
        ]
        found = conformal_error(errors, CONFIDENCE)
        # Too few errors have no such quantile.
        few = max([*errors, math.log(_FEW)])
        self._error = few if isinstance(found, Missing) else found

    def saving(self, rule: str, replayed_s: float, most_s: float, *, bound: bool) -> Saving:
        """The saving of a finding, at most `most_s`; a `bound` is never exceeded by a fix."""
        own = sum(each == rule for each, _ in self._seen)
        center, spread = _center(rule, self._seen)
        most_s = min(replayed_s, most_s) if bound else most_s
        low_s, expected_s, high_s = (
            min(replayed_s * math.exp(center + side * self._error * spread), most_s)
            for side in (-1, 0, 1)
        )
        kinds = f"{own or 'none'} of this kind"
        return Saving(
            expected_s,
            low_s,
            most_s if bound else high_s,
            f"from a replay with the fix; range from {len(self._seen)} measured fixes, {kinds}",
        )


def _center(rule: str, seen: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """The expected logarithm for a rule, and by how much its error exceeds that of many pairs."""
    pooled = median(ratio for _, ratio in seen) if seen else 0.0
    own = [ratio for each, ratio in seen if each == rule]
    n = _PRIOR + len(own)
    return (_PRIOR * pooled + sum(own)) / n, math.sqrt(1 + 1 / n)


@cache
def measured_pairs() -> tuple[MeasuredPair, ...]:
    """The pairs that come with Venturi."""
    text = (resources.files("venturi.jobs.diagnosis") / "measured_savings.csv").read_text("utf-8")
    return tuple(
        MeasuredPair(
            row["rule"],
            row["program"],
            row["engine_version"],
            float(row["elapsed_s"]),
            float(row["replayed_s"]),
            float(row["saved_s"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


@cache
def calibration() -> Calibration:
    """The calibration by all pairs that come with Venturi."""
    return Calibration(measured_pairs())
