"""SQL queries in Spark event logs: when each was executed, and the driver's own work for it.

From their plans, only timers of the driver are extracted; `spark_plans` has the rest. Source of
their names: SQLMetrics of the nodes in sql/core/src/main/scala/org/apache/spark/sql/execution; all
are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from venturi.jobs.failures.messages import condensed
from venturi.jobs.logs.columnar import (
    TableBuilder,
    moment,
    number,
    row_of,
    word,
)
from venturi.jobs.logs.spark_plans import LoggedOperator
from venturi.record.account_kind import SPARK

if TYPE_CHECKING:
    import polars as pl

_PREFIX = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
STARTED, ENDED = f"{_PREFIX}ExecutionStart", f"{_PREFIX}ExecutionEnd"
PLAN_CHANGED = f"{_PREFIX}AdaptiveExecutionUpdate"
DRIVER_VALUES = "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"
_QUERIES = 100_000
_TIMERS = 500_000
_COLUMNS = {
    "job commit time": "commit_ms",
    "metadata time": "listing_ms",
    "time to build": "broadcast_ms",
    "time to broadcast": "broadcast_ms",
}
_FIELDS = ("name", "submitted_ms", "ended_ms", "outcome", "reason")
_SUMS = ("commit_ms", "listing_ms", "broadcast_ms")
_OF_JOB = "spark.sql.execution.id"


def query_of(properties: Mapping[str, Any]) -> int | None:
    """The query that a job with these properties is of; None: it is of none."""
    told = properties.get(_OF_JOB)
    if isinstance(told, str) and told.isdecimal() and len(told) < 19:
        return int(told)
    return None


class Queries:
    """The queries in a log, read so far."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        """By their numbers the facts of each."""
        self._timers: dict[int, str] = {}
        self._values: dict[int, tuple[int, int]] = {}

    def note_timers(self, plan: Iterable[LoggedOperator]) -> None:
        """Remembers which accumulators of a plan are timers of the driver."""
        for operator in plan:
            for name, _, id_ in operator.metrics:
                if name in _COLUMNS:
                    row_of(self._timers, id_, _TIMERS, _COLUMNS[name])

    def mention(self, event: Mapping[str, Any]) -> None:
        """Another event of a query shows that it began."""
        self._row(event)

    def begin(self, event: Mapping[str, Any], name: str | None) -> None:
        """A query called `name` begins."""
        told = {"name": name, "submitted_ms": moment(event["time"])}
        row = self._row(event)
        row |= told
        row.setdefault("outcome", "unfinished")

    def end(self, event: Mapping[str, Any]) -> None:
        """A query ends; before 3.4 it is not said how."""
        said = event.get("errorMessage")
        outcome = None if said is None else "failed" if said else "succeeded"
        reason = word(condensed(said))
        told = {"ended_ms": moment(event["time"]), "outcome": outcome, "reason": reason}
        row = self._row(event)
        row |= told

    def driver_value(self, query: int, id_: int, value: int) -> None:
        """Notes the value of an accumulator from the driver; the last one of each counts."""
        if id_ in self._timers:
            self._values[id_] = query, value

    def _row(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return row_of(self.rows, number(event["executionId"]), _QUERIES, {})

    def table(self) -> pl.DataFrame | None:
        """All queries, None without any."""
        if not self.rows:
            return None
        sums: dict[tuple[int, str], int] = {}
        for id_, (query, value) in self._values.items():
            place = query, self._timers[id_]
            sums[place] = sums.get(place, 0) + value
        table = TableBuilder("queries", SPARK)
        for query, row in sorted(self.rows.items()):
            table.append(
                (query, *map(row.get, _FIELDS), *(sums.get((query, name)) for name in _SUMS))
            )
        return table.finish()
