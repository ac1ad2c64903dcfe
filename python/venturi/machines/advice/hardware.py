"""Choice and number of machines for one job: the method of the SoCC 2015 paper, generalized, with
explicit uncertainty.

For each type and durability class, this calculates time and cost as ranges for about fifty node
counts, from the fewest that hold the data to the most available. The objective selects one count of
each type and ranks the types; the frontier shows the undominated counts of all types. If ranges
overlap, the answer is "cannot tell", with the rate to measure that decides most. Unsuitable types
are listed with the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache

import numpy as np

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError
from venturi.core.units import format_bytes_decimal, format_duration, format_usd
from venturi.core.wording import count_of
from venturi.machines.advice.assume import EXAMPLE_OF
from venturi.machines.advice.decide import Measurement, measurements, undecided_pairs
from venturi.machines.advice.frontier import Mask, unbeaten, undominated_counts
from venturi.machines.advice.option import (
    AdviceObjective,
    Array,
    Candidate,
    Counts,
    FewestNodes,
    Option,
    RuledOut,
    RuledOutReason,
    at_counts,
    candidate_of,
    least_nodes,
    one_count,
    option_of,
    price_of,
)
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.choices import MOST_NODES, Durability, NetworkChoice
from venturi.machines.cost.job import Job
from venturi.machines.cost.node import Node, node_of

# Used if the available number is unknown: the most of one type in the records of SoCC 2015 (5.3),
# which took weeks of negotiation with the provider.
DEFAULT_MAX_NODES = 330
GRID_POINTS = 50
SAID = 3  # details under one reason, in the error that no type is an option
SAME_COST = 0.01  # costs that differ by less are the same: of such counts the fastest is chosen


@dataclass(frozen=True, slots=True)
class HardwareRequest:
    """A question to the advisor.

    Without `durabilities`, the job's own class counts; `nodes` fixes the node count. `max_nodes`
    limits types with an unknown available number, `max_nodes_of` the named types. Prices are stale
    relative to `today`. The first `shown` options are compared pairwise.
    """

    job: Job
    durabilities: tuple[Durability, ...] = ()
    objective: AdviceObjective = AdviceObjective.CHEAPEST
    deadline_s: float | None = None
    budget_usd: float | None = None
    nodes: int | None = None
    max_nodes: int = DEFAULT_MAX_NODES
    max_nodes_of: Mapping[str, int] = field(default_factory=dict)
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
    def jobs(self) -> tuple[Job, ...]:
        """The job in each requested durability class."""
        classes = self.durabilities or (self.job.durability,)
        return tuple(replace(self.job, durability=each) for each in dict.fromkeys(classes))


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An option that no other surely beats. `by_middle`: none beats it by the middles either."""

    option: Option
    by_middle: bool


@dataclass(frozen=True, slots=True)
class ClassAdvice:
    """The answer for one durability class.

    `ranked` is ordered by the objective. For the options shown, `undecided` has the tied pairs of
    ranks (from 1), and `measure` the measurements that would decide them, the most decisive first.
    `at_least` has options with only a lower bound, which are never ranked.
    """

    durability: Durability
    ranked: tuple[Option, ...]
    undecided: tuple[tuple[int, int], ...]
    measure: tuple[Measurement, ...]
    frontier: tuple[FrontierPoint, ...]
    at_least: tuple[Option, ...]
    excluded: tuple[RuledOut, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The question, and the answer for each durability class."""

    request: HardwareRequest
    catalogs: tuple[str, ...]
    classes: tuple[ClassAdvice, ...]


def node_count(text: str) -> int | None:
    """The number of nodes in `text`; None if it isn't a number or is out of range."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_NODES))):
        return None
    return int(text) if 0 < int(text) <= MOST_NODES else None


def type_and_nodes(text: str) -> tuple[str, int | None] | None:
    """`i2.8xlarge:178` as a name and a count, which may be left out; None if it is neither."""
    name, colon, count = text.partition(":")
    nodes = node_count(count)
    return None if not name or (colon and nodes is None) else (name, nodes)


def advise(request: HardwareRequest, catalogs: Sequence[Catalog]) -> Advice:
    """The answer to `request` from the types of `catalogs`.

    Raises VEN-ADVISE-NOWHERE, with the nearest that would do, if no type is an option.
    """
    for name in request.max_nodes_of:
        if not any(name in catalog.types for catalog in catalogs):
            type_named(catalogs[0], name)  # refuses it
    jobs = request.jobs
    found: list[list[_ChosenOption]] = [[] for _ in jobs]
    excluded: list[list[RuledOut]] = [[] for _ in jobs]
    for catalog in catalogs:
        for instance_type in catalog.types.values():
            node = node_of(instance_type, request.network)
            for number, job in enumerate(jobs):
                fitted = fit(request, job, catalog.name, instance_type, node)
                settled = fitted if isinstance(fitted, RuledOut) else _settle(request, fitted)
                if isinstance(settled, RuledOut):
                    excluded[number].append(settled)
                else:
                    found[number].append(settled)
    if not any(found):
        raise _no_option_error(request, [each for of_class in excluded for each in of_class])
    return Advice(
        request,
        tuple(catalog.name for catalog in catalogs),
        tuple(
            _answer(request, job, options, tuple(out))
            for job, options, out in zip(jobs, found, excluded, strict=True)
        ),
    )


def fit(
    request: HardwareRequest, job: Job, catalog: str, instance_type: InstanceType, node: Node
) -> Candidate | RuledOut:
    """The time and cost of a type by node count, or the reasons why the job doesn't fit.

    Lists all known reasons; the first one decides the group.
    """
    reasons: list[tuple[RuledOutReason, str]] = []
    most, said = _most_nodes(request, instance_type)
    least = wanted = least_nodes(job, node)
    needed = format_bytes_decimal(job.local_bytes)
    if least is None:
        reasons.append((RuledOutReason.UNKNOWN, f"local disks: {node.missing['local_bytes']}"))
    elif request.nodes is not None and request.nodes < least:
        reasons.append(
            (RuledOutReason.CAPACITY, f"{needed} need {least:,} nodes, not {request.nodes:,}")
        )
    elif max(least, request.nodes or 1) > most:
        needs = f"{needed} need {least:,} nodes" if least > most else f"{request.nodes:,} requested"
        reasons.append((RuledOutReason.TOO_MANY, f"{needs}; {said}"))
        wanted = max(least, request.nodes or 1)
    # Rates and price are looked at even if the nodes do not do: the reader wants all the reasons.
    first = min(least or 1, MOST_NODES)
    counts = grid(first, max(first, most)) if request.nodes is None else one_count(request.nodes)
    price = price_of(instance_type, job)
    made = candidate_of(
        catalog, instance_type, job, node=node, price=price, counts=counts, limits=(first, most)
    )
    if isinstance(made, str):
        reasons.append((RuledOutReason.UNKNOWN, made))
    if isinstance(price, str):
        reasons.append((RuledOutReason.NO_PRICE, f"price: {price}"))
    if reasons or isinstance(made, str):
        would_do = wanted is not None and wanted <= MOST_NODES and len(reasons) == 1
        return RuledOut(
            catalog,
            instance_type.name,
            *reasons[0],
            also=tuple(also for _, also in reasons[1:]),
            nearest=float(wanted) if wanted is not None and would_do else None,
            nearest_nodes=wanted,
        )
    return made


def predict(
    job: Job, catalog: str, instance_type: InstanceType, nodes: int, network: NetworkChoice
) -> Candidate:
    """Time and cost of `job` on exactly `nodes` nodes of `instance_type`; the price may be unknown.

    Raises VEN-ADVISE-NOWHERE if the data does not fit, VEN-MODEL-INPUT if a rate is not known.
    """
    if not 1 <= nodes <= MOST_NODES:
        raise invalid("nodes", nodes, f"from 1 to {MOST_NODES:,}")
    node = node_of(instance_type, network)
    need_room(job, node, nodes)
    where: dict[str, object] = {"instance_type": instance_type.name, "nodes": nodes}
    price = price_of(instance_type, job)
    most = int(instance_type.number("max_nodes") or max(nodes, DEFAULT_MAX_NODES))
    made = candidate_of(
        catalog,
        instance_type,
        job,
        node=node,
        price=price,
        counts=one_count(nodes),
        limits=(least_nodes(job, node) or 1, most),
    )
    if isinstance(made, str):
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"some figures of {instance_type.name} are unknown: {made}",
            where=where,
            hint="give the missing figures with --assume or --measured",
        )
    return made


def need_room(job: Job, node: Node, nodes: int) -> None:
    """Raises VEN-ADVISE-NOWHERE if the data does not fit on `nodes` nodes, if that is known."""
    least = least_nodes(job, node)
    if least is not None and nodes < least:
        raise VenturiError(
            "VEN-ADVISE-NOWHERE",
            f"the {job.name} does not fit on {nodes:,} {node.name}: "
            f"{format_bytes_decimal(job.local_bytes)} must fit on local disks",
            where={"instance_type": node.name, "nodes": nodes},
            hint=f"it fits on {least:,} nodes",
        )


def compared(
    request: HardwareRequest, options: Sequence[Option], catalogs: Sequence[Catalog]
) -> Advice:
    """The given options, ranked as an answer of their own; those without a price come last."""

    def rank(option: Option) -> tuple[bool, float]:
        return option.metered_usd is None, option.time_s.value

    known = sorted((each for each in options if not each.lower_bound), key=rank)
    priced = [each for each in known if each.metered_usd is not None]
    found = ClassAdvice(
        durability=request.job.durability,
        ranked=tuple(known),
        undecided=undecided_pairs(AdviceObjective.FASTEST, priced),
        measure=(),
        frontier=(),
        at_least=tuple(each for each in options if each.lower_bound),
        excluded=(),
    )
    names = tuple(catalog.name for catalog in catalogs)
    return Advice(replace(request, objective=AdviceObjective.FASTEST), names, (found,))


def _most_nodes(request: HardwareRequest, instance_type: InstanceType) -> tuple[int, str]:
    """The number of available nodes, with its source in words."""
    asked = request.max_nodes_of.get(instance_type.name)
    if asked is not None:
        return asked, f"at most {asked:,}, as requested"
    known = instance_type.number("max_nodes")
    if known is not None:
        return int(known), f"at most {int(known):,} are available"
    if request.nodes is not None:
        return request.nodes, "as asked"
    return request.max_nodes, f"at most {request.max_nodes:,} are considered (--max-nodes)"


@lru_cache(maxsize=4096)
def grid(least: int, most: int) -> Counts:
    """Up to `GRID_POINTS` node counts from `least` to `most`, in equal ratios."""
    if most - least < GRID_POINTS:
        counts: Counts = np.arange(least, most + 1, dtype=np.int64)
    else:
        counts = np.unique(np.geomspace(least, most, GRID_POINTS).round().astype(np.int64))
        counts[0], counts[-1] = least, most
    counts.flags.writeable = False  # it is shared
    return counts


@dataclass(frozen=True, slots=True)
class _ChosenOption:
    """A type's `option`: the `at`-th count of `chosen`, which may lie between those of `all`."""

    option: Option
    all: Candidate
    chosen: Candidate
    at: int


def _settle(request: HardwareRequest, candidate: Candidate) -> _ChosenOption | RuledOut:
    """The count that the objective chooses; near a limit the grid is made finer first."""
    at = _choose(request, candidate)
    chosen, counts = candidate, candidate.counts
    limited = request.deadline_s is not None or request.budget_usd is not None
    near = _nearest_count(request, candidate) if isinstance(at, RuledOut) else at
    if limited and counts.size > 1 and near is not None:
        first = int(np.argmax(_within(request, candidate, 2)))  # about the fewest that keep them
        finer = at_counts(
            candidate,
            np.unique(np.concatenate([counts, _about(counts, near), _about(counts, first)])),
        )
        again = _choose(request, finer)
        if isinstance(again, int):  # the previous choice is among the counts
            at, chosen = again, finer
    if isinstance(at, RuledOut):
        return at
    within = None
    if limited:  # a lower bound can't prove that a limit is kept
        within = bool(_within(request, chosen, 2)[at]) and not candidate.time.lower_bound
    return _at(request, candidate, chosen, at, within)


def _about(counts: Counts, at: int) -> Counts:
    """A finer grid of counts around the `at`-th."""
    return grid(int(counts[max(0, at - 1)]), int(counts[min(counts.size - 1, at + 1)]))


def _at(
    request: HardwareRequest, candidate: Candidate, chosen: Candidate, at: int, within: bool | None
) -> _ChosenOption:
    """The `at`-th count of `chosen`, with the fewest nodes that cost the same."""
    option = option_of(chosen, at, request.today, within)
    alike = chosen.usd[0] <= chosen.usd[0, at] * (1 + SAME_COST)
    alike &= _within(request, chosen, 2 if within else 0)
    fewest = int(np.argmax(alike))
    slower = FewestNodes(int(chosen.counts[fewest]), float(chosen.seconds[0, fewest]))
    option = replace(option, fewer=slower if slower.nodes < option.nodes else None)
    return _ChosenOption(option, candidate, chosen, at)


def _nearest_count(request: HardwareRequest, candidate: Candidate) -> int | None:
    """Where no count keeps the limits: next to which one may, between those of the grid, if any."""
    if request.budget_usd is None:  # time only falls with more nodes
        return None
    if request.deadline_s is None:
        return int(np.argmin(candidate.usd[0]))
    in_time = candidate.seconds[0] <= request.deadline_s
    return int(np.argmax(in_time)) if in_time.any() else None


def _within(request: HardwareRequest, candidate: Candidate, row: int) -> Mask:
    """Which counts keep deadline and budget by the `row`: 0 by the middle, 2 surely."""
    if request.deadline_s is None and request.budget_usd is None:
        return np.ones(candidate.counts.size, dtype=np.bool_)
    seconds, usd = candidate.seconds[row], candidate.usd[row]
    deadline_s = math.inf if request.deadline_s is None else request.deadline_s
    budget_usd = math.inf if request.budget_usd is None else request.budget_usd
    within: Mask = (seconds <= deadline_s) & (usd <= budget_usd)
    return within


def _choose(request: HardwareRequest, candidate: Candidate) -> int | RuledOut:
    """Which of the counts is best; those that surely keep the limits are preferred."""
    allowed = _within(request, candidate, 2)
    if not allowed.any():
        allowed = _within(request, candidate, 0)
    if not allowed.any():
        return _over(request, candidate)
    seconds, usd = candidate.seconds[0], candidate.usd[0]
    if request.objective is AdviceObjective.FASTEST:
        fastest = np.where(allowed, seconds, np.inf)
        same = fastest <= fastest.min() * (1 + 1e-9)
        return int(np.argmin(np.where(same, usd, np.inf)))
    cheapest = np.where(allowed, usd, np.inf)
    same = cheapest <= cheapest.min() * (1 + SAME_COST)
    return int(np.argmin(np.where(same, seconds, np.inf)))


def _over(request: HardwareRequest, candidate: Candidate) -> RuledOut:
    """Why no count keeps the limits, and the nearest that would."""
    seconds, usd = candidate.seconds[0], candidate.usd[0]
    within_budget = usd <= (math.inf if request.budget_usd is None else request.budget_usd)
    bound = "at least " if candidate.time.lower_bound else ""
    if within_budget.any() and request.deadline_s is not None:
        at = int(np.argmin(np.where(within_budget, seconds, np.inf)))
        best, reason = float(seconds[at]), RuledOutReason.DEADLINE
        told = f"takes {bound}{format_duration(best)}"
    else:
        at = int(np.argmax(usd <= usd.min() * (1 + SAME_COST)))  # the fewest nodes
        best, reason = float(usd[at]), RuledOutReason.BUDGET
        told = f"costs {bound}{format_usd(best)}"
    count = int(candidate.counts[at])
    return RuledOut(
        candidate.catalog,
        candidate.instance_type.name,
        reason,
        f"{'at best ' if candidate.counts.size > 1 else ''}{told} with {count:,} nodes",
        nearest=None if bound else best,
        nearest_nodes=count,  # of a bound nothing is promised
    )


def _answer(
    request: HardwareRequest,
    job: Job,
    options: Sequence[_ChosenOption],
    excluded: tuple[RuledOut, ...],
) -> ClassAdvice:
    """Ranks the options of one durability class."""
    cheapest = request.objective is AdviceObjective.CHEAPEST

    def rank(each: _ChosenOption) -> tuple[bool, float, float, str]:
        option = each.option
        costs, takes = option.usd.value, option.time_s.value
        first, second = (costs, takes) if cheapest else (takes, costs)
        return option.within_limits is False, first, second, option.instance_type

    known = sorted((each for each in options if not each.option.lower_bound), key=rank)
    while better := _dominating(request, known):
        known = sorted((better if e.all is better.all else e for e in known), key=rank)
    bounds = sorted((each for each in options if each.option.lower_bound), key=rank)
    shown = [(each.option, each.all) for each in known[: request.shown]]
    undecided = undecided_pairs(request.objective, [option for option, _ in shown])
    return ClassAdvice(
        durability=job.durability,
        ranked=tuple(each.option for each in known),
        undecided=undecided,
        measure=measurements(request.objective, shown, undecided),
        frontier=_frontier(request, known),
        at_least=tuple(each.option for each in bounds),
        excluded=excluded,
    )


def _dominating(request: HardwareRequest, known: Sequence[_ChosenOption]) -> _ChosenOption | None:
    """Another count of a type that beats the first option in time and cost, by the middles.

    There is one where another type was given more nodes for their time, at up to `SAME_COST` more.
    """
    if not known or known[0].option.within_limits is False:
        return None
    first = known[0].option
    for each in known:
        seconds, usd = each.all.seconds[0], each.all.usd[0]
        beats = (seconds <= first.time_s.value) & (usd <= first.usd.value)
        beats &= (seconds < first.time_s.value) | (usd < first.usd.value)
        if first.within_limits is not None:
            beats &= _within(request, each.all, 2)
        if beats.any():
            at = int(np.argmin(np.where(beats, usd, np.inf)))
            return _at(request, each.all, each.all, at, first.within_limits)
    return None


def _frontier(
    request: HardwareRequest, options: Sequence[_ChosenOption]
) -> tuple[FrontierPoint, ...]:
    """The counts of all types that no other surely beats, the fastest first."""
    places: list[tuple[Candidate, int]] = []
    columns: list[Array] = []
    for each in options:
        allowed = np.flatnonzero(_within(request, each.all, 0))
        seconds, usd = each.all.seconds[:, allowed], each.all.usd[:, allowed]
        if each.option.nodes not in each.all.counts:
            seconds = np.column_stack([seconds, each.chosen.seconds[:, each.at]])
            usd = np.column_stack([usd, each.chosen.usd[:, each.at]])
        kept = undominated_counts(seconds, usd)
        # Ranked options keep their exact costs, without rounding to equal ones.
        kept |= (seconds[0] == each.option.time_s.value) & (usd[0] == each.option.usd.value)
        places += [
            (each.all, int(allowed[at])) if at < allowed.size else (each.chosen, each.at)
            for at in np.flatnonzero(kept)
        ]
        columns.append(np.concatenate([seconds[:, kept], usd[:, kept]]))
    if not columns:
        return ()
    mid_s, low_s, high_s, mid_usd, low_usd, high_usd = np.concatenate(columns, axis=1)
    surely = unbeaten(low_s, high_s, low_usd, high_usd)
    by_middle = unbeaten(mid_s, mid_s, mid_usd, mid_usd)
    return tuple(
        FrontierPoint(option_of(places[at][0], places[at][1], request.today), bool(by_middle[at]))
        for at in np.argsort(mid_s, kind="stable")
        if surely[at]
    )


def nearest(excluded: Sequence[RuledOut]) -> str:
    """The least change of a limit that would make an option of one of `excluded`; "" if none."""
    for reason in (
        RuledOutReason.DEADLINE,
        RuledOutReason.BUDGET,
        RuledOutReason.CAPACITY,
        RuledOutReason.TOO_MANY,
    ):
        near = [
            (each.nearest, each)
            for each in excluded
            if each.reason is reason and each.nearest is not None
        ]
        if near:
            value, best = min(near, key=lambda each: each[0])
            machines = f"{best.nearest_nodes:,} {best.instance_type}"
            if reason is RuledOutReason.DEADLINE:
                return f"{machines} would keep --deadline {math.ceil(value)}s"
            if reason is RuledOutReason.BUDGET:
                return f"{machines} would keep --budget {math.ceil(value * 100) / 100:.2f}"
            if reason is RuledOutReason.CAPACITY:
                return f"{machines} would hold the data (--nodes {best.nearest_nodes})"
            limit = f"--max-nodes {best.instance_type}={best.nearest_nodes}"
            return f"{machines} would hold the data ({limit})"
    return ""


def _no_option_error(request: HardwareRequest, excluded: Sequence[RuledOut]) -> VenturiError:
    """The error when no type is an option: which limits are hit, and the nearest that would do."""
    by_reason = Counter(each.reason for each in excluded)
    told = ", ".join(f"{reason} ({count})" for reason, count in by_reason.most_common())
    near = nearest(excluded)
    hints = [f"nearest: {near}"] if near else []
    where: dict[str, object] = {}
    for reason, _ in by_reason.most_common():
        details = Counter(each.detail for each in excluded if each.reason is reason)
        where[reason.value] = "; ".join(
            f"{count_of(same, 'type')}: {detail}" for detail, same in details.most_common(SAID)
        ) + (f"; and {len(details) - SAID} other reasons" if len(details) > SAID else "")
    if RuledOutReason.UNKNOWN in by_reason:
        hints.append(_assumable(excluded))
    if RuledOutReason.NO_PRICE in by_reason:
        hints.append("give prices in USD, with their source, in a catalog with --measured")
    if not by_reason:
        hints.append("`venturi catalog show` lists the figures of a catalog")
    return VenturiError(
        "VEN-ADVISE-NOWHERE",
        f"no type is an option for the {request.job.name}: {told or 'the catalog is empty'}",
        where=where,
        hint="; ".join(hints),
    )


def _assumable(excluded: Sequence[RuledOut]) -> str:
    """The options to type for the unknown rates."""
    said = [each.detail for each in excluded if each.reason is RuledOutReason.UNKNOWN]
    lacking = [
        example
        for resource, example in EXAMPLE_OF.items()
        if any(f"{resource.replace('-', ' ')}: " in detail for detail in said)
    ]
    if not lacking:
        return "give the figures in a catalog with --measured"
    assumed = " ".join(f"--assume {example}" for example in lacking)
    return f"add {assumed} (with the rates you expect per node), or measured rates with --measured"
