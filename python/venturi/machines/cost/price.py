"""Cost of a job: metered (pro rata by the second) and billed (with the provider's rounding).

Every price is a quote: an amount of one currency, with its source and date. Adding or comparing
different currencies raises VEN-MODEL-INPUT; use `convert` with a dated exchange rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid, need_rate, need_size
from venturi.core.errors import VenturiError
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.catalog import Fact, InstanceType
from venturi.record.trial import PriceQuote

STALE_AFTER_DAYS = 365
Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.number[Any]]


def is_stale(as_of: date, today: date) -> bool:
    """Whether a quote of `as_of` is more than 365 days old on `today`."""
    return (today - as_of).days > STALE_AFTER_DAYS


def one_currency(currencies: Iterable[str]) -> str:
    """The single currency of amounts to add or compare, or VEN-MODEL-INPUT."""
    found = sorted(set(currencies))
    for currency in found:
        if not re.fullmatch("[A-Z]{3}", currency):
            raise invalid("currency", currency, "a three-letter code such as USD")
    if len(found) != 1:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            "amounts in " + " and ".join(found) + " can't be added or compared",
            where={"field": "currency", "value": ", ".join(found)},
            hint="convert them with an explicit, dated exchange rate",
        )
    return found[0]


@dataclass(frozen=True, slots=True)
class PriceComponent:
    """Hourly cost of each node in addition to the instance: a fee, disks, volumes, power.

    `per_hour` is an amount of `currency` for each of `count`; `formula` shows its calculation.
    `pro_rata`: metered by the second, whatever the billing steps of the instance.
    """

    name: str
    per_hour: float
    currency: str
    count: float = 1
    as_of: date | None = None
    source: str = ""
    formula: str = ""
    pro_rata: bool = False

    def __post_init__(self) -> None:
        need_size(f"price of {self.name}", self.per_hour)
        need_size(f"number of {self.name}", self.count)
        one_currency([self.currency])

    @property
    def total_per_hour(self) -> float:
        """Amount per node and hour of all `count`."""
        return self.count * self.per_hour


@dataclass(frozen=True, slots=True)
class Tariff:
    """The hourly price of one node in `currency`, and the rounding of time.

    Time is billed in steps of `granularity_s` (0: not rounded) and at least `minimum_s`. If the
    steps are unknown, `granularity_s` is None and `not_billed` gives the reason.
    """

    per_hour: float
    currency: str
    platform_fee_per_hour: float = 0.0
    granularity_s: float | None = 1.0
    minimum_s: float = 60.0
    as_of: date | None = None
    source: str = ""
    parts: tuple[PriceComponent, ...] = ()
    assumptions: tuple[str, ...] = ()
    not_billed: str = ""

    def __post_init__(self) -> None:
        for name in ("per_hour", "platform_fee_per_hour", "minimum_s"):
            need_size(name, getattr(self, name))
        one_currency([self.currency, *(part.currency for part in self.parts)])
        if self.granularity_s is not None:
            need_size("granularity_s", self.granularity_s)
        elif not self.not_billed:
            raise invalid("not_billed", self.not_billed, "the reason why granularity_s is unknown")

    @property
    def stepped_per_hour(self) -> float:
        """Amount per node and hour that is billed in steps: the instance and its fees."""
        parts = (part.total_per_hour for part in self.parts if not part.pro_rata)
        return self.per_hour + self.platform_fee_per_hour + sum(parts)

    @property
    def pro_rata_per_hour(self) -> float:
        """Amount per node and hour that is always paid by the second."""
        return sum(part.total_per_hour for part in self.parts if part.pro_rata)

    @property
    def node_per_hour(self) -> float:
        """Everything that one node costs per hour."""
        return self.stepped_per_hour + self.pro_rata_per_hour

    @property
    def usd_per_hour(self) -> float:
        """`node_per_hour` where it is US dollars; another currency is refused."""
        one_currency([self.currency, "USD"])
        return self.node_per_hour


def _checked(name: str, values: float | Numbers) -> Array:
    array = np.asarray(values, dtype=np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise invalid(name, float(array[wrong].flat[0]), "finite and at least 0")
    return array


def _amount(tariff: Tariff, paid_s: Array, elapsed_s: Array, nodes: float | Numbers) -> Any:
    stepped, pro_rata = tariff.stepped_per_hour * paid_s, tariff.pro_rata_per_hour * elapsed_s
    amount = _checked("nodes", nodes) * (stepped + pro_rata) / SECONDS_PER_HOUR
    return float(amount) if np.ndim(amount) == 0 else amount


def billed_s(tariff: Tariff, elapsed_s: float | Numbers) -> Array | None:
    """Seconds that are billed: max(minimum, ceil(T / g) * g), or None if g is not known."""
    seconds, step_s = _checked("elapsed_s", elapsed_s), tariff.granularity_s
    if step_s is None:
        return None
    # A billionth of a step is the arithmetic's, not the clock's: it must not cost a whole step.
    rounded_s = np.ceil(seconds / step_s - 1e-9) * step_s if step_s else seconds
    return np.asarray(np.maximum(np.maximum(rounded_s, seconds), tariff.minimum_s))


@overload
def metered(tariff: Tariff, elapsed_s: float, nodes: float) -> float: ...
@overload
def metered(tariff: Tariff, elapsed_s: Numbers, nodes: float | Numbers) -> Array: ...
@overload
def metered(tariff: Tariff, elapsed_s: float, nodes: Numbers) -> Array: ...
def metered(tariff: Tariff, elapsed_s: float | Numbers, nodes: float | Numbers) -> float | Array:
    """Amount of the tariff's currency, by the second: N * T / 3600 * price per node and hour.

    This is equation (7) of the SoCC 2015 paper, which its published costs use. Works element by
    element on arrays.
    """
    seconds = _checked("elapsed_s", elapsed_s)
    amount: float | Array = _amount(tariff, seconds, seconds, nodes)
    return amount


@overload
def billed(tariff: Tariff, elapsed_s: float, nodes: float) -> float | None: ...
@overload
def billed(tariff: Tariff, elapsed_s: Numbers, nodes: float | Numbers) -> Array | None: ...
@overload
def billed(tariff: Tariff, elapsed_s: float, nodes: Numbers) -> Array | None: ...
def billed(
    tariff: Tariff, elapsed_s: float | Numbers, nodes: float | Numbers
) -> float | Array | None:
    """Amount that the provider asks: N * max(minimum, ceil(T / g) * g) / 3600 * price.

    None if the steps g are not known (`tariff.not_billed` says why). Amounts paid pro rata, such as
    network volumes, are not rounded. Never below `metered`.
    """
    paid_s = billed_s(tariff, elapsed_s)
    if paid_s is None:
        return None
    amount: float | Array = _amount(tariff, paid_s, _checked("elapsed_s", elapsed_s), nodes)
    return amount


def tariff_of(
    instance_type: InstanceType, *, volumes: Sequence[PriceComponent] = (), price: str = "price"
) -> Tariff | None:
    """The tariff of one node from the catalog, or None: `instance_type.fact(price).note` says why.

    `price` is the attribute to start from (`spot_price` for interruptible nodes). With `volumes`
    (`charges.Volumes.parts`), adds the surcharge for a dedicated path to them.
    """
    fact = instance_type.fact(price)
    if not isinstance(fact.value, float):
        return None
    currency, assumptions = currency_of(fact), list(left_out(fact.note.split("; ")))
    parts, source, as_of = list(volumes), fact.source, fact.as_of
    fee = instance_type.facts.get("platform_fee")
    fee_per_hour = 0.0
    if fee is not None and isinstance(fee.value, float):
        one_currency([currency, currency_of(fee)])
        fee_per_hour, source = fee.value, f"{fact.source}; platform fee: {fee.source}"
        as_of = min(day for day in (fact.as_of, fee.as_of) if day is not None)
    elif fee is not None:
        assumptions.append(f"a platform fee is left out: {fee.note}")
    if volumes:
        path = instance_type.fact("volume_optimised_price")
        if isinstance(path.value, float):
            parts.append(
                PriceComponent(
                    "path to network volumes",
                    path.value,
                    currency_of(path),
                    1,
                    path.as_of,
                    path.source,
                )
            )
        else:
            assumptions.append(f"no surcharge for the path to network volumes: {path.note}")
    least = instance_type.facts.get("billing_minimum")  # no fact: no minimum beyond one step
    if least is not None and least.value is None:
        assumptions.append(f"no minimum time is billed: {least.note}")
    step_s = instance_type.number("billing_granularity")
    given = instance_type.facts.get("billing_granularity")
    unknown = given.note if given else "the catalog doesn't give the billing increment"
    return Tariff(
        fact.value,
        currency,
        fee_per_hour,
        step_s,
        instance_type.number("billing_minimum") or 0.0,
        as_of,
        source,
        tuple(parts),
        tuple(assumptions),
        "" if step_s else unknown,
    )


def left_out(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of a price's assumptions that name a missing part of it."""
    return tuple(text for text in texts if "left out" in text)


def currency_of(fact: Fact) -> str:
    """The currency of a price in a catalog: its unit's first part (`EUR/h`)."""
    return fact.unit.partition("/")[0]


@dataclass(frozen=True, slots=True)
class BillItem:
    """One line of a bill: `amount` is metered, `billed` is rounded by the provider, None if
    unknown.
    """

    name: str
    amount: float
    billed: float | None
    currency: str
    formula: str
    source: str
    as_of: date | None


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a job by item, with its assumptions and missing items."""

    currency: str
    items: tuple[BillItem, ...]
    assumptions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def metered(self) -> float:
        """The sum by the second."""
        return sum(item.amount for item in self.items)

    @property
    def billed(self) -> float | None:
        """The sum as the provider rounds, or None if that is not known of an item."""
        amounts = [item.billed for item in self.items if item.billed is not None]
        return sum(amounts) if len(amounts) == len(self.items) else None


def bill(tariff: Tariff, elapsed_s: float, nodes: float) -> Bill:
    """The itemised cost of `nodes` nodes for `elapsed_s`."""
    seconds = _checked("elapsed_s", elapsed_s)
    paid_s = billed_s(tariff, elapsed_s)
    many = "1 node" if nodes == 1 else f"{nodes:g} nodes"

    def item(name: str, part: PriceComponent) -> BillItem:
        alone = replace(
            tariff, per_hour=0.0, platform_fee_per_hour=0.0, parts=(part,), assumptions=()
        )
        rate = f"({part.formula})" if part.formula else f"{part.per_hour:g} {part.currency}/h"
        count = "" if part.count == 1 else f" x {part.count:g}"
        formula = f"{many}{count} x {rate} x {elapsed_s:g} s / 3600"
        if paid_s is not None and not part.pro_rata and paid_s != seconds:
            formula += f"; billed: {float(paid_s):g} s"
        asked = (
            metered(alone, elapsed_s, nodes) if part.pro_rata else billed(alone, elapsed_s, nodes)
        )
        return BillItem(
            name,
            metered(alone, elapsed_s, nodes),
            asked,
            part.currency,
            formula,
            part.source,
            part.as_of,
        )

    quoted = (tariff.currency, 1, tariff.as_of, tariff.source)
    parts = [PriceComponent("instances", tariff.per_hour, *quoted)]
    if tariff.platform_fee_per_hour:
        parts.append(PriceComponent("platform fee", tariff.platform_fee_per_hour, *quoted))
    items = tuple(item(part.name, part) for part in (*parts, *tariff.parts))
    unknown = [f"billed: {tariff.not_billed}"] if tariff.not_billed else []
    undated = [f"date of the quote: {item.name}" for item in items if item.as_of is None]
    return Bill(
        one_currency(item.currency for item in items),
        items,
        tariff.assumptions,
        (*unknown, *undated),
    )


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """`factor` units of currency `to` for one of `from_`, on the day `as_of`."""

    from_: str
    to: str
    factor: float
    source: str
    as_of: date

    def __post_init__(self) -> None:
        for currency in (self.from_, self.to):
            one_currency([currency])
        need_rate("factor", self.factor)
        need_size("factor", self.factor)


Quote = TypeVar("Quote", PriceQuote, PriceComponent, Tariff, BillItem)
_MONEY = frozenset({"amount", "billed", "per_hour", "platform_fee_per_hour"})


def convert(quote: Quote, rate: ExchangeRate) -> Quote:
    """`quote` in the currency `rate.to`; it is as old as the older of the quote and the rate."""
    if quote.currency != rate.from_:
        raise invalid("currency", quote.currency, f"{rate.from_}, which the rate converts")
    how = f"at {rate.factor:g} {rate.to}/{rate.from_} ({rate.source}, {rate.as_of})"
    changed: dict[str, Any] = {"currency": rate.to, "source": f"{quote.source}; {how}"}
    for field in fields(quote):
        value = getattr(quote, field.name)
        if field.name in _MONEY and value is not None:
            changed[field.name] = value * rate.factor
        elif field.name == "formula" and value:
            changed["formula"] = f"{value}, {how}"
        elif field.name == "parts":
            changed["parts"] = tuple(convert(part, rate) for part in value)
    if isinstance(quote, PriceQuote):
        changed["as_of"] = min(quote.as_of, rate.as_of.isoformat())
    elif quote.as_of is not None:
        changed["as_of"] = min(quote.as_of, rate.as_of)
    return replace(quote, **changed)
