"""A cluster as a trial's record has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from venturi.measure.clusters.clocks import ClockOffset
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.record.trial import DISK_ROLES, Clock, Cluster, Host, Link, PriceQuote, Rack

T = TypeVar("T")


def host_record(spec: HostSpec, facts: Mapping[str, Any], clock: ClockOffset | None = None) -> Host:
    """A host of a trial, with the `facts` that its agent told."""
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
    return Cluster(
        hosts=tuple(hosts),
        disks_by_role={
            role: tuple(map(str, folders))
            for role in DISK_ROLES
            if (folders := _each(p for host in took_part for p in host.folders.get(role, ())))
        },
        instance_type=_common(host.instance_type for host in took_part),
        network=spec.data_network,
        price=_price(took_part),
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


def _price(hosts: Sequence[HostSpec]) -> PriceQuote | None:
    """What all of them cost an hour; None if that is not known of one, or in several currencies."""
    prices = [each.price for each in hosts if each.price is not None]
    currencies = {each.currency for each in prices}
    if len(prices) < len(hosts) or len(currencies) != 1:
        return None
    return PriceQuote(
        amount=sum(each.per_hour for each in prices),
        currency=currencies.pop(),
        per="cluster-hour",
        source="; ".join(_each(each.source for each in prices)),
        as_of=min(each.as_of for each in prices).isoformat(),
    )
