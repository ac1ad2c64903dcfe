"""Bonds, caps and the memory cliff, each by itself."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.quantity import UNLIMITED, Quantity, ValueKind
from venturi.machines.cost.extensions import (
    bonded,
    capped,
    fit_memory_cliff,
    memory_cliff_s,
)

TEN_GBE = Quantity(
    1.25e9, 1.2e9, 1.25e9, ValueKind.ADVERTISED, "sheet", range_from="r", upper_bound=True
)


def rate(value: float, low: float | None = None, high: float | None = None) -> Quantity:
    return Quantity(value, low or value, high or value, ValueKind.MEASURED, "probe", note="disks")


@pytest.mark.parametrize(
    ("members", "units", "used"), [(1, 1, 1), (2, 1, 1), (2, 2, 2), (2, 4, 2), (4, 3, 3)]
)
def test_a_bond_reaches_as_many_members_as_there_are_units_to_spread(
    members: int, units: int, used: int
) -> None:
    bond = bonded(TEN_GBE, members, units)
    assert bond.value == used * TEN_GBE.value
    assert bond.high == used * TEN_GBE.high
    assert bond.low == TEN_GBE.low  # all on one member, in the worst case
    assert (bond.kind, bond.upper_bound) == (ValueKind.ADVERTISED, True)
    assert f"{units} virtual port" in bond.note
    assert ("one member" in bond.range_from) == (used > 1)


def test_a_bond_of_nothing_is_refused() -> None:
    for members, units in ((0, 1), (1, 0)):
        with pytest.raises(VenturiError, match="at least 1"):
            bonded(TEN_GBE, members, units)


def test_the_least_cap_binds_and_is_named() -> None:
    controller = Quantity(550.0, 500.0, 600.0, ValueKind.ADVERTISED, "sheet", upper_bound=True)
    found = capped(
        rate(900, 850, 950), {"storage controller": controller, "hypervisor": rate(700, 490, 800)}
    )
    assert (found.low, found.value, found.high) == (490, 550, 600)
    assert (found.kind, found.source, found.upper_bound) == (ValueKind.ADVERTISED, "sheet", True)
    assert "capped by the storage controller" in found.note
    assert "hypervisor" in found.range_from


def test_a_cap_that_does_not_bind_changes_nothing_but_the_ends_it_touches() -> None:
    disks = rate(500, 450, 650)
    assert capped(disks, {}) == disks
    assert capped(disks, {"volume": rate(700)}) == disks
    assert capped(disks, {"volume": UNLIMITED}) == disks
    touched = capped(disks, {"volume": replace(rate(600), upper_bound=True)})
    assert (touched.low, touched.value, touched.high) == (450, 500, 600)
    assert not touched.upper_bound
    hidden = capped(replace(disks, upper_bound=True), {"volume": rate(400)})
    assert hidden.upper_bound  # the rate behind it may be less than either


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(0, 50), st.floats(0, 50)), min_size=1))
def test_capping_is_the_minimum_at_each_end(ranges: list[tuple[float, float, float]]) -> None:
    made = [rate(v + less, v, v + less + more) for v, less, more in ranges]
    found = capped(made[0], {str(at): cap for at, cap in enumerate(made[1:])})
    for end in ("low", "value", "high"):
        assert getattr(found, end) == min(getattr(q, end) for q in made)


def test_a_cliff_is_two_lines_with_a_step_between() -> None:
    cliff = fit_memory_cliff([6, 1, 2, 3, 5, 4], [170, 11, 22, 30, 150, 130], 3.5)
    assert cliff.within_s_per_byte == pytest.approx(9.5)
    assert cliff.beyond_s_per_byte == pytest.approx(20)
    assert cliff.step_s == 100
    assert cliff.residuals_s == pytest.approx((-0.5, 1, -0.5, 0, 0, 0))
    assert memory_cliff_s(3.5, cliff) == pytest.approx(21 + 1.5 * 9.5)
    assert memory_cliff_s(math.nextafter(3.5, 4), cliff) == pytest.approx(150 - 1.5 * 20)
    assert memory_cliff_s(48, cliff) == pytest.approx(150 + 43 * 20)


def test_a_cliff_needs_two_sizes_a_side_and_does_not_go_far() -> None:
    for fits in (0.5, 1.0, 3.0, 4.0):
        with pytest.raises(VenturiError, match="needs two sizes") as caught:
            fit_memory_cliff([1, 2, 3, 4], [1, 2, 3, 4], fits)
        assert caught.value.code == "VEN-MODEL-INPUT"
    with pytest.raises(VenturiError, match="needs two sizes"):
        fit_memory_cliff([1, 1, 3, 4], [1, 2, 3, 4], 2)  # twice the same size is no line
    with pytest.raises(VenturiError, match="elapsed_s"):
        fit_memory_cliff([1, 2, 3, 4], [1, 2, 3], 2)
    with pytest.raises(VenturiError, match="sizes_bytes"):
        fit_memory_cliff([-1, 2, 3, 4], [1, 2, 3, 4], 2)
    cliff = fit_memory_cliff([1, 2, 3, 4], [1, 3, 9, 19], 2)
    with pytest.raises(VenturiError) as caught:
        memory_cliff_s(33, cliff)
    assert caught.value.code == "VEN-MODEL-RANGE"
    with pytest.raises(VenturiError, match="gives 0 s"):
        memory_cliff_s(0.5, cliff)
