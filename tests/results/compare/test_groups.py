"""Groups of trials: who belongs where, what was discarded, which trial was fastest."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.machines.cost.price import Tariff
from venturi.record.query.grouping import GroupRow as FromQuery
from venturi.record.query.grouping import group_by
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial
from venturi.results.compare.groups import BestTrial, Group, best_of, groups_from, with_cost


@given(st.lists(st.integers(1, 9), min_size=1))
def test_the_fastest_is_a_trial_of_its_own_group(times: list[int]) -> None:
    group = Group(("a", 1), tuple(f"t{index}" for index in range(len(times))), tuple(times))
    best = best_of(group)
    assert isinstance(best, BestTrial)
    assert best.key == group.key
    assert best.elapsed_s == min(times) == times[group.ids.index(str(best.id))]
    assert best.n == len(times)


def test_groups_come_from_the_repositorys_query(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    measured = [("ssd", 3.0), ("disk", 5.0), ("ssd", 4.0)]
    with TrialRepository.open(settings) as repository:
        repository.add_many(
            make_trial(elapsed_s=seconds, configuration={"disk": disk})
            for disk, seconds in measured
        )
        found = groups_from(group_by(repository, Query(), ["configuration.disk"]))
    assert found == (Group(("ssd",), (), (3.0, 4.0)), Group(("disk",), (), (5.0,)))
    best = best_of(found[0])
    assert isinstance(best, BestTrial)
    assert (best.id, best.elapsed_s, best.n) == (None, 3.0, 2)


def test_a_group_that_comes_twice_is_refused() -> None:
    group = FromQuery(("a", 1), 1, {"succeeded": 1}, (3.0,))
    assert groups_from([group]) == (Group(("a", 1), (), (3.0,)),)
    with pytest.raises(VenturiError) as caught:
        groups_from([group, group])
    assert caught.value.code == "VEN-COMPARE-GROUPS"


def test_each_trial_has_its_own_cost() -> None:
    group = with_cost(Group(("a",), ("1", "2"), (1800.0, 3600.0)), Tariff(1.5, "EUR"), nodes=2)
    assert group.cost == (1.5, 3.0)
    assert group.currency == "EUR"
    best = best_of(group)
    assert isinstance(best, BestTrial)
    assert (best.id, best.cost, best.currency) == ("1", 1.5, "EUR")


@pytest.mark.parametrize("seconds", [0.0, math.nan])
def test_a_trial_without_a_time_is_refused(seconds: float) -> None:
    with pytest.raises(VenturiError, match="took") as caught:
        groups_from([FromQuery(("a", 1), 2, {"succeeded": 2}, (1.0, seconds))])
    assert caught.value.code == "VEN-MODEL-INPUT"
