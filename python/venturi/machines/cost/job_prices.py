"""The cost of a job's run: by its recorded price, else by a price that the user has set.

The user's price of the cluster precedes that of its nodes, and both precede that of a core-hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from venturi.core.units import SECONDS_PER_HOUR, format_core_time
from venturi.core.wording import count_of

RECORDED, CLUSTER, NODE, CORE_HOUR = "recorded", "cluster", "node", "core-hour"
CLUSTER_LABEL, TYPE_LABEL = "cluster", "instance_type"
"""Labels that name the cluster and its instance type, which logs don't record."""
NAMED_KINDS = (NODE, CLUSTER)
"""The kinds of prices that there are several of, each with a name."""
MOST_USD = 1e6
_STEADY = 0.9  # of the most cores over the whole time: more isn't called "up to"


@dataclass(frozen=True, slots=True)
class JobPrices:
    """The user's prices in US dollars: of a core-hour, and of an hour of other things by name.

    `nodes` has that of one node by instance type, `clusters` that of a whole cluster.
    """

    core_hour: float | None = None
    nodes: Mapping[str, float] = field(default_factory=dict)
    clusters: Mapping[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        """Kind, name and price, in the order in which they apply; the name may be ""."""
        for kind in reversed(NAMED_KINDS):
            for name, usd in sorted(self._named(kind).items()):
                yield kind, name, usd
        if self.core_hour is not None:
            yield CORE_HOUR, "", self.core_hour

    def get(self, kind: str, name: str) -> float | None:
        """The price; None if it isn't set."""
        return self.core_hour if kind == CORE_HOUR else self._named(kind).get(name)

    def changed(self, kind: str, name: str, usd: float | None) -> JobPrices:
        """These prices with this one set; None removes it."""
        if kind == CORE_HOUR:
            return replace(self, core_hour=usd)
        kept = {key: value for key, value in self._named(kind).items() if key != name}
        named = kept if usd is None else {**kept, name: usd}
        return replace(self, nodes=named) if kind == NODE else replace(self, clusters=named)

    def _named(self, kind: str) -> Mapping[str, float]:
        return self.nodes if kind == NODE else self.clusters


def price_words(kind: str, name: str) -> str:
    """A price as the user writes it: `core-hour`, `node i4i.2xlarge`, `cluster etl`."""
    return f"{kind} {name}" if name else kind


@dataclass(frozen=True, slots=True)
class JobUse:
    """The machines that a run used, for its cost.

    `core_s` are core-seconds of all executors, and `cores` is the most at one time; the reason is
    for not knowing them. `recorded_usd` is the cost by the recorded price, in words
    `recorded_basis`; `recorded_reason` explains why it is None although a price is recorded.
    """

    elapsed_s: float | None = None
    cluster: str | None = None
    instance_type: str | None = None
    nodes: int = 0
    core_s: float | None = None
    cores: int | None = None
    cores_reason: str | None = None
    emulated: bool = False
    recorded_usd: float | None = None
    recorded_basis: str | None = None
    recorded_reason: str | None = None


@dataclass(frozen=True, slots=True)
class JobCost:
    """The cost of a run of `elapsed_s`, its `basis` in words, and the `price` used.

    Without a price only `reason` is known. `price` is as in `price_words`, or `recorded` for the
    run's own price.
    """

    usd: float | None = None
    basis: str | None = None
    price: str | None = None
    reason: str | None = None
    elapsed_s: float | None = None

    def of_saving(self, saving_s: float | None) -> float | None:
        """The share of the cost that a saving of time has; None if either is unknown."""
        if self.usd is None or saving_s is None or not self.elapsed_s:
            return None
        return self.usd * saving_s / self.elapsed_s


def job_cost(use: JobUse, prices: JobPrices) -> JobCost:
    """The cost of a run by the first price that applies; of an emulated cluster only a recorded one
    does, because its time isn't that of real machines.
    """
    elapsed_s = use.elapsed_s
    if use.recorded_usd is not None:
        return JobCost(use.recorded_usd, use.recorded_basis, RECORDED, elapsed_s=elapsed_s)
    if use.emulated:
        return JobCost(reason=use.recorded_reason or "the cluster is emulated")
    cluster, node = use.cluster or "", use.instance_type or ""
    if elapsed_s is not None:
        hours = elapsed_s / SECONDS_PER_HOUR
        if (usd := prices.clusters.get(cluster)) is not None:
            words = price_words(CLUSTER, cluster)
            return JobCost(usd * hours, f"price of {words}", words, elapsed_s=elapsed_s)
        if use.nodes and (usd := prices.nodes.get(node)) is not None:
            basis, words = f"node price, {use.nodes:,} × {node}", price_words(NODE, node)
            return JobCost(usd * hours * use.nodes, basis, words, elapsed_s=elapsed_s)
    if prices.core_hour is not None and use.core_s is not None:
        whole = prices.core_hour * use.core_s / SECONDS_PER_HOUR
        return JobCost(whole, _of_cores(use, use.core_s), CORE_HOUR, elapsed_s=elapsed_s)
    return JobCost(reason=_why_unpriced(use, prices))


def _of_cores(use: JobUse, core_s: float) -> str:
    """`core-hour price, 24 cores`; with the core-hours if there were fewer cores at times."""
    if use.cores is None or use.elapsed_s is None:
        return f"core-hour price, {format_core_time(core_s)}"
    cores = count_of(use.cores, "core")
    if core_s >= _STEADY * use.cores * use.elapsed_s:
        return f"core-hour price, {cores}"
    return f"core-hour price, up to {cores}, {format_core_time(core_s)}"


def _why_unpriced(use: JobUse, prices: JobPrices) -> str:
    if not any(prices):
        return use.recorded_reason or "no price is recorded with this run, and none is set"
    reasons = [] if use.recorded_reason is None else [use.recorded_reason]
    if prices.core_hour is not None:
        reasons.append(use.cores_reason or "its cores are unknown")
    if use.elapsed_s is None:
        reasons.append("its time is unknown")
    else:
        unpriced = [
            f"{what} {name}" if name else f"unrecorded {what}"
            for what, name in (("cluster", use.cluster), ("node type", use.instance_type))
        ]
        others = ", or for a core-hour" if prices.core_hour is None else ""
        reasons.append(f"no price is set for its {' or '.join(unpriced)}{others}")
    return "; ".join(reasons)
