"""Time of a two-pass job on N equal nodes: equations (1) to (11) of `io_cost`, made general.

Each phase is as slow as its slowest term; a term is bytes over a rate, or core-seconds over cores.
Every figure comes as a span: the middle, and what the ranges of the rates allow, so that low and
high are bounds and not a confidence interval. What goes beyond the paper's equations is a term of
its own or named among the job's `assumptions`, and is zero unless the job asks for it:

- one disk for reading and writing, or devices split unevenly by role (`_local_terms`);
- processor time: core-seconds per byte over the node's cores;
- start-up time, before the first byte;
- skew: the largest node's share of what was shuffled;
- memory that keeps intermediate data between the phases (hybrid).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.model.io_cost import invalid
from venturi.model.job import Durability, Job
from venturi.model.node import Node
from venturi.model.quantity import Quantity

Array = npt.NDArray[np.float64]
MAP, REDUCE = "map+shuffle", "sort+reduce"


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds or dollars: the middle, and the bounds that the inputs' ranges allow."""

    value: float
    low: float
    high: float

    def beats(self, other: Span) -> bool:
        """Whether this is less than `other` whatever the truth within both ranges is."""
        return self.high < other.low


@dataclass(frozen=True, slots=True)
class Term:
    """One resource of one phase. `rate` is a node's; `demand_bytes` the whole cluster's.

    For the processors `demand_bytes` is None and `core_s` counts, over `cores` of each node.
    `seconds` has the shape (3, nodes): middle, low, high.
    """

    resource: str
    what: str
    rate: Quantity | None
    demand_bytes: Array | None
    core_s: float | None
    cores: float | None
    seconds: Array


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: the largest of its terms. `equation` names the formula that its terms make."""

    name: str
    equation: str
    terms: tuple[Term, ...]

    @property
    def seconds(self) -> Array:
        """Shape (3, nodes)."""
        slowest: Array = np.maximum.reduce([term.seconds for term in self.terms])
        return slowest

    def span(self, at: int = 0) -> Span:
        """Seconds with the `at`-th number of nodes."""
        middle, low, high = self.seconds[:, at]
        return Span(float(middle), float(low), float(high))

    def binding(self, at: int = 0) -> str:
        """The narrowest resource with the `at`-th number of nodes."""
        return max(self.terms, key=lambda term: float(term.seconds[0, at])).resource

    def certain(self, at: int = 0) -> bool:
        """Whether no other term could be the slowest within the ranges of the rates."""
        slowest = max(self.terms, key=lambda term: float(term.seconds[0, at]))
        others = [t for t in self.terms if t.resource != slowest.resource]
        return all(term.seconds[2, at] < slowest.seconds[1, at] for term in others)


@dataclass(frozen=True, slots=True)
class JobTime:
    """A job on `nodes` (one count, or several at once) of one kind of node.

    With something unknown there are no phases, and `missing` says why. `lower_bound`: a rate is
    only known as an upper bound, so the job takes at least this long.
    """

    nodes: npt.NDArray[np.int64]
    phases: tuple[Phase, ...]
    startup_s: float
    lower_bound: bool
    assumptions: tuple[str, ...]
    missing: Mapping[str, str]

    @property
    def seconds(self) -> Array:
        """Shape (3, nodes): middle, low, high of the whole job."""
        total: Array = np.sum([phase.seconds for phase in self.phases], axis=0) + self.startup_s
        return total

    def span(self, at: int = 0) -> Span:
        """Seconds of the whole job with the `at`-th number of nodes."""
        middle, low, high = self.seconds[:, at]
        return Span(float(middle), float(low), float(high))


@dataclass(frozen=True, slots=True)
class _Need:
    """Bytes that a phase moves through one of the node's rates, over the whole cluster."""

    rate: str
    what: str
    demand_bytes: Array
    factor: float = 1.0  # of the rate: the share of the disks that serve this


def job_time(job: Job, node: Node, nodes: int | Sequence[int]) -> JobTime:
    """Seconds of `job` on `nodes` nodes like `node`; `nodes` may be many counts at once."""
    counts = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
    if counts.size == 0 or counts.min() < 1:
        raise invalid("nodes", counts.tolist(), "at least 1")
    assumptions: list[str] = []
    first, second, equations = _needs(job, node, counts, assumptions)
    missing = {
        need.rate: node.missing.get(need.rate, "not given")
        for need in (*first, *second)
        if getattr(node, need.rate) is None
    }
    if node.cores is None and (job.map_core_s_per_byte or job.reduce_core_s_per_byte):
        missing["cores"] = node.missing.get("cores", "not given")
    if missing:
        return JobTime(counts, (), job.startup_s, False, tuple(assumptions), missing)
    phases = []
    skew = job.partition_skew
    for name, equation, needs, core_s, share in (
        (MAP, equations[0], first, job.map_core_s_per_byte * job.input_bytes, 1.0),
        (REDUCE, equations[1], second, job.reduce_core_s_per_byte * job.intermediate_bytes, skew),
    ):
        terms = [_transfer(node, need, counts, share if name == REDUCE else _skewed(need, skew))
                 for need in needs]  # fmt: skip
        if core_s:
            assert node.cores is not None
            seconds = np.broadcast_to(share * core_s / node.cores / counts, (3, counts.size))
            terms.append(Term("cpu", "computing", None, None, core_s, node.cores, seconds))
        phases.append(Phase(name, equation, tuple(terms)))
    rates = [term.rate for phase in phases for term in phase.terms if term.rate is not None]
    return JobTime(
        counts, tuple(phases), job.startup_s, any(rate.upper_bound for rate in rates),
        tuple(assumptions), {},
    )  # fmt: skip


def _skewed(need: _Need, skew: float) -> float:
    """In map and shuffle only what is received and written depends on the partitions' sizes."""
    return 1.0 if need.what == "input" else skew


def _transfer(node: Node, need: _Need, counts: npt.NDArray[np.int64], share: float) -> Term:
    rate: Quantity = getattr(node, need.rate)
    if need.factor != 1.0:
        rate = rate.times(need.factor, f"{need.factor:g} of {rate.note or 'the whole'}")
    speeds = np.array([[rate.value], [rate.high], [rate.low]])
    seconds = share * need.demand_bytes / counts / speeds
    resource = {"network": "network"}.get(need.rate, "storage")
    resource = "volumes" if need.rate.startswith("volume") else resource
    return Term(resource, need.what, rate, need.demand_bytes, None, None, seconds)


def _needs(
    job: Job, node: Node, counts: npt.NDArray[np.int64], assumptions: list[str]
) -> tuple[list[_Need], list[_Need], tuple[str, str]]:
    """What both phases move, and the equations that this makes."""
    taken = np.ones(counts.size)
    data, output = job.input_bytes * taken, job.output_bytes * taken
    shuffled = job.intermediate_bytes * taken
    spilled = shuffled
    if job.retained_share and node.memory_bytes is not None:
        spilled = np.maximum(0.0, shuffled - job.retained_share * node.memory_bytes * counts)
        assumptions.append("memory keeps part of the intermediate data between the phases")
    # With one node nothing crosses the network; else a share of 1/N stays on its own node, which
    # the paper's equations leave out, and so do these: N is large where the network matters.
    crossing = np.where(counts > 1, shuffled, 0.0)
    network = [_Need("network", "shuffle", crossing)]
    if job.durability is Durability.VOLUMES:
        write, read = (
            "local_write" if node.local_write else "storage",
            "local_read" if node.local_read else "storage",
        )
        if "storage" in (write, read):
            assumptions.append(
                "local disks in one direction are as fast as in each direction of two at once"
            )
        return (
            [_Need("volume_read", "input", data), _Need(write, "intermediate", spilled), *network],
            [_Need(read, "intermediate", spilled), _Need("volume_write", "output", output)],
            ("(10)", "(11)"),
        )
    copies = job.remote_copies
    replicas = [_Need("network", "replicas", np.where(counts > 1, copies * output, 0.0))]
    first, second, how = _local_needs(job, node, (data, spilled, output), assumptions)
    return (
        [*first, *network],
        [*second, *(replicas if copies else [])],
        (f"(1){how}", f"({'8' if copies else '3'}){how}"),
    )


def _local_needs(
    job: Job, node: Node, sizes: tuple[Array, Array, Array], assumptions: list[str]
) -> tuple[list[_Need], list[_Need], str]:
    """How the local disks share the work: equation (5), a split by role, or one shared disk."""
    data, spilled, output = sizes
    written = output * (1 + job.remote_copies)
    if not job.remote_copies and node.disks != 1:
        return (
            [_Need("storage", "input", data), _Need("storage", "intermediate", spilled)],
            [_Need("storage", "intermediate", spilled), _Need("storage", "output", output)],
            "",
        )
    if node.disks is not None and node.disks > 1:
        kept = _best_split(node, data[0], spilled[0], job, float(written[0]))
        assumptions.append(f"{kept} of {node.disks} disks hold input and output")
        # `storage` is the rate of half of the disks.
        outer, inner = 2 * kept / node.disks, 2 * (node.disks - kept) / node.disks
        return (
            [_Need("storage", "input", data, outer),
             _Need("storage", "intermediate", spilled, inner)],
            [_Need("storage", "intermediate", spilled, inner),
             _Need("storage", "output", written, outer)],
            f" with {kept} disks of {node.disks} for input and output",
        )  # fmt: skip
    assumptions.append("one disk reads and writes: both directions share its whole rate")
    return (
        [_Need("storage", "input and intermediate", data + spilled, 2.0)],
        [_Need("storage", "intermediate and output", spilled + written, 2.0)],
        " in the sum form",
    )


def _best_split(
    node: Node, input_bytes: float, spilled_bytes: float, job: Job, written_bytes: float
) -> int:
    """How many disks for input and output make the job shortest (the paper's 5 of 8, 5.2)."""
    assert node.disks is not None
    half = node.storage.value if node.storage else 1.0
    link = node.network.value if node.network else float("inf")

    def seconds_per_node(kept: int) -> float:
        assert node.disks is not None
        outer, inner = 2 * kept / node.disks * half, 2 * (1 - kept / node.disks) * half
        first = max(input_bytes / outer, spilled_bytes / inner, job.intermediate_bytes / link)
        copied = job.remote_copies * job.output_bytes / link
        return first + max(spilled_bytes / inner, written_bytes / outer, copied)

    return min(range(1, node.disks), key=seconds_per_node)
