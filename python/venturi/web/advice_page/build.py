"""Answers of `advise` and `simulate` as their pages show them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import chain

import numpy as np

from venturi.core.statistics.stats import Missing
from venturi.core.units import format_duration, format_usd
from venturi.core.wording import count_of
from venturi.machines.advice.explain import Explanation
from venturi.machines.advice.hardware import Advice, ClassAdvice
from venturi.machines.advice.network_costs import NetworkCosts
from venturi.machines.advice.option import Option, OptionPrice, RuledOut
from venturi.machines.simulate.simulation import PHASES, SimulationResult
from venturi.terminal.advice import headline, labeled_choices, notes
from venturi.web.advice_page.data import (
    AdvicePage,
    ExclusionRow,
    Frontier,
    Histogram,
    NodeTimes,
    OptionRow,
    QuantileRow,
    SimulationPage,
    TimeMark,
)
from venturi.web.report.data import Number, ReportFact

EXAMPLES = 6
_LEVELS = ((0.025, "p2.5"), (0.25, "p25"), (0.5, "median"), (0.75, "p75"), (0.975, "p97.5"))


def advice_page(
    advice: Advice,
    *,
    bars: Sequence[NetworkCosts],
    explanations: Sequence[Explanation],
    generated_at: datetime,
    command: str,
) -> AdvicePage:
    """The page of `advice`; `bars` and `explanations` of the options that are to have them."""
    request = advice.request
    several = len(advice.classes) > 1
    leading = next((found for found in advice.classes if found.ranked), None)
    first = leading.ranked[0] if leading else None
    rows = chain.from_iterable(_rows(advice, found, first, several) for found in advice.classes)
    options = tuple(rows)
    excluded = tuple(chain.from_iterable(found.excluded for found in advice.classes))
    return AdvicePage(
        title="Which machines",
        question=_question(advice),
        answer=(
            headline(request, leading)
            if leading
            else "Cannot tell: no type has all the required facts"
        ),
        generated_at=generated_at,
        options=options,
        bars=tuple(bars),
        exclusions=_exclusions(excluded),
        assumptions=_assumptions(advice),
        explain=tuple(explanations),
        reasons=tuple(
            chain.from_iterable(_reasons(advice, found, several) for found in advice.classes)
        ),
        deadline_s=request.deadline_s,
        budget_usd=request.budget_usd,
        commands=(command,),
        curve=leading.curve if leading else (),
    )


def _question(advice: Advice) -> str:
    request = advice.request
    classes = " or ".join(found.durability for found in advice.classes)
    question = f"{request.job.name}, {classes}, {request.objective.value}"
    if request.deadline_s is not None:
        question += f" within {format_duration(request.deadline_s)}"
    if request.budget_usd is not None:
        question += f" for at most {format_usd(request.budget_usd)}"
    catalogs = "catalog" if len(advice.catalogs) == 1 else "catalogs"
    limits = f"; your limits: {request.limits}" if request.limits else ""
    names = " and ".join(advice.catalogs)
    return f"{question}; network {request.network}; {catalogs} {names}{limits}."


def _reasons(advice: Advice, found: ClassAdvice, several: bool) -> tuple[str, ...]:
    before = f"{found.durability}: " if several else ""
    told = [f"{before}{text}" for text in (notes(advice, found) if found.ranked else ())]
    if found.at_least:
        count = len(found.at_least)
        told.append(f"{before}{count_of(count, 'type')} not ranked: only a lower bound is known.")
    return tuple(told)


def _rows(
    advice: Advice, found: ClassAdvice, first: Option | None, several: bool
) -> list[OptionRow]:
    """The shown options, then more node counts on the frontier."""
    points = {point.key: point for point in found.frontier}
    named: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    chosen = labeled_choices(advice.request, found)
    for name, option in chosen:
        named[option.catalog, option.instance_type, option.nodes].append(name)
    shown = [*found.ranked[: advice.request.shown], *found.at_least[: advice.request.shown]]
    shown += [option for _, option in chosen if option not in shown]
    listed = {(each.catalog, each.instance_type, each.nodes) for each in shown}
    # One row a point of the frontier by the middles; those that merely may be are in the picture
    # through the types' own rows.
    shown += [p.option for key, p in points.items() if p.by_middle and key not in listed]
    return [
        OptionRow(
            each,
            _frontier(points.get((each.catalog, each.instance_type, each.nodes))),
            chosen=each is first,
            note=", ".join(
                [
                    *named.get((each.catalog, each.instance_type, each.nodes), ()),
                    *([each.durability] if several else []),
                ]
            ),
        )
        for each in shown
    ]


def _frontier(point: object) -> Frontier:
    if point is None:
        return "no"
    return "yes" if getattr(point, "by_middle", False) else "cannot tell"


def _exclusions(excluded: Sequence[RuledOut]) -> tuple[ExclusionRow, ...]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in excluded:
        by_reason[f"{each.reason.value}: {each.detail}"].append(each.instance_type)
    rows = [
        ExclusionRow(reason, len(names), tuple(dict.fromkeys(names))[:EXAMPLES])
        for reason, names in by_reason.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.count, row.reason)))


def _assumptions(advice: Advice) -> tuple[str, ...]:
    options = chain.from_iterable(
        (*found.ranked[: advice.request.shown], *found.at_least) for found in advice.classes
    )
    return tuple(dict.fromkeys(chain.from_iterable(each.assumptions for each in options)))


def simulation_page(
    result: SimulationResult,
    *,
    settings: Sequence[tuple[str, str]],
    price: OptionPrice | str,
    deadline_s: float | None,
    generated_at: datetime,
    command: str,
) -> SimulationPage:
    """The page of `result`; `settings` describe the scenario, `price` is a node's or a reason."""
    scenario = result.scenario
    counts, edges = result.histogram(40)
    expected_s = sum(result.expected_s) + scenario.job.startup_s
    low_s, high_s = result.interval_s()
    answer = (
        f"Median {_time(result.median_s)}; 95% of the trials take {_time(low_s)} to {_time(high_s)}"
    )
    reasons = [f"With equal nodes at the stated rates, the formula gives {_time(expected_s)}."]
    if deadline_s is not None:
        share = result.share_within(deadline_s)
        reasons.append(f"{share:.1%} of the trials finish within {format_duration(deadline_s)}.")
    if result.unfinished:
        reasons.append(f"{result.unfinished:,} of {result.trials:,} trials did not finish.")
    marks = [
        TimeMark("median", "median", result.median_s),
        TimeMark("p5", "quantile", result.quantile_s(0.05)),
        TimeMark("p95", "quantile", result.quantile_s(0.95)),
        TimeMark("plain formula", "formula", expected_s),
    ]
    if deadline_s is not None:
        marks.append(TimeMark("deadline", "deadline", deadline_s))
    return SimulationPage(
        title="Job time with uneven nodes",
        question=f"{scenario.job.name}, {scenario.job.durability}, on {scenario.nodes:,} × "
        f"{scenario.node.name}: {result.trials:,} simulated trials.",
        answer=answer,
        generated_at=generated_at,
        trials=result.trials,
        finished_trials=result.trials - result.unfinished,
        histogram=_histogram(counts.tolist(), edges.tolist()),
        marks=tuple(mark for mark in marks if math.isfinite(mark.at_s)),
        quantiles=tuple(
            QuantileRow(name, _finite(time_s), cost_of(price, time_s, scenario.nodes))
            for level, name in _LEVELS
            for time_s in (result.quantile_s(level),)
        ),
        settings=(
            *(ReportFact(name, value) for name, value in settings),
            ReportFact("trials", f"{result.trials:,}"),
            ReportFact("seed", str(result.seed)),
        ),
        node_times=tuple(
            NodeTimes(name, _histogram(*(part.tolist() for part in result.node_histogram(index))))
            for index, name in enumerate(PHASES)
        ),
        reasons=tuple(reasons),
        assumptions=result.assumptions,
        commands=(command,),
    )


def _histogram(counts: list[int], edges: list[float]) -> Histogram:
    return Histogram(tuple(edges), tuple(counts)) if counts else Histogram((), ())


def cost_of(price: OptionPrice | str, seconds: float, nodes: int) -> Number:
    """US dollars of the time used."""
    if isinstance(price, str):
        return Missing(price)
    if not math.isfinite(seconds):
        return Missing("too many trials did not finish")
    return float(price.metered_usd(np.array([seconds]), np.array([nodes]))[0])


def _time(seconds: float) -> str:
    return format_duration(seconds) if math.isfinite(seconds) else "for ever"


def _finite(seconds: float) -> Number:
    return seconds if math.isfinite(seconds) else Missing("too many trials did not finish")
