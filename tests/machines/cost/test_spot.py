"""Interruptible nodes: the closed form, the simulation, and when not to use them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines import catalog
from venturi.machines.cost.price import Tariff, metered
from venturi.machines.cost.spot import (
    MAX_DRAWS,
    expected_elapsed_s,
    expected_losses,
    simulated_elapsed_s,
    spot_cost,
    spot_of,
)

SPOT = Tariff(1.0, "USD", as_of=date(2026, 1, 1), source="spot list")
HOUR = 3600.0


def test_a_restart_from_scratch_takes_the_known_mean() -> None:
    """One hour of work, one loss per hour in the mean: (e - 1) hours, e - 1 losses."""
    assert expected_elapsed_s(HOUR, 100, 0.01) == pytest.approx(HOUR * (math.e - 1))
    assert expected_losses(HOUR, 100, 0.01) == pytest.approx(math.e - 1)


@pytest.mark.parametrize("loss", [0.01, 0.05, 1e-5, 0.1, 0.12])
def test_the_simulation_agrees_with_the_closed_form(loss: float) -> None:
    """Within five standard errors of its own mean, whichever of its two ways it goes."""
    drawn_s = simulated_elapsed_s(HOUR, 100, loss, trials=4000, seed=7)
    error_s = float(np.std(drawn_s)) / math.sqrt(drawn_s.size)
    expected_s = expected_elapsed_s(HOUR, 100, loss)
    assert drawn_s.min() >= HOUR
    assert np.mean(drawn_s) == pytest.approx(expected_s, abs=5 * error_s + 1e-6)


def test_both_ways_of_drawing_give_the_same_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many losses; lowering MAX_DRAWS selects the other method."""
    drawn_s = simulated_elapsed_s(HOUR, 100, 0.06, trials=4000)
    assert 4000 * expected_losses(HOUR, 100, 0.06) < MAX_DRAWS
    monkeypatch.setattr("venturi.machines.cost.spot.MAX_DRAWS", 0)
    other_s = simulated_elapsed_s(HOUR, 100, 0.06, trials=4000)
    for level in (0.5, 0.95):
        assert np.quantile(other_s, level) == pytest.approx(np.quantile(drawn_s, level), rel=0.08)
    mean_s = float(np.mean(simulated_elapsed_s(HOUR, 100, 0.06, trials=20_000)))
    assert mean_s == pytest.approx(expected_elapsed_s(HOUR, 100, 0.06), rel=0.02)


def test_the_chance_of_no_loss_is_the_poisson_one() -> None:
    drawn_s = simulated_elapsed_s(HOUR, 100, 0.005, trials=20_000)
    assert np.mean(drawn_s == HOUR) == pytest.approx(math.exp(-0.5), abs=0.015)


def test_a_seed_repeats_itself() -> None:
    first, again = (simulated_elapsed_s(HOUR, 100, 0.01, seed=3) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, simulated_elapsed_s(HOUR, 100, 0.01, seed=4))


def test_the_cost_goes_by_the_time() -> None:
    cost = spot_cost(SPOT, HOUR, 100, 0.001)
    assert cost.do_not_use is None
    assert cost.elapsed_s is not None
    assert cost.metered is not None
    assert cost.elapsed_s.p50 == HOUR  # most sorts lose no node
    assert cost.metered.mean == pytest.approx(100 * cost.elapsed_s.mean / HOUR)
    assert any("all work" in line for line in cost.assumptions)


def test_a_job_that_never_ends_says_so() -> None:
    cost = spot_cost(SPOT, 100 * HOUR, 1000, 0.1)
    assert (cost.elapsed_s, cost.metered, cost.billed, cost.losses) == (None, None, None, None)
    assert cost.do_not_use is not None
    assert "more than a year" in cost.do_not_use


def test_billed_stands_beside_metered() -> None:
    by_hour = replace(SPOT, granularity_s=HOUR)
    cost = spot_cost(by_hour, 0.5 * HOUR, 10, 0.01)
    assert cost.billed is not None
    assert cost.metered is not None
    assert cost.billed.p50 == pytest.approx(10)
    assert cost.metered.p50 == pytest.approx(5)
    for name in ("mean", "p50", "p95"):
        assert getattr(cost.billed, name) >= getattr(cost.metered, name)
    unknown = replace(SPOT, granularity_s=None, not_billed="not said")
    assert spot_cost(unknown, HOUR, 10, 0.01).billed is None


def test_the_catalogue_gives_price_and_rate_of_loss() -> None:
    header = ",".join(c for c in catalog.COLUMNS if c not in {"low", "high"})
    price = "x,spot_price,0.6,USD/h,advertised,list,2026-01-01,"
    rate = "x,spot_loss_rate,0.02,1/h,measured,us,2026-01-01,"

    def entry(*lines: str) -> catalog.InstanceType:
        return catalog.parse("\n".join([header, *lines]), "test").types["x"]

    both = spot_of(entry(price, rate))
    assert both is not None
    assert (both[0].per_hour, both[1]) == (0.6, 0.02)
    assert spot_of(entry(price)) is None
    assert spot_of(entry(rate)) is None


def test_values_outside_the_domain_are_refused() -> None:
    for action in (
        lambda: spot_cost(SPOT, 1.0, 1, -1.0),
        lambda: spot_cost(SPOT, 1.0, 1, math.nan),
        lambda: expected_elapsed_s(-1.0, 1, 0.1),
        lambda: expected_elapsed_s(1.0, math.inf, 0.1),
        lambda: simulated_elapsed_s(1.0, 1, 0.1, trials=0),
    ):
        with pytest.raises(VenturiError) as caught:
            action()
        assert caught.value.code == "VEN-MODEL-INPUT"


WORK, NODES, LOSS = st.floats(0, 1e6), st.integers(0, 2000), st.floats(0, 1.0)


@given(WORK, NODES, LOSS)
def test_losses_never_make_a_job_cheaper(work_s: float, nodes: int, loss: float) -> None:
    cost = spot_cost(SPOT, work_s, nodes, loss)
    if cost.elapsed_s is None or cost.metered is None:
        assert cost.do_not_use
        return
    assert cost.elapsed_s.mean >= work_s
    assert cost.metered.mean >= cost.without_loss * (1 - 1e-12)
    assert cost.elapsed_s.p95 >= cost.elapsed_s.p50 >= work_s
    assert cost.without_loss == metered(SPOT, work_s, nodes)


@given(st.floats(1, 1e5), st.integers(1, 500), st.floats(1e-6, 0.1), st.floats(1, 3))
def test_more_losses_or_more_nodes_never_help(
    work_s: float, nodes: int, rate: float, factor: float
) -> None:
    before = expected_elapsed_s(work_s, nodes, rate)
    assert expected_elapsed_s(work_s, nodes, rate * factor) >= before * (1 - 1e-9)
    assert expected_elapsed_s(work_s, nodes + 1, rate) >= before * (1 - 1e-9)
