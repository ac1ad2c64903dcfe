"""Ranking many groups: properties, the error rate by simulation, and ties."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import median
from venturi.results.compare.groups import Group, Key
from venturi.results.ranking.ranking import Axis, GroupRank, Objective, Rank, Ranking, rank_groups

times = st.lists(st.floats(1, 1e4), min_size=5, max_size=9)
many = st.lists(times, min_size=1, max_size=5)


def group_of(name: str, elapsed_s: Sequence[float], usd_per_hour: float | None = None) -> Group:
    cost = None if usd_per_hour is None else tuple(s * usd_per_hour / 3600 for s in elapsed_s)
    ids = tuple(f"{name}{index}" for index in range(len(elapsed_s)))
    return Group((name,), ids, tuple(elapsed_s), cost, None if cost is None else "USD")


def groups_of(samples: Sequence[Sequence[float]], price: float | None = None) -> list[Group]:
    return [group_of(f"g{index}", sample, price) for index, sample in enumerate(samples)]


def places(found: Sequence[GroupRank]) -> dict[object, tuple[int | None, Rank]]:
    return {one.key: (one.rank, one.standing) for one in found}


def worse(ranking: Ranking) -> set[Key]:
    """Keys of the groups that are found worse than the best."""
    return {one.key for one in ranking.groups if one.standing is Rank.WORSE}


@settings(deadline=None)
@given(many)
@example([[1.0, 1.0, 1.0, 2.0, 4.0], [3.0, 3.0, 5.0, 5.0, 1.0000000000000002]])
def test_rank_is_the_order_of_the_medians(samples: list[list[float]]) -> None:
    ranking = rank_groups(groups_of(samples), Objective.TIME)
    medians = [one.summaries[Axis.ELAPSED_S].median for one in ranking.groups]
    assert medians == sorted(medians, key=lambda m: m or 0)
    for one, middle in zip(ranking.groups, medians, strict=True):
        assert one.rank == 1 + sum(m < middle for m in medians if m and middle)
        assert (one.rank == 1) == (one.standing is Rank.BEST)
        assert (one.reason is None) == (one.standing in {Rank.BEST, Rank.WORSE})


@settings(deadline=None)
@given(many, st.randoms(use_true_random=False))
def test_the_order_in_which_groups_and_trials_come_does_not_matter(
    samples: list[list[float]], chance: random.Random
) -> None:
    groups = groups_of(samples, 2.0)
    shuffled = [
        group_of(g.key[0], chance.sample(g.elapsed_s, len(g.elapsed_s)), 2.0)  # type: ignore[arg-type]
        for g in chance.sample(groups, len(groups))
    ]
    for objective in Objective:
        one, other = rank_groups(groups, objective), rank_groups(shuffled, objective)
        assert [g.key for g in one.groups] == [g.key for g in other.groups]
        assert places(one.groups) == places(other.groups)


@settings(deadline=None)
@given(many, st.integers(-4, 4))
def test_a_factor_on_all_times_scales_medians_and_keeps_ranks(
    samples: list[list[float]], power: int
) -> None:
    factor = 2.0**power  # exact in floating point
    one = rank_groups(groups_of(samples), Objective.TIME)
    other = rank_groups(groups_of([[v * factor for v in s] for s in samples]), Objective.TIME)
    assert places(one.groups) == places(other.groups)
    for a, b in zip(one.groups, other.groups, strict=True):
        middle = a.summaries[Axis.ELAPSED_S].median
        assert middle is not None
        assert b.summaries[Axis.ELAPSED_S].median == middle * factor


@settings(deadline=None)
@given(many, st.floats(1, 1e4))
def test_a_trial_more_in_one_group_leaves_the_others_summaries(
    samples: list[list[float]], seconds: float
) -> None:
    one = rank_groups(groups_of(samples), Objective.TIME)
    other = rank_groups(groups_of([[*samples[0], seconds], *samples[1:]]), Objective.TIME)
    before = {g.key: g.summaries for g in one.groups}
    after = {g.key: g.summaries for g in other.groups}
    assert all(after[key] == before[key] for key in before if key != ("g0",))


@pytest.mark.parametrize(
    ("k", "n", "objective"),
    [
        (2, 6, Objective.TIME),
        (6, 8, Objective.TIME),
        (12, 9, Objective.COST),
        (6, 8, Objective.PARETO),
    ],
)
def test_the_best_is_kept_as_often_as_promised_when_all_are_alike(
    k: int, n: int, objective: Objective
) -> None:
    """The worst case: every group is the best one, and the lowest median is chance."""
    rng = np.random.default_rng(17)
    rounds = 1_800 // k
    lost = 0
    for _ in range(rounds):
        ranking = rank_groups(groups_of(rng.lognormal(5, 0.3, (k, n)).tolist(), 2.0), objective)
        lost += ("g0",) in worse(ranking)
    assert lost / rounds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds)


def test_the_best_is_kept_when_it_is_best_and_spreads_differ() -> None:
    """g0 takes 100 s and something; the others more of it, so that it tends to be the lowest."""
    rng = np.random.default_rng(23)
    rounds, lost = 200, 0
    for _ in range(rounds):
        extra = rng.exponential(1, (6, 9)) * np.array([[20, 22, 25, 30, 40, 80]]).T
        ranking = rank_groups(groups_of((100 + extra).tolist()), Objective.TIME)
        lost += ("g0",) in worse(ranking)
    assert lost / rounds <= 0.05


def test_what_is_clearly_worse_is_called_worse() -> None:
    rng = np.random.default_rng(3)
    samples = rng.lognormal(5, 0.1, (8, 10)) * np.array([[1, 1, 1, 2, 2, 2, 2, 2]]).T
    ranking = rank_groups(groups_of(samples.tolist()), Objective.TIME)
    assert {one.key for one in ranking.tie} == {("g0",), ("g1",), ("g2",)}
    worse = [one for one in ranking.groups if one.standing is Rank.WORSE]
    assert len(worse) == 5
    for one in worse:
        assert one.against == ranking.groups[0].key
        verdict = one.verdicts[Axis.ELAPSED_S]
        assert verdict.ratio == pytest.approx(2.0, abs=0.3)
        assert verdict.alpha == pytest.approx(2 * 0.05 / 7)


def test_pareto_keeps_who_is_fast_and_who_is_cheap() -> None:
    rng = np.random.default_rng(9)
    fast, cheap, bad = (rng.lognormal(math.log(m), 0.05, 10).tolist() for m in (100, 200, 260))
    near = [1.01 * seconds for seconds in cheap]
    groups = [
        group_of("fast", fast, 9),
        group_of("cheap", cheap, 2),
        group_of("bad", bad, 9),
        group_of("near", near, 2),
    ]
    ranking = rank_groups(groups, Objective.PARETO)
    standing = {one.key[0]: one.standing for one in ranking.groups}
    assert standing == {"fast": Rank.BEST, "cheap": Rank.BEST, "bad": Rank.WORSE, "near": Rank.TIED}
    assert {one.key[0]: one.rank for one in ranking.groups}["bad"] == 4
    bad_one = next(one for one in ranking.groups if one.key == ("bad",))
    assert set(bad_one.verdicts) == {Axis.ELAPSED_S, Axis.COST}


def test_objectives_differ_in_who_is_best() -> None:
    rng = np.random.default_rng(9)
    fast, cheap = (rng.lognormal(math.log(m), 0.02, 10).tolist() for m in (100, 200))
    groups = [group_of("fast", fast, 6), group_of("cheap", cheap, 2)]
    first = {o: rank_groups(groups, o).groups[0] for o in Objective}
    assert first[Objective.TIME].key == first[Objective.COST_TIME].key == ("fast",)
    assert first[Objective.COST].key == ("cheap",)
    found = first[Objective.COST_TIME].summaries[Axis.COST_TIME].median
    assert found == pytest.approx(median([s * s * 6 / 3600 for s in fast]))


def test_too_few_trials_get_no_place_and_no_say() -> None:
    lucky = group_of("lucky", [1.0, 1.0])
    rest = groups_of([[10.0, 11, 12, 13, 14], [20.0, 21, 22, 23, 24]])
    ranking = rank_groups([lucky, *rest], Objective.TIME)
    assert places(ranking.groups) == {
        ("g0",): (1, Rank.BEST),
        ("g1",): (2, Rank.WORSE),
        ("lucky",): (None, Rank.CANNOT_TELL),
    }
    last = ranking.groups[-1]
    assert last.reason is not None
    assert "2 kept trials" in last.reason
    assert last.key not in worse(ranking)
    assert ranking.each_alpha == 0.05  # one comparison: who is not ranked does not count


def test_many_small_groups_cannot_be_told_apart_however_far() -> None:
    samples = [[1000.0**i + j for j in range(5)] for i in range(1, 16)]
    ranking = rank_groups(groups_of(samples), Objective.TIME)
    assert [one.rank for one in ranking.groups] == list(range(1, 16))
    for one in ranking.groups[1:]:
        assert one.standing is Rank.CANNOT_TELL
        assert one.reason is not None
        assert "too few trials" in one.reason


def test_equal_medians_share_a_place() -> None:
    ranking = rank_groups(groups_of([[1.0, 2, 3, 4, 5], [2.0, 2, 3, 9, 9]]), Objective.TIME)
    assert [one.rank for one in ranking.groups] == [1, 1]
    assert len(ranking.tie) == 2


def test_cost_without_a_price_or_in_two_currencies() -> None:
    priced, free = group_of("priced", [1.0, 2, 3, 4, 5], 1.0), group_of("free", [1.0, 2, 3, 4, 5])
    ranking = rank_groups([priced, free], Objective.COST)
    assert ranking.groups[-1].reason == "the group has no price"
    assert ranking.groups[-1].rank is None
    assert ranking.currency == "USD"
    euro = Group(("euro",), priced.ids, priced.elapsed_s, priced.cost, "EUR")
    with pytest.raises(VenturiError) as caught:
        rank_groups([priced, euro], Objective.COST)
    assert caught.value.code == "VEN-MODEL-INPUT"
    assert rank_groups([priced, euro], Objective.TIME).currency is None


def test_bad_questions_are_refused() -> None:
    one = group_of("a", [1.0, 2, 3, 4, 5])
    with pytest.raises(VenturiError) as caught:
        rank_groups([one, one], Objective.TIME)
    assert caught.value.code == "VEN-COMPARE-GROUPS"
    with pytest.raises(VenturiError):
        rank_groups([one], Objective.TIME, alpha=1.0)
    assert rank_groups([], Objective.PARETO).groups == ()
