"""The catalogue says what it knows and how; prices follow the equations and invent nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.errors import VenturiError
from venturi.model import catalog, io_cost
from venturi.model.catalog import Catalog, InstanceType, Kind
from venturi.model.price import (
    Network,
    is_stale,
    price_sort,
    price_table,
    quote,
    volumes_usd_per_hour,
)

HEADER = ",".join(catalog.COLUMNS)
FULL = """\
x.big,price,2,USD/h,advertised,list,2026-01-01,
x.big,disk_count,4,1,advertised,sheet,2026-01-01,
x.big,disk_size,1000,GB,advertised,sheet,2026-01-01,
x.big,storage_rate,1000,MB/s,measured,probe,2026-01-01,
x.big,network_rate,500,MB/s,measured,probe,2026-01-01,
"""
TB = 10**12


def parse(body: str) -> Catalog:
    return catalog.parse(f"{HEADER}\n{body}", "test", "test.csv")


def one(body: str = FULL) -> InstanceType:
    return next(iter(parse(body).types.values()))


@pytest.mark.parametrize("name", catalog.shipped())
def test_shipped_values_have_kind_source_and_date_and_unknowns_a_reason(name: str) -> None:
    types = catalog.load_shipped(name).types
    for instance_type in types.values():
        assert instance_type.number("price") is not None
        for fact in instance_type.facts.values():
            if fact.value is None:
                assert fact.kind is None
                assert fact.note
            else:
                assert fact.kind
                assert fact.source
                assert fact.as_of


def test_ec2_2014_has_every_type_of_its_time_and_marks_guesses() -> None:
    types = catalog.load_shipped("ec2-2014").types
    assert len(types) == 33
    assert types["m1.xlarge"].fact("storage_rate").kind is Kind.ASSUMED
    assert types["i2.8xlarge"].local_bytes == 8 * 800 * 10**9
    assert types["r3.large"].fact("storage_rate").value is None
    assert types["r3.large"].fact("vcpus").kind is Kind.ADVERTISED


def test_one_sort_priced_by_hand() -> None:
    priced = price_sort(one(), 8 * TB, as_of=date(2026, 6, 1))
    assert priced.nodes == 6  # 24 TB on 4 TB nodes
    each = 8 * TB / 6
    assert priced.map_shuffle_s == pytest.approx(each / 500e6)
    assert priced.sort_reduce_s == pytest.approx(each / 1000e6)
    assert priced.elapsed_s == pytest.approx(each / 500e6 + each / 1000e6)
    assert priced.cost_usd == pytest.approx(6 * 2 * (each / 500e6 + each / 1000e6) / 3600)
    assert priced.storage_only_cost_usd == pytest.approx(8 * TB * 2 / 1000e6 * 2 / 3600)
    assert priced.bottleneck == "network"
    assert not priced.lower_bound
    assert priced.price_is_stale is False
    assert priced.price is not None
    assert priced.price.as_of == "2026-01-01"
    assert priced.storage is not None
    assert (priced.storage.kind, priced.storage.source) == (Kind.MEASURED, "probe")
    assert priced.missing == ()


def test_a_line_rate_bounds_time_and_cost_from_below() -> None:
    body = FULL.replace("network_rate,500,MB/s,measured", "network_line_rate,10,Gbit/s,advertised")
    priced = price_sort(one(body), 8 * TB)
    assert priced.network is not None
    assert priced.network.bytes_per_s == 1.25e9
    assert priced.network.kind is Kind.ADVERTISED
    assert priced.lower_bound
    assert priced.bottleneck is None
    assert any("line rate" in reason for reason in priced.missing)
    slow = price_sort(one(body.replace(",10,Gbit", ",1,Gbit")), 8 * TB)
    assert slow.bottleneck == "network"  # certain: the real network is slower still


def test_what_is_unknown_stays_unknown_with_its_reason() -> None:
    body = FULL.replace("storage_rate,1000,MB/s,measured,probe,2026-01-01,",
                        "storage_rate,,MB/s,,,,not measured")  # fmt: skip
    priced = price_sort(one(body), 8 * TB)
    assert (priced.elapsed_s, priced.cost_usd, priced.storage_only_cost_usd) == (None, None, None)
    assert priced.nodes == 6
    assert priced.missing == ("B_storage: not measured",)
    bare = price_sort(one("y,vcpus,4,1,advertised,sheet,2026-01-01,\n"), TB)
    assert (bare.nodes, bare.price, bare.cost_usd) == (None, None, None)
    for word in ("nodes:", "B_storage:", "B_network:", "price:"):
        assert any(reason.startswith(word) for reason in bare.missing)


def test_table_ranks_known_costs_then_bounds_then_unknowns() -> None:
    table = price_table(catalog.load_shipped("ec2-2014"), 100 * TB, as_of=date(2026, 7, 1))
    assert len(table) == 33
    ranks = [(p.cost_usd is None, p.lower_bound) for p in table]
    assert ranks == sorted(ranks)
    known = [p.cost_usd for p in table if p.cost_usd is not None and not p.lower_bound]
    assert len(known) >= 2
    assert known == sorted(known)
    assert table[0].instance_type == "i2.8xlarge"
    for priced in table:
        assert priced.price_is_stale is True
        assert (priced.cost_usd is None) <= bool(priced.missing)


def test_a_price_is_stale_after_a_year() -> None:
    price = quote(one())
    assert price is not None
    assert not is_stale(price, date(2027, 1, 1))
    assert is_stale(price, date(2027, 1, 2))
    assert price_sort(one(), TB).price_is_stale is None


@given(
    factor=st.floats(1.01, 100), data=st.integers(10**9, 10**15), network=st.sampled_from(Network)
)
def test_a_higher_price_or_a_slower_disk_never_costs_less(
    factor: float, data: int, network: Network
) -> None:
    base = one()

    def cost(attribute: str, times: float) -> float:
        fact = base.facts[attribute]
        assert isinstance(fact.value, float)
        changed = {**base.facts, attribute: replace(fact, value=fact.value * times)}
        result = price_sort(InstanceType("x", changed), data, network=network).cost_usd
        assert result is not None
        return result

    assert cost("price", factor) > cost("price", 1)
    assert cost("storage_rate", 1 / factor) > cost("storage_rate", 1)
    assert cost("network_rate", 1 / factor) >= cost("network_rate", 1)


def test_nodes_must_hold_the_data() -> None:
    assert price_sort(one(), 8 * TB, nodes=12).nodes == 12
    with pytest.raises(VenturiError) as caught:
        price_sort(one(), 8 * TB, nodes=5)
    assert caught.value.code == "VEN-MODEL-INPUT"
    with pytest.raises(VenturiError):
        price_sort(one(), 0)


def test_volumes_are_paid_by_the_month() -> None:
    assert volumes_usd_per_hour(8, 135, 0.10) == pytest.approx(0.15)
    assert volumes_usd_per_hour(8, 135, 0.10, 730) == pytest.approx(0.15 * 720 / 730)
    with pytest.raises(VenturiError):
        volumes_usd_per_hour(8, -1, 0.10)


def test_unlimited_network_is_storage_only() -> None:
    priced = price_sort(one(), TB, network=Network.UNLIMITED)
    assert priced.cost_usd == pytest.approx(priced.storage_only_cost_usd)
    assert priced.cost_usd == pytest.approx(io_cost.sort_cost_usd(TB, 2, 1000e6, math.inf))
    assert (priced.network, priced.bottleneck) == (None, "storage")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("x,price,-1,USD/h,advertised,s,2026-01-01,", "value"),
        ("x,price,0,USD/h,advertised,s,2026-01-01,", "value"),
        ("x,price,cheap,USD/h,advertised,s,2026-01-01,", "value"),
        ("x,price,nan,USD/h,advertised,s,2026-01-01,", "value"),
        ("x,price,1,EUR/h,advertised,s,2026-01-01,", "unit"),
        ("x,price,1,USD/h,rumoured,s,2026-01-01,", "kind"),
        ("x,price,1,USD/h,advertised,,2026-01-01,", "source"),
        ("x,price,1,USD/h,advertised,s,last year,", "as_of"),
        ("x,price,1,USD/h,advertised,s,,", "as_of"),
        ("x,price,,USD/h,,,,", "note"),
        ("x,price,,USD/h,measured,,,gone", "note"),
        ("x,prize,1,USD/h,advertised,s,2026-01-01,", "attribute"),
        (",price,1,USD/h,advertised,s,2026-01-01,", "instance_type"),
        ("x,price,1,USD/h", "line"),
        ('x,price,"1,USD/h,advertised,s,2026-01-01,', "line"),
        (FULL.splitlines()[0], "attribute"),  # a second time
    ],
)
def test_a_bad_line_is_named_by_line_field_and_value(line: str, field: str) -> None:
    with pytest.raises(VenturiError) as caught:
        parse(f"{FULL}{line}\n")
    error = caught.value
    assert error.code == "VEN-CATALOG-FORMAT"
    assert error.where["file"] == "test.csv"
    assert error.where["line"] == 7
    assert error.where["field"] == field


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{FULL}", encoding="utf-8")
    assert catalog.load(path).name == "mine"
    for content in (b"", b"type,price\n", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(VenturiError) as caught:
            catalog.load(path)
        assert caught.value.code == "VEN-CATALOG-FORMAT"
    for load in (lambda: catalog.load(tmp_path / "no"), lambda: catalog.load_shipped("no")):
        with pytest.raises(VenturiError) as caught:
            load()
        assert caught.value.code == "VEN-CATALOG-FORMAT"
