"""Interruptible nodes: time and cost of a job when nodes may be reclaimed.

Each node is lost at a constant rate, independently of the others, so N nodes lose one at N times
the rate. After a loss the job restarts, on a replacement node that is immediately available. W
seconds of work then take (exp(r W) - 1) / r on average, with r the losses per second of all nodes
(S. M. Ross, *Introduction to Probability Models*, runs without an event of a Poisson process). All
nodes are billed for the whole time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from venturi.core.domain import invalid, need_size
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.price import Array, Tariff, billed, metered, tariff_of

TRIALS, SEED = 2000, 1
MAX_DRAWS = 2_000_000  # simulated losses; beyond, a distribution with the exact mean and variance
NEVER_S = 365 * 86_400.0  # a year: longer times aren't realistic, so no figures are given


def expected_losses(work_s: float, nodes: float, per_node_hour: float) -> float:
    """Mean number of losses until `work_s` seconds of work are done; infinite beyond a number."""
    try:
        return math.expm1(_losses_per_s(work_s, nodes, per_node_hour) * work_s)
    except OverflowError:
        return math.inf


def expected_elapsed_s(work_s: float, nodes: float, per_node_hour: float) -> float:
    """Mean seconds until `work_s` seconds of work are done on `nodes` nodes."""
    losses = expected_losses(work_s, nodes, per_node_hour)
    rate = _losses_per_s(work_s, nodes, per_node_hour)
    return max(losses / rate, work_s) if rate and losses else work_s


def _losses_per_s(work_s: float, nodes: float, per_node_hour: float) -> float:
    for name, value in (("work_s", work_s), ("nodes", nodes), ("per_node_hour", per_node_hour)):
        need_size(name, value)
    return nodes * per_node_hour / SECONDS_PER_HOUR


def simulated_elapsed_s(
    work_s: float, nodes: float, per_node_hour: float, trials: int = TRIALS, seed: int = SEED
) -> Array:
    """Seconds that the job takes in each of `trials`, drawn from the model of this module."""
    if trials < 1:
        raise invalid("trials", trials, "at least 1")
    rate = _losses_per_s(work_s, nodes, per_node_hour)
    expected = rate * work_s
    if not expected:
        return np.full(trials, float(work_s))
    generator = np.random.default_rng(seed)
    survives, fails = math.exp(-expected), -math.expm1(-expected)
    failures = fails / survives if survives else math.inf
    if failures * trials <= MAX_DRAWS:
        failed = generator.geometric(survives, trials) - 1
        # An attempt that fails ends at a loss within the work: exponential, cut at its length.
        within_s = -np.log1p(-generator.random(int(failed.sum())) * fails) / rate
        of_trial = np.repeat(np.arange(trials), failed)
        return np.asarray(work_s + np.bincount(of_trial, weights=within_s, minlength=trials))
    # So many losses that their sum has lost the shape of its parts: a gamma distribution with the
    # exact mean and variance, of which the exponential one is the limit.
    odds = survives / fails
    attempt_s = 1 / rate - work_s * odds
    variance = 1 / rate**2 - work_s**2 * odds / fails
    if math.isinf(failures * attempt_s):
        return np.full(trials, math.inf)
    variation = variance / attempt_s**2 / failures + 1 / fails  # variance over mean squared
    lost_s = generator.gamma(1 / variation, variation * failures * attempt_s, trials)
    return np.asarray(work_s + lost_s)


@dataclass(frozen=True, slots=True)
class SpotRange:
    """The mean, the median and the 95th percentile."""

    mean: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class SpotCost:
    """A job on interruptible nodes; costs are of `currency`.

    The means of time and metered cost are exact, the rest is simulated. `do_not_use` is the reason
    not to, if there is one. Time, losses and costs are None where it would take beyond `NEVER_S`.
    """

    elapsed_s: SpotRange | None
    losses: float | None
    currency: str
    metered: SpotRange | None
    billed: SpotRange | None
    without_loss: float
    do_not_use: str | None
    assumptions: tuple[str, ...]


def spot_cost(tariff: Tariff, work_s: float, nodes: float, per_node_hour: float) -> SpotCost:
    """Time and cost of `work_s` seconds of work on `nodes` interruptible nodes of `tariff`."""
    mean_s = expected_elapsed_s(work_s, nodes, per_node_hour)
    drawn_s = np.sort(simulated_elapsed_s(work_s, nodes, per_node_hour))
    p50_s, p95_s = (float(drawn_s[math.ceil(share * TRIALS) - 1]) for share in (0.5, 0.95))
    without_loss = metered(tariff, work_s, nodes)
    assumptions = (
        *tariff.assumptions,
        f"nodes are lost independently, {per_node_hour:g} times per node and hour",
        "a loss costs all work, and the node is replaced immediately",
        f"{TRIALS} simulated trials, seed {SEED}",
    )
    if max(mean_s, p95_s) >= NEVER_S:
        why = "nodes are lost so often that the job would take more than a year"
        currency = tariff.currency
        return SpotCost(None, None, currency, None, None, without_loss, why, assumptions)
    each_s = without_loss / work_s if work_s else 0.0  # metered cost is in proportion to time
    asked = None
    if tariff.granularity_s is not None:
        of = [billed(tariff, seconds, nodes) for seconds in (drawn_s, p50_s, p95_s)]
        paid, of_p50, of_p95 = (np.asarray(amount, dtype=np.float64) for amount in of)
        # The exact mean of the metered cost, plus the simulated mean of the rounding.
        added = float(np.mean(paid - metered(tariff, drawn_s, nodes)))
        asked = SpotRange(each_s * mean_s + added, float(of_p50), float(of_p95))
    return SpotCost(
        SpotRange(mean_s, p50_s, p95_s),
        expected_losses(work_s, nodes, per_node_hour),
        tariff.currency,
        SpotRange(each_s * mean_s, each_s * p50_s, each_s * p95_s),
        asked,
        without_loss,
        None,
        assumptions,
    )


def spot_of(instance_type: InstanceType) -> tuple[Tariff, float] | None:
    """Tariff of one interruptible node and its losses per hour, or None if the catalog lacks one.

    The notes of the facts `spot_price` and `spot_loss_rate` say why.
    """
    tariff = tariff_of(instance_type, price="spot_price")
    rate = instance_type.number("spot_loss_rate")
    return None if tariff is None or rate is None else (tariff, rate)
