"""A cluster as a trial's record has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from venturi.measure.clusters.clocks import ClockOffset
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.clusters.names import names_of
from venturi.record.trial import (
    CLUSTER_HOUR,
    DISK_ROLES,
    Clock,
    Cluster,
    Host,
    Link,
    PriceQuote,
    Rack,
)

T = TypeVar("T")


def host_record(spec: HostSpec, facts: Mapping[str, Any], clock: ClockOffset | None = None) -> Host:
    """Return a trial's host with the `facts` from its agent."""
    return Host(
        name=spec.name,
        facts=dict(facts),
        roles=spec.roles,
        links={
            name: Link(port.address, port.bytes_per_s, port.flow_bytes_per_s)
            for name, port in spec.ports.items()
        },
        rack=spec.rack,
        disks={name: tuple(map(str, paths)) for name, paths in spec.disks.items()},
        clock=None if clock is None else Clock(clock.offset_s, clock.error_s),
    )


def cluster_record(spec: ClusterSpec, hosts: Sequence[Host]) -> Cluster:
    """The cluster of a trial in which `hosts`, some of the cluster's, took part."""
    took_part = [spec.host(host.name) for host in hosts]
    price = price_of(took_part)
    return Cluster(
        hosts=tuple(hosts),
        disks_by_role={
            role: tuple(map(str, folders))
            for role in DISK_ROLES
            if (folders := _each(p for host in took_part for p in host.folders.get(role, ())))
        },
        instance_type=_common(host.instance_type for host in took_part),
        network=spec.data_network,
        price=price if isinstance(price, PriceQuote) else None,
        name=spec.name,
        racks=tuple(
            Rack(each.name, each.within, each.uplink_bytes_per_s) for each in spec.racks.values()
        ),
        dilation=spec.dilation,
        dilate_cpu=None if spec.dilation is None else spec.dilate_cpu,
    )


def _each(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _common(values: Iterable[str | None]) -> str | None:
    """The value that all have; None if they have several."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def price_of(hosts: Sequence[HostSpec]) -> PriceQuote | str:
    """Return the hourly price of all hosts, or the reason why it is unknown."""
    if unpriced := [each.name for each in hosts if each.price is None]:
        return f"{names_of(unpriced)} {'has' if len(unpriced) == 1 else 'have'} no price"
    prices = [each.price for each in hosts if each.price is not None]
    currencies = sorted({each.currency for each in prices})
    if len(currencies) != 1:
        return f"prices are in {' and '.join(currencies)}"
    return PriceQuote(
        amount=sum(each.per_hour for each in prices),
        currency=currencies[0],
        per=CLUSTER_HOUR,
        source="; ".join(_each(each.source for each in prices)),
        as_of=min(each.as_of for each in prices).isoformat(),
    )
