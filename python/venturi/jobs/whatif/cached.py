"""Size of a job's cached data in memory, recorded or from the bytes that its stages read."""

from __future__ import annotations

from itertools import pairwise

from venturi.jobs.stages.caches import cache_uses
from venturi.jobs.whatif.demand import JobDemand

_MOST_CACHES = 100
_SAME = 0.01


def cached_bytes(demand: JobDemand) -> float:
    """The largest cached RDD that is only in memory; 0 if there is none or its size is unknown.

    By default, logs since Spark 2.3 don't have its size. Then it is the largest input that two
    stages on cached data, without a shuffle before them, both read: cached blocks count as input.
    """
    uses = cache_uses(demand.line.account, _MOST_CACHES)
    if any(each.memory_bytes is not None for each in uses):
        return float(
            max((each.memory_bytes or 0 for each in uses if not each.disk_bytes), default=0)
        )
    if not uses:
        return 0.0
    columns = ("stage_id", "attempt", "source_ids")
    rows = demand.line.account.stages.select(columns).rows()
    on_cached = {(id_, attempt) for id_, attempt, sources in rows if sources == []}
    sizes = zip(
        demand.keys,
        demand.sums(demand.input_bytes).tolist(),
        demand.sums(demand.fetched).tolist(),
        strict=True,
    )
    read = sorted(size for key, size, fetched in sizes if key in on_cached and size and not fetched)
    return max((size for one, size in pairwise(read) if size <= (1 + _SAME) * one), default=0.0)
