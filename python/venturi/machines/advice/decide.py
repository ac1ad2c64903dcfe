"""Finds statistically tied options, and the rate to measure to separate most of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from venturi.core.quantity import Quantity
from venturi.machines.advice.option import (
    RATES,
    AdviceObjective,
    Candidate,
    Option,
    inputs_of,
    span,
    with_rate,
)
from venturi.machines.cost.dataflow import Bounds


@dataclass(frozen=True, slots=True)
class Measurement:
    """An uncertain rate that ties options: the command to measure it, and the pairs it decides.

    `decides`: pairs of ranks that would differ if the rate were exactly its middle value.
    `overlap_removed`: the share of the overlap of all undecided pairs that would disappear. `how`:
    the command that measures it.
    """

    catalog: str
    instance_type: str
    rate: str
    known: Quantity
    decides: tuple[tuple[int, int], ...]
    overlap_removed: float
    how: str


def objective_of(objective: AdviceObjective, of: Option | Candidate) -> Bounds:
    """The quantity to minimize: the time or cost of an option (of a candidate: by node count)."""
    if isinstance(of, Candidate):
        return span(of.seconds if objective is AdviceObjective.FASTEST else of.usd)
    return of.time_s if objective is AdviceObjective.FASTEST else of.usd


def undecided_pairs(
    objective: AdviceObjective, ranked: Sequence[Option]
) -> tuple[tuple[int, int], ...]:
    """Pairs of ranks, from 1, of which neither surely beats the other."""
    spans = [objective_of(objective, option) for option in ranked]
    return tuple(
        (i + 1, j + 1)
        for i, first in enumerate(spans)
        for j, second in enumerate(spans[i + 1 :], i + 1)
        if not (first.beats(second) or second.beats(first))
    )


def ties_with_first(objective: AdviceObjective, ranked: Sequence[Option]) -> tuple[int, ...]:
    """The ranks, from 1, that tie with the first option, including itself."""
    spans = [objective_of(objective, option) for option in ranked]
    return tuple(rank for rank, span in enumerate(spans, 1) if not spans[0].beats(span))


def measurements(
    objective: AdviceObjective,
    ranked: Sequence[tuple[Option, Candidate]],
    undecided: Sequence[tuple[int, int]],
) -> tuple[Measurement, ...]:
    """The pairs that each uncertain rate would decide if it were exactly its middle value.

    Rates that decide about the first option come first, then those that decide the most pairs.
    """
    spans = [objective_of(objective, option) for option, _ in ranked]
    all_overlap = sum(_overlap(spans[i - 1], spans[j - 1]) for i, j in undecided)
    found: list[tuple[float, Measurement]] = []  # with the overlap removed from the first option
    for number, (option, candidate) in enumerate(ranked, 1):
        before = spans[number - 1]
        # the pairs of this option, each with the span of its other side
        pairs = [(pair, spans[sum(pair) - number - 1]) for pair in undecided if number in pair]
        if not pairs:
            continue
        for name, rate in inputs_of(candidate).items():
            known = objective_of(objective, with_rate(candidate, name, rate.value, option.nodes))
            decided = tuple(p for p, other in pairs if known.beats(other) or other.beats(known))
            removed = {
                pair: _overlap(before, other) - _overlap(known, other) for pair, other in pairs
            }
            if decided or sum(removed.values()) > 0:
                made = Measurement(
                    option.catalog,
                    option.instance_type,
                    name,
                    rate,
                    decided,
                    sum(removed.values()) / all_overlap if all_overlap else 0.0,
                    RATES[name],
                )
                found.append((sum(by for pair, by in removed.items() if 1 in pair), made))
    found.sort(
        key=lambda each: (
            sum(1 in pair for pair in each[1].decides),
            len(each[1].decides),
            each[0],
            each[1].overlap_removed,
        ),
        reverse=True,
    )
    return tuple(made for _, made in found)


def _overlap(first: Bounds, second: Bounds) -> float:
    return max(0.0, min(first.high, second.high) - max(first.low, second.low))
