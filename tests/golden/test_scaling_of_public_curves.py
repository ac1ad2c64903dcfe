"""Public curves: each point left out, foretold by the others.

The whole campaign, over more data and simulations, is `python -m benchmarks.models.curves`.
"""

from __future__ import annotations

import csv
from collections import defaultdict

import numpy as np
import pytest

from benchmarks.models.curves import Miss, curves_of, misses, simulated
from public_data import ImportedData, dataset
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import TrialColumns, trial_columns
from venturi.record.store.repository import TrialRepository
from venturi.results.scaling.curves import Points
from venturi.results.scaling.formulas import Meaning


@pytest.fixture(scope="module")
def scout() -> list[Miss]:
    times: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    with dataset("scout.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["completed"] == "True":
                job = f"{row['workload']} {row['framework']} {row['datasize']}"
                times[job][row["vm"]].append((float(row["n"]), float(row["t"])))
    jobs = [
        [Points.of(*map(list, zip(*points, strict=True))) for points in of_job.values()]
        for of_job in times.values()
    ]
    return list(misses(jobs, Meaning.RESOURCE))


def held(found: list[Miss], place: str) -> float:
    here = [miss for miss in found if miss.place == place and miss.half is not None]
    assert len(here) > 250
    return float(np.mean([abs(miss.curve) <= (miss.half or 0) for miss in here]))


@pytest.mark.parametrize("place", ["inside", "end"])
def test_ninety_per_cent_intervals_hold_the_trial_that_was_left_out(
    scout: list[Miss], place: str
) -> None:
    assert 0.86 <= held(scout, place) <= 0.94


def medians(found: list[Miss], place: str) -> tuple[float, float]:
    here = [miss for miss in found if miss.place == place]
    own, ernest = (
        float(np.median(np.abs(np.expm1(values))))
        for values in ([m.curve for m in here], [m.ernest for m in here])
    )
    return own, ernest


@pytest.mark.parametrize("place", ["inside", "end"])
def test_the_median_miss_is_at_most_ernests(scout: list[Miss], place: str) -> None:
    own, ernest = medians(scout, place)
    assert own < ernest


@pytest.fixture(scope="module")
def aloja_columns(aloja: ImportedData) -> TrialColumns:
    with TrialRepository.open(aloja.settings) as repository:
        return trial_columns(repository, Query(()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "x", ["file buffer", *(pytest.param(x, marks=pytest.mark.long) for x in ("maps", "block size"))]
)
def test_of_a_parameter_with_four_values_too(aloja_columns: TrialColumns, x: str) -> None:
    """Three points are left of most of ALOJA's curves: what foretells like ones best tells them."""
    jobs, meaning = curves_of(aloja_columns, f"ALOJA, {x}")
    found = list(misses(jobs, meaning, most=20))
    for place in ("inside", "end"):
        own, ernest = medians(found, place)
        assert own < ernest
        assert 0.86 <= held(found, place) <= 0.94


def test_one_in_ten_is_missed_by_over_seventy_per_cent_at_twice_what_was_measured(
    scout: list[Miss],
) -> None:
    """What the answers say of a time beyond what was measured, and why it has no interval."""
    beyond = [miss for miss in scout if miss.place == "twice"]
    assert len(beyond) > 50
    assert all(miss.half is None for miss in beyond)
    assert np.quantile(np.abs(np.expm1([miss.curve for miss in beyond])), 0.9) > 0.7


@pytest.mark.parametrize("name", ["Ernest", "line"])
def test_intervals_of_simulated_curves_hold(name: str) -> None:
    meaning = Meaning.RESOURCE if name == "Ernest" else Meaning.AMOUNT
    found = list(misses(simulated(name, 6, 120, 0.08), meaning, 5))
    here = [miss for miss in found if miss.place == "inside" and miss.half is not None]
    assert 0.86 <= np.mean([abs(miss.curve) <= (miss.half or 0) for miss in here]) <= 0.95
