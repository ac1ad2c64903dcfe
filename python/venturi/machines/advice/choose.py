"""Which machines, and how many: the choice between types and node counts.

Every node is paid while the cluster starts, and can fail, so more nodes have to save time. Three
options of all types and counts are named:

- cheapest: the lowest cost;
- recommended: of the options that cost at most `TIED` more than that, the one with the fewest
  nodes; without a deadline it takes at most `SLOWER` times as long as the fastest of them;
- fastest worth paying for: the least product of cost and time, among those no slower than the
  recommended. With more nodes, 1 % less time costs more than 1 %.

All keep deadline and budget in their worst case, if any option does. Costs within `SAME_COST` are
the same: fewer nodes win.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from venturi.core.units import format_duration, format_usd
from venturi.machines.advice.frontier import Mask
from venturi.machines.advice.option import (
    AdviceObjective,
    Array,
    Candidate,
    Counts,
    Option,
    RuledOut,
    RuledOutReason,
    at_counts,
    option_of,
)
from venturi.machines.advice.question import HardwareRequest

GRID_POINTS = 50
SAME_COST = 0.01
TIED = 0.25  # costs that differ by less tie: predictions on measured rates missed by 14 to 19 %
SLOWER = 4.0


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
class ChosenOption:
    """A type's `option`: the `at`-th count of `chosen`, which may lie between those of `all`."""

    option: Option
    all: Candidate
    chosen: Candidate
    at: int


def settle(request: HardwareRequest, candidate: Candidate) -> ChosenOption | RuledOut:
    """The count that the objective chooses; near a limit the grid is made finer first."""
    at = _choose(request, candidate)
    chosen, counts = candidate, candidate.counts
    near = _nearest_count(request, candidate) if isinstance(at, RuledOut) else at
    if request.limited and counts.size > 1 and near is not None:
        first = int(np.argmax(within(request, candidate, 2)))  # about the fewest that keep them
        finer = at_counts(
            candidate,
            np.unique(np.concatenate([counts, _about(counts, near), _about(counts, first)])),
        )
        again = _choose(request, finer)
        if isinstance(again, int):  # the previous choice is among the counts
            at, chosen = again, finer
    if isinstance(at, RuledOut):
        return at
    return _at(request, candidate, chosen, at)


def _at(request: HardwareRequest, all_: Candidate, chosen: Candidate, at: int) -> ChosenOption:
    kept = None
    if request.limited:  # a lower bound can't prove that a limit is kept
        kept = bool(within(request, chosen, 2)[at]) and not chosen.time.lower_bound
    return ChosenOption(option_of(chosen, at, request.today, kept), all_, chosen, at)


def _about(counts: Counts, at: int) -> Counts:
    """A finer grid of counts around the `at`-th."""
    return grid(int(counts[max(0, at - 1)]), int(counts[min(counts.size - 1, at + 1)]))


def _nearest_count(request: HardwareRequest, candidate: Candidate) -> int | None:
    """Where no count keeps the limits: next to which one may, between those of the grid, if any."""
    if request.budget_usd is None:  # time only falls with more nodes
        return None
    if request.deadline_s is None:
        return int(np.argmin(candidate.usd[0]))
    in_time = candidate.seconds[0] <= request.deadline_s
    return int(np.argmax(in_time)) if in_time.any() else None


def within(request: HardwareRequest, candidate: Candidate, row: int) -> Mask:
    """Which counts keep deadline and budget by the `row`: 0 by the middle, 2 surely."""
    if not request.limited:
        return np.ones(candidate.counts.size, dtype=np.bool_)
    seconds, usd = candidate.seconds[row], candidate.usd[row]
    deadline_s = math.inf if request.deadline_s is None else request.deadline_s
    budget_usd = math.inf if request.budget_usd is None else request.budget_usd
    kept: Mask = (seconds <= deadline_s) & (usd <= budget_usd)
    return kept


def _choose(request: HardwareRequest, candidate: Candidate) -> int | RuledOut:
    """Which of the counts is best; those that surely keep the limits are preferred."""
    allowed = within(request, candidate, 2)
    if not allowed.any():
        allowed = within(request, candidate, 0)
    if not allowed.any():
        return _over(request, candidate)
    seconds, usd = candidate.seconds[0], candidate.usd[0]
    if request.objective is AdviceObjective.FASTEST:
        return _least(seconds, allowed, usd, 1e-9)
    return _least(usd, allowed, candidate.counts)


def _least(values: Array, among: Mask, then: Array | Counts, tolerance: float = SAME_COST) -> int:
    """The place of the least of `values`; of those within `tolerance` the one with least `then`."""
    found = np.where(among, values, np.inf)
    return int(np.argmin(np.where(found <= found.min() * (1 + tolerance), then, np.inf)))


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


@dataclass(frozen=True, slots=True)
class Choices:
    """The three options to decide between."""

    cheapest: Option
    recommended: Option
    fastest: Option


def choose(
    request: HardwareRequest, options: Sequence[ChosenOption]
) -> tuple[Choices, ChosenOption] | None:
    """The three options, and the recommended one with its type; None without any."""
    if not options:
        return None
    places = [(each, at) for each in options for at in range(each.chosen.counts.size)]
    seconds = np.concatenate([each.chosen.seconds[0] for each in options])
    usd = np.concatenate([each.chosen.usd[0] for each in options])
    nodes = np.concatenate([each.chosen.counts for each in options])
    allowed, sure = (
        np.concatenate([within(request, each.chosen, row) for each in options]) for row in (0, 2)
    )
    allowed = sure if sure.any() else allowed
    cheapest = _least(usd, allowed, nodes)
    tied = allowed & (usd <= usd[cheapest] * (1 + TIED))
    if request.deadline_s is None:
        tied &= seconds <= SLOWER * seconds[tied].min()
    recommended = _least(nodes.astype(np.float64), tied, usd, 0.0)
    fastest = _least(usd * seconds, allowed & (seconds <= seconds[recommended]), nodes)

    def option(place: int) -> ChosenOption:
        of, at = places[place]
        return _at(request, of.all, of.chosen, at)

    best = option(recommended)
    return Choices(option(cheapest).option, best.option, option(fastest).option), best


def at_pace(request: HardwareRequest, of: ChosenOption, pace_s: float) -> ChosenOption:
    """The type's cheapest count that takes at most `pace_s`, by the middle; else its fastest."""
    counts = of.all.counts
    near = int(np.argmax(of.all.seconds[0] <= pace_s))
    finer = at_counts(of.all, np.unique(np.concatenate([counts, _about(counts, near)])))
    as_fast = finer.seconds[0] <= pace_s * (1 + 1e-9)
    as_fast &= within(request, finer, 0)
    if as_fast.any():
        return _at(request, of.all, finer, _least(finer.usd[0], as_fast, finer.counts))
    fastest = _least(finer.seconds[0], within(request, finer, 0), finer.counts, 1e-9)
    return _at(request, of.all, finer, fastest)
