"""The programs with planted causes, and the figures of their diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.diagnosis.figures import HEAD, Pair, row, summary
from benchmarks.diagnosis.program import files, load
from venturi.jobs.diagnosis.table import load_rules

PAIR = Pair(
    name="spill",
    finding="spill",
    faulty_s=14.0,
    fixed_s=10.0,
    others=0.0,
    without_cause=0.02,
    found=("spill",),
    found_if_fixed=(),
    promised_s=(3.0, 5.0, 6.0),
    sentence="Use 8 partitions.",
)


@pytest.mark.parametrize("name", files())
def test_planted_cause_is_a_rule(name: str) -> None:
    assert load(name).finding in load_rules()


def test_row_has_a_cell_for_each_column() -> None:
    assert row(PAIR).count("|") == HEAD[0].count("|")


def test_summary_counts_named_causes_false_findings_and_kept_promises() -> None:
    second = replace(PAIR, found=("skew", "spill"), promised_s=(5.0, 6.0, 7.0))
    silent = replace(PAIR, name="skewed-join", finding="skew", found=(), promised_s=None)
    again = replace(PAIR, found_if_fixed=("spill", "skew"), others=0.4)
    lines = list(summary([PAIR, second, silent, again]))
    assert lines[:2] == ["named first: 2 of 4", "among the first two: 3 of 4"]
    assert "planted cause found in the fixed program: spill" in lines
    assert "findings in fixed programs: 2 in 4" in lines
    # 4 s saved: 0.8 of the 5 s promised, and 0.67 of 6 s; the pair on a busy machine is left out.
    assert lines[-1].endswith(
        "of 2 on an idle machine: median of saved to promised 0.73, ranges hold in 1"
    )
