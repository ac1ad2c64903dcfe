"""ALOJA's Table 2 by its own query, as the study's page shows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from public_data import dataset
from scripts.study_table2 import PAGE, TimedTrial, grouped, joined_on_time_alone, section
from venturi.core.statistics.stats import summarise
from venturi.results.compare.groups import BestTrial, best_of

# Few different times, so that they coincide between groups.
trials = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([1, 2]), st.integers(1, 9)), min_size=1
)


def timed(rows: list[tuple[str, int, int]]) -> list[TimedTrial]:
    return [
        TimedTrial(f"t{index}", (name, number), float(seconds))
        for index, (name, number, seconds) in enumerate(rows)
    ]


@given(trials)
def test_every_trial_is_in_the_group_of_its_full_key(rows: list[tuple[str, int, int]]) -> None:
    given_ = {each.id: each for each in timed(rows)}
    groups = grouped(timed(rows))
    assert sorted(trial for group in groups for trial in group.ids) == sorted(given_)
    for group in groups:
        for trial, seconds in zip(group.ids, group.elapsed_s, strict=True):
            assert given_[trial] == TimedTrial(trial, group.key, seconds)
        best = best_of(group)
        assert isinstance(best, BestTrial)
        assert (best.key, best.elapsed_s) == (group.key, min(group.elapsed_s))
        assert best.id in group.ids


@given(trials)
def test_the_query_is_right_only_by_luck(rows: list[tuple[str, int, int]]) -> None:
    minima = {group.key: min(group.elapsed_s) for group in grouped(timed(rows))}
    for one in joined_on_time_alone(timed(rows)):
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
    before = {g.key: g for g in grouped(timed(rows))}
    after = {g.key: g for g in grouped(timed([*rows, (name, number, seconds)]))}
    for key, group in before.items():
        if key != (name, number):
            assert summarise(after[key].elapsed_s) == summarise(group.elapsed_s)
            assert best_of(after[key]) == best_of(group)


@pytest.mark.slow
def test_the_page_has_the_table_of_the_public_trials() -> None:
    assert section(dataset("aloja_dataset4.csv")) in PAGE.read_text(encoding="utf-8")
