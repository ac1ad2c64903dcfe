"""Verdicts in words, and differences of groups too big to hold all of them."""

import numpy as np
import pytest

from venturi.model.statistics import stats


def test_a_p_that_misses_alpha_is_not_called_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = stats.Interval(-8.0, -6.0, 0.999, "test")
    monkeypatch.setattr(stats, "_shift", lambda *_: (-7.0, interval))
    verdict = stats.compare_samples([10.0] * 9 + [11.0], [3.0, 4.0, 12.0, 13.0, 5.0], 0.01)
    assert verdict.outcome is stats.Outcome.CANNOT_TELL
    assert "misses the 0.01" in (verdict.reason or "")


@pytest.mark.parametrize("rounded", [False, True])
def test_differences_found_by_bounds_are_those_of_the_sorted_list(
    monkeypatch: pytest.MonkeyPatch, *, rounded: bool
) -> None:
    draw = np.random.default_rng(7)
    first, second = draw.lognormal(6, 1, 400), draw.lognormal(6.2, 1, 300)
    if rounded:
        first, second = np.round(first, -2), np.full(300, 500.0)
    every = np.sort(np.subtract.outer(second, first), axis=None)
    monkeypatch.setattr(stats, "MOST_DIFFERENCES", 1_000)
    ranks = (1, 54_321, len(every) // 2, len(every))
    found = stats._differences_at(first.tolist(), second.tolist(), ranks)
    assert found == [float(every[rank - 1]) for rank in ranks]
