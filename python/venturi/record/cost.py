"""The cost of a trial: its time multiplied by a price from the cluster's file or a price list."""

from __future__ import annotations

from dataclasses import dataclass

from venturi.core.units import SECONDS_PER_HOUR
from venturi.record.trial import CLUSTER_HOUR, Sample, Trial

COST_USD = "cost_usd"
"""The metric of the whole trial's cost, from any source."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A trial's cost in words; None with a reason. `basis` is the user's price, if it was used."""

    text: str | None
    missing_reason: str | None
    basis: str | None = None


def recorded_cost(trial: Trial) -> Cost | None:
    """Return the recorded cost of the whole trial; None if none was recorded."""
    for sample in trial.samples:
        if sample.metric == COST_USD and not sample.labels and sample.phase is None:
            text = None if sample.value is None else f"{sample.value:,.4g} {sample.unit}"
            return Cost(text, sample.missing_reason)
    return None


def cost_of(trial: Trial) -> Sample | None:
    """Return the cost in US dollars: T/3600 × price per hour; None if the cluster has no price.

    The sample has a reason instead of a value if the price is in another currency, or if the
    cluster is emulated: its time isn't that of the priced machines.
    """
    price, elapsed_s = trial.cluster.price, trial.elapsed_s
    if price is None or price.per != CLUSTER_HOUR or elapsed_s is None:
        return None
    why = None
    if price.currency != "USD":
        why = f"the price is in {price.currency}"
    elif trial.cluster.dilation is not None:
        why = f"the cluster is emulated, with its rates divided by {trial.cluster.dilation:g}"
    usd = None if why else price.amount * elapsed_s / SECONDS_PER_HOUR
    return Sample(COST_USD, usd, "USD", missing_reason=why)
