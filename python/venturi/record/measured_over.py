"""What NetBench measured over: a network, or loopback, which is none."""

from __future__ import annotations

from venturi.record.trial import Trial

MEASURED_OVER = "measured_over"
"""Key of the configuration of a trial whose cluster has a network with a name of its own."""


def measured_over(trial: Trial) -> str | None:
    """What the agent called it: `network`, or `loopback: ...`; None where nothing says so."""
    found = trial.configuration.get(MEASURED_OVER, trial.cluster.network)
    return None if found is None else str(found)
