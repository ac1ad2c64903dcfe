"""`venturi workloads`: every definition with its sizes, its parameters and its engines."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import venturi
from venturi.measure.workloads.definition import SCALES
from venturi.measure.workloads.registry import WORKLOADS


def test_every_workload_is_listed_with_growing_sizes(tmp_path: Path) -> None:
    done = venturi("workloads", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(done.stdout)["data"]}
    assert list(found) == [each.name for each in WORKLOADS]
    assert len({each["version"] for each in found.values()}) == len(found)
    for each in found.values():
        assert each["engines"], each["name"]
        assert list(each["scales"]) == list(SCALES)
        records = [size["records"] for size in each["scales"].values()]
        assert records == sorted(records), each["name"]
        named = {parameter["name"] for parameter in each["parameters"]}
        assert all(set(size["parameters"]) == named for size in each["scales"].values())


def test_one_workload_says_what_right_means(tmp_path: Path) -> None:
    done = venturi("workloads", "terasort", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "order, count and checksum" in done.stdout
    assert "3,200,000" in done.stdout  # records of HiBench's small


def test_a_workload_that_is_none(tmp_path: Path) -> None:
    done = venturi("workloads", "terasrot", home=tmp_path)
    assert done.returncode == 2
    assert "terasort" in done.stderr
