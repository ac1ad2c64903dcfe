"""Curves of time against nodes, data and settings: predictions, and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import Interval, Missing
from venturi.results.scaling.contexts import Context
from venturi.results.scaling.curves import (
    CurveFit,
    Points,
    fit_curve,
    shared_shape,
)
from venturi.results.scaling.formulas import Meaning
from venturi.results.scaling.meaning import meaning_of

NODES = [2.0, 4, 8, 16, 32]


def fitted(
    x: list[float], times: list[float], meaning: Meaning, others: tuple[Points, ...] = ()
) -> CurveFit:
    found = fit_curve(Points.of(x, times), meaning, others)
    assert isinstance(found, CurveFit), found
    return found


def amdahl(x: list[float], level: float = 1.0) -> list[float]:
    return [level * (30 + 400 / n) for n in x]


def test_the_formula_that_made_the_times_is_found_and_misses_nothing() -> None:
    x = [1.0, 2, 4, 8, 16, 32, 64]
    made = [10 + 600 / n + 2 * n for n in x]
    found = fitted(x, made, Meaning.RESOURCE)
    assert found.formula() == "t = 10 s + 600 s / x + 2 s * x"
    assert found.at([1, 17, 64]) == pytest.approx([612, 10 + 600 / 17 + 34, 10 + 600 / 64 + 128])
    assert found.missed == pytest.approx(0, abs=1e-6)


def test_a_line_of_time_against_data_in_words() -> None:
    found = fitted([1e9, 2e9, 5e9, 9e9], [13.0, 16, 25, 37], Meaning.AMOUNT)
    assert found.formula(1e9, "GB") == "t = 10 s + 3 s * x[GB]"
    assert found.at([4e9]) == pytest.approx([22])


def test_of_a_setting_nothing_is_assumed_but_half_of_its_trend() -> None:
    x = [1.0, 2, 4, 8]
    found = fitted(x, [100 * n**0.5 for n in x], Meaning.OTHER)
    assert str(found.formula()).endswith("x^0.250")


def test_an_amount_never_gets_terms_of_nodes() -> None:
    """Time that falls with more data: no term in 1 / x, so that nothing falls below its level."""
    found = fitted([1.0, 2, 4, 8], [80, 40, 20, 10], Meaning.AMOUNT)
    assert found.formula() is not None
    assert "/ x" not in str(found.formula())


def test_the_interval_is_of_one_trial_and_wider_at_the_ends() -> None:
    rng = np.random.default_rng(3)
    x = [2.0, 3, 4, 6, 8, 12, 16]
    truth = np.array(amdahl(x))
    held = {"inside": 0, "end": 0}
    rounds = 300
    for _ in range(rounds):
        noisy = truth * np.exp(rng.normal(0, 0.08, len(x)))
        found = fitted(x, noisy.tolist(), Meaning.RESOURCE)
        for place, at in (("inside", 5.0), ("end", 16.0)):
            one = (30 + 400 / at) * math.exp(rng.normal(0, 0.08))
            interval = found.interval(at)
            assert isinstance(interval, Interval)
            held[place] += interval.low <= one <= interval.high
    # The nominal level is 90 %; a measured end is predicted better than one left out.
    assert 0.88 <= held["inside"] / rounds <= 0.99
    assert 0.92 <= held["end"] / rounds <= 1
    middle, end = found.half(5.0), found.half(16.0)
    assert isinstance(middle, float)
    assert isinstance(end, float)
    assert end == pytest.approx(1.8 * middle)


def test_beyond_what_was_measured_there_is_no_interval_and_past_twice_no_time() -> None:
    found = fitted(NODES, amdahl(NODES), Meaning.RESOURCE)
    assert isinstance(found.interval(33), Missing)
    assert isinstance(found.interval(1.5), Missing)
    assert found.at([64]) == pytest.approx(amdahl([64]))
    with pytest.raises(VenturiError) as caught:
        found.at([65])
    assert caught.value.code == "VEN-MODEL-RANGE"


def test_two_points_borrow_the_shape_of_the_other_machine_types() -> None:
    others = tuple(Points.of(NODES, amdahl(NODES, level)) for level in (0.5, 0.8, 1.5, 2.0))
    alone = fit_curve(Points.of([4, 8], amdahl([4, 8])), Meaning.RESOURCE)
    assert isinstance(alone, Missing)
    assert "2 measured values of x" in alone.reason
    found = fitted([4, 8], amdahl([4, 8]), Meaning.RESOURCE, others)
    assert (found.coefficients, found.inside.borrowed) == (None, 1.0)
    assert found.at([4, 8]) == pytest.approx(amdahl([4, 8]), rel=0.05)
    assert found.at([16]) == pytest.approx(amdahl([16]), rel=0.15)
    one = fitted([8], amdahl([8], 3.0), Meaning.RESOURCE, others)
    assert one.at([8, 16]) == pytest.approx(amdahl([8, 16], 3.0), rel=0.15)
    assert isinstance(one.interval(8), Missing)


def test_what_others_share_counts_less_where_the_points_are_better_foretold_alone() -> None:
    rising = tuple(Points.of(NODES, [100.0 * n for n in NODES]) for _ in range(3))
    found = fitted(NODES, amdahl(NODES), Meaning.RESOURCE, rising)
    assert found.inside.borrowed < 0.01
    assert sum(found.inside) == pytest.approx(1)


def test_three_points_have_the_interval_of_ten_like_curves() -> None:
    rng = np.random.default_rng(8)
    x = [2.0, 4, 8, 16]

    def noisy() -> Points:
        return Points.of(x, (amdahl(x) * np.exp(rng.normal(0, 0.1, 4))).tolist())

    others = tuple(noisy() for _ in range(12))
    few = Points.of(x[:3], amdahl(x[:3]))
    found = fit_curve(few, Meaning.RESOURCE, others)
    assert isinstance(found, CurveFit)
    half = found.half(4)
    assert isinstance(half, float)
    assert 0.1 < half < 0.5  # about 1.6 times a noise of 10 %, plus the shape's error
    none = fit_curve(few, Meaning.RESOURCE, others[:9])
    assert isinstance(none, CurveFit)
    assert isinstance(none.half(4), Missing)


def test_three_points_take_the_formula_that_foretells_like_curves_best() -> None:
    """Each falls and rises in its own way: no shape of others says how, Ernest's terms do."""
    rng = np.random.default_rng(21)
    x = [1.0, 2, 4, 8]

    def valley(at: list[float], depth: float) -> Points:
        return Points.of(at, [20 + 200 * depth / n + 30 * (1 - depth) * n for n in at])

    others = tuple(valley(x, depth) for depth in rng.uniform(size=30))
    few = valley([1.0, 4, 8], 0.5)
    found = fit_curve(few, Meaning.OTHER, others)
    assert isinstance(found, CurveFit)
    assert found.inside.nodes > 0.5
    assert sum(found.inside) == pytest.approx(1)
    assert sum(found.ends) == pytest.approx(1)
    truth = float(valley([2.0], 0.5).elapsed_s[0])
    borrowed = float(np.exp(shared_shape(others).at(few, np.array([2.0])))[0])
    assert abs(found.at([2])[0] - truth) < 0.5 * abs(borrowed - truth)


def test_the_shape_without_a_curve_is_that_of_the_others() -> None:
    rng = np.random.default_rng(5)
    curves = [Points.of(NODES[: n + 2], rng.lognormal(3, 1, n + 2).tolist()) for n in range(4)]
    whole, rest = shared_shape(curves).without(curves[0]), shared_shape(curves[1:])
    assert whole.matrix == pytest.approx(rest.matrix)
    assert whole.vector == pytest.approx(rest.vector)
    assert whole.curves == rest.curves == 3


@settings(max_examples=60, deadline=None)
@example([1, 199, 200], [1.0, 5e4, 1.0], Meaning.OTHER)
@given(
    st.lists(st.integers(1, 200), min_size=3, max_size=12, unique=True),
    st.lists(st.floats(0.5, 5e4), min_size=12, max_size=12),
    st.sampled_from(Meaning),
)
def test_whatever_is_measured_the_curve_is_positive_and_inside_its_interval(
    x: list[int], times: list[float], meaning: Meaning
) -> None:
    found = fitted([float(n) for n in x], times[: len(x)], meaning)
    for at in np.linspace(min(x), max(x), 9).tolist():
        middle, interval = float(found.at([at])[0]), found.interval(at)
        assert 0 < middle < math.inf
        if isinstance(interval, Interval):
            assert interval.low <= middle <= interval.high
        else:
            assert len(x) == 3
    assert "t = " in str(found.formula())


def test_points_are_above_zero_and_each_once() -> None:
    for x, times in (([0, 1, 2], [1, 2, 3]), ([1, 2, 3], [1, 0, 3]), ([1, 1, 3], [1, 2, 3])):
        with pytest.raises(VenturiError):
            Points.of(x, times)


@pytest.mark.parametrize(
    ("meaning", "keys"),
    [
        (Meaning.RESOURCE, "hosts nodes instance_count slots maps spark.executor.cores threads"),
        (Meaning.AMOUNT, "input_bytes data_size_MB observations input_records iterations lines"),
        (
            Meaning.OTHER,
            "block_bytes io_file_buffer_bytes io_sort_factor k line_length "
            "memory_per_node replication spark.sql.shuffle.partitions",
        ),
    ],
)
def test_what_a_key_counts_is_told_by_its_name(meaning: Meaning, keys: str) -> None:
    assert {key: meaning_of(key) for key in keys.split()} == dict.fromkeys(keys.split(), meaning)


def at_nodes(rng: np.random.Generator, nodes: list[float], repeats: int) -> Context:
    """Times at each number of nodes, of trials that differ by 15 %."""
    noisy = [20 + 400 / n * np.ones(repeats) for n in nodes]
    noisy = [each * np.exp(0.15 * rng.standard_normal(repeats)) for each in noisy]
    return Context({}, tuple(nodes), tuple(tuple(sorted(each.tolist())) for each in noisy))


@pytest.mark.parametrize("repeats", [1, 3, 10, 30, 100])
def test_however_often_is_measured_nine_of_ten_further_trials_lie_in_the_interval(
    repeats: int,
) -> None:
    rng = np.random.default_rng([5, repeats])
    held = []
    for _ in range(300):
        found = fit_curve(at_nodes(rng, [1.0, 2, 4, 8, 16], repeats).points, Meaning.RESOURCE)
        assert isinstance(found, CurveFit)
        for at in (2.0, 3.0, 6.0, 8.0):
            interval = found.interval(at)
            assert isinstance(interval, Interval)
            further = (20 + 400 / at) * np.exp(0.15 * rng.standard_normal(10))
            held += ((interval.low <= further) & (further <= interval.high)).tolist()
    assert 0.86 <= np.mean(held) <= 0.95


def test_repeats_narrow_the_interval_of_a_median_but_not_that_of_one_trial() -> None:
    rng = np.random.default_rng(11)
    found = fit_curve(at_nodes(rng, NODES, 100).points, Meaning.RESOURCE)
    assert isinstance(found, CurveFit)
    one, median = found.half(8), found.half_of_median(8)
    assert isinstance(one, float)
    assert isinstance(median, float)
    assert median < 0.1
    assert 0.2 < one < 0.3  # 1.64 times 15 %


def test_three_points_tell_one_trial_by_the_repeats_of_like_curves() -> None:
    rng = np.random.default_rng(2)
    others = [at_nodes(rng, [2.0, 4, 8, 16], 30).points for _ in range(12)]
    few = at_nodes(rng, [2.0, 4, 8], 1).points
    found = fit_curve(few, Meaning.RESOURCE, others)
    assert isinstance(found, CurveFit)
    one, median = found.half(4), found.half_of_median(4)
    assert isinstance(one, float)
    assert isinstance(median, float)
    assert median < 0.2
    assert 0.23 < one < 0.35


@pytest.mark.parametrize(
    ("times", "least"), [([100.0, 50, 25, 12.5], 1e-3), ([10.0, 10, 10, 10], 0.1)]
)
def test_no_interval_is_narrower_than_times_are_told_apart_by(
    times: list[float], least: float
) -> None:
    """Of times in whole seconds that all are 10 s, a tenth."""
    made = Context({}, (1.0, 2.0, 4.0, 8.0), tuple((each,) for each in times)).points
    found = fit_curve(made, Meaning.RESOURCE)
    assert isinstance(found, CurveFit)
    interval = found.interval(3.0)
    assert isinstance(interval, Interval)
    middle = float(found.at([3.0])[0])
    assert interval.low <= middle * math.exp(-least)
    assert middle * math.exp(least) <= interval.high
