"""The SQL queries of a job: the plans that ran, the metrics of their operators, and their jobs."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.jobs.stages.plans import ROWS, Operator
from venturi.jobs.stages.queries import changes_of, works_of
from venturi.jobs.stages.stage import label_of
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.whatif.ideal import Ideals
from venturi.record.plan_texts import PASSING, without_numbers
from venturi.web.api.jobs.job_shapes import JobOperator, JobQuery, JobSpan

SHOWN_QUERIES, SHOWN_JOBS, SHOWN_OPERATORS = 20, 200, 120
# Timers of generated code run from start to end, including waits.
_NO_WORK = "duration"
_ROWS = (ROWS, "records read")
_BYTES = ("size of files read", "data size", "written output", "shuffle bytes written")


def queries_of(line: Timeline) -> tuple[JobQuery, ...]:
    """The longest queries, in their own order."""
    table, origin_ms = line.account.queries, line.tasks.origin_ms
    if table is None:
        return ()
    plans: dict[int, list[Operator]] = {}
    for operator in line.plans.operators.values():
        plans.setdefault(operator.query_id, []).append(operator)
    works, changes = works_of(line.account), changes_of(line.account)
    found = []
    for row in table.rows(named=True):
        start, end = row["submitted_ms"], row["ended_ms"]
        plan = plans.get(row["query_id"], [])
        found.append(
            JobQuery(
                row["query_id"],
                row["name"] or "",
                row["outcome"],
                None if start is None else (start - origin_ms) / 1e3,
                None if start is None or end is None else (end - start) / 1e3,
                None if works is None else works[row["query_id"]],
                changes.get(row["query_id"]),
                tuple(_operators(plan[:SHOWN_OPERATORS])),
                max(len(plan) - SHOWN_OPERATORS, 0),
            )
        )
    longest = sorted(found, key=lambda each: -(each.elapsed_s or 0.0))[:SHOWN_QUERIES]
    return tuple(sorted(longest, key=lambda each: each.id))


def jobs_of(line: Timeline, ideals: Ideals) -> tuple[JobSpan, ...]:
    """The longest jobs, in their own order, with the slots that are ideal for them."""
    needs = {each.job_id: each for each in ideals.found}
    table, origin_ms = line.account.jobs, line.tasks.origin_ms
    found = [
        JobSpan(
            id_,
            name or "",
            outcome,
            (start - origin_ms) / 1e3,
            (end - start) / 1e3,
            needs.get(id_),
        )
        for id_, name, outcome, start, end in table.select(
            "job_id", "name", "outcome", "submitted_ms", "ended_ms"
        ).rows()
        if start is not None and end is not None
    ]
    longest = sorted(found, key=lambda each: -(each.elapsed_s or 0.0))[:SHOWN_JOBS]
    return tuple(sorted(longest, key=lambda each: each.id))


def _operators(plan: list[Operator]) -> Iterator[JobOperator]:
    """The operators that do work, each with the operator that takes its rows."""
    takers: dict[int, int | None] = {}
    n = 0
    for each in plan:
        taker = None if each.parent is None else takers.get(each.parent)
        if each.name.startswith(PASSING):
            takers[each.node] = taker
            continue
        takers[each.node] = n
        n += 1
        timers = {name: time_s for name, time_s in each.timed.items() if name != _NO_WORK}
        most = max(timers, key=lambda name: timers[name], default=None)
        yield JobOperator(
            taker,
            each.name.strip(),
            without_numbers(each.text),
            next((each.counted[name] for name in _ROWS if name in each.counted), None),
            next((each.counted[name] for name in _BYTES if each.counted.get(name)), None),
            most,
            None if most is None else timers[most],
            tuple(label_of(key) for key in sorted(each.stages)),
        )
