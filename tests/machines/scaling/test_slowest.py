"""The slowest of N nodes against tabulated values, simulation and a published run."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from venturi.core.errors import VenturiError
from venturi.machines.scaling.slowest import expected_lowest, implied_deviation

FACTS = {
    row["quantity"]: float(row["value"])
    for row in csv.DictReader(
        (Path(__file__).parents[2] / "data/soc2015/facts.csv").read_text("utf-8").splitlines()
    )
}
MEAN = 1738e6  # B_storage of i2.8xlarge, from its published cost (tests/golden)
SLOWEST, NODES = FACTS["diskbench_slowest"] * 1e6, round(FACTS["indy_gray_vms"])


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (1, 0.0),
        (2, -1 / math.sqrt(math.pi)),
        (3, -1.5 / math.sqrt(math.pi)),
        (5, -1.1629644736),
        (10, -1.5387527308),
        (100, -2.5075936364),
        (1000, -3.2414357697),
    ],
)
def test_the_expected_minimum_of_normal_values_is_the_tabulated_one(
    nodes: int, expected: float
) -> None:
    assert expected_lowest(nodes) == pytest.approx(expected, abs=1e-9)


def test_the_published_slowest_of_178_is_what_a_spread_of_5_percent_makes() -> None:
    """1515 MB/s of a mean of 1738 (87 %): nodes that differ by 4.7 to 4.9 % do that."""
    assert (NODES, SLOWEST) == (178, 1515e6)
    assert pytest.approx(FACTS["diskbench_vs_baseline"], abs=0.5) == 100 * SLOWEST / MEAN
    deviation = implied_deviation(MEAN, SLOWEST, NODES)
    assert 0.046 < deviation / MEAN < 0.051
    drawn = np.random.default_rng(5).normal(MEAN, deviation, (20_000, NODES)).min(axis=1)
    assert drawn.mean() == pytest.approx(SLOWEST, rel=0.005)


def test_equal_nodes_stay_equal() -> None:
    assert implied_deviation(5, 5, 10) == 0


def test_impossible_inputs_are_refused() -> None:
    for call in (
        lambda: implied_deviation(1, 2, 10),
        lambda: implied_deviation(2, 1, 1),
        lambda: expected_lowest(0),
    ):
        with pytest.raises(VenturiError) as caught:
            call()
        assert caught.value.code == "VEN-MODEL-INPUT"
