"""Sizing: within disk, memory and time, or skipped with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.measure.studies import sizes as plan
from venturi.measure.studies.sizes import DataSize, DiskProbeSize, MeasuredRates, SkippedStep

SIZES = st.integers(0, 10**15)
SPEEDS = st.floats(1e5, 1e11)
RATES = st.builds(MeasuredRates, SPEEDS, SPEEDS, SPEEDS)
FAST = MeasuredRates(2e9, 2e9, 2e9)


@given(usable=SIZES, memory=SIZES, left_s=st.floats(-100, 10**5), rates=RATES)
def test_data_fits_everything_or_is_skipped(
    usable: int, memory: int, left_s: float, rates: MeasuredRates
) -> None:
    size = plan.data_size(usable, memory, left_s, rates)
    if isinstance(size, SkippedStep):
        assert size.reason
        return
    assert size.input_bytes % 100 == 0
    assert plan.MIN_DATA_BYTES <= size.input_bytes <= plan.MAX_DATA_BYTES
    assert 3 * size.input_bytes <= usable
    assert plan.in_memory_bytes(size.input_bytes) <= 0.7 * memory + 1
    assert size.input_bytes * plan.seconds_per_byte(rates) * plan.SAFETY <= left_s * 1.0001


@pytest.mark.parametrize(
    ("usable", "memory", "left_s", "limit"),
    [
        (3 * 10**8, 10**11, 1e6, "free disk"),
        (10**12, 10**9, 1e6, "memory"),
        (10**12, 10**11, 1.0, "time budget"),
        (10**12, 10**11, 1e6, "enough to know"),
    ],
)
def test_the_limit_is_named(usable: int, memory: int, left_s: float, limit: str) -> None:
    size = plan.data_size(usable, memory, left_s, FAST)
    assert isinstance(size, DataSize)
    assert size.limited_by == limit


def test_exact_size_by_disk() -> None:
    # A third of the usable space: input, scratch and output.
    size = plan.data_size(3 * 10**8, 10**11, 1e6, FAST)
    assert size == DataSize(10**8, "free disk")


def test_seconds_per_byte_by_hand() -> None:
    # 3/R + 2/W + 4/m with R = 1, W = 2, m = 4 bytes a second: 3 + 1 + 1.
    assert plan.seconds_per_byte(MeasuredRates(1.0, 2.0, 4.0)) == pytest.approx(5.0)


@given(usable=SIZES, budget_s=st.floats(5, 10**5), dirs=st.integers(1, 50))
def test_the_disk_probe_fits_disk_and_time(usable: int, budget_s: float, dirs: int) -> None:
    size = plan.disk_probe_size(usable, budget_s, dirs)
    if isinstance(size, SkippedStep):
        assert "MB" in size.reason or "B" in size.reason
        return
    assert isinstance(size, DiskProbeSize)
    assert 2 * dirs * size.bytes_per_dir <= usable
    assert size.bytes_per_dir >= plan.MIN_PROBE_BYTES
    measuring_s = size.max_seconds * size.iterations * plan.DISK_MEASUREMENTS
    assert measuring_s <= plan.DISK_SHARE * budget_s * 1.01


@given(budget_s=st.floats(0, 10**5))
def test_the_net_probe_takes_its_share_or_nothing(budget_s: float) -> None:
    seconds = plan.net_probe_seconds(budget_s)
    assert isinstance(seconds, SkippedStep) == (budget_s * plan.NET_SHARE < plan.NET_MIN_S)
    if isinstance(seconds, float):
        assert 0 < seconds <= 1
        assert seconds * plan.NET_MEASUREMENTS <= budget_s * plan.NET_SHARE * 1.01


@given(size=st.integers(1, 10**13), minimum=st.integers(1, 10**12))
def test_two_passes_spill_or_are_skipped(size: int, minimum: int) -> None:
    memory = plan.two_pass_bytes(size, minimum)
    if isinstance(memory, SkippedStep):
        assert minimum >= size or size // 4 >= size
    else:
        assert minimum <= memory < size


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, None),
        ({"memory_available_bytes": None}, None),
        ({"memory_available_bytes": 100}, 100),
        ({"memory_available_bytes": 100, "cgroup_memory_limit_bytes": 60}, 60),
        ({"memory_available_bytes": 100, "cgroup_memory_limit_bytes": 600}, 100),
        ({"memory_available_bytes": 100, "cgroup_memory_limit_bytes": "unlimited"}, 100),
        ({"memory_available_bytes": 100, "cgroup_memory_limit_bytes": None}, 100),
    ],
)
def test_available_memory(facts: dict[str, Any], expected: int | None) -> None:
    assert plan.available_memory_bytes(facts) == expected


def test_too_little_time_is_an_error() -> None:
    plan.require_time(5.0)
    with pytest.raises(VenturiError) as caught:
        plan.require_time(4.9)
    assert caught.value.code == "VEN-MEASURE-BUDGET"
