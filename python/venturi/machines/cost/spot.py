"""Interruptible nodes: what a job costs and how long it takes when nodes are taken away.

Each node is lost at a constant rate, independently of the others, so that N nodes lose one at N
times the rate. A loss costs the work since the last point that survives: the start of the job, of a
stage, or a checkpoint, whichever is latest. The stretch of work L between two such points then
takes (exp(r L) - 1) * (1 / r + R) in the mean, with r the losses per second of all nodes and R the
time to replace a node (S. M. Ross, *Introduction to Probability Models*, runs without an event of a
Poisson process). All nodes are paid for all the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from venturi.core.domain import invalid, need_rate, need_size
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.price import Array, Numbers, Tariff, billed, metered, tariff_of

MAX_DRAWS = 2_000_000  # simulated losses; beyond, a distribution with the exact mean and variance
_FEW = 1e-3  # losses to expect in a stretch, below which a series is more exact than the formula
NEVER_S = 365 * 86_400.0  # a year: nobody waits so long for a job, so no figures are given


@dataclass(frozen=True, slots=True)
class Loss:
    """How often a node is lost, and what a loss costs.

    `lost_at_most_s`: the work a loss destroys is at most this, min(stage, time between
    checkpoints); infinity: the whole job starts again. `replacement_s`: until the lost node is
    replaced, during which nothing is done.
    """

    per_node_hour: float
    lost_at_most_s: float = math.inf
    replacement_s: float = 0.0

    def __post_init__(self) -> None:
        need_size("per_node_hour", self.per_node_hour)
        need_size("replacement_s", self.replacement_s)
        need_rate("lost_at_most_s", self.lost_at_most_s)


def _stretches(work_s: Array, loss: Loss) -> tuple[Array, Array, Array]:
    """How many whole stretches between surviving points, their length, and that of the rest."""
    length_s = np.minimum(work_s, loss.lost_at_most_s)
    whole = np.floor(np.divide(work_s, length_s, out=np.zeros_like(work_s), where=length_s > 0))
    return whole, length_s, np.maximum(0.0, work_s - whole * length_s)


def expected_losses(work_s: float | Numbers, nodes: float | Numbers, loss: Loss) -> Array:
    """Mean number of losses until `work_s` seconds of work are done: exp(r L) - 1 a stretch."""
    rate, work = _rate_and_work(work_s, nodes, loss)
    whole, length_s, rest_s = _stretches(work, loss)
    with np.errstate(over="ignore"):
        return np.asarray(whole * np.expm1(rate * length_s) + np.expm1(rate * rest_s))


def expected_elapsed_s(work_s: float | Numbers, nodes: float | Numbers, loss: Loss) -> Array:
    """Mean seconds until `work_s` seconds of work are done on `nodes` nodes. Arrays are welcome.

    Infinity where it exceeds what a number can hold.
    """
    rate, work = _rate_and_work(work_s, nodes, loss)
    losses = expected_losses(work_s, nodes, loss)
    with np.errstate(over="ignore"):
        worked_s = np.divide(losses, rate, out=work.copy(), where=(rate > 0) & (losses > 0))
        waited_s = losses * loss.replacement_s if loss.replacement_s else 0.0
        return np.asarray(np.maximum(worked_s, work) + waited_s)


def _rate_and_work(
    work_s: float | Numbers, nodes: float | Numbers, loss: Loss
) -> tuple[Array, Array]:
    work, count = np.broadcast_arrays(
        np.asarray(work_s, dtype=np.float64), np.asarray(nodes, dtype=np.float64)
    )
    for name, values in (("work_s", work), ("nodes", count)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise invalid(name, values.tolist(), "finite and at least 0")
    return count * loss.per_node_hour / SECONDS_PER_HOUR, work


def simulated_elapsed_s(
    work_s: float, nodes: float, loss: Loss, trials: int = 2000, seed: int = 1
) -> Array:
    """Seconds that the job takes in each of `trials`, drawn from the model of this module."""
    if trials < 1:
        raise invalid("trials", trials, "at least 1")
    rates, work = _rate_and_work(work_s, nodes, loss)
    rate = float(rates)
    whole, length_s, rest_s = (float(part) for part in _stretches(work, loss))
    generator = np.random.default_rng(seed)
    elapsed_s = np.full(trials, float(work_s))
    for count, stretch_s in ((whole, length_s), (1.0, rest_s)):
        if count and rate * stretch_s:
            with np.errstate(over="ignore"):
                elapsed_s += _lost_s(
                    generator,
                    elapsed_s.size,
                    count,
                    stretch_s,
                    rate=rate,
                    replacement_s=loss.replacement_s,
                )
    return elapsed_s


def _lost_s(
    generator: np.random.Generator,
    trials: int,
    count: float,
    stretch_s: float,
    *,
    rate: float,
    replacement_s: float,
) -> Array:
    """Seconds lost in `count` stretches: failed attempts, each cut short by a loss."""
    survives, fails = math.exp(-rate * stretch_s), -math.expm1(-rate * stretch_s)
    failures = count * fails / survives if survives else math.inf
    if failures * trials <= MAX_DRAWS:
        failed = generator.negative_binomial(count, survives, trials)
        # An attempt that fails ends at a loss within the stretch: exponential, cut at its length.
        within_s = -np.log1p(-generator.random(int(failed.sum())) * fails) / rate
        of_trial = np.repeat(np.arange(trials), failed)
        lost_s = np.bincount(of_trial, weights=within_s, minlength=trials)
        return np.asarray(lost_s + failed * replacement_s)
    # So many losses that their sum has lost the shape of its parts: a gamma distribution, which is
    # the limit for one long stretch (exponential) and for many (normal).
    expected = rate * stretch_s
    if expected > _FEW:
        odds = survives / fails
        attempt_s = 1 / rate - stretch_s * odds
        variance = 1 / rate**2 - stretch_s**2 * odds / fails
    else:  # the same as series: there the differences above are lost in rounding
        attempt_s = stretch_s * (1 / 2 - expected / 12)
        variance = stretch_s**2 * (1 / 12 - expected**2 / 240)
    attempt_s += replacement_s
    if math.isinf(failures * attempt_s):
        return np.full(trials, math.inf)
    of_attempt = variance / attempt_s**2
    variation = of_attempt / failures + 1 / (count * fails)  # variance over mean squared
    return generator.gamma(1 / variation, variation * failures * attempt_s, trials)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The mean, and what is not exceeded in half and in 95 % of all cases."""

    mean: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class SpotCost:
    """A job on interruptible nodes; costs are of `currency`.

    The means of time and metered cost are exact, the rest is simulated. `do_not_use` is the reason
    not to, if there is one. Time, losses and costs are None where it would take beyond `NEVER_S`.
    """

    elapsed_s: Outcome | None
    losses: float | None
    currency: str
    metered: Outcome | None
    billed: Outcome | None
    without_loss: float
    do_not_use: str | None
    assumptions: tuple[str, ...]


def spot_cost(
    tariff: Tariff,
    work_s: float,
    nodes: float,
    loss: Loss,
    *,
    deadline_s: float | None = None,
    trials: int = 2000,
    seed: int = 1,
) -> SpotCost:
    """Time and cost of `work_s` seconds of work on `nodes` interruptible nodes of `tariff`."""
    if deadline_s is not None:
        need_rate("deadline_s", deadline_s)
    mean_s = float(expected_elapsed_s(work_s, nodes, loss))
    drawn_s = np.sort(simulated_elapsed_s(work_s, nodes, loss, trials, seed))
    p50_s, p95_s = (float(drawn_s[math.ceil(share * trials) - 1]) for share in (0.5, 0.95))
    at_most = loss.lost_at_most_s
    lost = "all work" if at_most >= work_s else f"at most {at_most:g} s of work"
    without_loss = metered(tariff, work_s, nodes)
    objection = _objection(mean_s, p95_s, deadline_s)
    assumptions = (
        *tariff.assumptions,
        f"nodes are lost independently, {loss.per_node_hour:g} times per node and hour",
        f"a loss costs {lost} and {loss.replacement_s:g} s to replace the node",
        f"{trials} simulated trials, seed {seed}",
    )
    if max(mean_s, p95_s) >= NEVER_S:
        return SpotCost(
            None, None, tariff.currency, None, None, without_loss, objection, assumptions
        )
    each_s = without_loss / work_s if work_s else 0.0  # metered cost is in proportion to time

    def cost_of(seconds: float) -> float:
        return each_s * seconds

    asked = None
    if tariff.granularity_s is not None:
        of = [billed(tariff, seconds, nodes) for seconds in (drawn_s, p50_s, p95_s)]
        paid, of_p50, of_p95 = (np.asarray(amount, dtype=np.float64) for amount in of)
        # The exact mean of what is metered, and the simulated mean of what rounding adds to it.
        added = float(np.mean(paid - metered(tariff, drawn_s, nodes)))
        asked = Outcome(cost_of(mean_s) + added, float(of_p50), float(of_p95))
    return SpotCost(
        Outcome(mean_s, p50_s, p95_s),
        float(expected_losses(work_s, nodes, loss)),
        tariff.currency,
        Outcome(cost_of(mean_s), cost_of(p50_s), cost_of(p95_s)),
        asked,
        without_loss,
        objection,
        assumptions,
    )


def _objection(mean_s: float, p95_s: float, deadline_s: float | None) -> str | None:
    if max(mean_s, p95_s) >= NEVER_S:
        return "nodes are lost so often that the job would take more than a year"
    if deadline_s is not None and p95_s > deadline_s:
        return f"takes up to {p95_s:g} s in 95 % of all cases, the deadline is {deadline_s:g} s"
    return None


def spot_of(instance_type: InstanceType) -> tuple[Tariff, Loss] | None:
    """Tariff and rate of loss of one interruptible node, or None if the catalogue lacks one.

    The notes of the facts `spot_price` and `spot_loss_rate` say why.
    """
    tariff = tariff_of(instance_type, price="spot_price")
    rate = instance_type.number("spot_loss_rate")
    return None if tariff is None or rate is None else (tariff, Loss(rate))
