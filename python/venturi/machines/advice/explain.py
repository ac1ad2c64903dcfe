"""Explains an option's time and cost: every term with its formula, the origin of every input,
the bill by item, and the inputs that the answer is most sensitive to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity
from venturi.core.units import format_bytes_decimal, format_rate
from venturi.machines.advice.decide import objective_of
from venturi.machines.advice.hardware import Advice, predict
from venturi.machines.advice.option import (
    AdviceObjective,
    Candidate,
    Option,
    RuledOut,
    at_counts,
    inputs_of,
    one_count,
    option_of,
    rate_name,
    span,
    with_rate,
)
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import Catalog
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.dataflow import Bounds, PhaseModel, Term
from venturi.machines.cost.job import Job
from venturi.machines.cost.price import Bill


@dataclass(frozen=True, slots=True)
class ExplainedTerm:
    """One resource of one phase: bytes over a rate, or core-seconds over cores.

    `demand_bytes` is the whole cluster's. `rate` is one node's, None if it was assumed unlimited or
    for the CPU term. `narrowest`: this term is the phase's slowest.
    """

    phase: str
    equation: str
    resource: str
    what: str
    formula: str
    demand_bytes: float | None
    rate_name: str
    rate: Quantity | None
    seconds: Bounds
    narrowest: bool


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The answer with one input at either end of its range, everything else at its middle.

    `low` and `high` are the input's; time, cost and rank follow in that order. `rank` by the
    objective is that among the other types as they were; None if there is no price.
    """

    rate: str
    known: Quantity
    time_s: tuple[float, float]
    usd: tuple[float, float] | None
    rank: tuple[int, int] | None

    @property
    def swing_s(self) -> float:
        """Seconds between both ends."""
        return abs(self.time_s[0] - self.time_s[1])


@dataclass(frozen=True, slots=True)
class Explanation:
    """One option, explained. `sensitivity`: the input that changes the time most comes first.

    `rank` among the others; None without others or without a price.
    """

    option: Option
    job: Job
    rank: int | None
    startup_s: float
    terms: tuple[ExplainedTerm, ...]
    bill: Bill | None
    no_price: str
    sensitivity: tuple[Sensitivity, ...]


@dataclass(frozen=True, slots=True)
class UncertainPart:
    """How far the whole time moves from its middle if one input is at the ends of its range."""

    name: str
    least_s: float
    most_s: float


def uncertain_parts(explanation: Explanation) -> tuple[UncertainPart, ...]:
    """The start-up and the rates with a range, the widest first."""
    middle, startup = explanation.option.time_s.value, explanation.job.startup_range_s
    parts = [
        UncertainPart(
            each.rate.replace("_", " "), min(each.time_s) - middle, max(each.time_s) - middle
        )
        for each in explanation.sensitivity
    ]
    if startup is not None:
        low, high = (end - explanation.startup_s for end in startup)
        parts.append(UncertainPart("start-up", low, high))
    return tuple(sorted(parts, key=lambda part: part.least_s - part.most_s))


def explain(
    request: HardwareRequest, candidate: Candidate, nodes: int, others: Sequence[Option] = ()
) -> Explanation:
    """Explains the time and cost of `candidate` with `nodes` nodes.

    `others` are the options of the ranking; those of the same type are left out.
    """
    alone = at_counts(candidate, one_count(nodes))
    option = option_of(alone, 0, request.today)
    rivals = [
        each
        for each in others
        if (each.catalog, each.instance_type) != (option.catalog, option.instance_type)
        and not option.lower_bound  # their rank is unknown
    ]
    sensitivity = [
        _sensitivity(request.objective, alone, name, rate, rivals)
        for name, rate in inputs_of(alone).items()
        if rate.low < rate.high
    ]
    return Explanation(
        option=option,
        job=alone.job,
        rank=None
        if alone.price is None or not others or option.lower_bound
        else _rank(request.objective, alone, rivals),
        startup_s=alone.time.startup.value,
        terms=tuple(
            _term(alone, phase, term) for phase in alone.time.phases for term in phase.terms
        ),
        bill=alone.bill(nodes),
        no_price=alone.no_price,
        sensitivity=tuple(sorted(sensitivity, key=lambda each: each.swing_s, reverse=True)),
    )


def explain_type(
    advice: Advice, catalogs: Sequence[Catalog], name: str, nodes: int | None = None
) -> tuple[Explanation, ...]:
    """The type `name` in each durability class of `advice`, with its chosen node count.

    `nodes` selects another count. Skips classes that rule the type out; if all do, raises
    VEN-ADVISE-NOWHERE with the reason. A type in no catalog raises VEN-CATALOG-UNKNOWN.
    """
    request = advice.request
    of = next((each for each in catalogs if name in each.types), catalogs[0])
    instance_type = type_named(of, name)

    def mine(each: Option | RuledOut) -> bool:
        return (each.catalog, each.instance_type) == (of.name, name)

    made: list[Explanation] = []
    refused: list[VenturiError] = []
    for job, found in zip(request.jobs, advice.classes, strict=True):
        count = nodes or next((o.nodes for o in (*found.ranked, *found.at_least) if mine(o)), None)
        if count is None:
            out = next(each for each in found.excluded if mine(each))
            refused.append(
                VenturiError(
                    "VEN-ADVISE-NOWHERE",
                    f"{name} cannot be used: {'; '.join((out.detail, *out.also))}",
                    where={"instance_type": name, "durability": job.durability.value},
                )
            )
            continue
        candidate = predict(job, of.name, instance_type, count, request.network)
        made.append(explain(request, candidate, count, found.ranked))
    if not made:
        raise refused[0]
    return tuple(made)


def explain_first(advice: Advice, catalogs: Sequence[Catalog]) -> tuple[Explanation, ...]:
    """The first option of each durability class that has one."""
    request, by_name = advice.request, {catalog.name: catalog for catalog in catalogs}
    made = []
    for job, found in zip(request.jobs, advice.classes, strict=True):
        for first in found.ranked[:1]:
            instance_type = by_name[first.catalog].types[first.instance_type]
            candidate = predict(job, first.catalog, instance_type, first.nodes, request.network)
            made.append(explain(request, candidate, first.nodes, found.ranked))
    return tuple(made)


def _sensitivity(
    objective: AdviceObjective,
    alone: Candidate,
    name: str,
    rate: Quantity,
    rivals: Sequence[Option],
) -> Sensitivity:
    nodes = int(alone.counts[0])
    slow, fast = (with_rate(alone, name, value, nodes) for value in (rate.low, rate.high))
    return Sensitivity(
        name,
        rate,
        (span(slow.seconds).value, span(fast.seconds).value),
        None if alone.price is None else (span(slow.usd).value, span(fast.usd).value),
        None
        if alone.price is None or not rivals
        else (_rank(objective, slow, rivals), _rank(objective, fast, rivals)),
    )


def _rank(objective: AdviceObjective, alone: Candidate, rivals: Sequence[Option]) -> int:
    mine = objective_of(objective, alone).value
    return 1 + sum(objective_of(objective, each).value < mine for each in rivals)


def _term(alone: Candidate, phase: PhaseModel, term: Term) -> ExplainedTerm:
    nodes = int(alone.counts[0])
    limited = term.rate is not None and math.isfinite(term.rate.value)
    demand = None if term.demand_bytes is None else float(np.asarray(term.demand_bytes)[0])
    if term.core_s is not None and term.cores is not None:
        formula = f"{term.core_s:,.0f} core-s / ({nodes:,} x {term.cores:g} cores)"
    elif limited and term.rate is not None and demand is not None:
        formula = f"{format_bytes_decimal(demand)} / ({nodes:,} x {format_rate(term.rate.value)})"
        skew = span(term.seconds).value / (demand / nodes / term.rate.value) if demand else 1.0
        if not math.isclose(skew, 1.0, rel_tol=1e-9):
            formula += f" x {skew:g} skew"
    else:
        formula = "nothing to move" if term.rate is None else "assumed to be no limit"
    return ExplainedTerm(
        phase=phase.name,
        equation=phase.equation,
        resource=term.resource,
        what=term.what,
        formula=formula,
        demand_bytes=demand,
        rate_name=rate_name(alone.node, term),
        rate=term.rate if limited else None,
        seconds=span(term.seconds),
        narrowest=phase.binding() == term.resource
        and span(term.seconds).value == phase.span().value,
    )
