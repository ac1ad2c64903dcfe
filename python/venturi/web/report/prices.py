"""The price table of the page: the answer of `advise` for each type, or why it is missing."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.core.quantity import Quantity
from venturi.core.statistics.stats import Missing
from venturi.machines.advice.hardware import Advice
from venturi.machines.advice.option import Option, RuledOut, price_of
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.job import Job
from venturi.machines.cost.node import Node, node_of
from venturi.machines.cost.price import is_stale
from venturi.web.report.data import Number, PriceRow, Text


def price_rows(advice: Advice, catalogs: Sequence[Catalog]) -> tuple[PriceRow, ...]:
    """A row for each type of `catalogs` in the first durability class of `advice`.

    In the order of the ranking; then the types with only a lower bound of the cost, then those that
    are no option.
    """
    types = {(each.name, name): kind for each in catalogs for name, kind in each.types.items()}
    found = advice.classes[0]
    answers: tuple[Option | RuledOut, ...] = (*found.ranked, *found.at_least, *found.excluded)
    return tuple(
        _row(advice, types[answer.catalog, answer.instance_type], answer) for answer in answers
    )


def _row(advice: Advice, instance_type: InstanceType, answer: Option | RuledOut) -> PriceRow:
    request = advice.request
    node = node_of(instance_type, request.network)
    storage, storage_known = _rate(node.storage, node, "storage")
    network, network_known = _rate(_finite(node, request.network), node, "network")
    option = answer if isinstance(answer, Option) else None
    time_s = option.time_s if option else None
    usd = option.usd if option and option.metered_usd else None
    why_not = Missing("unknown")
    if isinstance(answer, RuledOut):
        why_not = Missing("; ".join((answer.detail, *answer.also)))
    nodes: Number = why_not
    if option is not None:
        nodes = option.nodes
    elif isinstance(answer, RuledOut) and answer.nearest_nodes is not None:
        nodes = answer.nearest_nodes
    usd_per_hour, as_of, stale, source = _price(advice, instance_type, request.jobs[0])
    return PriceRow(
        instance_type=instance_type.name,
        nodes=nodes,
        elapsed_s=time_s.value if time_s else why_not,
        elapsed_low_s=time_s.low if time_s else why_not,
        elapsed_high_s=time_s.high if time_s else why_not,
        cost_usd=usd.value if usd else why_not,
        cost_low_usd=usd.low if usd else why_not,
        cost_high_usd=usd.high if usd else why_not,
        lower_bound=option.lower_bound if option else False,
        bottleneck=_bottleneck(option) if option else why_not,
        storage_bytes_per_s=storage,
        storage_kind=_kind(node.storage),
        storage_known=storage_known,
        network_bytes_per_s=network,
        network_kind=_kind(_finite(node, request.network)),
        network_known=network_known,
        price_usd_per_hour=usd_per_hour,
        price_as_of=as_of,
        price_is_stale=stale,
        price_source=source,
        known=option is not None,
    )


def _finite(node: Node, network: NetworkChoice) -> Quantity | None:
    return None if network is NetworkChoice.UNLIMITED else node.network


def _kind(rate: Quantity | None) -> str:
    if rate is None:
        return ""
    return f"{rate.kind}, at most" if rate.upper_bound else rate.kind.value


def _rate(rate: Quantity | None, node: Node, name: str) -> tuple[Number, Text]:
    """A rate, and where it comes from: source, note, date."""
    if rate is None:
        reason = Missing(node.missing.get(name, "assumed unlimited"))
        return reason, reason
    parts = (rate.source, rate.note, rate.as_of.isoformat() if rate.as_of else "")
    return rate.value, "; ".join(part for part in parts if part)


def _bottleneck(option: Option) -> Text:
    """The narrowest point of map and shuffle."""
    narrowest = option.phases[0].narrowest
    if option.lower_bound and narrowest != "network":
        return Missing("only the network's line rate is known")
    return narrowest


def _price(
    advice: Advice, instance_type: InstanceType, job: Job
) -> tuple[Number, Text, bool, Text]:
    """US dollars per node and hour, the day of the quote, whether it is old, and its source."""
    price = price_of(instance_type, job)
    if isinstance(price, str):
        return Missing(price), Missing(price), False, Missing(price)
    as_of, today = price.node.as_of, advice.request.today
    stale = is_stale(as_of, today) if as_of and today else False
    day: Text = as_of.isoformat() if as_of else Missing("the price has no date")
    return price.node.usd_per_hour, day, stale, price.node.source
