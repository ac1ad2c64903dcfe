"""Operators that multiply, compare or move more rows than needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import STARTING, of_causes
from venturi.jobs.stages.causes import Seconds
from venturi.jobs.stages.plans import ROWS, Operator
from venturi.jobs.stages.stage import Stage
from venturi.record.plan_texts import without_numbers

_MULTIPLIES = {"Generate": "explode", "Expand": "expand"}
_KEYLESS = ("BroadcastNestedLoopJoin", "CartesianProduct")
_CARRIED = 0.5  # of the multiplied rows: an operator that takes fewer is not slowed by them
_RANGE = re.compile(r"[<>]=?")
_OR = re.compile(r"\bOR\b")
_REPARTITION = re.compile(r"RoundRobinPartitioning|REPARTITION_BY")
_WRITING = "shuffle write time"
_NULL_AWARE = re.compile(r"\bLeftAnti\b.*\bisnull\(")


@rule("rows-multiplied")
def rows_multiplied(case: Case) -> Iterator[Hit]:
    """Find explode, cube, rollup and several COUNT(DISTINCT), with the stages of their rows."""
    for operator in case.plans.operators.values():
        made = operator.counted.get(ROWS)
        children = case.plans.children_of(operator)
        if operator.name not in _MULTIPLIES or not made or len(children) != 1:
            continue
        given = case.plans.rows_of(children[0])
        if not given:
            continue
        carriers = _carriers(case, operator, made)
        shuffled = any(each.name == "Exchange" for each in carriers)
        least = "shuffled_ratio" if shuffled else "ratio"
        if made < case.limit("rows-multiplied", least) * given:
            continue
        stages = [
            stage
            for stage in case.stages
            if any(each in carriers for each in case.plans.of_stage(stage.key))
        ]
        # Time to make, move and aggregate rows is proportional to their number.
        saved_s = sum(
            case.saved_s(stage.key, case.ran(stage.key)[1].elapsed_s * (1 - given / made))
            for stage in stages
        )
        yield Hit(
            f"query {operator.query_id} made {made:,} rows of {given:,} "
            f"({made / given:.0f} times as many): {_said(operator)}",
            (
                FindingScope(query=operator.query_id, operator=operator.text),
                *(FindingScope(stage=stage.label) for stage in stages),
            ),
            saved_s,
            Confidence.MEDIUM if shuffled else Confidence.LOW,
            _MULTIPLIES[operator.name],
        )


def _said(operator: Operator) -> str:
    """Return the operator's text; Expand's lists all columns once per copy."""
    return operator.name if operator.name == "Expand" else without_numbers(operator.text)


def _carriers(case: Case, operator: Operator, made: int) -> list[Operator]:
    """Return `operator` and those above it that take at least half of the rows that it made."""
    found = [operator]
    rows = made
    while rows >= _CARRIED * made and found[-1].parent is not None:
        above = case.plans.operators[operator.query_id, found[-1].parent]
        found.append(above)
        # A join or a union adds rows of other operators, so the chain ends there.
        counted = case.plans.rows_of(above) if len(case.plans.children_of(above)) == 1 else None
        rows = 0 if counted is None else counted
    return found


@rule("join-without-key")
def join_without_key(case: Case) -> Iterator[Hit]:
    """Find joins without an equality, which compare each row of one side with each of the other."""
    for join in case.plans.operators.values():
        if join.name not in _KEYLESS:
            continue
        sides = [case.plans.rows_of(side) for side in case.plans.children_of(join)]
        given = [rows for rows in sides if rows is not None]
        if len(given) != 2:
            continue
        pairs = prod(given)
        if pairs < case.limit("join-without-key", "pairs"):
            continue
        stages = [stage for stage in case.stages if join in case.plans.of_stage(stage.key)]
        made = join.counted.get(ROWS)
        gives = "" if made is None else f" to produce {made:,} rows"
        yield Hit(
            f"{_in(stages, join)} compared {given[0]:,} × {given[1]:,} rows{gives}"
            f"{_taking(stages)}: {without_numbers(join.text)}",
            (
                FindingScope(query=join.query_id, operator=join.text),
                *(FindingScope(stage=stage.label) for stage in stages),
            ),
            sum(
                case.saved_s(stage.key, case.ran(stage.key)[1].elapsed_s * (1 - max(given) / pairs))
                for stage in stages
            ),
            Confidence.MEDIUM,
            _kind_of(join),
        )


@rule("shuffled-again")
def shuffled_again(case: Case) -> Iterator[Hit]:
    """Find repartitioned rows that the next operators shuffle by something else."""
    for first in case.plans.operators.values():
        if first.name != "Exchange" or not _REPARTITION.search(first.text):
            continue
        again, rows = _next_exchange(case, first), first.counted.get("shuffle records written", 0)
        stages = [stage for stage in case.stages if stage.key in first.stages]
        writing = [s for s in stages if case.plans.timed_in(first, s.key).get(_WRITING)]
        # Rows of few tasks are repartitioned so that more can work on them.
        if again is None or any((each.n_tasks or 0) < each.slots for each in writing):
            continue
        saved_s = sum(
            case.saved_s(stage.key, _moving_s(case, stage, rows, writes=stage in writing))
            for stage in stages
        )
        size = first.counted.get("shuffle bytes written", 0)
        yield Hit(
            f"query {first.query_id} repartitioned {rows:,} rows ({format_bytes(size)}), and then "
            f"shuffled their results again: {without_numbers(first.text)}, then "
            f"{without_numbers(again.text)}",
            (
                FindingScope(query=first.query_id, operator=first.text),
                *(FindingScope(stage=stage.label) for stage in stages),
            ),
            saved_s,
            Confidence.LOW,
        )


def _moving_s(case: Case, stage: Stage, rows: int, *, writes: bool) -> Seconds:
    """Return the time of each attempt to write a share of `rows` to a shuffle, or to read it.

    A round-robin shuffle sorts its rows first, after generated code has made all of them.
    """
    places, times = case.ran(stage.key)
    cause = times.causes.get("shuffle write" if writes else "shuffle fetch wait")
    row_s = rows * case.limit("shuffled-again", "row_ns") / 1e9
    moved_s = np.full(len(places), row_s / len(places))
    if cause is not None:
        moved_s += cause
    code = [o for o in case.plans.of_stage(stage.key) if o.name.startswith("WholeStageCodegen")]
    made_s = max((case.plans.timed_in(o, stage.key).get("duration", 0.0) for o in code), default=0)
    if writes and made_s:
        after_s = times.elapsed_s - of_causes(times, STARTING) - made_s / len(places)
        moved_s = np.maximum(moved_s, after_s)
    within_s: Seconds = np.minimum(moved_s, times.elapsed_s)
    return within_s


def _next_exchange(case: Case, operator: Operator) -> Operator | None:
    """Return the exchange that shuffles the rows of `operator` next, None if they're joined."""
    while operator.parent is not None:
        operator = case.plans.operators[operator.query_id, operator.parent]
        if operator.name == "Exchange":
            return operator
        if len(case.plans.children_of(operator)) != 1:
            return None
    return None


def _in(stages: list[Stage], join: Operator) -> str:
    return stages[0].title if stages else f"query {join.query_id}"


def _taking(stages: list[Stage]) -> str:
    took_s = sum(stage.elapsed_s or 0.0 for stage in stages)
    return f" in {format_duration(took_s)}" if stages else ""


def _kind_of(join: Operator) -> str:
    """Return the variant of the advice that fits the condition of a join."""
    if _NULL_AWARE.search(join.text):
        return "not-in"
    if _RANGE.search(join.text):
        return "range"
    return "either" if _OR.search(join.text) else "keyless"
