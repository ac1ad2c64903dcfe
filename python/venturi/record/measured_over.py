"""The medium that NetBench measured: a network, or only loopback."""

from __future__ import annotations

from venturi.record.trial import Trial

MEASURED_OVER = "measured_over"
"""Key of the configuration of a trial on a cluster with a named network."""


def measured_over(trial: Trial) -> str | None:
    """The agent's name for it: `network`, or `loopback: ...`; None where it isn't recorded."""
    found = trial.configuration.get(MEASURED_OVER, trial.cluster.network)
    return None if found is None else str(found)
