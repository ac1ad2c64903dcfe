"""Answers about logs that lack events: what contradicts the whole log, and that nothing does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.dropped_events import answers, check, contradictions, damaged
from venturi.terminal.table import Table

DATA = Path(__file__).parents[1] / "data"
LOGS = [
    DATA / "spark/4.3.0" / name
    for name in (
        "parallel.zstd",
        "failing.zstd",
        "stream.zstd",
        "speculative.log",
        "killed.log.inprogress",
        "faults/executor-killed-faulty.zstd",
        "faults/skewed-join-faulty.zstd",
    )
]
WHOLE = DATA / "cases/dropped-events/whole.log"


def test_no_statement_about_a_damaged_log_contradicts_the_whole_one() -> None:
    found, wrong = check(LOGS, 3 * len(LOGS), seed=3)
    assert (found, wrong) == ([], 0)


@pytest.mark.parametrize(
    ("cell", "contradicts"),
    [("72", False), ("≥ 48", False), ("—", False), ("48", True), ("≥ 80", True), ("≤ 48", True)],
)
def test_a_figure_is_compared_by_its_bound(cell: str, contradicts: bool) -> None:
    whole = answers(WHOLE)
    stages = whole.tables["Stages"]
    place = stages.headings.index("attempts")
    rows = [(*row[:place], cell, *row[place + 1 :]) for row in stages.rows[:1]]
    changed = Table(stages.headings, stages.numeric, stages.prose, stages.spare, rows=rows)
    found = list(contradictions(replace(whole, tables={"Stages": changed}), whole))
    assert bool(found) == contradicts


def test_damage_is_repeatable_and_never_none() -> None:
    lines = WHOLE.read_bytes().splitlines()
    kept, gone = damaged(lines, 0.0001, seed=5)
    assert (kept, gone) == damaged(lines, 0.0001, seed=5)
    assert len(kept) == len(lines) - gone.total() < len(lines)
