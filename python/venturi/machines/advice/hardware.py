"""Choice and number of machines for one job: the method of the SoCC 2015 paper, generalized, with
explicit uncertainty.

For each type and durability class, this calculates time and cost as ranges for about fifty node
counts, from the fewest that hold the data to the most available. `choose.py` names the cheapest,
the recommended and the fastest option that is worth paying for, and the count of each type in the
ranking; the frontier shows the undominated counts of all types. If ranges overlap, the answer is a
tie, with the rate to measure that decides most. Unsuitable types are listed with the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.core.wording import count_of
from venturi.machines.advice.assume import EXAMPLE_OF
from venturi.machines.advice.choose import (
    Choices,
    ChosenOption,
    at_pace,
    choose,
    grid,
    settle,
    within,
)
from venturi.machines.advice.decide import Measurement, measurements, undecided_pairs
from venturi.machines.advice.frontier import unbeaten, undominated_counts
from venturi.machines.advice.option import (
    AdviceObjective,
    Array,
    Candidate,
    Option,
    RuledOut,
    RuledOutReason,
    candidate_of,
    job_on,
    least_nodes,
    one_count,
    option_of,
    price_of,
    span,
)
from venturi.machines.advice.question import DEFAULT_MAX_NODES, HardwareRequest
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.choices import MOST_NODES, Durability, NetworkChoice
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.job import Job
from venturi.machines.cost.node import Node, node_of

SAID = 3  # details under one reason, in the error that no type is an option


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An option that no other surely beats: the `at`-th node count of `candidate`.

    `by_middle`: none beats it by the middles either. Of thousands of points few are shown, so
    `option` is made when it is read.
    """

    candidate: Candidate
    at: int
    today: date | None
    by_middle: bool

    @property
    def key(self) -> tuple[str, str, int]:
        """Catalog, type and number of nodes."""
        nodes = int(self.candidate.counts[self.at])
        return self.candidate.catalog, self.candidate.instance_type.name, nodes

    @property
    def option(self) -> Option:
        """The option with all of its figures."""
        return option_of(self.candidate, self.at, self.today)


@dataclass(frozen=True, slots=True)
class ClusterSizePoint:
    """Time and cost with one number of nodes."""

    nodes: int
    time_s: Bounds
    usd: Bounds


@dataclass(frozen=True, slots=True)
class ClassAdvice:
    """The answer for one durability class.

    `choices` are the options to decide between, None without any; `curve` has the recommended type
    with other node counts. `ranked` is ordered by the objective; for `recommended`, that option
    comes first, then every other type with its cheapest count that is no slower, or in time. For
    the options shown, `undecided` has the tied pairs of ranks (from 1), and `measure` the
    measurements that would decide them, the most decisive first. `at_least` has options with only
    a lower bound, which are never ranked.
    """

    durability: Durability
    choices: Choices | None
    curve: tuple[ClusterSizePoint, ...]
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
    found: list[list[ChosenOption]] = [[] for _ in jobs]
    excluded: list[list[RuledOut]] = [[] for _ in jobs]
    for catalog in catalogs:
        for instance_type in catalog.types.values():
            node = node_of(instance_type, request.network)
            for number, job in enumerate(jobs):
                fitted = fit(request, job, catalog.name, instance_type, node)
                settled = fitted if isinstance(fitted, RuledOut) else settle(request, fitted)
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
    job = job_on(job, node)
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
    job = job_on(job, node)
    need_room(replace(job, filled_share=1.0), node, nodes)  # given machines may be full
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
        choices=None,
        curve=(),
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
    vcpus = instance_type.number("vcpus")
    if request.max_vcpus is not None and vcpus is not None:
        quota = request.max_vcpus // round(vcpus)
        most, said = _most_nodes(replace(request, max_vcpus=None), instance_type)
        if quota < most:
            return quota, f"at most {quota:,} within {request.max_vcpus:,} vCPUs"
        return most, said
    asked = request.max_nodes_of.get(instance_type.name)
    if asked is not None:
        return asked, f"at most {asked:,}, as requested"
    known = instance_type.number("max_nodes")
    if known is not None:
        return int(known), f"at most {int(known):,} are available"
    if request.nodes is not None:
        return request.nodes, "as asked"
    return request.max_nodes, f"at most {request.max_nodes:,} are considered (--max-nodes)"


def _answer(
    request: HardwareRequest,
    job: Job,
    options: Sequence[ChosenOption],
    excluded: tuple[RuledOut, ...],
) -> ClassAdvice:
    """Ranks the options of one durability class."""
    known = [each for each in options if not each.option.lower_bound]
    bounds = [each for each in options if each.option.lower_bound]
    found = choose(request, known)
    ranked = _ranked(request, known, None if found is None else found[1])
    shown = [(each.option, each.all) for each in ranked[: request.shown]]
    undecided = undecided_pairs(request.objective, [option for option, _ in shown])
    best = None if found is None else found[1].all
    return ClassAdvice(
        durability=job.durability,
        choices=None if found is None else found[0],
        curve=()
        if best is None
        else tuple(
            ClusterSizePoint(nodes, span(best.seconds, at), span(best.usd, at))
            for at, nodes in enumerate(best.counts.tolist())
        ),
        ranked=tuple(each.option for each in ranked),
        undecided=undecided,
        measure=measurements(request.objective, shown, undecided),
        frontier=_frontier(request, known),
        at_least=tuple(each.option for each in _ranked(request, bounds, None)),
        excluded=excluded,
    )


def _ranked(
    request: HardwareRequest, options: Sequence[ChosenOption], best: ChosenOption | None
) -> list[ChosenOption]:
    """One option of each type in the order of the objective; `best` is the recommended one."""
    by_cost = request.objective is not AdviceObjective.FASTEST
    pace_s = math.inf

    def rank(each: ChosenOption) -> tuple[bool, bool, float, float, str]:
        option = each.option
        costs, takes = option.usd.value, option.time_s.value
        first, second = (costs, takes) if by_cost else (takes, costs)
        late = takes > pace_s * (1 + 1e-9)
        return option.within_limits is False, late, first, second, option.instance_type

    if best is None or request.objective in {AdviceObjective.CHEAPEST, AdviceObjective.FASTEST}:
        return sorted(options, key=rank)
    key = (best.option.catalog, best.option.instance_type)
    others = [e for e in options if (e.option.catalog, e.option.instance_type) != key]
    if request.deadline_s is None:  # only options of one pace are compared by cost
        pace_s = best.option.time_s.value
        others = [at_pace(request, each, pace_s) for each in others]
    return [best, *sorted(others, key=rank)]


def _frontier(
    request: HardwareRequest, options: Sequence[ChosenOption]
) -> tuple[FrontierPoint, ...]:
    """The counts of all types that no other surely beats, the fastest first."""
    places: list[tuple[Candidate, int]] = []
    columns: list[Array] = []
    for each in options:
        allowed = np.flatnonzero(within(request, each.all, 0))
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
        FrontierPoint(places[at][0], places[at][1], request.today, bool(by_middle[at]))
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
    near, start_s = nearest(excluded), request.job.startup_s
    hints = [f"nearest: {near}"] if near else []
    if request.deadline_s is not None and request.deadline_s <= start_s:
        start = format_duration(start_s)
        hints = [f"the cluster takes {start} to start; add --startup 0s if it runs already"]
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
