"""A question to the advisor: the job, its limits, and the order of the options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from venturi.core.domain import invalid
from venturi.machines.advice.option import AdviceObjective
from venturi.machines.cost.choices import MOST_NODES, Durability, NetworkChoice
from venturi.machines.cost.job import Job

# Used if the available number is unknown: the most of one type in the records of SoCC 2015 (5.3),
# which took weeks of negotiation with the provider.
DEFAULT_MAX_NODES = 330


@dataclass(frozen=True, slots=True)
class HardwareRequest:
    """A question to the advisor.

    Without `durabilities`, the job's own class counts; `nodes` fixes the node count. `max_nodes`
    limits types with an unknown available number, `max_nodes_of` the named types; `max_vcpus` is a
    quota for the whole cluster. `limits` are those that the catalogs keep already, for the reader.
    Prices are stale relative to `today`. The first `shown` options are compared pairwise.
    """

    job: Job
    durabilities: tuple[Durability, ...] = ()
    objective: AdviceObjective = AdviceObjective.RECOMMENDED
    deadline_s: float | None = None
    budget_usd: float | None = None
    nodes: int | None = None
    max_nodes: int = DEFAULT_MAX_NODES
    max_nodes_of: Mapping[str, int] = field(default_factory=dict)
    max_vcpus: int | None = None
    limits: str = ""
    network: NetworkChoice = NetworkChoice.AT_SCALE
    today: date | None = None
    shown: int = 12

    def __post_init__(self) -> None:
        for name in ("deadline_s", "budget_usd"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise invalid(name, value, "above 0")
        for name, count in {
            "nodes": self.nodes,
            "max_nodes": self.max_nodes,
            **self.max_nodes_of,
        }.items():
            if count is not None and not 1 <= count <= MOST_NODES:
                raise invalid(name, count, f"from 1 to {MOST_NODES:,}")

    @property
    def limited(self) -> bool:
        """Whether there is a deadline or a budget."""
        return self.deadline_s is not None or self.budget_usd is not None

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The job in each requested durability class."""
        classes = self.durabilities or (self.job.durability,)
        return tuple(replace(self.job, durability=each) for each in dict.fromkeys(classes))
