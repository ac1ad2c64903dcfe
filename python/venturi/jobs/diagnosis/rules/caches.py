"""Rules about cached data."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.stages.plans import CACHED, Operator
from venturi.jobs.stages.timeline import Key


@rule("cache-incomplete")
def cache_incomplete(case: Case) -> Iterator[Hit]:
    """Find cached tables that are computed again in later stages.

    The plan below the scan of a cache counts rows only where a partition isn't in the cache. Lost
    executors take cached partitions with them, which is a finding of its own.
    """
    if case.analysis.lost_executors or case.line.account.caches is None:
        return
    levels = case.line.account.caches["level"].drop_nulls()
    for source in case.plans.operators.values():
        below = _below_cache(case, source)
        rows_in = case.plans.rows_in(source)
        if not below or case.plans.children_of(source) or len(rows_in) < 2:
            continue
        table = max(*rows_in.values(), case.plans.rows_of(below[-1]) or 0)
        again = sum(rows_in.values()) - table
        if again < case.limit("cache-incomplete", "again") * table:
            continue
        later = [stage for stage in case.stages if stage.key in sorted(rows_in)[1:]]
        saved_s = 0.0
        for stage in later:
            times = case.ran(stage.key)[1]
            spent_s = _spent_s(case, below[:-1], stage.key) or stage.task_s * (
                rows_in[stage.key] / table
            )
            saved_s += case.saved_s(
                stage.key, times.elapsed_s * min(spent_s / max(stage.task_s, 1e-9), 1.0)
            )
        yield Hit(
            f"a cached table of {table:,} rows lacked partitions: its source made {again:,} rows "
            f"again in {len(later):,} stages",
            (
                FindingScope(query=source.query_id, operator=below[-1].text),
                *(FindingScope(stage=stage.label) for stage in later),
            ),
            saved_s,
            Confidence.MEDIUM,
            "any" if any("Disk" in level for level in levels) else "memory",
        )


def _below_cache(case: Case, operator: Operator) -> list[Operator]:
    """Return the operators from `operator` up to the scan of a cache; [] if none is above."""
    path = [operator]
    while path[-1].name != CACHED:
        parent = path[-1].parent
        if parent is None:
            return []
        path.append(case.plans.operators[operator.query_id, parent])
    return path


def _spent_s(case: Case, path: list[Operator], key: Key) -> float:
    """Return the task time of a stage in the generated code below a cache, 0 if not timed."""
    return max((case.plans.timed_in(each, key).get("duration", 0.0) for each in path), default=0.0)
