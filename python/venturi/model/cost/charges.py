"""What is paid beside the nodes: network volumes, objects and their requests, egress.

Volumes become parts of a tariff, since every node has its own; objects and egress become items of a
bill. Prices are the user's or the catalogue's; what a month's hours and a GB are is a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from venturi.model.catalog import InstanceType
from venturi.model.cost.price import Item, Part, currency_of
from venturi.model.domain import need_rate, need_size
from venturi.units import SECONDS_PER_HOUR

# Implied by the published cost of the SoCC 2015 paper's volumes; 730 and 744 are in use too.
HOURS_PER_MONTH = 720.0


@dataclass(frozen=True, slots=True)
class Volumes:
    """The network volumes of one node: `count` of `gib` each, paid by the month, pro rata.

    `iops` and `mib_per_s` are provisioned for each volume; what exceeds `included_iops` and
    `included_mib_per_s` is charged.
    """

    count: float
    gib: float
    per_gib_month: float
    currency: str
    source: str
    as_of: date | None
    hours_per_month: float = HOURS_PER_MONTH
    iops: float = 0.0
    included_iops: float = 0.0
    per_iops_month: float = 0.0
    mib_per_s: float = 0.0
    included_mib_per_s: float = 0.0
    per_mib_per_s_month: float = 0.0

    def parts(self) -> tuple[Part, ...]:
        """Capacity, IOPS and throughput: amount * price per month / hours per month, each."""
        need_rate("hours_per_month", self.hours_per_month)
        charges = (
            ("volume capacity", "gib", self.gib, "GiB", self.per_gib_month),
            ("volume IOPS", "iops", _above("iops", self.iops, self.included_iops), "IOPS",
             self.per_iops_month),
            ("volume throughput", "mib_per_s",
             _above("mib_per_s", self.mib_per_s, self.included_mib_per_s), "MiB/s",
             self.per_mib_per_s_month),
        )  # fmt: skip
        parts = []
        for name, field, amount, unit, per_month in charges:
            need_size(field, amount)
            need_size(f"price per {unit} and month", per_month)
            if not amount:
                continue
            formula = (
                f"{amount:g} {unit} x {per_month:g} {self.currency}/{unit}-month"
                f" / {self.hours_per_month:g} h"
            )
            per_hour = amount * per_month / self.hours_per_month
            parts.append(
                Part(name, per_hour, self.currency, self.count, self.as_of, self.source, formula,
                     pro_rata=True)
            )  # fmt: skip
        return tuple(parts)


def _above(name: str, provisioned: float, included: float) -> float:
    need_size(name, provisioned)
    need_size(f"included_{name}", included)
    return max(0.0, provisioned - included)


def volumes_of(
    instance_type: InstanceType,
    count: float,
    gib: float,
    hours_per_month: float = HOURS_PER_MONTH,
) -> Volumes | None:
    """`count` volumes of `gib` GiB at the catalogue's price, or None.

    Then `instance_type.fact("volume_price").note` says why.
    """
    fact = instance_type.fact("volume_price")
    if not isinstance(fact.value, float):
        return None
    return Volumes(
        count, gib, fact.value, currency_of(fact), fact.source, fact.as_of, hours_per_month
    )


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Prices of an object store. `gb_bytes` is what its provider calls a GB: 1e9 or 2**30."""

    per_gb_month: float
    per_1000_puts: float
    per_1000_gets: float
    currency: str
    source: str
    as_of: date | None
    hours_per_month: float = HOURS_PER_MONTH
    gb_bytes: float = 1e9

    def items(
        self, stored_bytes: float, elapsed_s: float, puts: float = 0, gets: float = 0
    ) -> tuple[Item, ...]:
        """`stored_bytes` kept for `elapsed_s`, and the requests; none of it is rounded."""
        for name, value in (("stored_bytes", stored_bytes), ("elapsed_s", elapsed_s),
                            ("puts", puts), ("gets", gets), ("per_gb_month", self.per_gb_month),
                            ("per_1000_puts", self.per_1000_puts),
                            ("per_1000_gets", self.per_1000_gets)):  # fmt: skip
            need_size(name, value)
        need_rate("hours_per_month", self.hours_per_month)
        need_rate("gb_bytes", self.gb_bytes)
        gb, hours = stored_bytes / self.gb_bytes, elapsed_s / SECONDS_PER_HOUR
        items = [
            self._item(
                "objects stored",
                gb * self.per_gb_month * hours / self.hours_per_month,
                f"{gb:g} GB x {self.per_gb_month:g} {self.currency}/GB-month x {hours:g} h"
                f" / {self.hours_per_month:g} h",
            )
        ]
        for name, count, price in (
            ("PUT requests", puts, self.per_1000_puts),
            ("GET requests", gets, self.per_1000_gets),
        ):
            formula = f"{count:g} x {price:g} {self.currency} / 1000"
            items.append(self._item(name, count * price / 1000, formula))
        return tuple(items)

    def _item(self, name: str, amount: float, formula: str) -> Item:
        return Item(name, amount, amount, self.currency, formula, self.source, self.as_of)
