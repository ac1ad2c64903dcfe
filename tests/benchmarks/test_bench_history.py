"""`--history`: figures over time, out of results kept as the benchmark keeps them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench import REPOSITORY
from benchmarks.history import load, points, table

RESULTS = REPOSITORY / "benchmarks" / "results"
LOW = {"low": None, "high": 1.15}
HIGH = {"low": 3.0, "high": None}
NEAR = {"low": 0.95, "high": 1.05}


def result(
    day: int,
    value: float | None,
    interval: tuple[float, float] | None = None,
    bar: dict[str, float | None] | None = LOW,
    **changes: Any,
) -> dict[str, Any]:
    low, high = interval or (None, None)
    row = {"key": "sort.time", "title": "time / floor", "unit": "x", "bar": bar}
    return {
        "measured_at": f"2026-01-0{day}",
        "scale": 1.0,
        "versions": {"git": f"c{day}"},
        "figures": [{"row": row, "value": value, "low": low, "high": high}],
        **changes,
    }


def marks(*results: dict[str, Any]) -> list[bool]:
    lines = table(points(results, ["sort"])).splitlines()[2:]
    return ["regression" in line for line in lines]


@pytest.mark.parametrize(
    ("bar", "before", "after", "is_regression"),
    [
        (LOW, 1.0, 1.2, True),
        (LOW, 1.2, 1.0, False),
        (LOW, 1.0, 1.05, False),  # within what chance explains
        (HIGH, 4.0, 3.0, True),
        (HIGH, 3.0, 4.0, False),
        (NEAR, 1.0, 1.2, True),
        (NEAR, 1.2, 1.0, False),
        (None, 1.0, 9.0, False),  # no bar says which way is worse
    ],
)
def test_worse_by_more_than_a_tenth_is_a_regression(
    bar: dict[str, float | None] | None, before: float, after: float, is_regression: bool
) -> None:
    assert marks(result(1, before, bar=bar), result(2, after, bar=bar)) == [False, is_regression]


def test_intervals_decide_where_there_are_some() -> None:
    apart = result(1, 1.00, (0.99, 1.01)), result(2, 1.04, (1.03, 1.05))
    together = result(1, 1.0, (0.8, 1.3)), result(2, 1.2, (1.1, 1.4))
    assert marks(*apart) == [False, True]
    assert marks(*together) == [False, False]


def test_what_does_not_compare_is_left_out() -> None:
    small = result(2, 9.0, scale=0.25)
    missing = result(3, None)
    lines = table(points([result(1, 1.0), small, missing, result(4, 1.1)], ["sort"])).splitlines()
    assert [line.split("|")[3].strip() for line in lines[2:]] == ["c1", "c4"]
    assert "| 1.10 |" in lines[-1]
    assert points([result(1, 1.0)], ["disk"]) == {}


def test_the_command_reads_the_kept_results_and_measures_nothing(tmp_path: Path) -> None:
    for day, value in ((1, 1.0), (2, 1.3)):
        (tmp_path / f"2026-01-0{day}.json").write_text(json.dumps(result(day, value)))
    command = [sys.executable, "-m", "benchmarks", "--history", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "| c2 | 1.30 | — | <= 1.15 | 1.30 | **regression** |" in done.stdout
    assert len(list(tmp_path.iterdir())) == 2


def test_history_reads_removed_results_from_git(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True)

    git("init", "--quiet")
    for day in (1, 2, 3):
        (tmp_path / f"2026-01-0{day}.json").write_text(json.dumps(result(day, 1.0)))
    git("add", ".")
    git("commit", "--quiet", "--message", "Measure")
    git("rm", "--quiet", "2026-01-02.json")
    git("commit", "--quiet", "--message", "Remove")
    assert [found["measured_at"] for found in load(tmp_path)] == [
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
    ]


def test_the_tree_keeps_only_the_latest_result_of_each_suite() -> None:
    kept = sorted(RESULTS.glob("*.json"))
    latest = {suite: path for path in kept for suite in json.loads(path.read_text())["suites"]}
    assert set(kept) == set(latest.values())
