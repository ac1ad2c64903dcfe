"""The slowest of N nodes, from the distribution of single nodes: order statistics.

A phase ends when its slowest node does, and the more nodes, the slower the slowest. Its rate is
expected where F_min = 1 - (1 - F)^N says so, F being the distribution of single nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from venturi.errors import VenturiError
from venturi.model.domain import invalid
from venturi.model.quantity import Kind, Quantity
from venturi.model.scaling.network import LEVEL, check_range
from venturi.model.statistics.quantiles import log_normal_cdf, normal_quantiles, root

Array = npt.NDArray[np.float64]

MIN_NODES = 3  # of a sample from which the spread of nodes is estimated
DRAWS = 20_000
_TAIL = (1 - LEVEL) / 2


class Family(StrEnum):
    """What single nodes' rates are taken to follow."""

    NORMAL = "normal"
    LOGNORMAL = "lognormal"
    EMPIRICAL = "as observed"  # no assumption but that all nodes are alike


@dataclass(frozen=True, slots=True)
class Slowest:
    """The slowest of `nodes` nodes: its rate, and that rate over the mean of nodes (`factor`).

    Values are expectations, ranges the central 90 % of the minimum's distribution.
    """

    nodes: int
    family: Family
    rate: Quantity
    factor: Quantity


@dataclass(frozen=True, slots=True)
class _Origin:
    """What a result says about where it comes from."""

    nodes: int
    family: Family
    source: str
    as_of: date | None
    note: str


def expected_lowest(nodes: int) -> float:
    """Expected minimum of N independent standard normal values (David and Nagaraja 2003, ch. 3)."""
    _need_nodes(nodes)
    z, weights = _density(nodes)
    return float(z @ weights)


def slowest_of_known(
    mean_bytes_per_s: float,
    deviation_bytes_per_s: float,
    nodes: int,
    family: Family = Family.NORMAL,
    source: str = "stated distribution",
) -> Slowest:
    """The slowest of `nodes` nodes whose mean and standard deviation are known.

    F_min = 1 - (1 - F)^N exactly: the expectation by its density, the range by its quantiles.
    """
    _need_nodes(nodes)
    if not 0 < mean_bytes_per_s < math.inf:
        raise invalid("mean_bytes_per_s", mean_bytes_per_s, "finite and above 0")
    if not 0 <= deviation_bytes_per_s < math.inf:
        raise invalid("deviation_bytes_per_s", deviation_bytes_per_s, "finite and at least 0")
    if family is Family.EMPIRICAL:
        raise invalid("family", family, "normal or lognormal")
    mu, sigma = mean_bytes_per_s, deviation_bytes_per_s
    if family is Family.LOGNORMAL:
        sigma = math.sqrt(math.log1p((deviation_bytes_per_s / mean_bytes_per_s) ** 2))
        mu = math.log(mean_bytes_per_s) - sigma**2 / 2
    z, weights = _density(nodes)
    low, high = map(float, _rate(family, mu, sigma, _lowest_z(np.array([_TAIL, 1 - _TAIL]), nodes)))
    note = f"slowest of {nodes} nodes: {family}, mean and deviation taken as known"
    return _slowest(
        _Origin(nodes, family, source, None, note),
        float(weights @ _rate(family, mu, sigma, z)), (low, high), mean_bytes_per_s,
    )  # fmt: skip


def slowest_of(
    values: Sequence[float],
    nodes: int,
    *,
    family: Family | None = None,
    seed: int = 0,
    force: bool = False,
    source: str = "single nodes",
    as_of: date | None = None,
) -> Slowest:
    """The slowest of `nodes` further nodes like those with the rates `values` (bytes/s).

    Without `family`: as observed if the sample allows (19 nodes for each of `nodes`), else normal
    or lognormal, whichever makes the sample likelier; lognormal where a normal of such a spread
    would reach zero. The range holds the sample's own uncertainty: `values` are a draw, too.
    Errors: VEN-MODEL-RANGE beyond 8 times the sample unless `force`, or as observed with too few;
    VEN-MODEL-INPUT for fewer than 3 values, or a normal that reaches zero.
    """
    _need_nodes(nodes)
    rates = np.sort(np.asarray(values, dtype=np.float64))
    if len(rates) < MIN_NODES:
        raise invalid("values", f"a sample of {len(rates)}", f"at least {MIN_NODES} nodes")
    if not (np.isfinite(rates).all() and rates[0] > 0):
        raise invalid("values", [float(rates[0]), float(rates[-1])], "finite and above 0")
    forced = check_range("nodes", nodes, 1, len(rates), force=force)

    def of(family: Family) -> Slowest:
        note = f"slowest of {nodes} nodes, from a sample of {len(rates)}: {family}"
        origin = _Origin(nodes, family, source, as_of, note + (f"; {forced}" if forced else ""))
        if family is Family.EMPIRICAL:
            return _empirical(rates, origin)
        return _parametric(rates, origin, seed)

    if family is not None:
        return of(family)
    if _bounds(len(rates), nodes) is not None:
        return of(Family.EMPIRICAL)
    logs = np.log(rates)
    # Both have two parameters, so that their likelihoods compare as they are.
    if rates.std() <= logs.std() * math.exp(float(logs.mean())):
        try:
            return of(Family.NORMAL)
        except VenturiError:
            pass  # reaches zero
    return of(Family.LOGNORMAL)


def implied_deviation(
    mean_bytes_per_s: float,
    slowest_bytes_per_s: float,
    nodes: int,
    family: Family = Family.NORMAL,
) -> float:
    """Standard deviation of single nodes (bytes/s) that lets one expect this slowest of `nodes`.

    For a published mean and slowest of N without the sample behind them.
    """
    _need_nodes(nodes, 2)
    if not 0 < slowest_bytes_per_s <= mean_bytes_per_s < math.inf:
        raise invalid("slowest_bytes_per_s", slowest_bytes_per_s, "above 0, at most the mean")
    if family is Family.NORMAL:
        return (mean_bytes_per_s - slowest_bytes_per_s) / -expected_lowest(nodes)
    if family is Family.EMPIRICAL:
        raise invalid("family", family, "normal or lognormal")
    z, weights = _density(nodes)
    factor = slowest_bytes_per_s / mean_bytes_per_s

    def missing(sigma: float) -> float:
        return factor - float(weights @ np.exp(sigma * z - sigma**2 / 2))

    sigma = 0.0 if factor == 1 else root(missing, 0.0, 8.0)
    return mean_bytes_per_s * math.sqrt(math.expm1(sigma**2))


def _need_nodes(nodes: int, least: int = 1) -> None:
    if nodes < least:
        raise invalid("nodes", nodes, f"at least {least}")


def _lowest_z(fraction: Array, nodes: int) -> Array:
    """Standard normal quantile of the minimum of N: F_min = 1 - (1 - F)^N, inverted."""
    return normal_quantiles(-np.expm1(np.log1p(-fraction) / nodes))


def _density(nodes: int) -> tuple[Array, Array]:
    """Points z and weights of the minimum's density N phi(z) (1 - Phi(z))^(N-1), which sum to 1.

    The trapezoid rule on a smooth density that vanishes at both ends is exact to rounding.
    """
    z, above = _points()
    weights = np.exp(-(z**2) / 2 + (nodes - 1) * above)
    return z, weights / weights.sum()


@cache
def _points() -> tuple[Array, Array]:
    """Points z of the normal distribution and log(1 - Phi(z)), the same for all N."""
    z = np.linspace(-14.0, 14.0, 28_001)
    return z, log_normal_cdf(-z)


def _rate(family: Family, mu: float | Array, sigma: float | Array, z: Array) -> Array:
    rates = np.asarray(mu + sigma * z, dtype=np.float64)
    return np.exp(rates) if family is Family.LOGNORMAL else rates


def _mean(family: Family, mu: float | Array, sigma: float | Array) -> Array:
    middle = np.asarray(mu, dtype=np.float64)
    return np.exp(middle + np.square(sigma) / 2) if family is Family.LOGNORMAL else middle


def _slowest(
    origin: _Origin,
    value: float,
    ends: tuple[float, float],
    mean: float,
    factors: tuple[float, float] | None = None,
) -> Slowest:
    """`factors` is the range of slowest over mean; without it the mean is taken as known."""
    low, high = ends
    least, most = factors or (low / mean, high / mean)
    if low <= 0 or least <= 0:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"the {origin.family} fit lets the slowest of {origin.nodes} nodes fall to nothing",
            where={"field": "family", "value": str(origin.family)},
            hint="measure more nodes, or take the lognormal family",
        )

    def quantity(middle: float, low: float, high: float, note: str) -> Quantity:
        # The expectation of a lopsided minimum may lie outside its central range.
        return Quantity(
            middle, min(low, middle), max(high, middle), Kind.DERIVED, origin.source,
            origin.as_of, note, f"central {100 * LEVEL:.0f} % of the minimum's distribution",
        )  # fmt: skip

    return Slowest(
        origin.nodes,
        origin.family,
        quantity(value, low, high, origin.note),
        quantity(value / mean, least, most, f"{origin.note}; over the mean of nodes"),
    )


def _parametric(rates: Array, origin: _Origin, seed: int) -> Slowest:
    """Mean and variance drawn as the sample leaves them open, then the minimum of N.

    sigma^2 = (n-1) s^2 / chi^2(n-1), mu = mean + sigma Z / sqrt(n). For the normal, and the logs of
    the lognormal, the range then covers exactly; with N = 1 it is the t prediction interval.
    """
    family, nodes = origin.family, origin.nodes
    sample = np.log(rates) if family is Family.LOGNORMAL else rates
    n, middle, spread = len(sample), float(sample.mean()), float(sample.std(ddof=1))
    random = np.random.default_rng(seed)
    sigma = spread * np.sqrt((n - 1) / random.chisquare(n - 1, DRAWS))
    mu = middle + sigma * random.standard_normal(DRAWS) / math.sqrt(n)
    with np.errstate(over="ignore"):  # the mean of a lognormal that a tiny sample leaves open
        lowest = _rate(family, mu, sigma, _lowest_z(random.random(DRAWS), nodes))
        factors = np.quantile(lowest / _mean(family, mu, sigma), [_TAIL, 1 - _TAIL])
    ends = np.quantile(lowest, [_TAIL, 1 - _TAIL])
    z, weights = _density(nodes)
    return _slowest(
        origin,
        float(weights @ _rate(family, middle, spread, z)),
        (float(ends[0]), float(ends[1])),
        float(_mean(family, middle, spread)),
        (float(factors[0]), float(factors[1])),
    )


def _bounds(sample: int, nodes: int) -> tuple[int, int] | None:
    """Ranks (from 1) of the sample that bound the minimum of N further nodes, or None.

    Any order of all n + N is equally likely, hence P(min > x_(k)) = prod_{i<k} (n-i)/(n+N-i)
    whatever the distribution (David and Nagaraja 2003, ch. 7).
    """
    above, lower = 1.0, None
    for k in range(1, sample + 1):
        above *= (sample - k + 1) / (sample + nodes - k + 1)
        if 1 - above <= _TAIL + 1e-12:
            lower = k
        if above <= _TAIL + 1e-12:
            return None if lower is None else (lower, k)
    return None


def _empirical(rates: Array, origin: _Origin) -> Slowest:
    """Expected minimum of N draws from the sample itself; two ranks of the sample as range."""
    n, nodes = len(rates), origin.nodes
    bounds = _bounds(n, nodes)
    if bounds is None:
        needed = math.ceil(nodes * (1 - _TAIL) / _TAIL - 1e-9)
        raise VenturiError(
            "VEN-MODEL-RANGE",
            f"{n} nodes as observed cannot bound the slowest of {nodes}: that takes {needed}",
            where={"field": "values", "value": n},
            hint="measure more nodes, or take the normal or lognormal family",
        )
    left = (np.arange(n, -1, -1) / n) ** nodes
    ends = float(rates[bounds[0] - 1]), float(rates[bounds[1] - 1])
    return _slowest(origin, float((left[:-1] - left[1:]) @ rates), ends, float(rates.mean()))
