"""The power of repeats: simulated factors, the necessary number of repeats, the wording."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from venturi.core.statistics.two_groups import ComparisonOutcome, compare_samples, least_p
from venturi.results.effects.design import (
    Design,
    RepeatSpread,
    factor,
    least_ratio,
    repeats_for,
    repeats_to_rank,
    spread_of,
)


@pytest.mark.parametrize(
    ("n", "k"), [(4, 2.87), (5, 2.23), (6, 1.94), (8, 1.57), (10, 1.34), (15, 1.09), (20, 0.92)]
)
def test_the_simulated_factors_are_kept(n: int, k: float) -> None:
    assert factor(n) == pytest.approx(k)
    assert least_ratio(n, 0.05) == pytest.approx(math.exp(k * 0.05))


def test_factors_fall_with_every_repeat_and_few_have_none() -> None:
    factors = [factor(n) for n in range(4, 200)]
    assert all(a is not None and b is not None and a > b for a, b in pairwise(factors))
    assert [factor(n) for n in (0, 1, 2, 3)] == [None] * 4
    assert all((least_p(n, n) > 0.05) == (factor(n) is None) for n in range(2, 12))


def test_a_difference_at_the_limit_is_found_in_four_cases_of_five() -> None:
    """The factor between two simulated sizes, against the test itself."""
    rng, n, sd = np.random.default_rng(7), 7, 0.1
    ratio = least_ratio(n, sd)
    assert ratio is not None
    found = 0
    for _ in range(300):
        a, b = np.exp(rng.normal(0, sd, n)), np.exp(rng.normal(math.log(ratio), sd, n))
        found += compare_samples(a.tolist(), b.tolist()).outcome is ComparisonOutcome.HIGHER
    assert found / 300 == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("sd", [0.01, 0.045, 0.2])
def test_the_repeats_needed_are_the_first_that_suffice(sd: float) -> None:
    n = repeats_for(1.05, sd)
    assert n is not None
    assert (least_ratio(n, sd) or math.inf) <= 1.05
    assert n == 4 or (least_ratio(n - 1, sd) or math.inf) > 1.05
    assert repeats_for(1.0001, 0.5) is None


def test_ranking_many_groups_takes_more_repeats() -> None:
    assert [repeats_to_rank(k) for k in (2, 4, 5, 13, 14, 47, 48, 172)] == [4, 4, 5, 5, 6, 6, 7, 7]


def test_the_spread_is_that_within_groups() -> None:
    groups = [[100.0, 110.0, 105.0], [1000.0, 1100.0, 1050.0], [7.0]]
    found = spread_of(groups)
    assert found is not None
    logs = [math.log(value) for value in groups[0]]
    assert found.sd == pytest.approx(np.std(logs, ddof=1))
    assert (found.trials, found.groups) == (6, 2)
    assert spread_of([[7.0], []]) is None


@pytest.mark.parametrize(
    ("design", "parts"),
    [
        (
            Design(3, 2, None),
            (
                "3 counted repetitions per group can't decide",
                "p = 0.1",
                "use 4 or more",
                "no repeats recorded so far",
                "4.5%",
            ),
        ),
        (
            Design(5, 2, RepeatSpread(0.047, 12, 3)),
            (
                "5 counted repetitions per group find a difference of 11% or more in 80% of cases",
                "5% takes 17",
                "spread 4.7%, of 12 earlier trials in 3 groups",
            ),
        ),
        (
            Design(5, 14, RepeatSpread(0.001, 12, 1)),
            ("difference of 0.22%", "ranking 14 groups takes 6 each", "in 1 group"),
        ),
        (Design(1, 2, None), ("1 counted repetition per group can't decide", "p = 1")),
    ],
)
def test_it_is_said_in_words(design: Design, parts: tuple[str, ...]) -> None:
    for part in parts:
        assert part in design.sentence, design.sentence
