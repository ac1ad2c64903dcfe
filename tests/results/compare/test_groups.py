"""Groups of trials: who belongs where, what was discarded, which trial was fastest."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.core.statistics.stats import summarise
from venturi.machines.cost.price import Tariff
from venturi.record.query.grouping import Group as FromQuery
from venturi.record.query.grouping import group_by
from venturi.record.query.selection import Query
from venturi.record.store.repository import Repository
from venturi.record.trial import Trial
from venturi.results.compare.groups import (
    Best,
    Columns,
    Group,
    best_of,
    group_columns,
    groups_from,
    with_cost,
)
from venturi.results.compare.legacy import joined_on_time_alone

# Few different times, so that they coincide between groups.
trials = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([1, 2]), st.integers(1, 9)), min_size=1
)


def columns_of(rows: list[tuple[str, int, int]]) -> Columns:
    return Columns(
        tuple(f"t{index}" for index in range(len(rows))),
        tuple((name, number) for name, number, _ in rows),
        tuple(float(seconds) for *_, seconds in rows),
    )


@given(trials)
def test_every_trial_is_in_the_group_of_its_full_key(rows: list[tuple[str, int, int]]) -> None:
    columns = columns_of(rows)
    groups = group_columns(columns)
    assert sorted(trial for group in groups for trial in group.ids) == sorted(columns.ids)
    row_of = dict(zip(columns.ids, zip(columns.keys, columns.elapsed_s, strict=True), strict=True))
    for group in groups:
        for trial, seconds in zip(group.ids, group.elapsed_s, strict=True):
            assert row_of[trial] == (group.key, seconds)


@given(trials)
def test_the_fastest_is_a_trial_of_its_own_group(rows: list[tuple[str, int, int]]) -> None:
    for group in group_columns(columns_of(rows)):
        best = best_of(group)
        assert isinstance(best, Best)
        assert best.key == group.key
        assert best.id in group.ids
        assert best.elapsed_s == min(group.elapsed_s)
        assert best.n == len(group.ids)


@given(trials)
def test_the_legacy_query_is_right_only_by_luck(rows: list[tuple[str, int, int]]) -> None:
    columns = columns_of(rows)
    minima = {group.key: min(group.elapsed_s) for group in group_columns(columns)}
    for one in joined_on_time_alone(columns):
        assert one.id in one.candidates
        assert one.elapsed_s == minima[one.matched]
        assert one.wrong == (one.elapsed_s > minima[one.key])
        if list(minima.values()).count(one.elapsed_s) == 1 and one.matched == one.key:
            assert not one.wrong


@given(trials, st.integers(1, 9))
def test_a_trial_added_to_one_group_changes_no_other(
    rows: list[tuple[str, int, int]], seconds: int
) -> None:
    name, number, _ = rows[0]
    before = {g.key: g for g in group_columns(columns_of(rows))}
    after = {g.key: g for g in group_columns(columns_of([*rows, (name, number, seconds)]))}
    for key, group in before.items():
        if key != (name, number):
            assert summarise(after[key].elapsed_s) == summarise(group.elapsed_s)
            assert best_of(after[key]) == best_of(group)


def test_groups_come_from_the_repositorys_query(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    measured = [("ssd", 3.0), ("disk", 5.0), ("ssd", 4.0)]
    with Repository.open(settings) as repository:
        repository.add_many(
            make_trial(elapsed_s=seconds, configuration={"disk": disk})
            for disk, seconds in measured
        )
        found = groups_from(group_by(repository, Query(), ["configuration.disk"]))
    assert found == (Group(("ssd",), (), (3.0, 4.0)), Group(("disk",), (), (5.0,)))
    best = best_of(found[0])
    assert isinstance(best, Best)
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
    assert isinstance(best, Best)
    assert (best.id, best.cost, best.currency) == ("1", 1.5, "EUR")


@pytest.mark.parametrize(
    ("ids", "keys", "elapsed_s"),
    [
        (("1",), (("a",), ("a",)), (1.0,)),
        (("1", "2"), (("a",), ("a", 1)), (1.0, 2.0)),
        (("1",), (("a",),), (0.0,)),
        (("1",), (("a",),), (math.nan,)),
    ],
)
def test_columns_that_make_no_sense_are_refused(
    ids: tuple[str, ...], keys: tuple[tuple[str | int, ...], ...], elapsed_s: tuple[float, ...]
) -> None:
    with pytest.raises(VenturiError) as caught:
        Columns(ids, keys, elapsed_s)
    assert caught.value.code == "VEN-MODEL-INPUT"
