"""An option's cost under three network assumptions: the bars of the paper's Figure 9."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import Missing
from venturi.machines.advice.hardware import Advice, predict
from venturi.machines.advice.option import Option
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.job import Job


@dataclass(frozen=True, slots=True)
class NetworkCosts:
    """US dollars, central estimates; a Missing value has its reason."""

    instance_type: str
    nodes: int
    usd: Mapping[NetworkChoice, float | Missing]


NETWORKS = (NetworkChoice.UNLIMITED, NetworkChoice.BASELINE, NetworkChoice.AT_SCALE)


def network_costs(advice: Advice, catalogs: Sequence[Catalog]) -> tuple[NetworkCosts, ...]:
    """Cost with storage alone, ideal network and observed network, in the first requested class.

    Options come first, with their chosen node counts. Excluded types follow, with the fewest nodes
    that hold the data, the cheapest by storage alone first. The observed cost is only given if the
    network was measured at scale.
    """
    by_name = {catalog.name: catalog for catalog in catalogs}
    found, job = advice.classes[0], advice.request.jobs[0]
    asked = advice.request.network
    others = [(e.catalog, e.instance_type, e.nearest_nodes) for e in found.excluded]

    def costs(catalog: str, name: str, nodes: int, option: Option | None = None) -> NetworkCosts:
        known = by_name[catalog].types[name]
        at_scale = known.number("network_rate_at_scale") is not None
        usd: dict[NetworkChoice, float | Missing] = {}
        for network in NETWORKS:
            if network is NetworkChoice.AT_SCALE and not at_scale:
                usd[network] = Missing("not measured in a large cluster")
            elif _knows(option) and _same(network, asked, at_scale):
                usd[network] = option.usd.value
            else:
                usd[network] = _usd(job, catalog, known, nodes, network)
        return NetworkCosts(name, nodes, usd)

    options = [
        costs(each.catalog, each.instance_type, each.nodes, each)
        for each in (*found.ranked, *found.at_least)
    ]
    rest = [costs(catalog, name, nodes) for catalog, name, nodes in others if nodes is not None]
    return (*options, *sorted(rest, key=_storage_only))


def _knows(option: Option | None) -> TypeGuard[Option]:
    return option is not None and option.cost_usd is not None and not option.lower_bound


def _same(network: NetworkChoice, asked: NetworkChoice, at_scale: bool) -> bool:
    """Whether both are the same rates; without one at scale, the baseline is used instead."""
    return network is asked or not (at_scale or NetworkChoice.UNLIMITED in (network, asked))


def _storage_only(costs: NetworkCosts) -> float:
    usd = costs.usd[NetworkChoice.UNLIMITED]
    return math.inf if isinstance(usd, Missing) else usd


def _usd(
    job: Job, catalog: str, instance_type: InstanceType, nodes: int, network: NetworkChoice
) -> float | Missing:
    try:
        candidate = predict(job, catalog, instance_type, nodes, network)
    except VenturiError as error:
        return Missing(error.message)
    if candidate.time.lower_bound:
        return Missing("only its line rate is known")
    if candidate.metered_usd is None:
        return Missing(candidate.no_price)
    return float(candidate.usd[0, 0])
