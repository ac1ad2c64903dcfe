"""Metered and billed cost, item by item; currencies never mix; old quotes are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines import catalog
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.charges import Volumes, volumes_of
from venturi.machines.cost.on_premises import OnPremises, on_premises_of
from venturi.machines.cost.price import (
    BillItem,
    ExchangeRate,
    PriceComponent,
    Tariff,
    bill,
    billed,
    convert,
    is_stale,
    metered,
    one_currency,
    tariff_of,
)
from venturi.record.trial import PriceQuote

DAY = date(2026, 1, 1)
HOURLY = Tariff(2.0, "USD", 0.5, 3600.0, 0.0, DAY, "list")
BY_SECOND = Tariff(2.0, "USD", as_of=DAY, source="list")
FULL = """\
x,price,2,USD/h,advertised,list,2026-01-01,
x,platform_fee,0.5,USD/h,advertised,fees,2025-06-01,
x,volume_optimised_price,0.1,USD/h,advertised,list,2026-01-01,
x,volume_price,0.08,USD/GiB-month,advertised,volumes,2025-12-01,
x,billing_granularity,1,s,advertised,list,2026-01-01,
x,billing_minimum,60,s,advertised,list,2026-01-01,
x,capital,8760,USD,advertised,offer,2026-01-01,
x,power,500,W,advertised,sheet,2026-01-01,
"""


def parse(body: str = FULL) -> InstanceType:
    header = ",".join(c for c in catalog.COLUMNS if c not in {"low", "high"})
    return next(iter(catalog.parse(f"{header}\n{body}", "test").types.values()))


def refused(action: Callable[[], object], match: str | None = None) -> VenturiError:
    with pytest.raises(VenturiError, match=match) as caught:
        action()
    assert caught.value.code == "VEN-MODEL-INPUT"
    return caught.value


@pytest.mark.parametrize(
    ("tariff", "elapsed_s", "expected"),
    [
        (HOURLY, 1, 2.5),
        (HOURLY, 3600, 2.5),
        (HOURLY, 3600 + 1e-7, 2.5),
        (HOURLY, 3601, 5.0),
        (BY_SECOND, 10, 2 * 60 / 3600),
        (BY_SECOND, 90.2, 2 * 91 / 3600),
        (replace(HOURLY, granularity_s=0.0), 10, 2.5 * 10 / 3600),
    ],
)
def test_time_is_billed_in_steps_and_at_least_the_minimum(
    tariff: Tariff, elapsed_s: float, expected: float
) -> None:
    assert billed(tariff, elapsed_s, 3) == pytest.approx(3 * expected, rel=1e-9)
    assert metered(tariff, elapsed_s, 3) == pytest.approx(
        3 * tariff.node_per_hour * elapsed_s / 3600
    )


def test_arrays_are_taken_element_by_element() -> None:
    nodes, seconds = np.array([1, 47, 178]), np.array([[10.0, 20.0, 7200.0], [1.0, 61.5, 3600.0]])
    together, asked = metered(BY_SECOND, seconds, nodes), billed(BY_SECOND, seconds, nodes)
    assert asked is not None
    assert together.shape == asked.shape == (2, 3)
    for at in np.ndindex(2, 3):
        one = float(seconds[at]), float(nodes[at[1]])
        assert together[at] == metered(BY_SECOND, *one)
        assert asked[at] == billed(BY_SECOND, *one)
    assert isinstance(metered(BY_SECOND, 10, 2), float)
    for bad in (-1.0, np.nan, np.inf):
        refused(partial(metered, BY_SECOND, np.array([1.0, bad]), 2), "elapsed_s is")
        refused(partial(billed, BY_SECOND, 1.0, bad), "nodes is")


def test_unknown_steps_leave_the_bill_unknown_and_say_why() -> None:
    tariff = tariff_of(catalog.load_shipped("ec2-2014").types["i2.8xlarge"])
    assert tariff is not None
    assert metered(tariff, 3600, 1) == pytest.approx(6.82)
    assert billed(tariff, 3600, 1) is None
    priced = bill(tariff, 3600, 1)
    assert priced.billed is None
    assert any("billing increment" in reason for reason in priced.missing)
    refused(lambda: Tariff(1.0, "USD", granularity_s=None), "reason")


def test_the_tariff_of_a_catalogue_entry() -> None:
    tariff = tariff_of(parse())
    assert tariff is not None
    assert (tariff.per_hour, tariff.platform_fee_per_hour) == (2.0, 0.5)
    assert (tariff.granularity_s, tariff.minimum_s) == (1.0, 60.0)
    assert tariff.as_of == date(2025, 6, 1)  # as old as its oldest quote
    assert tariff.parts == ()
    volumes = volumes_of(parse(), 2, 100)
    assert volumes is not None
    assert volumes.hours_per_month == 720
    with_volumes = tariff_of(parse(), volumes=volumes.parts())
    assert with_volumes is not None
    assert with_volumes.stepped_per_hour == pytest.approx(2.6)
    assert with_volumes.pro_rata_per_hour == pytest.approx(2 * 100 * 0.08 / 720)
    assert tariff.usd_per_hour == tariff.node_per_hour == 2.5

    bare = tariff_of(parse(FULL.splitlines()[0]), volumes=volumes.parts())
    assert bare is not None
    assert any("no surcharge" in line for line in bare.assumptions)
    assert bare.granularity_s is None
    for empty, words in (("platform_fee", "fee"), ("billing_minimum", "minimum time")):
        unit = catalog.ATTRIBUTES[empty][0]
        other = [line for line in FULL.splitlines() if empty not in line]
        assumed = tariff_of(parse("\n".join([*other, f"x,{empty},,{unit},,,,ask them"])))
        assert assumed is not None
        assert any(words in line and "ask them" in line for line in assumed.assumptions)
    unpriced = parse("x,price,,USD/h,,,,secret")
    assert tariff_of(unpriced) is None
    assert volumes_of(unpriced, 1, 1) is None


def test_every_shipped_type_has_a_tariff_and_todays_linux_is_billed_by_the_second() -> None:
    for name in catalog.shipped():
        for instance_type in catalog.load_shipped(name).types.values():
            assert tariff_of(instance_type) is not None
    today = tariff_of(next(iter(catalog.load_shipped("current").types.values())))
    assert today is not None
    assert (today.granularity_s, today.minimum_s) == (1.0, 60.0)


def test_volumes_charge_what_exceeds_what_is_included() -> None:
    volumes = Volumes(8, 135, 0.10, "USD", "list", DAY)
    assert sum(p.total_per_hour for p in volumes.parts()) == pytest.approx(0.15)
    by_730 = replace(volumes, hours_per_month=730.0).parts()
    assert sum(p.total_per_hour for p in by_730) == pytest.approx(0.15 * 720 / 730)
    fast = replace(
        volumes,
        iops=4000,
        included_iops=3000,
        per_iops_month=0.005,
        mib_per_s=100,
        included_mib_per_s=125,
        per_mib_per_s_month=0.04,
    )
    parts = {part.name: part for part in fast.parts()}
    assert set(parts) == {"volume capacity", "volume IOPS"}
    assert parts["volume IOPS"].total_per_hour == pytest.approx(8 * 1000 * 0.005 / 720)
    for field in ("gib", "count", "iops", "per_gib_month"):
        refused(replace(volumes, **{field: -1.0}).parts)  # type: ignore[arg-type]
    refused(lambda: replace(volumes, hours_per_month=0.0).parts(), "hours_per_month")


def test_volumes_are_paid_by_the_second_whatever_the_instance() -> None:
    parts = Volumes(1, 720, 1.0, "USD", "list", DAY).parts()
    tariff = replace(HOURLY, parts=parts)
    assert billed(tariff, 1800, 1) == pytest.approx(2.5 + 0.5)
    assert metered(tariff, 1800, 1) == pytest.approx(1.25 + 0.5)
    assert bill(tariff, 1800, 1).billed == pytest.approx(3.0)


def test_a_bill_says_where_every_amount_comes_from() -> None:
    volumes = Volumes(2, 100, 0.08, "USD", "volumes", DAY)
    tariff = tariff_of(parse(), volumes=volumes.parts())
    assert tariff is not None
    priced = bill(tariff, 90.5, 4)
    items = {item.name: item for item in priced.items}
    assert list(items) == [
        "instances",
        "platform fee",
        "volume capacity",
        "path to network volumes",
    ]
    assert items["instances"].formula == "4 nodes x 2 USD/h x 90.5 s / 3600; billed: 91 s"
    assert items["volume capacity"].formula == (
        "4 nodes x 2 x (100 GiB x 0.08 USD/GiB-month / 720 h) x 90.5 s / 3600"
    )
    assert items["volume capacity"].source == "volumes"
    assert priced.metered == pytest.approx(metered(tariff, 90.5, 4))
    asked = billed(tariff, 90.5, 4)
    assert asked is not None
    assert priced.billed == pytest.approx(asked)
    assert priced.missing == ()
    undated = bill(replace(tariff, as_of=None), 1, 1).missing
    assert "date of the quote: instances" in undated


def test_a_quote_is_stale_after_365_days() -> None:
    assert not is_stale(DAY, DAY)
    assert not is_stale(DAY, DAY + timedelta(days=365))
    assert is_stale(DAY, DAY + timedelta(days=366))


def test_currencies_are_never_mixed() -> None:
    euro = PriceComponent("disks", 1.0, "EUR", 2)
    error = refused(lambda: replace(BY_SECOND, parts=(euro,)), "EUR and USD")
    assert "exchange rate" in error.hint
    refused(lambda: one_currency(["USD", "EUR"]))
    refused(lambda: Tariff(1.0, "dollars"), "three-letter")
    refused(lambda: replace(BY_SECOND, currency="EUR").usd_per_hour, "EUR and USD")
    dollars = FULL.splitlines()[0]
    volumes = Volumes(1, 1, 1.0, "USD", "s", DAY).parts()
    for attribute in ("platform_fee", "volume_optimised_price"):
        line = f"x,{attribute},1,EUR/h,advertised,s,2026-01-01,"
        mixed = parse(f"{dollars}\n{line}")
        refused(partial(tariff_of, mixed, volumes=volumes), "EUR and USD")


def test_a_price_in_another_currency_keeps_it() -> None:
    tariff = tariff_of(parse("x,price,2,EUR/h,advertised,list,2026-01-01,"))
    assert tariff is not None
    assert (tariff.currency, tariff.per_hour) == ("EUR", 2.0)
    assert (
        parse("x,volume_price,1,GBP/GiB-month,advertised,s,2026-01-01,").fact("volume_price").unit
        == "GBP/GiB-month"
    )
    for unit in ("eur/h", "EURO/h", "EUR/s", "EUR", ""):
        with pytest.raises(VenturiError) as caught:
            parse(f"x,price,2,{unit},advertised,list,2026-01-01,")
        assert caught.value.where["field"] == "unit"
    with pytest.raises(VenturiError):
        parse("x,memory,2,EUR/h,advertised,list,2026-01-01,")


def test_conversion_is_explicit_and_dated() -> None:
    rate = ExchangeRate("EUR", "USD", 1.1, "central bank", date(2025, 3, 1))
    tariff = Tariff(
        2.0,
        "EUR",
        0.5,
        3600.0,
        0.0,
        DAY,
        "list",
        Volumes(1, 720, 1.0, "EUR", "volumes", date(2025, 1, 1)).parts(),
    )
    converted = convert(tariff, rate)
    assert converted.usd_per_hour == pytest.approx(1.1 * tariff.node_per_hour)
    assert converted.granularity_s == 3600
    assert converted.as_of == date(2025, 3, 1)  # the rate is older than the price
    assert converted.parts[0].as_of == date(2025, 1, 1)
    assert "central bank" in converted.source
    assert "1.1 USD/EUR" in converted.parts[0].formula
    asked = billed(converted, 60, 2)
    before = billed(tariff, 60, 2)
    assert asked is not None
    assert before is not None
    assert asked == pytest.approx(1.1 * before)
    quote = convert(PriceQuote(1.0, "EUR", "node-hour", "list", "2026-01-01"), rate)
    assert quote == PriceQuote(
        1.1, "USD", "node-hour", "list; at 1.1 USD/EUR (central bank, 2025-03-01)", "2025-03-01"
    )
    item = convert(BillItem("egress", 1.0, None, "EUR", "1", "list", None), rate)
    assert (item.amount, item.billed, item.as_of) == (1.1, None, None)
    refused(lambda: convert(BY_SECOND, rate), "currency is USD")
    refused(lambda: ExchangeRate("EUR", "USD", 0, "s", DAY))
    refused(lambda: ExchangeRate("EUR", "USD", float("inf"), "s", DAY))


OWNED = OnPremises(
    8000,
    3,
    "USD",
    "offer",
    DAY,
    maintenance=1200,
    residual_value=440,
    power_w=500,
    pue=1.5,
    per_kwh=0.2,
    space_per_year=876,
    staff_per_year=1752,
)


def test_an_owned_node_costs_its_capital_and_its_keep() -> None:
    tariff = OWNED.tariff()
    assert tariff.per_hour == pytest.approx((8000 + 1200 - 440) / (3 * 8760))
    parts = {part.name: part.per_hour for part in tariff.parts}
    assert parts == {
        "power": pytest.approx(0.5 * 1.5 * 0.2),
        "space": pytest.approx(0.1),
        "staff": pytest.approx(0.2),
    }
    assert billed(tariff, 12.3, 5) == metered(tariff, 12.3, 5)  # no steps
    half = replace(OWNED, utilisation=0.5).tariff()
    assert half.per_hour == pytest.approx(2 * tariff.per_hour)
    assert {p.name: p.per_hour for p in half.parts}["power"] == parts["power"]
    assert {p.name: p.per_hour for p in half.parts}["space"] == pytest.approx(0.2)


def test_what_an_owned_node_assumes_is_visible() -> None:
    bare = OnPremises(8760, 1, "USD", "offer", DAY).tariff()
    assert bare.node_per_hour == pytest.approx(1.0)
    assert "utilization 1" in bare.assumptions[0]
    for what in ("power", "space", "staff"):
        assert any(line.startswith(f"{what} is left out") for line in bare.assumptions)
    catalogued = on_premises_of(parse(), years=1, utilisation=0.8)
    assert catalogued is not None
    assert (catalogued.capital, catalogued.power_w, catalogued.utilisation) == (8760, 500, 0.8)
    assert on_premises_of(parse(FULL.splitlines()[0]), 3) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("years", 0),
        ("years", float("inf")),
        ("capital", -1),
        ("utilisation", 0),
        ("utilisation", 1.1),
        ("pue", 0.9),
        ("per_kwh", -1),
        ("residual_value", 1e6),
        ("currency", "$"),
    ],
)
def test_impossible_ownership_is_refused(field: str, value: object) -> None:
    refused(lambda: replace(OWNED, **{field: value}), field)  # type: ignore[arg-type]


PRICE = st.floats(0, 1e3)
SECONDS = st.floats(0, 1e7)
NODES = st.integers(0, 10_000)
TARIFFS = st.builds(
    lambda price, fee, step, minimum, volume, surcharge: Tariff(
        price,
        "USD",
        fee,
        step,
        minimum,
        DAY,
        "test",
        (
            PriceComponent("volumes", volume, "USD", 3, pro_rata=True),
            PriceComponent("path", surcharge, "USD"),
        ),
    ),
    PRICE,
    PRICE,
    st.sampled_from([0.0, 1.0, 60.0, 3600.0, 0.7]),
    st.floats(0, 7200),
    PRICE,
    PRICE,
)


def asked_of(tariff: Tariff, elapsed_s: float, nodes: float) -> float:
    amount = billed(tariff, elapsed_s, nodes)
    assert amount is not None
    return amount


@given(TARIFFS, SECONDS, NODES)
def test_billed_is_never_below_metered(tariff: Tariff, elapsed_s: float, nodes: int) -> None:
    assert asked_of(tariff, elapsed_s, nodes) >= metered(tariff, elapsed_s, nodes)


@given(TARIFFS, SECONDS, NODES, st.floats(0, 1e5), st.integers(0, 100))
def test_more_time_or_more_nodes_never_cost_less(
    tariff: Tariff, elapsed_s: float, nodes: int, longer_s: float, more: int
) -> None:
    for cost in (metered, asked_of):
        assert cost(tariff, elapsed_s + longer_s, nodes + more) >= cost(tariff, elapsed_s, nodes)


@given(
    TARIFFS, SECONDS, NODES, PRICE, st.sampled_from(["per_hour", "platform_fee_per_hour", "parts"])
)
def test_the_cost_never_falls_when_a_price_rises(
    tariff: Tariff, elapsed_s: float, nodes: int, rise: float, which: str
) -> None:
    if which == "parts":
        first, *others = tariff.parts
        dearer = replace(tariff, parts=(replace(first, per_hour=first.per_hour + rise), *others))
    else:
        dearer = replace(tariff, **{which: getattr(tariff, which) + rise})
    for cost in (metered, asked_of):
        assert cost(dearer, elapsed_s, nodes) >= cost(tariff, elapsed_s, nodes)
    assert bill(dearer, elapsed_s, nodes).metered >= bill(tariff, elapsed_s, nodes).metered


@given(TARIFFS, SECONDS, NODES, st.floats(0.01, 100))
def test_scaling_all_prices_scales_the_bill(
    tariff: Tariff, elapsed_s: float, nodes: int, factor: float
) -> None:
    scaled = convert(tariff, ExchangeRate("USD", "EUR", factor, "test", DAY))
    one, other = bill(tariff, elapsed_s, nodes), bill(scaled, elapsed_s, nodes)
    assert other.currency == "EUR"
    assert other.metered == pytest.approx(factor * one.metered, rel=1e-9)
    assert one.billed is not None
    assert other.billed == pytest.approx(factor * one.billed, rel=1e-9)
    assert one.metered == pytest.approx(metered(tariff, elapsed_s, nodes), rel=1e-9)
    assert one.billed == pytest.approx(asked_of(tariff, elapsed_s, nodes), rel=1e-9)
