"""Differences between two catalogs, and a catalog written and read again."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.quantity import ValueKind
from venturi.machines import catalog
from venturi.machines.catalog import ATTRIBUTES, Catalog, Fact, InstanceType, parse
from venturi.machines.catalog.diff import diff
from venturi.machines.catalog.write import render

DAY = date(2026, 1, 1)
BASE = Catalog(
    "old",
    {
        "x": InstanceType(
            "x",
            {
                "memory": Fact(64.0, "GiB", ValueKind.ADVERTISED, "sheet", DAY, ""),
                "storage_rate": Fact(None, "MB/s", None, "", None, "not measured"),
                "price": Fact(2.0, "USD/h", ValueKind.ADVERTISED, "sheet", DAY, ""),
                "disk_kind": Fact("SSD", "", ValueKind.ADVERTISED, "sheet", DAY, ""),
            },
        )
    },
)


def changed(**facts: Fact | None) -> Catalog:
    found = {**BASE.types["x"].facts, **facts}
    kept = {name: fact for name, fact in found.items() if fact is not None}
    return Catalog("new", {"x": InstanceType("x", kept)})


def test_prices_come_first_and_changes_are_relative() -> None:
    facts = BASE.types["x"].facts
    new = changed(
        memory=replace(facts["memory"], value=128.0),
        price=replace(facts["price"], value=1.5, as_of=date(2026, 6, 1)),
        storage_rate=Fact(1500.0, "MB/s", ValueKind.MEASURED, "trial 1", DAY, ""),
        disk_kind=None,
    )
    changes = diff(BASE, new).changes
    assert [(c.attribute, c.relative) for c in changes] == [
        ("price", pytest.approx(-0.25)),
        ("memory", pytest.approx(1.0)),
        ("disk_kind", None),
        ("storage_rate", None),
    ]
    assert changes[0].old is not None
    assert (changes[0].old.value, changes[2].new) == (2.0, None)


def test_a_kind_a_range_or_a_currency_is_a_change_and_a_date_is_none() -> None:
    price = BASE.types["x"].facts["price"]
    for other in (
        replace(price, kind=ValueKind.MEASURED),
        replace(price, low=1.5),
        replace(price, unit="EUR/h"),
    ):
        (change,) = diff(BASE, changed(price=other)).changes
        assert change.attribute == "price"
    (change,) = diff(BASE, changed(price=replace(price, unit="EUR/h"))).changes
    assert change.relative is None
    same = replace(price, as_of=date(2026, 9, 9), source="another", note="said again")
    assert diff(BASE, changed(price=same)).changes == ()
    assert diff(BASE, changed(storage_rate=None)).changes == ()


def test_types_come_and_go() -> None:
    old, new = catalog.load_shipped("ec2-2014"), catalog.load_shipped("current")
    difference = diff(old, new)
    assert set(difference.removed) == old.entries.keys() - new.entries.keys()
    assert set(difference.added) == new.entries.keys() - old.entries.keys()
    assert diff(old, old) == type(difference)((), (), ())


@pytest.mark.parametrize("name", catalog.shipped())
def test_what_is_written_is_read_again(name: str) -> None:
    shipped = catalog.load_shipped(name)
    assert parse(render(shipped), name) == shipped


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1).map(
    lambda text: text.strip() or "x"
)
NUMBERS = st.floats(1e-12, 1e18)
NAMES = st.sampled_from([name for name, (unit, _) in ATTRIBUTES.items() if unit])


@given(NAMES, NUMBERS, WORDS, WORDS, st.sampled_from(list(ValueKind)), st.dates(), WORDS)
def test_every_fact_survives_being_written(
    attribute: str, value: float, type_name: str, source: str, kind: ValueKind, day: date, note: str
) -> None:
    unit = ATTRIBUTES[attribute][0]
    fact = Fact(value, unit, kind, source, day, note, value / 3, value * 3)
    original = Catalog("mine", {type_name: InstanceType(type_name, {attribute: fact})})
    assert parse(render(original), "mine") == original
