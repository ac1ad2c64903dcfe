"""The data that a job cached, and how much of it was stored."""

from __future__ import annotations

from dataclasses import dataclass

from venturi.record.job_account import JobAccount
from venturi.record.plan_texts import without_numbers

HOW_TO_RECORD = (
    "the stored share is not recorded: since Spark 2.3 the log has it only with "
    "spark.eventLog.logBlockUpdates.enabled"
)


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Cache use of the RDD with number `rdd`, at Spark's storage `level`.

    `cached` is the most of its `partitions` stored at a time, with their bytes in memory and on
    disk. None is "not recorded".
    """

    rdd: int
    name: str | None
    level: str | None
    partitions: int | None
    cached: int | None
    memory_bytes: int | None
    disk_bytes: int | None


def cache_uses(account: JobAccount, most: int) -> tuple[CacheUse, ...]:
    """The `most` with the most bytes, in the order of their numbers."""
    if account.caches is None:
        return ()
    found = [
        CacheUse(rdd, None if name is None else without_numbers(name), *rest)
        for rdd, name, *rest in account.caches.rows()
    ]
    largest = sorted(found, key=lambda each: -(each.memory_bytes or 0) - (each.disk_bytes or 0))
    return tuple(sorted(largest[:most], key=lambda each: each.rdd))
