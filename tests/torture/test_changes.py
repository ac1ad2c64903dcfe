"""When kills come: after each change as often, and never beyond what is known."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from torture.changes import Changes, Kill, follow

GAPS_S = {None: 1.0, "a": 0.5, "b": 2.5, "c": 4.0}


def changes() -> Changes:
    return Changes({"a": 1.0, "b": 1.5, "c": 4.0}, 8.0)


def test_kills_follow_each_change_as_often_and_come_before_the_next() -> None:
    chance = random.Random(1)
    kills = [changes().draw(chance) for _ in range(5_000)]
    after = Counter(kill.after for kill in kills)
    assert after.keys() == GAPS_S.keys()
    assert after[None] == pytest.approx(1_000, rel=0.15)
    assert all(after[change] == pytest.approx(4_000 / 3, rel=0.15) for change in "abc")
    assert all(0 <= kill.delay_s <= GAPS_S[kill.after] for kill in kills if kill.after)
    anywhere = [kill.delay_s for kill in kills if kill.after is None]
    assert min(anywhere) < 1 < 8 < max(anywhere) <= 8.8


def test_without_a_change_a_kill_lies_anywhere() -> None:
    nothing = Changes({}, 2.0)
    assert nothing.last is None
    kills = [nothing.draw(random.Random(seed)) for seed in range(100)]
    assert {kill.after for kill in kills} == {None}
    assert max(kill.delay_s for kill in kills) <= 2.2


def test_what_a_kill_cut_short_is_not_learnt() -> None:
    known = changes()
    known.learn(Changes({"a": 1.0, "b": 6.5}, 6.6), killed=True)
    kills = [known.draw(random.Random(seed)) for seed in range(2_000)]
    longest_s = {
        change: max(kill.delay_s for kill in kills if kill.after == change) for change in "abc"
    }
    # One fifth of the way from 0.5 to 5.5 s; the others as they were.
    assert longest_s == pytest.approx({"a": 1.5, "b": 2.5, "c": 4.0}, rel=0.02)


def test_it_is_killed_once_its_change_is_seen() -> None:
    stages = iter(["nothing", "nothing", "begun", "begun", "begun", "done"])
    ends: list[str] = []
    now = "nothing"

    def stage() -> str:
        nonlocal now
        now = next(stages, "done")
        return now

    seen = follow(
        stage,
        lambda: not ends and now != "done",
        Kill("begun", 0.0),
        lambda: ends.append(now),
        every_s=0.001,
    )
    assert ends == ["begun"]
    assert seen.last == "begun"
