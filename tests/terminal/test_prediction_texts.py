"""Stored predictions in words."""

from __future__ import annotations

import pytest

from model_trials import succeeded
from venturi.record.prediction import StoredPrediction, prediction_check
from venturi.terminal.predictions import check_text, prediction_text

RANGED = StoredPrediction(12.1, 10.9, 14.0, "same settings", trials=5, distance=1.0)


def compared(found: StoredPrediction, took_s: float) -> str:
    check = prediction_check(succeeded(samples=found.samples(), elapsed_s=took_s))
    assert check is not None
    return check_text(check)


@pytest.mark.parametrize(
    ("took_s", "said"),
    [
        (12.8, "predicted 12.1 s (10.9–14.0 s), took 12.8 s: inside the range"),
        (15.0, "predicted 12.1 s (10.9–14.0 s), took 15.0 s: outside the range"),
    ],
)
def test_a_range_holds_or_not(took_s: float, said: str) -> None:
    assert compared(RANGED, took_s) == said


def test_own_runs_behind_a_range_are_named() -> None:
    found = StoredPrediction(0.9, 0.8, 75.0, "same settings", trials=5, own_runs=12)
    assert prediction_text(found) == (
        "predicted 900 ms (800 ms–75.0 s, from 12 own runs): same settings, 5 trials"
    )


def test_a_missing_range_has_its_reason() -> None:
    bare = StoredPrediction(10.0, None, None, "same settings", range_reason="too few", trials=1)
    assert prediction_text(bare) == "predicted 10.0 s: same settings, 1 trial; no range: too few"
    assert compared(bare, 12.0) == "predicted 10.0 s, took 12.0 s: 20% longer; no range"


def test_a_missing_prediction_has_its_reason() -> None:
    nothing = StoredPrediction(None, None, None, "no evidence", missing_reason="no run", trials=0)
    assert prediction_text(nothing) == "no prediction: no run"
    assert compared(nothing, 12.0) == "took 12.0 s, not predicted: no run"


def test_minutes_keep_their_units() -> None:
    found = StoredPrediction(245.0, 200.0, 300.0, "same settings", trials=5)
    assert compared(found, 250.0).startswith("predicted 4 min 05 s (3 min 20 s–5 min 00 s), took")
