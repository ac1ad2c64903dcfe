"""What a trial cost: its time at the price that its cluster's file, or a catalogue, says."""

from __future__ import annotations

from dataclasses import dataclass

from venturi.core.units import SECONDS_PER_HOUR
from venturi.record.trial import CLUSTER_HOUR, Sample, Trial

COST_USD = "cost_usd"
"""The metric of the whole trial's cost, whoever says it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A trial's cost in words; None with a reason."""

    text: str | None
    missing_reason: str | None


def recorded_cost(trial: Trial) -> Cost | None:
    """What the whole trial cost as it was recorded; None if nothing was said of it."""
    for sample in trial.samples:
        if sample.metric == COST_USD and not sample.labels and sample.phase is None:
            text = None if sample.value is None else f"{sample.value:,.4g} {sample.unit}"
            return Cost(text, sample.missing_reason)
    return None


def cost_of(trial: Trial) -> Sample | None:
    """US dollars: T/3600 x price of the cluster's hour; None of a cluster without a price.

    A reason instead of a number where the price is in another currency, and of an emulated
    cluster, whose time is not that of the machines which were priced.
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
