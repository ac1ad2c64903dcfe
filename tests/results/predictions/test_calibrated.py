"""Ranges from the errors of earlier predictions."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.record.prediction import StoredPrediction
from venturi.results.predictions.calibrated import LEAST_RUNS, calibrated
from venturi.results.predictions.errors import PredictedRun

FOUND = StoredPrediction(12.0, 11.0, 13.0, "same settings", trials=5, distance=1.0)
LOGS = st.floats(-3, 3)


def past(log_ratio: float, **changes: str) -> PredictedRun:
    run = PredictedRun(
        trial="1",
        workload="sort",
        engine="spark",
        basis="same settings",
        bottleneck=None,
        distance=1.0,
        predicted_s=1.0,
        low_s=None,
        high_s=None,
        measured_s=math.exp(log_ratio),
        log_ratio=log_ratio,
        inside=None,
    )
    return replace(run, **changes)


@given(st.lists(LOGS, min_size=LEAST_RUNS, max_size=50))
def test_the_range_holds_nine_tenths_of_the_earlier_errors(logs: list[float]) -> None:
    found = calibrated(FOUND, "sort", "spark", list(map(past, logs)))
    assert found.own_runs == len(logs)
    assert found.low_s is not None
    assert found.high_s is not None
    assert found.elapsed_s == FOUND.elapsed_s
    assert 0 < found.low_s <= 12.0 <= found.high_s
    times_s = [12.0 * math.exp(each) for each in logs]
    held = [found.low_s * 0.999 <= each <= found.high_s * 1.001 for each in times_s]
    assert sum(held) >= 0.9 * len(logs)


@given(st.lists(LOGS, min_size=LEAST_RUNS, max_size=50), st.floats(1, 5))
def test_larger_errors_give_a_wider_range(logs: list[float], factor: float) -> None:
    narrow = calibrated(FOUND, "sort", "spark", list(map(past, logs)))
    wide = calibrated(FOUND, "sort", "spark", [past(each * factor) for each in logs])
    assert narrow.low_s is not None
    assert wide.low_s is not None
    assert wide.low_s <= narrow.low_s * (1 + 1e-9)


@given(st.lists(LOGS, max_size=LEAST_RUNS - 1))
def test_few_runs_change_nothing(logs: list[float]) -> None:
    assert calibrated(FOUND, "sort", "spark", list(map(past, logs))) == FOUND


@pytest.mark.parametrize("change", [{"basis": "data curve"}, {"engine": "native"}])
def test_other_kinds_do_not_count(change: dict[str, str]) -> None:
    assert calibrated(FOUND, "sort", "spark", [past(1.0, **change)] * 20) == FOUND


def test_the_same_workload_counts_alone_if_it_has_enough_runs() -> None:
    others = [past(2.0, workload="join")] * 20
    mixed = calibrated(FOUND, "sort", "spark", [*others, *[past(0.1)] * 9])
    alone = calibrated(FOUND, "sort", "spark", [*others, *[past(0.1)] * 10])
    assert (mixed.own_runs, alone.own_runs) == (29, 10)
    assert alone.high_s == pytest.approx(12 * math.exp(0.1))


def test_a_prediction_without_a_range_gets_one() -> None:
    bare = replace(FOUND, low_s=None, high_s=None, range_reason="one earlier run shows no spread")
    found = calibrated(bare, "sort", "spark", [past(0.2)] * 10)
    assert found.range_reason is None
    assert found.high_s == pytest.approx(12 * math.exp(0.2))


def test_a_missing_prediction_stays_missing() -> None:
    nothing = StoredPrediction(None, None, None, "same settings", missing_reason="no runs")
    assert calibrated(nothing, "sort", "spark", [past(0.1)] * 20) == nothing
