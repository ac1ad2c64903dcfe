"""Time and cost of one instance type for one job, for many node counts together and for one.

Unknown values aren't priced: `candidate_of` returns the reasons instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from venturi.core.domain import need_rate
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.catalog import VOLUME, InstanceType
from venturi.machines.cost.charges import (
    HOURS_PER_MONTH,
    attached_volumes,
    store_charges,
    volumes_of,
)
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import Bounds, JobTime, Term, job_time
from venturi.machines.cost.job import Job, nodes_for_capacity
from venturi.machines.cost.node import Node
from venturi.machines.cost.price import (
    Bill,
    BillItem,
    PriceComponent,
    Tariff,
    bill,
    billed,
    currency_of,
    is_stale,
    left_out,
    metered,
    tariff_of,
)

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
GIB = 2**30

# The rates of a node that a job may depend on, and the commands that measure them.
RATES = {
    "storage": "venturi probe disk",
    "local_read": "venturi probe disk",
    "local_write": "venturi probe disk",
    "network": "venturi probe net",
    "volume_read": "venturi probe disk, on a volume",
    "volume_write": "venturi probe disk, on a volume",
    "store": "a transfer of large objects on one machine",
}


class AdviceObjective(StrEnum):
    """Which option comes first: see `choose.py`."""

    RECOMMENDED = "recommended"
    CHEAPEST = "cheapest"
    FASTEST = "fastest"


class RuledOutReason(StrEnum):
    """Why a type is not among the options."""

    UNKNOWN = "a figure is unknown"
    NO_PRICE = "no price"
    CAPACITY = "the data does not fit"
    TOO_MANY = "needs more nodes than are available"
    DEADLINE = "misses the deadline"
    BUDGET = "over the budget"


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A type that isn't an option, and why; `also` has more reasons.

    `nearest` is its best value: nodes for CAPACITY and TOO_MANY, seconds for DEADLINE, US dollars
    for BUDGET, each with `nearest_nodes` nodes. None if unknown.
    """

    catalog: str
    instance_type: str
    reason: RuledOutReason
    detail: str
    also: tuple[str, ...] = ()
    nearest: float | None = None
    nearest_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class OptionPrice:
    """The price of N nodes: N times `node`, plus `whole` once (what holds the data), an hour.

    `once` are amounts whatever the time: requests to object storage.
    """

    node: Tariff
    whole: tuple[PriceComponent, ...] = ()
    once: tuple[BillItem, ...] = ()

    @property
    def as_of(self) -> date | None:
        """The day of the oldest quote."""
        days = (self.node.as_of, *(part.as_of for part in (*self.node.parts, *self.whole)))
        return min((day for day in days if day is not None), default=None)

    def tariff(self, nodes: int) -> Tariff:
        """The tariff of one of `nodes` nodes."""
        shares = (replace(part, count=part.count / nodes) for part in self.whole)
        return replace(self.node, parts=(*self.node.parts, *shares))

    def metered_usd(self, seconds: Array, counts: Counts) -> Array:
        """US dollars by the second."""
        return metered(self.node, seconds, counts) + self._whole_usd(seconds)

    def billed_usd(self, seconds: Array, counts: Counts) -> Array | None:
        """US dollars as the provider rounds time; None if that is not known."""
        asked = billed(self.node, seconds, counts)
        return None if asked is None else asked + self._whole_usd(seconds)

    def _whole_usd(self, seconds: Array) -> Array:
        per_hour = sum(part.total_per_hour for part in self.whole)
        return per_hour / SECONDS_PER_HOUR * seconds + sum(item.amount for item in self.once)


def price_of(instance_type: InstanceType, job: Job) -> OptionPrice | str:
    """The price of a node for `job`, in US dollars, or the reason why it is unknown."""
    fact = instance_type.fact("price")
    others = ["platform_fee"]
    if job.durability is Durability.VOLUMES:
        others += ["volume_price", "volume_optimised_price"]
    for each in (fact, *(instance_type.fact(name) for name in others)):
        if isinstance(each.value, float) and currency_of(each) != "USD":
            what = "priced" if each is fact else "with a fee"
            return f"{what} in {currency_of(each)}, and amounts are only compared in USD"
    parts: tuple[PriceComponent, ...] = ()
    whole: tuple[PriceComponent, ...] = ()
    if job.durability is Durability.VOLUMES:
        attached = attached_volumes(instance_type)
        if isinstance(attached, str):
            return attached
        if attached is not None:
            parts = attached.parts()
        if attached is None or not attached.gib:  # as much as holds the data
            held = job.volume_bytes
            if attached is not None and not instance_type.has_disks:
                held += job.local_bytes
            hours = HOURS_PER_MONTH if attached is None else attached.hours_per_month
            volumes = volumes_of(instance_type, 1, held / GIB, hours)
            if volumes is None:
                return instance_type.fact("volume_price").note
            whole = volumes.parts()
    once: tuple[BillItem, ...] = ()
    left: tuple[str, ...] = ()
    if job.durability is Durability.OBJECTS:
        whole, once, left = store_charges(instance_type, job)
    # Given volumes, the tariff has the fee for the path to them, and the volumes themselves.
    objects = job.durability is Durability.OBJECTS
    tariff = tariff_of(instance_type, volumes=parts if objects else (*parts, *whole))
    if tariff is None:
        return fact.note
    own = tuple(part for part in tariff.parts if part not in whole)
    return OptionPrice(
        replace(tariff, parts=own, assumptions=(*tariff.assumptions, *left)), whole, once
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A type with every node count in question. Arrays have the shape (3, counts).

    Without a `price` there are no costs, and `no_price` says why.
    """

    catalog: str
    instance_type: InstanceType
    job: Job
    node: Node
    price: OptionPrice | None
    no_price: str
    least_nodes: int
    most_nodes: int
    time: JobTime
    seconds: Array
    metered_usd: Array | None
    billed_usd: Array | None

    @property
    def counts(self) -> Counts:
        """The node counts, ascending."""
        return self.time.nodes

    @property
    def usd(self) -> Array:
        """The cost as billed, or metered if the billing is unknown."""
        usd = self.metered_usd if self.billed_usd is None else self.billed_usd
        assert usd is not None
        return usd

    def bill(self, nodes: int) -> Bill | None:
        """The itemised cost with `nodes` nodes, by the middle of the time; None without a price."""
        if self.price is None:
            return None
        seconds = float(self.seconds[0, int(np.searchsorted(self.counts, nodes))])
        made = bill(self.price.tariff(nodes), seconds, nodes)
        return replace(made, items=(*made.items, *self.price.once))


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """One phase of an option; `certain` if nothing else could be its narrowest point, else `rivals`
    could.
    """

    name: str
    seconds: Bounds
    narrowest: str
    certain: bool
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One type with one node count. `weakest`: origin of its least certain relevant rate.

    `volumes` are the network volumes of each node, "" without any.
    `lower_bound`: a rate is only known as an upper bound, so time and cost are lower bounds.
    `cost_usd` is the cost as billed, or of the time used if the billing increment is unknown.
    `within_limits`: True if deadline and budget hold anywhere within the ranges; None without
    limits. `left_out`: items that the price doesn't cover, so that the cost isn't a bound.
    `missing`: the reason for each missing cost, by field.
    """

    catalog: str
    instance_type: str
    provider: str | None
    volumes: str
    durability: Durability
    nodes: int
    least_nodes: int
    most_nodes: int
    time_s: Bounds
    startup_s: float
    cost_usd: Bounds | None
    metered_usd: Bounds | None
    billed_usd: Bounds | None
    phases: tuple[PhaseTime, ...]
    lower_bound: bool
    weakest: ValueKind | None
    price_as_of: date | None
    price_is_stale: bool | None
    assumptions: tuple[str, ...]
    within_limits: bool | None = None
    left_out: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    region: str | None = None

    @property
    def limited_by(self) -> str:
        """Where most of the time goes: a resource, or "start-up"."""
        spent = {"start-up": self.startup_s}
        for phase in self.phases:
            spent[phase.narrowest] = spent.get(phase.narrowest, 0.0) + phase.seconds.value
        return max(spent, key=spent.__getitem__)

    @property
    def usd(self) -> Bounds:
        """The known cost."""
        assert self.cost_usd is not None
        return self.cost_usd


@dataclass(frozen=True, slots=True)
class ReferenceTrial:
    """Measured time of a job and its cost by the second, next to the model's middle.

    `error`: the model's time divided by the real one, less 1. Costs are None without a price.
    """

    instance_type: str
    nodes: int
    time_s: float
    usd: float | None
    model_s: float
    model_usd: float | None
    error: float


def measured_job(candidate: Candidate, time_s: float) -> ReferenceTrial:
    """The first count of `candidate`, on which the job took `time_s` seconds."""
    need_rate("time_s", time_s)
    price, model_s = candidate.price, float(candidate.seconds[0, 0])
    usd = None
    if price is not None:
        usd = float(price.metered_usd(np.array([time_s]), candidate.counts[:1])[0])
    model_usd = None if candidate.metered_usd is None else float(candidate.usd[0, 0])
    return ReferenceTrial(
        candidate.instance_type.name,
        int(candidate.counts[0]),
        time_s,
        usd,
        model_s,
        model_usd,
        model_s / time_s - 1,
    )


def least_nodes(job: Job, node: Node) -> int | None:
    """The fewest nodes with local disks that hold the data and its copies; None if unknown.

    Volumes of a fixed size must hold their data too.
    """
    if job.durability is Durability.VOLUMES:
        return _least_with_volumes(job, node)
    if node.local_bytes is None:
        return None if job.local_bytes and not node.on_volumes else 1
    least = nodes_for_capacity(
        round(job.local_bytes), int(job.filled_share * node.local_bytes), copies=1
    )
    return max(least, 1 + job.remote_copies)  # a remote copy needs another node


def _least_with_volumes(job: Job, node: Node) -> int | None:
    local, remote = job.local_bytes, job.volume_bytes
    if node.on_volumes:
        local, remote = 0.0, remote + local
    least = 1
    if local and node.local_bytes is None:
        return None
    if local and node.local_bytes is not None:
        usable = int(job.filled_share * node.local_bytes)
        least = nodes_for_capacity(round(local), usable, copies=1)
    if node.volume_bytes is not None:
        least = max(least, nodes_for_capacity(round(remote), node.volume_bytes, copies=1))
    return least


def job_on(job: Job, node: Node) -> Job:
    """`job` as it runs on `node`: a machine without local disks keeps everything on its volumes."""
    if job.durability is Durability.OBJECTS or not node.on_volumes:
        return job
    return replace(job, durability=Durability.VOLUMES)


def one_count(nodes: int) -> Counts:
    """One node count, as `candidate_of` takes them."""
    return np.array([nodes], dtype=np.int64)


def candidate_of(
    catalog: str,
    instance_type: InstanceType,
    job: Job,
    *,
    node: Node,
    price: OptionPrice | str,
    counts: Counts,
    limits: tuple[int, int],
) -> Candidate | str:
    """Time and cost of `job` on each of `counts` nodes, or the unknown rates of the type.

    `price` may be the reason why it is unknown. `limits` are the fewest nodes that hold the data
    and the most available.
    """
    time = job_time(job, node, counts)  # type: ignore[arg-type]  # an array is a sequence to numpy
    if time.missing:
        return "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in time.missing.items())
    known = price if isinstance(price, OptionPrice) else None
    seconds = time.seconds
    return Candidate(
        catalog=catalog,
        instance_type=instance_type,
        job=job,
        node=node,
        price=known,
        no_price=price if isinstance(price, str) else "",
        least_nodes=limits[0],
        most_nodes=limits[1],
        time=time,
        seconds=seconds,
        metered_usd=known.metered_usd(seconds, time.nodes) if known else None,
        billed_usd=known.billed_usd(seconds, time.nodes) if known else None,
    )


def at_counts(candidate: Candidate, counts: Counts, node: Node | None = None) -> Candidate:
    """`candidate` with other node counts, and with another `node` if given."""
    made = candidate_of(
        candidate.catalog,
        candidate.instance_type,
        candidate.job,
        node=node or candidate.node,
        price=candidate.price or candidate.no_price,
        counts=counts,
        limits=(candidate.least_nodes, candidate.most_nodes),
    )
    assert isinstance(made, Candidate)
    return made


def option_of(
    candidate: Candidate, at: int, today: date | None, within_limits: bool | None = None
) -> Option:
    """The `at`-th node count of `candidate`."""
    time, price = candidate.time, candidate.price
    as_of = price.as_of if price else None
    paid = price.node.assumptions if price else ()
    return Option(
        catalog=candidate.catalog,
        instance_type=candidate.instance_type.name,
        provider=candidate.instance_type.word("provider"),
        region=candidate.instance_type.word("region"),
        volumes=_volumes(candidate),
        durability=candidate.job.durability,
        nodes=int(candidate.counts[at]),
        least_nodes=candidate.least_nodes,
        most_nodes=candidate.most_nodes,
        time_s=span(candidate.seconds, at),
        startup_s=time.startup.value,
        cost_usd=None if candidate.metered_usd is None else span(candidate.usd, at),
        metered_usd=None if candidate.metered_usd is None else span(candidate.metered_usd, at),
        billed_usd=None if candidate.billed_usd is None else span(candidate.billed_usd, at),
        phases=tuple(
            PhaseTime(
                phase.name,
                phase.span(at),
                phase.binding(at),
                phase.certain(at),
                phase.rivals(at),
            )
            for phase in time.phases
        ),
        lower_bound=time.lower_bound,
        weakest=_weakest(time, at),
        price_as_of=as_of,
        price_is_stale=is_stale(as_of, today) if as_of and today else None,
        assumptions=(*time.assumptions, *paid),
        within_limits=within_limits,
        left_out=left_out(paid),
        missing=_no_cost(candidate),
    )


def _volumes(candidate: Candidate) -> str:
    """The volumes of each node that the job uses, such as `10 gp3`; "" for none."""
    attached = candidate.instance_type.volumes
    used = candidate.job.durability is Durability.VOLUMES or candidate.node.on_volumes
    if attached is None or not used:
        return ""
    return f"{attached.count} {attached.kind.name.removeprefix(VOLUME)}"


def _no_cost(candidate: Candidate) -> dict[str, str]:
    price = candidate.price
    if price is None:
        fields = ("cost_usd", "metered_usd", "billed_usd", "price_as_of")
        return dict.fromkeys(fields, candidate.no_price)
    return {} if candidate.billed_usd is not None else {"billed_usd": price.node.not_billed}


def span(values: Array, at: int = 0) -> Bounds:
    """The `at`-th column of an array of the shape (3, counts)."""
    middle, low, high = values[:, at].tolist()
    return Bounds(middle, low, high)


def _weakest(time: JobTime, at: int) -> ValueKind | None:
    """How the least known of those rates is known that could be a phase's narrowest."""
    kinds = []
    for phase in time.phases:
        least_s = max(float(term.seconds[1, at]) for term in phase.terms)
        kinds += [
            term.rate.kind
            for term in phase.terms
            if term.rate is not None
            and math.isfinite(term.rate.value)
            and term.seconds[2, at] >= least_s
        ]
    return min(kinds, key=list(ValueKind).index, default=None)


def inputs_of(candidate: Candidate) -> dict[str, Quantity]:
    """The rates that the time of `candidate` depends on, by their name in `Node`."""
    used = {rate_name(candidate.node, t) for phase in candidate.time.phases for t in phase.terms}
    rates = ((name, getattr(candidate.node, name)) for name in RATES if name in used)
    return {name: rate for name, rate in rates if rate and math.isfinite(rate.value)}


def rate_name(node: Node, term: Term) -> str:
    """Which rate of `node` serves `term` (`cpu` for the processors)."""
    if term.resource == "objects":
        return "store"
    if term.resource == "volumes":
        return "volume_read" if term.what == "input" else "volume_write"
    if term.resource != "storage":
        return term.resource
    for name in ("local_read", "local_write"):
        if term.rate is getattr(node, name):
            return name
    return "storage"


def with_rate(candidate: Candidate, name: str, value: float, nodes: int) -> Candidate:
    """`candidate` with `nodes` nodes alone, and the rate `name` known to be exactly `value`."""
    rate: Quantity = getattr(candidate.node, name)
    exact = replace(rate, value=value, low=value, high=value)
    return at_counts(candidate, one_count(nodes), replace(candidate.node, **{name: exact}))  # type: ignore[arg-type]
