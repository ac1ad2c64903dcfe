"""Batches of structured streaming in Spark event logs: start, duration, rows, and state.

A batch is logged when it is over, so one that hangs is missing. Source of the names:
StreamingQueryProgress in sql/api/src/main/scala/org/apache/spark/sql/streaming/progress.scala.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from venturi.jobs.logs.columnar import (
    TableBuilder,
    TooManyError,
    amount,
    moment,
    number,
    word,
)
from venturi.record.account_kind import SPARK

if TYPE_CHECKING:
    import polars as pl

PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
_BATCHES = 500_000
# The driver's work for a batch by purpose, in milliseconds.
_PARTS = (
    ("addBatch",),
    ("queryPlanning",),
    ("latestOffset", "getBatch", "getOffset"),
    ("walCommit", "commitOffsets"),
)


class Batches:
    """The batches in a log, read so far."""

    def __init__(self) -> None:
        self._table = TableBuilder("batches", SPARK)
        self._n = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """Adds a batch; ignores reports without one."""
        told = event["progress"]
        took = told["durationMs"]
        if "addBatch" not in took:
            return
        if self._n >= _BATCHES:
            raise TooManyError
        states = told.get("stateOperators") or ()
        row = (
            word(told["id"]),
            word(told.get("name")),
            number(told["batchId"]),
            number(_moment_of(told["timestamp"])),
            amount(took.get("triggerExecution")),
            *(_sum(took, names) for names in _PARTS),
            _sum_of(told.get("sources") or (), "numInputRows"),
            _sum_of(states, "numRowsTotal"),
            _sum_of(states, "memoryUsedBytes"),
            _sum_of(states, "commitTimeMs"),
            _moment_of((told.get("eventTime") or {}).get("watermark")),
            _left(told.get("sources") or ()),
        )
        self._table.append(row)
        self._n += 1

    @property
    def some(self) -> bool:
        """Whether there are any."""
        return self._n > 0

    def table(self) -> pl.DataFrame | None:
        """All batches without duplicates, None if there are no batches."""
        return self._table.finish().unique(maintain_order=True) if self._n else None


def _moment_of(text: object) -> int | None:
    """Milliseconds since 1970; None if it isn't a time, or is 1970, which stands for no
    watermark.
    """
    try:
        return moment(round(datetime.fromisoformat(str(text)).timestamp() * 1e3))
    except (ValueError, OverflowError):
        return None


def _sum(values: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return _total(found for name in names if (found := amount(values.get(name))) is not None)


def _left(sources: Any) -> int | None:
    """The records that the sources had beyond those of the batch, where offsets count them."""
    known: list[int] = []
    for source in sources:
        latest, ends = (_offsets(source.get(name)) for name in ("latestOffset", "endOffset"))
        known += (max(latest[place] - ends[place], 0) for place in latest.keys() & ends.keys())
    return _total(known)


def _total(known: Iterable[int]) -> int | None:
    """The sum of the known values; None without any, or if it is out of range."""
    values = list(known)
    return amount(sum(values)) if values else None


def _offsets(value: Any) -> dict[tuple[str, str], int]:
    """Offsets by topic and partition, as Kafka's are; those of other kinds are no counts."""
    if isinstance(value, str):
        try:
            value = from_json(value)
        except ValueError:
            return {}
    topics = value.items() if isinstance(value, dict) else ()
    return {
        (topic, partition): found
        for topic, partitions in topics
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
        if (found := amount(offset)) is not None
    }


def _sum_of(parts: Any, name: str) -> int | None:
    return _total(found for each in parts if (found := amount(each.get(name))) is not None)
