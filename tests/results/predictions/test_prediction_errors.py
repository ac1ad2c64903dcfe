"""Stored predictions against measured times."""

from __future__ import annotations

import pytest

from model_trials import succeeded
from venturi.record.prediction import StoredPrediction
from venturi.record.trial import Phase, Sample, Trial, Workload
from venturi.results.predictions.errors import distance_class, prediction_errors


def predicted(
    measured_s: float,
    predicted_s: float | None = 1.0,
    *,
    half: float | None = 0.2,
    name: str = "sort",
    distance: float | None = 1.0,
    more: tuple[Sample, ...] = (),
    phases: tuple[Phase, ...] = (),
) -> Trial:
    ranged = predicted_s is not None and half is not None
    found = StoredPrediction(
        predicted_s,
        (predicted_s or 0) - (half or 0) if ranged else None,
        (predicted_s or 0) + (half or 0) if ranged else None,
        "same settings",
        missing_reason=None if predicted_s is not None else "nothing is recorded",
        range_reason=None if ranged or predicted_s is None else "one earlier run shows no spread",
        trials=2,
        distance=distance,
    )
    return succeeded(
        workload=Workload(name, "v1", input_bytes=10**9),
        elapsed_s=measured_s,
        samples=(*found.samples(), *more),
        phases=phases,
    )


def test_nothing_stored_is_said() -> None:
    found = prediction_errors([succeeded()])
    assert found.sentence == "No run has a stored prediction yet."
    assert found.errors.median_error is None
    assert found.groups == ()


def test_predictions_without_a_value_or_a_time_are_counted_by_reason() -> None:
    found = prediction_errors([predicted(1.0, None), predicted(1.0, None)])
    assert found.not_compared == {"nothing is recorded": 2}
    assert "2 stored predictions can't be compared" in found.sentence


def test_median_error_and_ranges_that_held() -> None:
    runs = [predicted(1.1), predicted(1.25), predicted(0.8), predicted(1.0, half=None)]
    found = prediction_errors(runs)
    assert found.sentence == (
        "Median error 15% over 4 runs; 2 of 3 ranges held the time (90% should)."
    )
    (group,) = found.groups
    errors = group.errors
    assert (errors.runs, errors.ranges, errors.held, group.key[-1]) == (4, 3, 2, "same size")
    assert errors == found.errors
    assert errors.p90_error == pytest.approx(0.235)
    assert group.bias == pytest.approx((1 / 1.1 - 1) / 2)


def test_groups_by_workload_bottleneck_and_distance() -> None:
    def stage(name: str, metric: str, value: float) -> Sample:
        return Sample(f"stage_{metric}", value, "s", "map+shuffle", {"stage": name})

    reads = tuple(
        stage("read", metric, value) for metric, value in (("useful_s", 0.9), ("workers", 1.0))
    )
    map_phase = (Phase("map+shuffle", 0.0, 1.0),)
    runs = [
        predicted(1.0, more=reads, phases=map_phase),
        predicted(1.0, more=reads, phases=map_phase),
        predicted(1.0, distance=3.0),
        predicted(1.0, name="wordcount", distance=None),
    ]
    found = prediction_errors(runs, {runs[3].id: "driver"})
    assert [(*g.key, g.errors.runs) for g in found.groups] == [
        ("sort", runs[0].engine.name, "disk", "same size", 2),
        ("sort", runs[0].engine.name, None, "up to 4x", 1),
        ("wordcount", runs[0].engine.name, "driver", "unknown", 1),
    ]
    by_basis = prediction_errors(runs, by=("basis",))
    assert [(g.key, g.errors.runs) for g in by_basis.groups] == [(("same settings",), 4)]


def test_warm_ups_do_not_count() -> None:
    found = prediction_errors([succeeded(warm_up=True, samples=predicted(1.0).samples)])
    assert found.runs == ()


@pytest.mark.parametrize(
    ("distance", "name"),
    [(1.0, "same size"), (1.5, "up to 2x"), (4.0, "up to 4x"), (5.0, "beyond 4x")],
)
def test_classes_of_distance(distance: float, name: str) -> None:
    assert distance_class(distance) == name
