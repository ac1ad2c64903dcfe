"""Time of a two-pass job on N equal nodes: equations (1) to (11) of [CVP15], generalized.

Each phase is as slow as its slowest term; a term is bytes divided by a rate, or core-seconds
divided by cores. Every figure is a span: the middle, and the extremes over the ranges of the rates,
so low and high are bounds, not a confidence interval. Extensions of the paper's equations are
separate terms or listed in the job's `assumptions`, and are zero unless the job uses them:

- one disk for reading and writing, or devices split unevenly by role (`_local_terms`);
- the part of the shuffle that stays on its node, with (N-1)/N crossing the network (`Exchange`);
- CPU time: core-seconds per byte over the node's cores;
- start-up time, before the first byte;
- failures of nodes, each of which repeats the job;
- skew: the largest node's share of the shuffle;
- memory that keeps intermediate data between the phases (hybrid).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid
from venturi.core.quantity import Quantity
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.cost.choices import Durability, Exchange
from venturi.machines.cost.job import Job
from venturi.machines.cost.node import Node

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
MAP, REDUCE = "map+shuffle", "sort+reduce"
# Nodes of large clusters fail about 0.5 times a year [Schroeder, Gibson 2006], servers of a cloud
# 0.08 times: docs/method/advice.md.
WORST_FAILURES = 6.0
MOST_FAILURES = 30.0  # exponent beyond which a job never ends; the time stays finite


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds or dollars: the middle, and the bounds that the inputs' ranges allow."""

    value: float
    low: float
    high: float

    def beats(self, other: Bounds) -> bool:
        """Whether this is less than `other` whatever the truth within both ranges is."""
        return self.high < other.low


@dataclass(frozen=True, slots=True)
class Term:
    """One resource of one phase. `rate` is per node; `demand_bytes` is for the whole cluster.

    For CPUs, `demand_bytes` is None and `core_s` counts, over `cores` of each node. An unknown
    `rate` is None if no data moves; where disks are split by role, `rate` is that for the first
    node count. `seconds` has the shape (3, nodes): middle, low, high. `skewed_share`: the share of
    the term that scales with partition sizes, from 0 to 1.
    """

    resource: str
    what: str
    rate: Quantity | None
    demand_bytes: Array | None
    core_s: float | None
    cores: float | None
    seconds: Array
    skewed_share: Array | float


@dataclass(frozen=True, slots=True)
class PhaseModel:
    """One phase: the largest of its terms. `equation` names the formula that its terms make."""

    name: str
    equation: str
    terms: tuple[Term, ...]

    @property
    def seconds(self) -> Array:
        """Shape (3, nodes)."""
        slowest: Array = np.maximum.reduce([term.seconds for term in self.terms])
        return slowest

    def span(self, at: int = 0) -> Bounds:
        """Seconds with the `at`-th number of nodes."""
        middle, low, high = (max(float(t.seconds[row, at]) for t in self.terms) for row in range(3))
        return Bounds(middle, low, high)

    def binding(self, at: int = 0) -> str:
        """The narrowest resource with the `at`-th number of nodes."""
        return max(self.terms, key=lambda term: float(term.seconds[0, at])).resource

    def certain(self, at: int = 0) -> bool:
        """Whether no other term could be the slowest within the ranges of the rates."""
        return not self.rivals(at)

    def rivals(self, at: int = 0) -> tuple[str, ...]:
        """The other resources that could be the narrowest within the ranges of the rates, the
        slowest first.
        """
        slowest = max(self.terms, key=lambda term: float(term.seconds[0, at]))
        others = [t for t in self.terms if t.resource != slowest.resource]
        near = [t for t in others if t.seconds[2, at] >= slowest.seconds[1, at]]
        near.sort(key=lambda term: -float(term.seconds[2, at]))
        return tuple(dict.fromkeys(term.resource for term in near))


@dataclass(frozen=True, slots=True)
class JobTime:
    """The time of a job on `nodes` (one or several counts) of one kind of node.

    If a value is unknown, there are no phases, and `missing` gives the reason. `lower_bound`: a
    rate is only known as an upper bound, so the job takes at least this long.
    """

    nodes: Counts
    phases: tuple[PhaseModel, ...]
    startup: Bounds
    failures_per_node_hour: float
    lower_bound: bool
    assumptions: tuple[str, ...]
    missing: Mapping[str, str]

    @property
    def seconds(self) -> Array:
        """Shape (3, nodes): middle, low, high of the whole job, with repetitions after failures.

        With N nodes and f failures of each per second, a run of T seconds fails exp(N f T) - 1
        times in the mean before it succeeds, after (exp(N f T) - 1) / (N f) seconds (a Poisson
        process). The low end has no failure, the high end `WORST_FAILURES` times as many.
        """
        startup = np.array([[self.startup.value], [self.startup.low], [self.startup.high]])
        run: Array = np.sum([phase.seconds for phase in self.phases], axis=0)
        if self.failures_per_node_hour:
            often = self.failures_per_node_hour / SECONDS_PER_HOUR * self.nodes
            rate = np.array([[1.0], [1e-9], [WORST_FAILURES]]) * often
            failures = np.expm1(np.minimum(rate * run, MOST_FAILURES))
            run = failures / rate + failures * startup
        total: Array = run + startup
        return total

    def span(self, at: int = 0) -> Bounds:
        """Seconds of the whole job with the `at`-th number of nodes."""
        middle, low, high = self.seconds[:, at]
        return Bounds(float(middle), float(low), float(high))


@dataclass(frozen=True, slots=True)
class _Need:
    """Bytes that a phase moves through one of the node's rates, over the whole cluster.

    `even` bytes lie in equal parts on all nodes, `skewed` ones go by the sizes of the partitions.
    """

    rate: str
    what: str
    even: Array | float = 0.0
    skewed: Array | float = 0.0
    factor: Array | None = None  # of the rate: the share of the disks that serve this

    @property
    def skewed_share(self) -> Array | float:
        """How much of the bytes goes by the sizes of the partitions, from 0 to 1."""
        if isinstance(self.even, float) and not self.even:
            return 1.0
        if isinstance(self.skewed, float) and not self.skewed:
            return 0.0
        return self.skewed / (self.even + self.skewed)


def job_time(job: Job, node: Node, nodes: int | Sequence[int]) -> JobTime:
    """Seconds of `job` on `nodes` nodes like `node`; `nodes` may be an array of counts."""
    counts = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
    if counts.size == 0 or counts.min() < 1:
        raise invalid("nodes", counts.tolist(), "at least 1")
    assumptions = list(job.notes)
    # No node has more than everything.
    skew = np.minimum(job.partition_skew, counts) if job.partition_skew > 1 else 1.0
    first, second, equations = _needs(job, node, counts, skew, assumptions)
    missing = {
        need.rate: node.missing.get(need.rate, "not given")
        for need in (*first, *second)
        if getattr(node, need.rate) is None and np.any(need.even + need.skewed)
    }
    if node.cores is None and (job.map_core_s_per_byte or job.reduce_core_s_per_byte):
        if job.cpu_is_assumed:
            assumptions.append("CPU time counts as none, because the number of CPUs is unknown")
            job = replace(job, map_core_s_per_byte=0.0, reduce_core_s_per_byte=0.0)
        else:
            missing["cores"] = node.missing.get("cores", "not given")
    least_s, most_s = job.startup_range_s or (job.startup_s, job.startup_s)
    startup = Bounds(job.startup_s, least_s, most_s)
    if missing:
        return JobTime(counts, (), startup, 0.0, False, tuple(assumptions), missing)
    phases = []
    for name, equation, needs, core_s, skewed in (
        (MAP, equations[0], first, job.map_core_s_per_byte * job.input_bytes, 0.0),
        (REDUCE, equations[1], second, job.reduce_core_s_per_byte * job.intermediate_bytes, 1.0),
    ):
        terms = [_transfer(node, need, counts, skew) for need in needs]
        if core_s:
            assert node.cores is not None
            most = skew if skewed else 1.0
            factors = np.array([[1.0], [job.core_s_range[0]], [job.core_s_range[1]]])
            seconds = factors * most * core_s / node.cores / counts
            terms.append(Term("cpu", "computing", None, None, core_s, node.cores, seconds, skewed))
        phases.append(PhaseModel(name, equation, tuple(terms)))
    lower_bound = any(
        term.rate is not None and term.rate.upper_bound and np.any(term.demand_bytes)
        for phase in phases
        for term in phase.terms
    )
    often = job.failures_per_node_hour
    return JobTime(counts, tuple(phases), startup, often, lower_bound, tuple(assumptions), {})


def _transfer(node: Node, need: _Need, counts: Counts, skew: Array | float) -> Term:
    resource = {"network": "network", "store": "objects"}.get(need.rate, "storage")
    resource = "volumes" if need.rate.startswith("volume") else resource
    demand = need.even + need.skewed + np.zeros(counts.size)
    rate: Quantity | None = getattr(node, need.rate)
    if rate is None:  # nothing is moved
        seconds = np.zeros((3, counts.size))
    else:
        speeds = np.array([[rate.value], [rate.high], [rate.low]])
        if need.factor is not None:
            speeds, factor = speeds * need.factor, float(need.factor[0])
            rate = rate.times(factor, f"{factor:g} of {rate.note or 'the whole'}")
        seconds = (need.even + skew * need.skewed) / counts / speeds
    return Term(resource, need.what, rate, demand, None, None, seconds, need.skewed_share)


def _needs(
    job: Job, node: Node, counts: Counts, skew: Array | float, assumptions: list[str]
) -> tuple[list[_Need], list[_Need], tuple[str, str]]:
    """The bytes that both phases transfer, and the equations for them."""
    spilled: Array | float = job.intermediate_bytes
    if job.retained_share and node.memory_bytes is not None:
        # The node with the largest share is the slowest, and has no more memory than another.
        kept = job.retained_share * node.memory_bytes * counts / skew
        spilled = np.maximum(0.0, spilled - kept)
        assumptions.append("memory keeps part of the intermediate data between the phases")
    elif job.retained_share:
        assumptions.append("memory keeps nothing between the phases, because its size is unknown")
    shuffle = _Need("network", "shuffle", skewed=_crossing(job, counts) * job.intermediate_bytes)
    if job.durability in (Durability.VOLUMES, Durability.OBJECTS):
        write, read = (
            "local_write" if node.local_write else "storage",
            "local_read" if node.local_read else "storage",
        )
        if "storage" in (write, read):
            assumptions.append(
                "local disks are as fast in one direction as in each of two concurrent directions"
            )
        if job.durability is Durability.OBJECTS:  # it shares the node's network with the shuffle
            return (
                [
                    _Need("store", "input", even=job.input_bytes),
                    _Need(write, "intermediate", skewed=spilled),
                    replace(shuffle, what="input and shuffle", even=job.input_bytes),
                ],
                [
                    _Need(read, "intermediate", skewed=spilled),
                    _Need("store", "output", skewed=job.output_bytes),
                    _Need("network", "output", skewed=job.output_bytes),
                ],
                ("(10) on the shared network", "(11) on the shared network"),
            )
        return (
            [
                _Need("volume_read", "input", even=job.input_bytes),
                _Need(write, "intermediate", skewed=spilled),
                shuffle,
            ],
            [
                _Need(read, "intermediate", skewed=spilled),
                _Need("volume_write", "output", skewed=job.output_bytes),
            ],
            ("(10)", "(11)"),
        )
    copies = job.remote_copies
    remote = np.where(counts > 1, copies * job.output_bytes, 0.0)  # a copy is on another node
    replicas = _Need("network", "replicas", skewed=remote)
    first, second, how = _local_needs(
        job, node, counts, skew=skew, spilled=spilled, assumptions=assumptions
    )
    return (
        [*first, shuffle],
        [*second, *([replicas] if copies else [])],
        (f"(1){how}", f"({'8' if copies else '3'}){how}"),
    )


def _crossing(job: Job, counts: Counts) -> Array:
    """The share of the shuffle that leaves its node: (N-1)/N, for a node keeps its own part.

    The paper's equations have all of it cross (`Exchange.ALL`), but on a single node none.
    """
    if job.exchange is Exchange.ALL:
        return np.where(counts > 1, 1.0, 0.0)
    share: Array = (counts - 1) / counts
    return share


def _local_needs(
    job: Job,
    node: Node,
    counts: Counts,
    *,
    skew: Array | float,
    spilled: Array | float,
    assumptions: list[str],
) -> tuple[list[_Need], list[_Need], str]:
    """How the local disks share the work: equation (5), a split by role, or one shared disk."""
    written = job.output_bytes * (1 + job.remote_copies)
    if node.disks == 1:
        assumptions.append("one disk reads and writes, so both directions share its whole rate")
        both = np.full(counts.size, 2.0)
        return (
            [_Need("storage", "input and intermediate", job.input_bytes, spilled, both)],
            [_Need("storage", "intermediate and output", 0.0, spilled + written, both)],
            " in the sum form",
        )
    outer = inner = None
    how = ""
    if job.remote_copies and not node.disks:
        assumptions.append("the number of disks per node is unknown, so they are not split by role")
    elif job.remote_copies and node.disks:
        kept = _best_split(job, node, counts, disks=node.disks, skew=skew, spilled=spilled)
        least, most = int(kept.min()), int(kept.max())
        split = f"{least}" if least == most else f"{least} to {most}"
        by = "" if least == most else ", by the number of nodes"
        assumptions.append(f"{split} of {node.disks} disks hold input and output{by}")
        how = f" with {split} disks of {node.disks} for input and output"
        # `storage` is the rate of half of the disks.
        outer, inner = 2 * kept / node.disks, 2 * (node.disks - kept) / node.disks
    return (
        [
            _Need("storage", "input", job.input_bytes, 0.0, outer),
            _Need("storage", "intermediate", 0.0, spilled, inner),
        ],
        [
            _Need("storage", "intermediate", 0.0, spilled, inner),
            _Need("storage", "output", 0.0, written, outer),
        ],
        how,
    )


def _best_split(
    job: Job, node: Node, counts: Counts, *, disks: int, skew: Array | float, spilled: Array | float
) -> Counts:
    """How many disks for input and output make the job shortest (the paper's 5 of 8, 5.2).

    Each number of nodes has its own: the amount kept in memory depends on it.
    """
    half = node.storage.value if node.storage else 1.0
    link = node.network.value if node.network else math.inf
    kept = np.arange(1, disks)[:, None]
    outer, inner = 2 * kept / disks * half, 2 * (disks - kept) / disks * half
    copied = job.remote_copies * job.output_bytes
    written = job.output_bytes + copied
    shuffled = skew * _crossing(job, counts) * job.intermediate_bytes
    first = np.maximum(job.input_bytes / outer, shuffled / link)
    second = np.maximum(skew * written / outer, np.where(counts > 1, skew * copied, 0.0) / link)
    by_inner = skew * spilled / inner
    best: Counts = np.argmin(np.maximum(first, by_inner) + np.maximum(second, by_inner), axis=0)
    return best + 1
