"""Figures from recorded numbers; verdicts; the table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import figures, rows
from benchmarks.__main__ import SUITES
from benchmarks.figures import Bar, FigureRow
from benchmarks.report import table

AT_MOST = FigureRow("a", "time / floor", "x", Bar(high=1.15))
NEAR = FigureRow("n", "us / fio", "x", Bar(low=0.95, high=1.05))


def test_two_pass_floor_of_a_worked_example() -> None:
    # 4 GB read twice and written twice at 1.0 + 0.9 GB/s cannot take less than 16/1.9 s.
    over = figures.time_over_mixed_floor(9.0, 8e9, 8e9, 1.0e9, 0.9e9)
    assert over == pytest.approx(9.0 / (16 / 1.9))


def test_in_memory_floor_is_reading_then_writing() -> None:
    over = figures.time_over_alone_floor(5.5, 4e9, 1.25e9, 2.0e9)
    assert over == pytest.approx(5.5 / (3.2 + 2.0))


def test_cpu_and_rates() -> None:
    assert figures.core_ns_per_record(3.2, 40_000_000) == pytest.approx(80.0)
    assert figures.gb_per_core_s(4e9, 1.6) == pytest.approx(2.5)
    assert figures.relative_error(9.0, 10.0) == pytest.approx(0.1)
    assert figures.relative_error(11.0, 10.0) == pytest.approx(0.1)


def test_a_ratio_is_of_pairs_not_of_medians() -> None:
    # The machine became twice as slow half way: every pair still says 2.
    peer, ours = [2.0, 2.2, 2.4, 4.0, 4.4], [1.0, 1.1, 1.2, 2.0, 2.2]
    fig = figures.ratio_figure(AT_MOST, peer, ours)
    assert fig.value == pytest.approx(2.0)
    assert fig.low == pytest.approx(2.0)
    assert fig.high == pytest.approx(2.0)


def test_unequal_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        figures.ratio_figure(AT_MOST, [1.0, 2.0], [1.0])


def test_interval_holds_the_median_and_needs_five_rounds() -> None:
    fig = figures.figure(AT_MOST, [1.02, 1.10, 1.05, 1.30, 1.08])
    assert fig.value == 1.08
    assert fig.low is not None
    assert fig.high is not None
    assert 1.02 <= fig.low <= 1.08 <= fig.high <= 1.30
    few = figures.figure(AT_MOST, [1.0, 2.0])
    assert (few.value, few.low) == (1.5, None)
    assert "at least 5" in few.note


def test_no_iterations_is_missing_not_zero() -> None:
    fig = figures.figure(AT_MOST, [])
    assert fig.value is None
    assert figures.verdict(fig).startswith("not measured: ")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.0, 1.0, 1.0, 1.0], "met"),
        ([1.38, 1.38, 1.38, 1.38, 1.38], "missed by 20.0 %"),
        ([1.0, 1.1, 1.14, 1.2, 1.3], "met; the interval crosses the bar"),
        ([1.0, 1.1, 1.16, 1.2, 1.3], "missed by 0.9 %; the interval crosses the bar"),
    ],
)
def test_verdicts(values: list[float], expected: str) -> None:
    assert figures.verdict(figures.figure(AT_MOST, values)) == expected


def test_a_two_sided_bar_misses_on_both_sides() -> None:
    assert "missed by 5.3 %" in figures.verdict(figures.figure(NEAR, [0.90] * 5))
    assert "missed by 4.8 %" in figures.verdict(figures.figure(NEAR, [1.10] * 5))
    assert figures.verdict(figures.figure(NEAR, [1.0] * 5)) == "met"


def test_other_sizes_and_rows_without_bar_are_not_judged() -> None:
    fig = figures.figure(AT_MOST, [1.0] * 5)
    assert figures.verdict(fig, scale=0.25) == "not judged (scale 0.25)"
    assert figures.verdict(figures.figure(FigureRow("i", "i", "x"), [1.0] * 5)) == "no bar"


def test_fastest_is_by_median() -> None:
    assert figures.fastest({"a": [1.0, 9.0, 9.0], "b": [5.0, 5.0, 5.0]}) == "b"


@given(st.lists(st.text(), min_size=1, max_size=6, unique=True), st.integers(0, 50))
def test_every_turn_has_everyone_once_and_all_lead_in_turn(names: list[str], turn: int) -> None:
    assert sorted(figures.rotated(names, turn)) == sorted(names)
    firsts = {figures.rotated(names, turn + step)[0] for step in range(len(names))}
    assert firsts == set(names)


def test_every_suite_has_rows_and_keys_are_unique() -> None:
    assert set(SUITES) == set(rows.ROWS)
    keys = [row.key for group in rows.ROWS.values() for row in group]
    assert len(keys) == len(set(keys))


def test_the_table_shows_reason_interval_and_bar() -> None:
    text = table(
        [figures.figure(AT_MOST, [1.0] * 5, "a|b"), figures.missing(NEAR, "fio is not there")], 1.0
    )
    assert "| time / floor | 1.00 | 1.00 to 1.00 | <= 1.15 | met | a\\|b |" in text
    assert "| us / fio | — | — | 0.95 to 1.05 | not measured: fio is not there |" in text
