"""Predictions of planned runs from earlier trials."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_trials import succeeded
from venturi.record.prediction import prediction_check, stored_prediction
from venturi.record.trial import Cluster, Failure, Host, State, Trial, Workload
from venturi.results.predictions.next_run import CURVE, PROPORTIONAL, REPEATS, predict_run

TIMES = st.lists(st.floats(0.01, 1e5), min_size=1, max_size=40)


def sized(size: int, elapsed_s: float = 1.0) -> Trial:
    return succeeded(workload=Workload("sort", "v1", input_bytes=size), elapsed_s=elapsed_s)


@given(TIMES)
def test_repeats_give_their_median_within_its_range(times_s: list[float]) -> None:
    found = predict_run(succeeded(), [succeeded(elapsed_s=each) for each in times_s])
    assert found.basis == REPEATS
    assert found.distance == 1
    assert found.elapsed_s is not None
    assert min(times_s) <= found.elapsed_s <= max(times_s)
    if len(times_s) == 1:
        assert found.low_s is found.high_s is None
        assert found.range_reason
    else:
        assert found.low_s is not None
        assert found.high_s is not None
        assert 0 < found.low_s <= found.elapsed_s <= found.high_s


@pytest.mark.parametrize(
    "other",
    [
        succeeded(configuration={"threads": 2}),
        succeeded(cluster=Cluster((Host("elsewhere"),))),
        succeeded(cluster=Cluster((Host("here"),), {"input": ("/other",)})),
        succeeded(workload=Workload("terasort", "v2", input_bytes=10**9)),
        succeeded(warm_up=True),
        succeeded(state=State.INVALID, failure=Failure("wrong", "VEN-MEASURE-INVALID", "")),
    ],
)
def test_other_settings_and_uncounted_runs_are_no_evidence(other: Trial) -> None:
    found = predict_run(succeeded(), [other])
    assert found.elapsed_s is None
    assert found.missing_reason is not None
    assert "terasort on native" in found.missing_reason


def test_one_other_size_counts_in_proportion_and_has_no_range() -> None:
    found = predict_run(sized(3_000), [sized(1_000, 2.0)])
    assert (found.basis, found.elapsed_s, found.distance) == (PROPORTIONAL, 6.0, 3.0)
    assert found.low_s is None
    assert found.range_reason


def test_several_sizes_give_a_curve_with_a_range() -> None:
    past = [sized(size, 1 + size / 1_000) for size in (1_000, 2_000, 4_000, 8_000, 16_000)]
    found = predict_run(sized(6_000), past)
    assert found.basis == CURVE
    assert found.elapsed_s == pytest.approx(7.0, rel=0.05)
    assert found.low_s is not None
    assert found.high_s is not None
    assert found.low_s <= found.elapsed_s <= found.high_s
    assert predict_run(sized(160_000), past).basis == PROPORTIONAL


def test_a_prediction_is_stored_and_read_unchanged() -> None:
    for past in ([], [succeeded()], [succeeded(), succeeded(elapsed_s=1.1)]):
        found = predict_run(succeeded(), past)
        assert stored_prediction(succeeded(samples=found.samples())) == found
    assert stored_prediction(succeeded()) is None


def test_check_compares_only_with_a_measured_time() -> None:
    samples = predict_run(succeeded(), [succeeded(elapsed_s=t) for t in (1.0, 1.1, 1.2)]).samples()
    inside = prediction_check(succeeded(samples=samples, elapsed_s=1.1))
    far = prediction_check(succeeded(samples=samples, elapsed_s=9.0))
    failed = prediction_check(
        replace(
            succeeded(samples=samples, elapsed_s=None, state=State.PLANNED),
            state=State.FAILED,
            failure=Failure("user", "VEN-ENGINE-FAILED", "no"),
        )
    )
    assert inside is not None
    assert (inside.inside, inside.log_ratio) == (True, pytest.approx(0))
    assert far is not None
    assert far.inside is False
    assert failed is not None
    assert failed.measured_s is failed.inside is failed.log_ratio is None
    assert failed.unmeasured == "the trial is failed"
