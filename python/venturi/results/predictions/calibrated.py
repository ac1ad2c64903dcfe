"""The range of a prediction, from the errors of earlier predictions of the same kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from venturi.core.statistics.conformal import conformal_error
from venturi.core.statistics.stats import MEDIAN_LEVEL, Missing
from venturi.record.prediction import StoredPrediction
from venturi.results.predictions.errors import PredictedRun

LEAST_RUNS = 10
"""Chosen by us: with fewer earlier predictions, the method's own range stays."""


def calibrated(
    found: StoredPrediction, workload: str, engine: str, past: Sequence[PredictedRun]
) -> StoredPrediction:
    """`found` with the range that holds 90 % of the earlier errors, wider or narrower.

    Predictions of one kind have the same basis and engine. Those of the same workload count alone
    if they are at least LEAST_RUNS, else those of all workloads. With fewer, `found` stays.
    """
    kind = [run for run in past if run.basis == found.basis and run.engine == engine]
    own = [run for run in kind if run.workload == workload]
    used = own if len(own) >= LEAST_RUNS else kind
    if found.elapsed_s is None or len(used) < LEAST_RUNS:
        return found
    half = conformal_error([run.log_ratio for run in used], MEDIAN_LEVEL)
    if isinstance(half, Missing):
        return found
    return replace(
        found,
        low_s=found.elapsed_s * math.exp(-half),
        high_s=found.elapsed_s * math.exp(half),
        range_reason=None,
        own_runs=len(used),
    )
