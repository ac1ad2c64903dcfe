"""Invariants of the equations: they scale, never reward less bandwidth, and refuse nonsense."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import io_cost
from venturi.core.errors import VenturiError
from venturi.machines.cost.job import nodes_for_capacity

sizes = st.floats(1, 1e15)
rates = st.floats(1, 1e12)
factors = st.floats(1.001, 1e3)


@given(size=sizes, storage=rates, network=rates, factor=factors)
def test_time_is_homogeneous(size: float, storage: float, network: float, factor: float) -> None:
    once = io_cost.sort_s(size, storage, network)
    assert io_cost.sort_s(size * factor, storage, network) == pytest.approx(once * factor)
    assert io_cost.sort_s(size, storage * factor, network * factor) == pytest.approx(once / factor)


@given(size=sizes, storage=rates, network=rates, factor=factors)
def test_more_bandwidth_is_never_slower_and_more_data_always_is(
    size: float, storage: float, network: float, factor: float
) -> None:
    once = io_cost.sort_s(size, storage, network)
    assert io_cost.sort_s(size, storage * factor, network) < once
    assert io_cost.sort_s(size, storage, network * factor) <= once
    assert io_cost.sort_s(size * factor, storage, network) > once


@given(size=sizes, storage=rates, network=rates)
def test_a_sort_is_bounded_by_storage_alone_and_by_no_overlap(
    size: float, storage: float, network: float
) -> None:
    alone = io_cost.sort_s(size, storage, math.inf)
    assert alone == pytest.approx(2 * size / storage)
    whole = io_cost.sort_s(size, storage, network)
    assert alone <= whole * (1 + 1e-12)
    assert whole <= (alone + size / network) * (1 + 1e-12)


@given(size=sizes, read=rates, write=rates, network=rates)
def test_replication_costs_at_most_two_writes(
    size: float, read: float, write: float, network: float
) -> None:
    plain = io_cost.sort_reduce_s(size, size, read, write)
    copied = io_cost.replicated_sort_sort_reduce_s(size, read, write, network)
    assert plain <= copied <= max(2 * plain, size / network)


@given(size=sizes, price=st.floats(0.001, 1e3), nodes=st.integers(1, 10_000), storage=rates)
def test_closed_form_needs_no_node_count(
    size: float, price: float, nodes: int, storage: float
) -> None:
    elapsed_s = io_cost.sort_s(size / nodes, storage, storage / 2)
    by_nodes = io_cost.cost_usd(price, elapsed_s, nodes)
    assert by_nodes == pytest.approx(io_cost.sort_cost_usd(size, price, storage, storage / 2))


@given(total=st.integers(1, 10**18), capacity=st.integers(1, 10**15), copies=st.integers(1, 5))
def test_nodes_are_the_fewest_that_hold_the_data(total: int, capacity: int, copies: int) -> None:
    nodes = nodes_for_capacity(total, capacity, copies)
    assert nodes * capacity >= copies * total
    assert nodes == 1 or (nodes - 1) * capacity < copies * total


def test_each_term_can_be_the_limit() -> None:
    assert io_cost.map_shuffle_s(10, 4, 1, 1, 1) == 10
    assert io_cost.map_shuffle_s(10, 4, 10, 0.5, 1) == 8
    assert io_cost.map_shuffle_s(10, 4, 10, 1, 0.1) == 40
    assert io_cost.sort_reduce_s(10, 4, 1, 1) == 10
    assert io_cost.sort_reduce_s(10, 4, 10, 1) == 4
    assert io_cost.replicated_sort_reduce_s(10, 4, 10, 1, 1) == 8
    assert io_cost.replicated_sort_reduce_s(10, 4, 10, 1, 0.1) == 40
    assert io_cost.volume_map_shuffle_s(10, 1, 2, 3) == 10
    assert io_cost.volume_sort_reduce_s(10, 5, 1) == 10
    assert io_cost.storage_bytes_per_s(3, 2) == 2


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: io_cost.sort_s(-1, 1, 1), "input_bytes"),
        (lambda: io_cost.sort_s(math.inf, 1, 1), "input_bytes"),
        (lambda: io_cost.sort_s(1, 0, 1), "read_bytes_per_s"),
        (lambda: io_cost.sort_s(1, 1, -2), "network_bytes_per_s"),
        (lambda: io_cost.sort_s(1, math.nan, 1), "read_bytes_per_s"),
        (lambda: io_cost.storage_bytes_per_s(1, 0), "write_bytes_per_s"),
        (lambda: io_cost.cost_usd(-0.1, 1, 1), "usd_per_node_hour"),
        (lambda: nodes_for_capacity(1, 0), "node_capacity_bytes"),
        (lambda: nodes_for_capacity(1, 1, 0), "copies"),
    ],
)
def test_inputs_outside_the_domain_are_refused(call: Callable[[], Any], field: str) -> None:
    with pytest.raises(VenturiError) as caught:
        call()
    assert caught.value.code == "VEN-MODEL-INPUT"
    assert caught.value.where["field"] == field
