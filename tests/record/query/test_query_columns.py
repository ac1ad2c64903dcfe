"""Keys read for a few trials one by one, and for many whole: the answers are the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from venturi.record.query import columns, faceting, grouping
from venturi.record.query.conditions import parse_condition
from venturi.record.query.grouping import TooManyGroupsError
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

MakeTrial = Callable[..., Trial]
KEYS = ("disk", "hosts", "workload", "none", "state")


@pytest.mark.parametrize("conditions", [(), ("disk=SSD",), ("elapsed_s<3",)])
def test_few_and_many_trials_are_read_alike(
    repository: TrialRepository,
    make_trial: MakeTrial,
    monkeypatch: pytest.MonkeyPatch,
    conditions: tuple[str, ...],
) -> None:
    settings = [{"disk": ("SSD", "HDD", None)[n % 3], "maps": n % 4} for n in range(24)]
    repository.add_many(make_trial(configuration=each) for each in settings)
    asked = Query(tuple(map(parse_condition, conditions)))
    few = grouping.group_by(repository, asked, KEYS), faceting.facets(repository, asked, KEYS)
    monkeypatch.setattr(columns, "FEW", -1)
    many = grouping.group_by(repository, asked, KEYS), faceting.facets(repository, asked, KEYS)
    assert many == few
    assert sum(group.n for group in grouping.group_by(repository, Query(), ["maps", "disk"])) == 24


def test_too_many_values_of_one_column_are_refused_as_groups(
    repository: TrialRepository, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.add_many(make_trial(configuration={"run": number}) for number in range(4))
    monkeypatch.setattr(grouping, "GROUPS_MAX", 3)
    for key in ("id", "group", "run"):
        with pytest.raises(TooManyGroupsError, match="4 groups or more"):
            grouping.group_by(repository, Query(), [key])
