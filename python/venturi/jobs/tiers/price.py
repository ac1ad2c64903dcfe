"""Hourly cost of a trial's machines with a given amount of fast storage in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.catalog.find import unknown
from venturi.machines.cost.charges import HOURS_PER_MONTH
from venturi.machines.cost.dataflow import Bounds
from venturi.record.trial import CLUSTER_HOUR, Trial


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """US dollars an hour of all machines, and of a GiB of fast storage in each of them (0 if it is
    part of the machines).
    """

    machines: float
    gib: float
    hosts: int

    def of_job(self, time_s: Bounds, fast_bytes: int) -> Bounds:
        """The cost of a job that takes `time_s` with `fast_bytes` in each host."""
        per_hour = self.machines + self.hosts * self.gib * fast_bytes / 2**30
        per_s = per_hour / SECONDS_PER_HOUR
        return Bounds(time_s.value * per_s, time_s.low * per_s, time_s.high * per_s)


def storage_price(
    trial: Trial, hosts: int, catalogs: Sequence[Catalog], volumes: str | None
) -> StoragePrice | str:
    """The price, or the reason why it is unknown. `volumes` is a kind of network volume that the
    fast storage consists of; VEN-CATALOG-UNKNOWN if no catalog has it.
    """
    kind = None if volumes is None else _volumes(volumes, catalogs)
    machines = _machines_usd(trial, catalogs)
    if isinstance(machines, str):
        return machines
    if kind is None:
        return StoragePrice(machines, 0.0, hosts)
    price = kind.fact("volume_price")
    if not isinstance(price.value, float):
        return f"{volumes}: {price.note}"
    return StoragePrice(machines, price.value / HOURS_PER_MONTH, hosts)


def _volumes(name: str, catalogs: Sequence[Catalog]) -> InstanceType:
    for catalog in catalogs:
        if (kind := catalog.volumes.get(name)) is not None:
            return kind
    raise unknown(
        f"no catalog has volumes of the kind {name!r}",
        name,
        [each for catalog in catalogs for each in catalog.volumes],
        "they have",
        {"option": "--volumes", "volumes": name},
    )


def _machines_usd(trial: Trial, catalogs: Sequence[Catalog]) -> float | str:
    """US dollars an hour of the trial's machines, or why that is unknown."""
    cluster = trial.cluster
    if cluster.dilation is not None:
        return "the cluster is emulated, so its machines have no price"
    price = cluster.price
    if price is not None and price.per == CLUSTER_HOUR and price.currency == "USD":
        return price.amount
    if price is not None:
        return f"its price is in {price.currency}, per {price.per}"
    if cluster.instance_type is None:
        return "the trial does not say on which type of machine it ran"
    for catalog in catalogs:
        known = catalog.types.get(cluster.instance_type)
        each = None if known is None else known.number("price")
        if each is not None:
            return each * len(cluster.hosts)
    return f"no given catalog has a price for {cluster.instance_type}"
