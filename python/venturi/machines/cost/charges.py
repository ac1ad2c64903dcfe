"""Charges in addition to the nodes: network volumes and object storage.

Prices come from the user or the catalog; the hours of a month and the size of a GB are parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from venturi.core.domain import need_rate, need_size
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.job import Job
from venturi.machines.cost.price import BillItem, PriceComponent, currency_of

# Implied by the published cost of the SoCC 2015 paper's volumes; 730 and 744 are in use too.
HOURS_PER_MONTH = 720.0


@dataclass(frozen=True, slots=True)
class Volumes:
    """The network volumes of one node: `count` of `gib` each, paid by the month, pro rata.

    `iops` and `mib_per_s` are provisioned for each volume; the excess over `included_iops` and
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

    def parts(self) -> tuple[PriceComponent, ...]:
        """Capacity, IOPS and throughput: amount * price per month / hours per month, each."""
        need_rate("hours_per_month", self.hours_per_month)
        charges = (
            ("volume capacity", "gib", self.gib, "GiB", self.per_gib_month),
            (
                "volume IOPS",
                "iops",
                _above("iops", self.iops, self.included_iops),
                "IOPS",
                self.per_iops_month,
            ),
            (
                "volume throughput",
                "mib_per_s",
                _above("mib_per_s", self.mib_per_s, self.included_mib_per_s),
                "MiB/s",
                self.per_mib_per_s_month,
            ),
        )
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
                PriceComponent(
                    name,
                    per_hour,
                    self.currency,
                    self.count,
                    self.as_of,
                    self.source,
                    formula,
                    pro_rata=True,
                )
            )
        return tuple(parts)


def _above(name: str, provisioned: float, included: float) -> float:
    need_size(name, provisioned)
    need_size(f"included_{name}", included)
    return max(0.0, provisioned - included)


def attached_volumes(instance_type: InstanceType) -> Volumes | str | None:
    """The volumes attached to each node of the type, at the catalog's prices.

    None without any; the reason if a price is unknown. Their size is 0 if it isn't fixed, because
    the volumes that hold the data are priced for the whole cluster.
    """
    of = instance_type.volumes
    if of is None:
        return None
    capacity = of.kind.fact("volume_price")
    if not isinstance(capacity.value, float):
        return f"{of.kind.name}: {capacity.note}"
    included = {name: of.kind.number(f"volume_{name}_included") or 0.0 for name in _PROVISIONED}
    asked = {"iops": of.iops or 0.0, "throughput": of.mib_per_s or 0.0}
    prices = {}
    for name, unit in _PROVISIONED.items():
        price = of.kind.fact(f"volume_{name}_price")
        if isinstance(price.value, float):
            prices[name] = price.value
        elif asked[name] > included[name]:
            return f"{of.kind.name}: the price of {unit} is unknown"
    return Volumes(
        of.count,
        of.gib or 0.0,
        capacity.value,
        currency_of(capacity),
        capacity.source,
        capacity.as_of,
        of.hours,
        iops=asked["iops"],
        included_iops=included["iops"],
        per_iops_month=prices.get("iops", 0.0),
        mib_per_s=asked["throughput"],
        included_mib_per_s=included["throughput"],
        per_mib_per_s_month=prices.get("throughput", 0.0),
    )


_PROVISIONED = {"iops": "IOPS", "throughput": "throughput"}


def volumes_of(
    instance_type: InstanceType,
    count: float,
    gib: float,
    hours_per_month: float = HOURS_PER_MONTH,
) -> Volumes | None:
    """`count` volumes of `gib` GiB at the catalog's price.

    None if the price is unknown; `instance_type.fact("volume_price").note` has the reason.
    """
    fact = instance_type.fact("volume_price")
    if not isinstance(fact.value, float):
        return None
    return Volumes(
        count, gib, fact.value, currency_of(fact), fact.source, fact.as_of, hours_per_month
    )


def store_charges(
    instance_type: InstanceType, job: Job
) -> tuple[tuple[PriceComponent, ...], tuple[BillItem, ...], tuple[str, ...]]:
    """Input and output in object storage while the job runs, its requests, and the gaps.

    A machine without local disks also has its intermediate data on volumes, for as long.
    """
    store = instance_type.store
    if store is None:
        return (), (), ("object storage is left out: the catalog has none of this provider",)
    held: list[PriceComponent] = []
    requests: list[BillItem] = []
    left: list[str] = []
    month = HOURS_PER_MONTH
    price = store.fact("store_price")
    if isinstance(price.value, float):
        amount = job.volume_bytes / 1e9
        formula = f"{amount:g} GB x {price.value:g} USD/GB-month / {month:g} h"
        quote = (currency_of(price), 1, price.as_of, price.source, formula)
        held.append(PriceComponent("objects", amount * price.value / month, *quote, pro_rata=True))
    else:
        left.append(f"object storage is left out: {price.note}")
    if instance_type.volumes is not None and not instance_type.has_disks:
        gib = job.local_bytes / 2**30
        volumes = volumes_of(instance_type, 1, gib, instance_type.volumes.hours)
        held += volumes.parts() if volumes is not None else ()
    for name, moved in (("read", job.input_bytes), ("write", job.output_bytes)):
        price = store.fact(f"store_{name}_price")
        size = store.number(f"store_{name}_size")
        if not isinstance(price.value, float) or size is None:
            left.append(f"{name} requests is left out: {price.note}")
            continue
        count = moved / (size * 1e6)
        amount = count / 1000 * price.value
        formula = f"{count:,.0f} requests of {size:g} MB x {price.value:g} USD/1000"
        currency = currency_of(price)
        requests.append(
            BillItem(
                f"{name} requests", amount, amount, currency, formula, price.source, price.as_of
            )
        )
    return tuple(held), tuple(requests), tuple(left)
