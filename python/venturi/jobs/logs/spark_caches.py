"""Cached data of Spark applications, as far as their event logs record it.

Stages name their RDDs, with the requested storage level. Logs up to 2.2 also have the stored
amounts there; later ones have zeros, and record them in block updates, with the setting
`spark.eventLog.logBlockUpdates.enabled`. Sources of the names: RDDInfo and BlockUpdatedInfo in
core/src/main/scala/org/apache/spark/storage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from venturi.jobs.logs.columnar import (
    TableBuilder,
    TooManyError,
    amount,
    number,
    row_of,
    word,
)
from venturi.jobs.logs.spark_fields import call_site
from venturi.record.account_kind import SPARK

if TYPE_CHECKING:
    import polars as pl

_RDDS = 20_000
_SOURCES = 10  # kept of a stage
_BLOCKS = 100_000  # stored concurrently
_NAME_CHARACTERS = 300
_LARGEST = (1 << 63) - 1  # that a table can hold
_STORED = ("Number of Cached Partitions", "Memory Size", "Disk Size")
_BLOCK = re.compile(r"rdd_(\d{1,18})_(\d{1,18})")


@dataclass(slots=True)
class _CachedRdd:
    """An RDD: `most` is the peak of partitions, and of bytes in memory and on disk."""

    name: str | None = None
    level: str | None = None
    partitions: int | None = None
    most: tuple[int, ...] | None = None
    blocks: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """By executor and partition the bytes in memory and on disk."""
    copies: Counter[int] = field(default_factory=Counter)
    memory_bytes: int = 0
    disk_bytes: int = 0

    def note(self, *now: int) -> None:
        """Adds the amounts stored now, in the order of `most`."""
        before = self.most or (0, 0, 0)
        self.most = tuple(min(max(both), _LARGEST) for both in zip(before, now, strict=True))

    def put(self, executor: str, partition: int, size: tuple[int, int]) -> None:
        """A partition is stored on an executor, where it was not."""
        self.blocks[executor, partition] = size
        self.copies[partition] += 1
        self.memory_bytes += size[0]
        self.disk_bytes += size[1]
        self.note(len(self.copies), self.memory_bytes, self.disk_bytes)

    def drop(self, executor: str, partition: int) -> None:
        """A partition is stored on an executor no longer."""
        memory_bytes, disk_bytes = self.blocks.pop((executor, partition))
        self.memory_bytes -= memory_bytes
        self.disk_bytes -= disk_bytes
        self.copies[partition] -= 1
        if not self.copies[partition]:
            del self.copies[partition]


class Caches:
    """The RDDs in a log, read so far."""

    def __init__(self) -> None:
        self._rdds: dict[int, _CachedRdd] = {}
        self._of_executors: dict[str, set[tuple[int, int]]] = {}
        """The blocks of each executor, by RDD and partition."""
        self._n_blocks = 0
        self._updates = False

    def of_stage(self, info: Mapping[str, Any]) -> None:
        """Notes the RDDs of a stage that are to be stored."""
        for rdd in info.get("RDD Info") or ():
            if (level := _level(rdd.get("Storage Level"))) is None:
                continue
            cached = self._rdd(number(rdd.get("RDD ID")))
            cached.name, cached.level = _name(rdd), level
            cached.partitions = amount(rdd.get("Number of Partitions"))
            stored = [amount(rdd.get(name)) for name in _STORED]
            if stored[0] and None not in stored:
                cached.note(*(each or 0 for each in stored))

    def updated(self, info: Mapping[str, Any]) -> None:
        """Takes in the update of a block, if it is one of an RDD."""
        block = _BLOCK.fullmatch(info["Block ID"])
        if block is None:
            return
        self._updates = True
        executor, level = _executor(info["Block Manager ID"]["Executor ID"]), info["Storage Level"]
        rdd, partition = int(block[1]), int(block[2])
        cached = self._rdd(rdd)
        # A block dropped from memory is logged with its former size.
        there = (("Use Memory", "Memory Size"), ("Use Disk", "Disk Size"))
        sizes = [_size(info[size]) if level[use] is True else None for use, size in there]
        if (executor, partition) in cached.blocks:
            self._drop(rdd, executor, partition)
        if sizes == [None, None]:
            return
        if self._n_blocks >= _BLOCKS:
            raise TooManyError
        self._n_blocks += 1
        self._of_executors.setdefault(executor, set()).add((rdd, partition))
        cached.level = cached.level or _level(level)
        cached.put(executor, partition, (sizes[0] or 0, sizes[1] or 0))

    def removed(self, executor: object) -> None:
        """Remove an executor and its stored blocks."""
        name = _executor(executor)
        for rdd, partition in list(self._of_executors.get(name, ())):
            self._drop(rdd, name, partition)

    def unpersisted(self, rdd: object) -> None:
        """Nothing of an RDD is stored any more; of its blocks no update says so."""
        id_ = number(rdd)
        if (cached := self._rdds.get(id_)) is not None:
            for executor, partition in list(cached.blocks):
                self._drop(id_, executor, partition)

    def _drop(self, rdd: int, executor: str, partition: int) -> None:
        self._rdds[rdd].drop(executor, partition)
        own = self._of_executors[executor]
        own.remove((rdd, partition))
        if not own:
            del self._of_executors[executor]
        self._n_blocks -= 1

    def _rdd(self, id_: int) -> _CachedRdd:
        return row_of(self._rdds, id_, _RDDS, _CachedRdd())

    def table(self) -> pl.DataFrame | None:
        """All of them, None if nothing was to be stored."""
        if not self._rdds:
            return None
        table = TableBuilder("caches", SPARK)
        # If blocks are logged, an RDD without any was never stored.
        nothing = (0, 0, 0) if self._updates else (None, None, None)
        for id_, each in sorted(self._rdds.items()):
            table.append((id_, each.name, each.level, each.partitions, *(each.most or nothing)))
        return table.finish()


def _executor(name: object) -> str:
    return str(name)[:_NAME_CHARACTERS]


def _size(value: object) -> int:
    if (size := amount(value)) is None:
        raise TypeError("not a size")
    return size


def source_ids(info: Mapping[str, Any]) -> list[int]:
    """Return the RDDs of a stage without a parent; none if it may read cached data instead."""
    rdds = info.get("RDD Info") or ()
    if any(_level(rdd.get("Storage Level")) is not None for rdd in rdds):
        return []
    ids = [amount(rdd.get("RDD ID")) for rdd in rdds if rdd.get("Parent IDs") == []]
    return [each for each in ids if each is not None][:_SOURCES]


def _level(level: object) -> str | None:
    """A storage level in the words of Spark's own page, None if nothing is to be stored."""
    if not isinstance(level, dict):
        return None
    on_disk, in_memory = level.get("Use Disk") is True, level.get("Use Memory") is True
    if not on_disk and not in_memory:
        return None
    memory = "Memory (off heap)" if level.get("Use Off Heap") is True else "Memory"
    copies = amount(level.get("Replication"))
    said = (
        "Disk" if on_disk else "",
        memory if in_memory else "",
        "Deserialized" if level.get("Deserialized") is True else "Serialized",
        "" if copies is None else f"{copies}x Replicated",
    )
    return " ".join(filter(None, said))


def _name(rdd: Mapping[str, Any]) -> str | None:
    """The name of an RDD; if it is only a class, also its call site."""
    name = rdd.get("Name")
    if not isinstance(name, str):
        return None
    made = call_site(rdd.get("Callsite")) if name.endswith("RDD") else None
    # A query's cached data is named after its plan, over several lines.
    return word(" ".join(name.split()) + (f", {made}" if made else ""), _NAME_CHARACTERS)
