"""The simulated scenario: a job on nodes with spread, spare nodes and losses, and its terms.

`plan_of` derives the terms of the equations once; `times` gives their seconds for drawn speeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from venturi.core.domain import invalid, need_size
from venturi.core.errors import VenturiError
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.cost import dataflow
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import job_time
from venturi.machines.cost.job import Job
from venturi.machines.cost.node import Node
from venturi.machines.simulate.distribution import Array, RateDistribution

NODES_MAX = 10_000
LOSSES_MAX = 0.1  # of the nodes: beyond, redoing tasks on survivors is no fit description
RESOURCES = ("storage", "network", "volumes", "cpu")

Speeds = Mapping[str, Array]  # by resource, over the stated rate: (trials, nodes) or (trials, 1)


class Recovery(StrEnum):
    """The work to repeat after the loss of a node."""

    JOB = "job"
    TASKS = "tasks"


@dataclass(frozen=True, slots=True)
class Speculation:
    """When running tasks get a copy on another node; the defaults are those of Spark 3.

    Once the share `quantile` of the nodes is done, a task gets a copy when it has run `behind`
    times as long as a task of the median node takes.
    """

    behind: float = 1.5
    quantile: float = 0.75

    def __post_init__(self) -> None:
        if not 1 <= self.behind < np.inf:
            raise invalid("behind", self.behind, "at least 1 and finite")
        if not 0.5 <= self.quantile < 1:  # so that there is a free node for each that lags
            raise invalid("quantile", self.quantile, "from 0.5 to below 1")


@dataclass(frozen=True, slots=True)
class Scenario:
    """The input of a simulation.

    `rates` by resource (storage, network, volumes, cpu); the others have the node's rate.
    `share_cv`: coefficient of variation of the nodes' shares of the shuffle (Dirichlet); if 0, one
    node has `job.partition_skew` times the mean and the others equal parts of the rest. `spare`
    extra nodes are provisioned and as many dropped before the job: the slowest, or with
    `cull_below` first those slower than this fraction of the median speed, then any.
    `loss_per_node_hour`: losses of a node per hour. `tasks_per_node`: sequential tasks in each
    phase, the unit of speculation and of repetition after a loss.
    """

    job: Job
    node: Node
    nodes: int
    rates: Mapping[str, RateDistribution] = field(default_factory=dict)
    share_cv: float = 0.0
    spare: int = 0
    cull_below: float | None = None
    loss_per_node_hour: float = 0.0
    recovery: Recovery = Recovery.JOB
    speculation: Speculation | None = None
    tasks_per_node: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= NODES_MAX:
            raise invalid("nodes", self.nodes, f"from 1 to {NODES_MAX}")
        if not 0 <= self.spare <= NODES_MAX:
            raise invalid("spare", self.spare, f"from 0 to {NODES_MAX}")
        if self.cull_below is not None and not 0 < self.cull_below <= 1:
            raise invalid("cull_below", self.cull_below, "above 0 and at most 1")
        if self.cull_below is not None and not self.spare:
            raise invalid("spare", self.spare, "above 0 if slow nodes are to be dropped")
        need_size("loss_per_node_hour", self.loss_per_node_hour)
        if self.tasks_per_node < 1:
            raise invalid("tasks_per_node", self.tasks_per_node, "at least 1")
        if self.share_cv and not 0 < self.share_cv < math.sqrt(self.nodes - 1):
            raise invalid("share_cv", self.share_cv, "from 0 to below the root of nodes - 1")
        if self.job.partition_skew > self.nodes:
            raise invalid("partition_skew", self.job.partition_skew, "at most the nodes")
        if self.share_cv and self.job.partition_skew > 1:
            raise invalid("share_cv", self.share_cv, "0 if the job states its partition_skew")
        unknown = set(self.rates) - set(RESOURCES)
        if unknown:
            raise invalid("rates", sorted(unknown), "among " + ", ".join(RESOURCES))
        if self.recovery is Recovery.TASKS and self.job.durability is Durability.TWO_IO:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                "tasks of a 2-io job can't be repeated: the lost node had the only copy",
                where={"field": "recovery", "value": self.recovery.value},
                hint="use recovery by job, or durability replicated or volumes",
            )

    @property
    def one_path(self) -> bool:
        """Whether storage and volumes are the same volumes, which are then drawn once."""
        storage = self.rates.get("storage")
        return self.node.on_volumes and storage is not None and storage == self.rates.get("volumes")


@dataclass(frozen=True, slots=True)
class SimulationTerm:
    """A term of the equations: seconds on the node as stated, with an equal share.

    `skewed`: how much of it goes by the node's share, from 0 to 1.
    """

    resource: str
    seconds: float
    skewed: float


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The common part of all trials. `fetch_s`: time to send a node's input in each phase."""

    scenario: Scenario
    terms: tuple[tuple[SimulationTerm, ...], tuple[SimulationTerm, ...]]
    fetch_s: tuple[float, float]

    @property
    def expected_s(self) -> tuple[float, float]:
        """Seconds of the phases on nodes as stated, with equal shares."""
        first, second = (max(term.seconds for term in terms) for terms in self.terms)
        return first, second


def plan_of(scenario: Scenario) -> tuple[SimulationPlan, bool, tuple[str, ...]]:
    """The equations' terms, without the skew, which is put back with the shares."""
    job, node, nodes = scenario.job, scenario.node, scenario.nodes
    expected = job_time(job, node, nodes)
    if expected.missing:
        resource, reason = next(iter(expected.missing.items()))
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"{resource} of {node.name} is unknown: {reason}",
            where={"field": resource, "value": None},
            hint="give its distribution, or `unlimited`, with --storage, --network or --volumes; "
            "or use --assume or --measured",
        )

    def term_of(term: dataflow.Term) -> SimulationTerm:
        skewed = float(np.ravel(term.skewed_share)[0])
        most = 1 + skewed * (job.partition_skew - 1)  # of the node with the largest share
        return SimulationTerm(term.resource, float(term.seconds[0, 0]) / most, skewed)

    terms = tuple(tuple(map(term_of, phase.terms)) for phase in expected.phases)
    lost = scenario.loss_per_node_hour * float(expected.seconds[0, 0]) / SECONDS_PER_HOUR
    if scenario.recovery is Recovery.TASKS and lost > LOSSES_MAX:
        raise VenturiError(
            "VEN-MODEL-RANGE",
            f"{100 * lost:.0f} % of the nodes would be lost during the job; repeating their "
            f"tasks is modeled up to {100 * LOSSES_MAX:.0f} %",
            where={"field": "loss_per_node_hour", "value": scenario.loss_per_node_hour},
            hint="use a lower loss rate, more nodes, or a smaller job",
        )
    link = np.inf if node.network is None else node.network.value
    read = (job.input_bytes / nodes / link, job.intermediate_bytes / nodes / link)
    plan = SimulationPlan(scenario, (terms[0], terms[1]), read)
    assumptions = expected.assumptions
    if job.retained_share and scenario.share_cv:
        assumptions = (*assumptions, "memory keeps the same part of each node's share")
    return plan, expected.lower_bound, assumptions


def times(terms: Sequence[SimulationTerm], share: Array | float, speeds: Speeds) -> Array:
    """Seconds of the slowest term; as small a shape as the inputs have."""
    slowest = np.zeros((1, 1))
    for term in terms:
        amount = 1.0 if not term.skewed else share * term.skewed + (1 - term.skewed)
        slowest = np.maximum(slowest, term.seconds * amount / speeds.get(term.resource, 1.0))
    return slowest
