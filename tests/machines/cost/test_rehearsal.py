"""Predictions from rehearsals: what grows with the bytes, what does not, and the range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines.cost.predict import NativeSortPlan
from venturi.machines.cost.rehearsal import (
    USUAL_ERROR,
    Rehearsal,
    RehearsedPhase,
    predict_from_rehearsals,
)

GB = 10**9


def rehearsal(
    map_s: float, sort_s: float, *, size: int = GB, spilled: int = 0, computing: float = 0.5
) -> Rehearsal:
    return Rehearsal(
        size,
        spilled,
        RehearsedPhase(0.1, 0.0),
        RehearsedPhase(map_s, computing),
        RehearsedPhase(sort_s, computing),
    )


def test_phases_grow_with_the_bytes_they_move_and_sampling_does_not() -> None:
    prediction = predict_from_rehearsals(NativeSortPlan(4 * GB, 0), [rehearsal(0.5, 0.25)])
    assert [p.phase for p in prediction.phases] == ["sample", "map+shuffle", "sort+reduce"]
    assert [p.elapsed_s for p in prediction.phases] == [0.1, 2.0, 1.0]
    assert prediction.elapsed_s == pytest.approx(3.1)
    assert prediction.missing_reason is None
    assert "1000000000 bytes" in prediction.assumptions[0]


def test_what_is_spilled_is_moved_twice() -> None:
    # 1.5 GB moved in 0.6 s: 2.5 GB/s. Of 4 GB 3.5 GB spilled, 7.5 GB are moved.
    prediction = predict_from_rehearsals(
        NativeSortPlan(4 * GB, 3_500_000_000), [rehearsal(0.6, 0.3, spilled=GB // 2)]
    )
    assert [p.elapsed_s for p in prediction.phases] == pytest.approx([0.1, 3.0, 1.5])


def test_the_median_counts_and_the_range_holds_every_rehearsal() -> None:
    rehearsals = [rehearsal(0.5, 0.25), rehearsal(1.0, 0.25), rehearsal(0.5, 0.26)]
    prediction = predict_from_rehearsals(NativeSortPlan(2 * GB, 0), rehearsals)
    phase = prediction.phases[1]
    assert (phase.elapsed_s, phase.high_s) == (1.0, 2.0)
    assert phase.low_s == pytest.approx(1 - USUAL_ERROR)


def test_a_single_rehearsal_has_the_usual_error_as_its_range() -> None:
    prediction = predict_from_rehearsals(NativeSortPlan(2 * GB, 0), [rehearsal(0.5, 0.25)])
    assert prediction.elapsed_s is not None
    assert prediction.low_s == pytest.approx(prediction.elapsed_s * (1 - USUAL_ERROR))
    assert prediction.high_s == pytest.approx(prediction.elapsed_s * (1 + USUAL_ERROR))


def test_the_processor_binds_where_its_cores_never_waited() -> None:
    for computing, binding in ((0.95, "cpu"), (0.5, "storage")):
        rehearsals = [rehearsal(0.5, 0.25, computing=computing)]
        prediction = predict_from_rehearsals(NativeSortPlan(2 * GB, 0), rehearsals)
        assert [p.binding for p in prediction.phases[1:]] == [binding, binding]


@given(
    size=st.integers(1, 10**13),
    share=st.floats(0, 1),
    more=st.floats(1, 100),
    times=st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=4),
)
def test_more_data_or_more_spilling_is_never_faster(
    size: int, share: float, more: float, times: list[tuple[float, float]]
) -> None:
    rehearsals = [rehearsal(*each) for each in times]

    def elapsed_s(input_bytes: int, spilled: int) -> float:
        prediction = predict_from_rehearsals(NativeSortPlan(input_bytes, spilled), rehearsals)
        assert None not in (prediction.low_s, prediction.elapsed_s, prediction.high_s)
        assert prediction.low_s <= prediction.elapsed_s <= prediction.high_s  # type: ignore[operator]
        return prediction.elapsed_s  # type: ignore[return-value]

    once = elapsed_s(size, int(size * share))
    assert elapsed_s(size, size) >= once * (1 - 1e-9)
    assert elapsed_s(int(size * more), int(size * share)) >= once * (1 - 1e-9)


def test_impossible_rehearsals_are_refused() -> None:
    for make in (
        lambda: predict_from_rehearsals(NativeSortPlan(GB, 0), []),
        lambda: rehearsal(1.0, 1.0, spilled=2 * GB),
        lambda: rehearsal(1.0, 1.0, size=0),
        lambda: rehearsal(-1.0, 1.0),
    ):
        with pytest.raises(VenturiError) as caught:
            make()
        assert caught.value.code == "VEN-MODEL-INPUT"
