"""The native sort's prediction: formulas, bounds, monotony, and missing values of a trial."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_trials import MakeTrial
from venturi.core.errors import VenturiError
from venturi.machines.cost.predict import (
    DiskRate,
    DiskRates,
    NativeSortPlan,
    disk_rates_from_trial,
    predict_native_sort,
)
from venturi.record.trial import Failure, Sample, State

GB = 10**9


def rate(bytes_per_s: float, spread: float = 0.1) -> DiskRate:
    return DiskRate(bytes_per_s, bytes_per_s * (1 - spread), bytes_per_s * (1 + spread))


RATES = DiskRates(
    read=rate(2e9),
    write=rate(4e9),
    mixed_read=rate(1e9),
    mixed_write=rate(1e9),
    mixed_total=rate(2e9),
)


def elapsed_s(size: int, spilled: int, rates: DiskRates = RATES) -> float:
    value = predict_native_sort(NativeSortPlan(size, spilled), rates).elapsed_s
    assert value is not None
    return value


def test_in_memory_reads_once_and_writes_once() -> None:
    prediction = predict_native_sort(NativeSortPlan(8 * GB, 0), RATES)
    assert [p.elapsed_s for p in prediction.phases] == [4.0, 2.0]
    assert prediction.elapsed_s == 6.0
    assert prediction.low_s == pytest.approx(6 / 1.1)
    assert prediction.high_s == pytest.approx(6 / 0.9)
    assert prediction.missing_reason is None
    assert prediction.assumptions


def test_hybrid_shares_the_device_while_it_spills() -> None:
    plan = NativeSortPlan(8 * GB, 6 * GB)
    assert plan.retained_bytes == 2 * GB
    prediction = predict_native_sort(plan, RATES)
    # (D-S)/R + 2S/m = 1 + 6; 2S/m + (D-S)/W = 6 + 0.5
    assert [p.elapsed_s for p in prediction.phases] == [7.0, 6.5]
    assert [p.phase for p in prediction.phases] == ["map+shuffle", "sort+reduce"]


@given(
    size=st.integers(1, 10**13),
    share=st.floats(0, 1),
    more=st.floats(1, 100),
    read=st.floats(1e6, 1e10),
    write=st.floats(1e6, 1e10),
    mixed=st.floats(0.1, 1),
)
def test_more_data_or_more_spilling_is_never_faster(
    size: int, share: float, more: float, read: float, write: float, mixed: float
) -> None:
    # One device: while doing both, no faster in total than the slower of the two alone.
    rates = DiskRates(rate(read), rate(write), mixed_total=rate(mixed * min(read, write)))
    spilled = int(size * share)
    once = elapsed_s(size, spilled, rates)
    larger = int(size * more)
    assert elapsed_s(larger, spilled, rates) >= once * (1 - 1e-9)
    assert elapsed_s(larger, int(spilled * more), rates) >= once * (1 - 1e-6) - 1e-3
    assert elapsed_s(size, size, rates) >= once * (1 - 1e-9)
    prediction = predict_native_sort(NativeSortPlan(size, spilled), rates)
    assert prediction.low_s is not None
    assert prediction.high_s is not None
    assert prediction.low_s <= once <= prediction.high_s


def test_a_missing_rate_leaves_no_prediction_but_a_reason() -> None:
    rates = DiskRates(read=rate(1e9), missing={"write": "the disk was full"})
    prediction = predict_native_sort(NativeSortPlan(GB, 0), rates)
    assert prediction.phases[0].elapsed_s == 1.0
    assert (prediction.elapsed_s, prediction.low_s, prediction.high_s) == (None, None, None)
    assert prediction.missing_reason == "the disk was full"
    spilling = predict_native_sort(NativeSortPlan(GB, GB), rates)
    assert spilling.missing_reason == "no mixed total rate given"


@pytest.mark.parametrize("spilled", [-1, 11])
def test_impossible_plans_and_rates_are_refused(spilled: int) -> None:
    with pytest.raises(VenturiError) as caught:
        NativeSortPlan(10, spilled)
    assert caught.value.code == "VEN-MODEL-INPUT"
    for values in ((0.0, 0.0, 0.0), (3.0, 1.0, 2.0)):
        with pytest.raises(VenturiError):
            DiskRate(*values)


def sample(metric: str, value: float | None, iteration: int, **labels: str | int | None) -> Sample:
    settings = {"dir": None, "block_bytes": 4194304, "queue_depth": 4, "iteration": iteration}
    return Sample(
        metric,
        value,
        "B/s",
        labels=settings | labels,
        missing_reason="interrupted" if value is None else None,
    )


def test_rates_come_from_the_trials_iterations(make_trial: MakeTrial) -> None:
    samples = [sample("disk_read_bytes_per_s", v, i) for i, v in enumerate([1e9, 3e9, 2e9])]
    samples += [sample("disk_read_bytes_per_s", 9e9, i, block_bytes=4096) for i in range(3)]
    samples += [sample("disk_read_bytes_per_s", 8e9, i, dir="/one") for i in range(3)]
    samples += [sample("disk_mixed_read_bytes_per_s", v, i) for i, v in enumerate([5e8, 1e9])]
    samples += [sample("disk_mixed_write_bytes_per_s", v, i) for i, v in enumerate([1e9, 4e8])]
    samples += [sample("disk_write_bytes_per_s", None, 0)]
    trial = make_trial(samples=tuple(samples))
    rates = disk_rates_from_trial(trial)
    assert rates.read == DiskRate(2e9, 1e9, 3e9)
    # Reading and writing trade off within an iteration, so the sum varies less than its parts.
    assert rates.mixed_total == DiskRate(1.45e9, 1.4e9, 1.5e9)
    assert rates.write is None
    assert rates.missing["write"] == "interrupted"


def test_the_only_directory_stands_for_all(make_trial: MakeTrial) -> None:
    trial = make_trial(samples=(sample("disk_read_bytes_per_s", 1e9, 0, dir="/d"),))
    assert disk_rates_from_trial(trial).read == DiskRate(1e9, 1e9, 1e9)


def test_rates_of_a_failed_trial_are_refused(make_trial: MakeTrial) -> None:
    failed = make_trial(state=State.FAILED, failure=Failure("space", "VEN-X", "full"))
    with pytest.raises(VenturiError) as caught:
        disk_rates_from_trial(failed)
    assert caught.value.code == "VEN-MODEL-INPUT"
