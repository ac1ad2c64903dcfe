"""One machine as a job sees it: rates, capacity, cores, each with its range and origin.

A rate that is not known is None with its reason in `missing`; it is never invented.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from venturi.core.quantity import UNLIMITED, Quantity, ValueKind
from venturi.machines.catalog import BYTES_PER_S, AttachedVolumes, Fact, InstanceType
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.extensions import bonded, capped


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a figure of this kind may be off where its source gives no range: factors."""

    low: float
    high: float
    source: str


_AT_SCALE = (
    "8 of 9 types fell below 80 % of their baseline at scale (SoCC 2015, 4.3.3), the size is "
    "only in a figure: half is our own margin"
)
_ANOTHER_DAY = (
    "a sort got 1,123 MB/s a node where 879 had been measured (SoCC 2015, 5.1); the same downwards"
)
# Range of a catalog's figure that has no range of its own.
SPREADS: Mapping[tuple[str, ValueKind], Margin] = {
    ("storage", ValueKind.MEASURED): Margin(
        0.87, 1.0, "slowest of 178 nodes over the mean of a few (SoCC 2015, 5.1)"
    ),
    ("storage", ValueKind.DERIVED): Margin(
        0.87, 1.02, "as measured, and the rounding of the published figure"
    ),
    ("network", ValueKind.MEASURED): Margin(0.50, 1.0, _AT_SCALE),
    ("network", ValueKind.DERIVED): Margin(
        0.50, 1.02, f"{_AT_SCALE}; and the rounding of the published figure"
    ),
    ("network", ValueKind.ADVERTISED): Margin(0.50, 1.0, _AT_SCALE),
    ("network at scale", ValueKind.MEASURED): Margin(0.78, 1.28, _ANOTHER_DAY),
    ("network at scale", ValueKind.DERIVED): Margin(0.78, 1.28, _ANOTHER_DAY),
    ("volume", ValueKind.MEASURED): Margin(
        0.87, 1.0, "87 % of the volumes' rate was achieved end to end (SoCC 2015, 5.3)"
    ),
    ("volume", ValueKind.DERIVED): Margin(0.87, 1.0, "as measured"),
    ("volume", ValueKind.ADVERTISED): Margin(
        0.79, 1.0, "226 of 250 MB/s measured, 87 % of it achieved (SoCC 2015, 4.4 and 5.3)"
    ),
}
PAYLOAD = 0.99  # of a line's rate, TCP at an MTU of 9,001
_UNKNOWN = Margin(0.5, 1.5, "our own margin: no measurement exists")


@dataclass(frozen=True, slots=True)
class Node:
    """One machine. Rates are in bytes per second of the whole machine, `None` if unknown.

    `storage` is the rate of the local disks in each direction while they read and write
    concurrently; with several disks, half of them read (B_storage, DiskBench). `local_read` and
    `local_write` are the rates of all disks in one direction. `cores` are full-speed cores of the
    machine on which the job's CPU cost was measured, if `cpu_factor` is known, else its own.
    `store` is the rate of object storage in one direction, without the limit of the network.
    `on_volumes`: there are no local disks, and network volumes keep all data; they hold
    `volume_bytes`, or without a value as much as necessary.
    """

    name: str
    storage: Quantity | None = None
    local_read: Quantity | None = None
    local_write: Quantity | None = None
    network: Quantity | None = None
    volume_read: Quantity | None = None
    volume_write: Quantity | None = None
    store: Quantity | None = None
    disks: int | None = None
    on_volumes: bool = False
    volume_bytes: int | None = None
    local_bytes: int | None = None
    cores: float | None = None
    memory_bytes: float | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


def rate_of(fact: Fact, resource: str, *, upper_bound: bool = False) -> Quantity | None:
    """The rate in a catalog's `fact` in bytes per second, or None if it has no value."""
    if not isinstance(fact.value, float) or fact.kind is None:
        return None
    scale = BYTES_PER_S[fact.unit]
    spread = SPREADS.get((resource, fact.kind), _UNKNOWN)
    low = fact.value * spread.low if fact.low is None else fact.low
    high = fact.value * spread.high if fact.high is None else fact.high
    given = fact.low is not None or fact.high is not None
    origin = "as assumed" if fact.kind is ValueKind.ASSUMED else "the catalog"
    return Quantity(
        fact.value * scale,
        low * scale,
        (fact.value if upper_bound else high) * scale,
        fact.kind,
        fact.source,
        fact.as_of,
        fact.note,
        origin if given else spread.source,
        upper_bound,
    )


def node_of(instance_type: InstanceType, network: NetworkChoice = NetworkChoice.AT_SCALE) -> Node:
    """The node model of `instance_type`, from the catalog's facts."""
    missing: dict[str, str] = {}

    def known(name: str, resource: str, *attributes: str) -> Quantity | None:
        return _first(instance_type, name, resource, attributes, missing)

    path = rate_of(instance_type.fact("disk_path_rate"), "storage", upper_bound=True)

    def disks_behind_path(name: str, attribute: str, share: float) -> Quantity | None:
        rate = known(name, "storage", attribute)
        if rate is None or path is None:
            return rate
        each = path if share == 1.0 else path.times(share, f"{share:g} of both directions")
        return capped(rate, {"disk path": each})

    attached = instance_type.volumes
    vcpus, factor = instance_type.number("vcpus"), instance_type.number("cpu_factor")
    memory_gib = instance_type.number("memory")
    disks = instance_type.number("disk_count")
    if instance_type.local_bytes is None:
        facts = (instance_type.fact(name) for name in ("disk_count", "disk_size"))
        missing["local_bytes"] = "; ".join(f.note for f in facts if f.value is None)
    return Node(
        name=instance_type.name,
        storage=disks_behind_path("storage", "storage_rate", 0.5),
        local_read=disks_behind_path("local_read", "local_read_rate", 1.0),
        local_write=disks_behind_path("local_write", "local_write_rate", 1.0),
        network=_bonded(instance_type, _network(instance_type, network, missing)),
        volume_read=known("volume_read", "volume", "volume_read_rate", "volume_line_rate"),
        volume_write=known("volume_write", "volume", "volume_write_rate", "volume_line_rate"),
        store=_store(instance_type, missing),
        disks=None if disks is None else round(disks),
        on_volumes=attached is not None and not instance_type.has_disks,
        volume_bytes=_volume_bytes(attached),
        local_bytes=instance_type.local_bytes,
        cores=None if vcpus is None else vcpus * (1.0 if factor is None else factor),
        memory_bytes=None if memory_gib is None else memory_gib * 2**30,
        missing=missing,
    )


def _volume_bytes(attached: AttachedVolumes | None) -> int | None:
    """The most that a node's volumes hold; None if that is unknown."""
    if attached is None:
        return None
    gib = attached.kind.number("volume_size_max") if attached.gib is None else attached.gib
    return None if gib is None else round(attached.count * gib * 2**30)


def _store(instance_type: InstanceType, missing: dict[str, str]) -> Quantity | None:
    """One request for each vCPU, up to the most of one node; half of that at worst."""
    if instance_type.store is None:
        missing["store"] = "the catalog has no object storage of this provider"
        return None
    request, most = map(instance_type.store.fact, ("store_request_rate", "store_node_rate"))
    vcpus = instance_type.number("vcpus")
    if not (isinstance(request.value, float) and isinstance(most.value, float) and vcpus):
        missing["store"] = request.note or most.note
        return None
    value = min(most.value, vcpus * request.value) * BYTES_PER_S["MB/s"]
    return Quantity(
        value,
        value / 2,
        most.value * BYTES_PER_S["MB/s"],
        ValueKind.DERIVED,
        request.source,
        request.as_of,
        f"one request of {request.value:g} MB/s for each of {vcpus:g} vCPUs",
        "half of it, to the most of one node",
    )


def _network(
    instance_type: InstanceType, wanted: NetworkChoice, missing: dict[str, str]
) -> Quantity | None:
    if wanted is NetworkChoice.UNLIMITED:
        return UNLIMITED
    attributes = ("network_rate", "network_line_rate")
    baseline = _first(instance_type, "network", "network", attributes, missing)
    burst = instance_type.number("network_burst_rate")
    if baseline is not None and burst is not None and not baseline.upper_bound:
        high = max(baseline.high, PAYLOAD * burst * BYTES_PER_S["Gbit/s"])
        how = f"{baseline.range_from}; the high end is the burst rate, while credits last"
        baseline = replace(baseline, high=high, range_from=how)
    fact = instance_type.fact("network_rate_at_scale")
    at_scale = rate_of(fact, "network at scale")
    if wanted is NetworkChoice.BASELINE or at_scale is None:
        return baseline
    missing.pop("network", None)
    if baseline is None or baseline.upper_bound or instance_type.fact("network_rate").value is None:
        return at_scale
    # A cluster's rate lies between the rates of two nodes and of the slowest of many. Never narrows
    # a range that the catalog gives.
    lowest = at_scale.value if fact.low is None else at_scale.low
    highest = at_scale.value if fact.high is None else at_scale.high
    low, high = min(lowest, baseline.value), max(highest, baseline.value)
    return Quantity(
        at_scale.value,
        low,
        high,
        at_scale.kind,
        at_scale.source,
        at_scale.as_of,
        at_scale.note,
        "from the slowest node at scale to two nodes alone",
    )


def _bonded(instance_type: InstanceType, member: Quantity | None) -> Quantity | None:
    """The machine's rate with its bond, from the rate of one interface."""
    members = instance_type.number("network_members")
    if member is None or members is None or math.isinf(member.value):
        return member
    ports = instance_type.number("network_ports")
    return bonded(member, round(members), round(ports or 1))


def _first(
    instance_type: InstanceType,
    name: str,
    resource: str,
    attributes: Sequence[str],
    missing: dict[str, str],
) -> Quantity | None:
    """The first known of `attributes`; if all are unknown, records why, for the most important."""
    for attribute in attributes:
        fact = instance_type.fact(attribute)
        rate = rate_of(fact, resource, upper_bound=attribute.endswith("line_rate"))
        if rate is not None and math.isfinite(rate.value):
            return rate
    given = [instance_type.facts[a] for a in attributes if a in instance_type.facts]
    missing[name] = (given[0] if given else instance_type.fact(attributes[0])).note
    return None
