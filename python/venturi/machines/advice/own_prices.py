"""Hourly cost of your own machines, filled in where a catalog has the purchase price.

A catalog has the price and power draw of a machine. Its owner provides the depreciation period, the
utilization and the price of power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.cost.on_premises import on_premises_of
from venturi.machines.cost.price import ExchangeRate, convert, left_out

# term -> (what it is, the least and the most it can be)
TERMS: Mapping[str, tuple[str, float, float]] = {
    "years": ("depreciation period in years", 0.1, 50),
    "use": ("share of all hours in use", 0.001, 1),
    "kwh": ("price of a kWh, in the currency of the purchase", 0, 100),
    "pue": ("total power over that of the machines (PUE)", 1, 10),
    "space": ("price of rack space per node and year", 0, 1e6),
    "staff": ("price of staff per node and year", 0, 1e6),
    "usd": ("US dollars per unit of the purchase currency", 1e-6, 1e3),
}
EXAMPLE = "years=4,use=0.6,kwh=0.15,pue=1.4,space=300,staff=500,usd=1.08"


@dataclass(frozen=True, slots=True)
class Ownership:
    """Cost inputs from the owner; only `years` is required. None is left out, with a note."""

    years: float
    use: float
    kwh: float | None
    pue: float
    space: float | None
    staff: float | None
    usd: float | None
    text: str


def parse_ownership(text: str) -> Ownership:
    """The terms in `text`, such as `EXAMPLE`."""
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, amount = (word.strip() for word in part.partition("="))
        if name not in TERMS or name in given:
            raise _bad(
                text, f"{name!r} is {'given twice' if name in given else 'not a part of --own'}"
            )
        what, low, high = TERMS[name]
        try:
            value = float(amount)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise _bad(text, f"{name}, the {what}, must be from {low:g} to {high:g}")
        given[name] = value
    if "years" not in given:
        raise _bad(text, f"years, the {TERMS['years'][0]}, is missing")
    return Ownership(
        given["years"],
        given.get("use", 1.0),
        given.get("kwh"),
        given.get("pue", 1.0),
        given.get("space"),
        given.get("staff"),
        given.get("usd"),
        text,
    )


def with_own_prices(catalog: Catalog, ownership: Ownership | None, today: date) -> Catalog:
    """`catalog` with a price an hour where it has none but a purchase price."""
    if ownership is None:
        return catalog
    types = {name: _priced(each, ownership, today) for name, each in catalog.types.items()}
    return replace(catalog, types=types)


def _priced(instance_type: InstanceType, ownership: Ownership, today: date) -> InstanceType:
    bought = on_premises_of(instance_type, ownership.years, ownership.use)
    if bought is None or instance_type.number("price") is not None:
        return instance_type
    bought = replace(
        bought,
        per_kwh=ownership.kwh,
        pue=ownership.pue,
        space_per_year=ownership.space,
        staff_per_year=ownership.staff,
    )
    tariff, assumptions = bought.tariff(), bought.tariff().assumptions
    if tariff.currency != "USD":
        if ownership.usd is None:
            why = f"bought in {tariff.currency}: give its rate in US dollars (usd=RATE)"
            unpriced = Fact(None, "USD/h", None, bought.source, bought.as_of, why)
            return replace(instance_type, facts={**instance_type.facts, "price": unpriced})
        rate = ExchangeRate(tariff.currency, "USD", ownership.usd, "as stated", today)
        tariff = convert(tariff, rate)
        assumptions = (*assumptions, f"1 {rate.from_} is {rate.factor:g} USD")
    source = f"purchase price ({bought.source}); {'; '.join(assumptions)}"
    price = Fact(
        tariff.usd_per_hour,
        "USD/h",
        ValueKind.DERIVED,
        source,
        bought.as_of or today,
        "; ".join((f"stated: {ownership.text}", *left_out(assumptions))),
    )
    steps = Fact(None, "s", None, "", None, "your own machines are not billed by time")
    facts = {**instance_type.facts, "price": price, "billing_granularity": steps}
    return replace(instance_type, facts=facts)


def _bad(text: str, problem: str) -> VenturiError:
    return UsageError(
        "VEN-UNIT-SYNTAX",
        f"{text!r}: {problem}",
        where={"option": "--own", "value": text},
        hint=f"write it like {EXAMPLE}; only years is needed",
    )
