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
    if case.analysis.lost_executors:
        return
    found: dict[tuple[int, int], tuple[int, int, Operator, list[Operator]]] = {}
    for source in case.plans.operators.values():
        rows_in = case.plans.rows_in(source)
        if len(rows_in) < 2 or case.plans.children_of(source):
            continue
        if not (path := _below_cache(case, source)):
            continue
        table = max(*rows_in.values(), case.plans.rows_of(path[-1]) or 0)
        again = sum(rows_in.values()) - table
        scan = path[-1].query_id, path[-1].node
        if again > found.get(scan, (0,))[0]:
            found[scan] = again, table, source, path
    for again, table, source, path in found.values():
        if again >= case.limit("cache-incomplete", "again") * table:
            yield _hit(case, again, table, source, path)


def _hit(case: Case, again: int, table: int, source: Operator, path: list[Operator]) -> Hit:
    """Describe a cache: `source` made `again` rows more than the `table` has."""
    rows_in = case.plans.rows_in(source)
    later = [stage for stage in case.stages if stage.key in sorted(rows_in)[1:]]
    saved_s = 0.0
    for stage in later:
        timed_s = _spent_s(case, path[:-1], stage.key)
        share = timed_s / stage.task_s if timed_s else rows_in[stage.key] / table
        saved_s += case.saved_s(stage.key, case.ran(stage.key)[1].elapsed_s * min(share, 1.0))
    caches = case.line.account.caches
    levels = () if caches is None else caches["level"].drop_nulls()
    return Hit(
        f"a cached table of {table:,} rows lacked partitions: its source made {again:,} rows "
        f"again in {len(later):,} stages",
        (
            FindingScope(query=source.query_id, operator=path[-1].text),
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
