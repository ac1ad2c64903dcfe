"""What a sort would take and cost on the instance types of a catalogue.

Time is equation (6) of `io_cost`, cost equation (7), the number of nodes what the data needs to
fit. A bandwidth that is not known is never invented: the result is None with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from venturi.model import io_cost
from venturi.model.catalog import BYTES_PER_S, Catalog, Fact, InstanceType, Kind
from venturi.record.trial import PriceQuote

STALE_AFTER_DAYS = 365
HOURS_PER_MONTH = 720.0  # what the paper's published EBS costs imply; 730 and 744 are also in use


class Network(StrEnum):
    """Which network bandwidth counts: the three bars per type of the paper's Figure 9."""

    AT_SCALE = "at scale"  # as observed in a large cluster, else the next best that is known
    BASELINE = "baseline"  # as between two nodes: ideal scaling
    UNLIMITED = "unlimited"  # storage alone


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A bandwidth of one node and how it is known. `upper_bound`: a line rate, never exceeded."""

    bytes_per_s: float
    kind: Kind
    source: str
    as_of: date | None
    note: str
    upper_bound: bool = False


@dataclass(frozen=True, slots=True)
class PricedType:
    """One sort on one instance type; whatever is None has its reason in `missing`.

    `lower_bound` is True when a bandwidth is only an upper bound: the sort takes at least so long
    and costs at least so much. `storage_only_cost_usd` leaves the network out.
    """

    instance_type: str
    nodes: int | None
    map_shuffle_s: float | None
    sort_reduce_s: float | None
    elapsed_s: float | None
    cost_usd: float | None
    bottleneck: str | None  # of map and shuffle: "storage" or "network"
    lower_bound: bool
    storage_only_cost_usd: float | None
    storage: Bandwidth | None
    network: Bandwidth | None
    price: PriceQuote | None
    price_is_stale: bool | None
    missing: tuple[str, ...]


def volumes_usd_per_hour(
    volumes: int,
    size_gib: float,
    usd_per_gib_month: float,
    hours_per_month: float = HOURS_PER_MONTH,
) -> float:
    """US dollars per hour for `volumes` of `size_gib`: volumes * GiB * price / hours in a month."""
    for name, value in (("volumes", volumes), ("size_gib", size_gib)):
        io_cost.need_size(name, value)
    io_cost.need_size("usd_per_gib_month", usd_per_gib_month)
    io_cost.need_rate("hours_per_month", hours_per_month)
    return volumes * size_gib * usd_per_gib_month / hours_per_month


def is_stale(quote: PriceQuote, as_of: date) -> bool:
    """Whether `quote` is more than a year older than `as_of`."""
    return (as_of - date.fromisoformat(quote.as_of)).days > STALE_AFTER_DAYS


def quote(instance_type: InstanceType) -> PriceQuote | None:
    """The on-demand price of one node, or None if the catalogue has none."""
    fact = instance_type.fact("price")
    if not isinstance(fact.value, float) or fact.as_of is None:
        return None
    return PriceQuote(fact.value, "USD", "node-hour", fact.source, fact.as_of.isoformat())


def price_sort(
    instance_type: InstanceType,
    data_bytes: int,
    *,
    nodes: int | None = None,
    network: Network = Network.AT_SCALE,
    as_of: date | None = None,
) -> PricedType:
    """Time and cost of sorting `data_bytes` on `nodes` of `instance_type`.

    Without `nodes` the fewest that hold three copies of the data (input, intermediate, output).
    `as_of` is the day by which a price is judged stale; without it that is not judged.
    """
    if data_bytes <= 0:
        raise io_cost.invalid("data_bytes", data_bytes, "above 0")
    missing: list[str] = []
    count = _nodes(instance_type, data_bytes, nodes, missing)
    storage = _bandwidth(instance_type, ("storage_rate",), missing, "B_storage")
    link = _network(instance_type, network, missing)
    price = quote(instance_type)
    if price is None:
        missing.append(f"price: {instance_type.fact('price').note or 'has no date'}")
    storage_only = map_s = sort_s = None
    if storage and price:
        storage_only = io_cost.sort_cost_usd(
            data_bytes, price.amount, storage.bytes_per_s, math.inf
        )
    link_bytes_per_s = (
        math.inf if network is Network.UNLIMITED else link.bytes_per_s if link else None
    )
    if storage and link_bytes_per_s is not None and count is not None:
        each = data_bytes / count
        map_s = io_cost.sort_map_shuffle_s(each, storage.bytes_per_s, link_bytes_per_s)
        sort_s = io_cost.sort_sort_reduce_s(each, storage.bytes_per_s)
    elapsed_s = None if map_s is None or sort_s is None else map_s + sort_s
    cost_usd = (
        io_cost.cost_usd(price.amount, elapsed_s, count)
        if price and elapsed_s is not None and count is not None
        else None
    )
    bottleneck = None
    if storage and map_s is not None and link_bytes_per_s is not None:
        if link_bytes_per_s < storage.bytes_per_s:
            bottleneck = "network"
        elif link and link.upper_bound:
            missing.append("bottleneck: of the network only the line rate is known")
        else:
            bottleneck = "storage"
    return PricedType(
        instance_type=instance_type.name,
        nodes=count,
        map_shuffle_s=map_s,
        sort_reduce_s=sort_s,
        elapsed_s=elapsed_s,
        cost_usd=cost_usd,
        bottleneck=bottleneck,
        lower_bound=elapsed_s is not None and link is not None and link.upper_bound,
        storage_only_cost_usd=storage_only,
        storage=storage,
        network=link,
        price=price,
        price_is_stale=is_stale(price, as_of) if price and as_of else None,
        missing=tuple(missing),
    )


def price_table(
    catalog: Catalog,
    data_bytes: int,
    *,
    network: Network = Network.AT_SCALE,
    as_of: date | None = None,
) -> list[PricedType]:
    """Every type of `catalog`, the cheapest first.

    Those whose cost is only a lower bound come after all with a cost (they cannot be ranked among
    them), those without a cost last.
    """
    priced = [
        price_sort(each, data_bytes, network=network, as_of=as_of)
        for each in catalog.types.values()
    ]
    return sorted(priced, key=_rank)


def _rank(priced: PricedType) -> tuple[int, float, str]:
    if priced.cost_usd is None:
        storage_only = priced.storage_only_cost_usd
        return 2, math.inf if storage_only is None else storage_only, priced.instance_type
    return int(priced.lower_bound), priced.cost_usd, priced.instance_type


def _nodes(
    instance_type: InstanceType, data_bytes: int, asked: int | None, missing: list[str]
) -> int | None:
    capacity = instance_type.local_bytes
    least = io_cost.nodes_for_capacity(data_bytes, capacity) if capacity else None
    if asked is None:
        if least is None:
            facts = (instance_type.fact(name) for name in ("disk_count", "disk_size"))
            missing += [f"nodes: {fact.note}" for fact in facts if fact.value is None]
        return least
    if asked < max(1, least or 1):
        raise io_cost.invalid(
            "nodes", asked, f"at least {least or 1} for the data to fit on {instance_type.name}"
        )
    return asked


def _network(instance_type: InstanceType, wanted: Network, missing: list[str]) -> Bandwidth | None:
    if wanted is Network.UNLIMITED:
        return None
    measured: tuple[str, ...] = ("network_rate",)
    if wanted is Network.AT_SCALE:
        measured = ("network_rate_at_scale", "network_rate")
    return _bandwidth(instance_type, (*measured, "network_line_rate"), missing, "B_network")


def _bandwidth(
    instance_type: InstanceType, attributes: Sequence[str], missing: list[str], name: str
) -> Bandwidth | None:
    """The first known of `attributes`; if there is none, why, for the one that matters most."""
    for attribute in attributes:
        fact = instance_type.fact(attribute)
        if isinstance(fact.value, float) and fact.kind is not None:
            return Bandwidth(
                fact.value * BYTES_PER_S[fact.unit], fact.kind, fact.source, fact.as_of, fact.note,
                upper_bound=attribute.endswith("line_rate"),
            )  # fmt: skip
    missing.append(f"{name}: {_reason(instance_type, attributes).note}")
    return None


def _reason(instance_type: InstanceType, attributes: Sequence[str]) -> Fact:
    given = [instance_type.facts[name] for name in attributes if name in instance_type.facts]
    return given[0] if given else instance_type.fact(attributes[0])
