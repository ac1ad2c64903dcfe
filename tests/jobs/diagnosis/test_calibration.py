"""Expected savings and their ranges, from measured pairs."""

from __future__ import annotations

from math import sqrt

import pytest

from venturi.jobs.diagnosis.calibration import Calibration, MeasuredPair, measured_pairs


def pair(rule: str, program: str, saved_s: float, version: str = "4.3.0") -> MeasuredPair:
    return MeasuredPair(rule, program, version, 100.0, 10.0, saved_s)


def pairs(*saved_s: float, rule: str = "skew") -> list[MeasuredPair]:
    return [pair(rule, f"{rule} {n}", each) for n, each in enumerate(saved_s)]


def test_without_pairs_the_replay_stands_with_a_wide_range() -> None:
    found = Calibration(()).saving("skew", 10, 100, bound=False)
    assert found.expected_s == 10
    assert found.low_s < 10 / 3
    assert found.high_s > 30


def test_the_expected_saving_moves_to_what_this_rule_saved() -> None:
    found = Calibration(pairs(20, 20, 20, 20) + pairs(10, 10, 10, 10, 10, rule="spill"))
    assert found.saving("skew", 10, 100, bound=False).expected_s == pytest.approx(10 * 2**0.8)
    assert found.saving("spill", 10, 100, bound=False).expected_s == pytest.approx(10)
    assert found.saving("one-task", 10, 100, bound=False).expected_s == pytest.approx(10)


def test_the_range_is_wider_for_a_rule_with_fewer_pairs() -> None:
    found = Calibration(pairs(5, 7, 10, 14, 20, 8, 12, 9, 11, 10))
    many, none = (found.saving(rule, 10, 1000, bound=False) for rule in ("skew", "spill"))
    assert many.high_s / many.low_s < none.high_s / none.low_s
    assert none.low_s < 5 < 20 < none.high_s
    assert "10 of this kind" in many.method
    assert "none of this kind" in none.method


def test_versions_of_a_program_are_one_observation() -> None:
    both = [pair("skew", "join", 10.0), pair("skew", "join", 40.0, "3.5.9")]
    found = Calibration([*both, pair("spill", "sort", 10.0)])
    skew = found.saving("skew", 10, 100, bound=False)
    # One observation of a factor of 2, and the median of all: sqrt(2).
    assert skew.expected_s == pytest.approx(10 * sqrt(2 * sqrt(2)))


def test_a_bound_is_never_exceeded() -> None:
    found = Calibration(pairs(20, 20, 20)).saving("skew", 10, 100, bound=True)
    assert found.low_s <= found.expected_s <= found.high_s == 10


def test_a_pair_that_saved_nothing_has_a_finite_ratio() -> None:
    assert Calibration(pairs(-5, 10, 10)).saving("skew", 10, 100, bound=False).low_s > 0


def test_the_pairs_that_come_with_venturi_are_complete() -> None:
    known = measured_pairs()
    assert known
    assert all(each.replayed_s > 0 and each.elapsed_s > 0 for each in known)
    assert len({(each.program, each.engine_version) for each in known}) == len(known)
