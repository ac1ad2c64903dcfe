"""Conditions on trials: grammar and effect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from venturi.record.query import counting, paging
from venturi.record.query.checks import conditions_for
from venturi.record.query.conditions import Condition, Op, parse_condition, written
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial, Workload

MakeTrial = Callable[..., Trial]
DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("workload=sort", Condition("workload", Op.ONE_OF, ("sort",))),
        ("workload=2", Condition("workload", Op.ONE_OF, ("2",))),
        ("hosts>=3", Condition("hosts", Op.AT_LEAST, (3,))),
        ("elapsed_s<1.5e2", Condition("elapsed_s", Op.BELOW, (150.0,))),
        ("warm_up=false", Condition("warm_up", Op.ONE_OF, (False,))),
        ("disk=", Condition("disk", Op.MISSING)),
        ("disk=a=b", Condition("disk", Op.ONE_OF, ("a=b",))),
        ("configuration.hosts=3", Condition("configuration.hosts", Op.ONE_OF, ("3",))),
        ("threads<=8", Condition("threads", Op.AT_MOST, (8.0,))),
        ("started_at>2026-03-01T00:00+00:00", Condition("started_at", Op.ABOVE, (DAY,))),
        ("started_at>=2026-03-01", Condition("started_at", Op.AT_LEAST, (DAY,))),
        ("disk!=HDD", Condition("disk", Op.NONE_OF, ("HDD",))),
        ("disk!=", Condition("disk", Op.PRESENT)),
        ("disk=!x", Condition("disk", Op.ONE_OF, ("!x",))),
        ("hosts!=3", Condition("hosts", Op.NONE_OF, (3,))),
        ("input_bytes>10GB", Condition("input_bytes", Op.ABOVE, (10_000_000_000,))),
        ("elapsed_s<=1h30m", Condition("elapsed_s", Op.AT_MOST, (5_400,))),
    ],
)
def test_a_condition_is_read_from_text(text: str, condition: Condition) -> None:
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    "text",
    [
        "disk=SSD",
        "disk!=a=b",
        "disk=",
        "disk!=",
        "warm_up=true",
        "elapsed_s<90",
        "hosts!=3",
        "input_bytes>=10000000000",
        "started_at<=2026-03-01T00:00:00+00:00",
    ],
)
def test_a_condition_is_written_as_it_is_read(text: str) -> None:
    assert written(parse_condition(text)) == (text,)


def test_repeated_keys_are_alternatives_and_repeated_exceptions_all_hold(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    disks = ("HDD", "SSD", "NVMe", None)
    repository.add_many(make_trial(configuration={"disk": disk}) for disk in disks)

    def found(*texts: str) -> list[str | None]:
        rows = paging.rows(repository, Query(conditions_for(repository, texts))).rows
        return sorted((row.configuration.get("disk") for row in rows), key=str)

    assert found("disks=SSD", "disk=HDD") == ["HDD", "SSD"]  # one key under two names
    assert found("disk!=SSD", "disk!=HDD") == ["NVMe", None]
    assert found("disk!=SSD", "disk!=HDD", "disk!=") == ["NVMe"]
    assert found("disk=SSD", "disk=HDD", "disk!=SSD") == ["HDD"]


def test_another_name_of_a_key_takes_the_same_units(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add_many(
        make_trial(workload=Workload("sort", "1", input_bytes=size), configuration={"memory": size})
        for size in (10**9, 10**10, 10**11)
    )
    for text in ("input>=10GB", "input_bytes>=10GB", "Data Size>5GB", "input!=1GB"):
        found = counting.count(repository, Query(conditions_for(repository, [text])))
        assert found == 2, text
