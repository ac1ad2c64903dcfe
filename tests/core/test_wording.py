"""Counted things, and suggestions for a misspelled name."""

from __future__ import annotations

import pytest

from venturi.core.wording import count_of, did_you_mean, near


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 trials"), (1, "1 trial"), (40_000, "40,000 trials")]
)
def test_one_is_not_many(count: int, told: str) -> None:
    assert count_of(count, "trial") == told


def test_a_plural_of_its_own() -> None:
    assert count_of(2, "query", "queries") == "2 queries"


def test_near_names_whatever_their_case_and_those_that_begin_so() -> None:
    known = ("terasort", "Terasort-skewed", "kmeans", "dl380/1", "dl380/2")
    assert near("TERASRT", known)[0] == "terasort"
    assert near("dl380", known) == ["dl380/1", "dl380/2"]
    assert near("zzz", known) == []


def test_a_hint_names_what_is_near_or_what_there_is() -> None:
    assert did_you_mean("kmean", ["kmeans", "pi"]) == "did you mean kmeans?"
    assert did_you_mean("zzz", ["kmeans", "pi"]) == "there are: kmeans, pi"
    assert did_you_mean("zzz", []) == "there are: none"
    many = [f"name{n}" for n in range(12)]
    assert did_you_mean("zzz", many, "it has").endswith("and 2 more")
