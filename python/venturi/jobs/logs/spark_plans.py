"""The plans of SQL queries in Spark event logs, as executed, and the metrics of their operators.

Adaptive execution makes new plans as it goes, with new metrics: the last one was executed. A metric
has a number in the plan, which identifies its values from stages and from the driver. Source:
SparkPlanInfo and SQLMetrics in sql/core/src/main/scala/org/apache/spark/sql/execution.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from venturi.jobs.logs.columnar import TableBuilder, TooManyError, amount, number, word
from venturi.record.account_kind import SPARK
from venturi.record.account_tables import OPERATOR_TEXT
from venturi.record.plan_texts import PASSING, comparable, differing

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]
_OPERATORS = 200_000
_METRICS = 2_000_000
_VALUES = 1_000_000
_EVENT = b'{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQL'
# Between quotes that no text of a plan can hold unescaped.
_PLAN, _AFTER_PLAN = b',"sparkPlanInfo":', b'},"time":'
# `average` is ten times a mean of tasks: it is no sum.
_UNITS = {"sum": "1", "size": "B", "timing": "ms", "nsTiming": "ns"}
# 2.x: "sort time total (min, med, max)".
_SUFFIX = re.compile(r" total \(min, med, max[^)]*\)| \(ms\)")
_SCAN_FIRST = ("Location: ", "PartitionFilters: ", "ReadSchema: ")
_ENTRY = re.compile(r", (?=[A-Z]\w+: )")
_FIRST_HELD = 50_000  # operators of first plans: those of a thousand queries, or more
_CHANGES_KEPT = 200_000  # operators that changed


class PlanChanges:
    """The plan changes in a log, read so far."""

    def __init__(self) -> None:
        self._first: dict[int, Counter[str]] = {}
        self._changes: dict[int, tuple[Counter[str], Counter[str]]] = {}
        self._held = self._kept = 0

    def begin(self, query: int, operators: Iterable[tuple[str, str | None]]) -> None:
        """A query begins with these operators, each a name and a text."""
        self._drop(query)
        self._first[query] = _comparable(operators)
        self._held += len(self._first[query])
        while self._held > _FIRST_HELD:
            self._drop(next(iter(self._first)))

    def change(self, query: int, operators: Iterable[tuple[str, str | None]]) -> None:
        """A query continues with these operators instead."""
        if (first := self._first.get(query)) is None:
            return
        self.forget(query)
        found = differing(first, _comparable(operators))
        n = sum(map(len, found))
        if self._kept + n > _CHANGES_KEPT:
            raise TooManyError
        self._kept += n
        self._changes[query] = found

    def forget(self, query: int) -> None:
        """The last plan of a query is not known."""
        self._kept -= sum(map(len, self._changes.pop(query, ())))

    def _drop(self, query: int) -> None:
        self._held -= len(self._first.pop(query, ()))

    def table(self) -> pl.DataFrame | None:
        """All changes, None without any."""
        if not self._kept:
            return None
        table = TableBuilder("plan_changes", SPARK)
        for query, sides in sorted(self._changes.items()):
            for came, operators in zip((False, True), sides, strict=True):
                for text, n in operators.items():
                    table.append((query, came, text, n))
        return table.finish()


def _comparable(operators: Iterable[tuple[str, str | None]]) -> Counter[str]:
    """The operators that do work, without the wrappers that plans only have while they run."""
    return comparable(text or name for name, text in operators if not name.startswith(PASSING))


@dataclass(frozen=True, slots=True)
class LoggedOperator:
    """A node of a plan, below the node `parent`: None for the root."""

    parent: int | None
    name: str
    text: str | None
    metrics: tuple[tuple[str, str, int], ...]
    """The name, unit and number of each."""


def _without_plan(line: bytes) -> bytes:
    """A query's event without its plan."""
    if not line.startswith(_EVENT) or (start := line.find(_PLAN)) < 0:
        return line
    end = line.find(_AFTER_PLAN, start)
    return line[:start] + line[end + 1 if end >= 0 else len(line.rstrip()) - 1 :]


def decoded(line: bytes) -> Any:
    """The event in a line; without a plan that is nested too deeply to be decoded."""
    try:
        return from_json(line)
    except ValueError:
        return from_json(_without_plan(line)) | {"sparkPlanInfo": None}


def operators_of(plan: Any) -> list[LoggedOperator] | None:
    """The operators of a decoded plan, each before its children; None if it isn't a plan."""
    try:
        return list(_operators(plan))
    except (ValueError, AttributeError, TypeError):
        return None


class LoggedPlans:
    """The plans in a log, read so far, and their changes."""

    def __init__(self) -> None:
        self.changes = PlanChanges()
        self._plans: dict[int, list[LoggedOperator]] = {}
        self._n = self._n_metrics = 0
        self._known: set[int] = set()
        self._of_stages: dict[tuple[Key, int], int] = {}
        self._of_driver: dict[int, int] = {}

    def take(self, query: int, found: list[LoggedOperator] | None, *, first: bool) -> bool:
        """Takes in the operators of the first plan of a query, or of one that changed; False if
        they are unknown."""
        if first and query in self._plans:
            return True  # repeated, or out of order
        if found is None:
            self.changes.forget(query)
            return False
        metrics = sum(len(each.metrics) for each in found)
        old = self._plans.get(query, [])
        self._n += len(found) - len(old)
        self._n_metrics += metrics - sum(len(each.metrics) for each in old)
        if self._n > _OPERATORS or self._n_metrics > _METRICS:
            self._n -= len(found)
            self._n_metrics -= metrics
            self._plans.pop(query, None)
            self.changes.forget(query)
            raise TooManyError
        self._plans[query] = found
        self._known.update(id_ for each in found for _, _, id_ in each.metrics)
        note = self.changes.begin if first else self.changes.change
        note(query, ((each.name, each.text) for each in found))
        return True

    def of_stage(self, stage: Key, info: Mapping[str, Any]) -> None:
        """Notes the metrics of a stage that ended."""
        for each in info.get("Accumulables") or ():
            id_ = each.get("ID")
            if id_ not in self._known:
                continue
            value = each.get("Value")
            if isinstance(value, str) and value.isdecimal() and len(value) < 19:
                value = int(value)
            if (known := amount(value)) is None:
                continue
            if len(self._of_stages) >= _VALUES:
                raise TooManyError
            self._of_stages[stage, id_] = known

    def of_driver(self, id_: object, value: int) -> None:
        """Notes a value from the driver; the last one counts."""
        if id_ in self._known and isinstance(id_, int):
            self._of_driver[id_] = value

    def operators(self) -> pl.DataFrame | None:
        """All operators, None without any."""
        if not self._plans:
            return None
        table = TableBuilder("operators", SPARK)
        for query, plan in sorted(self._plans.items()):
            for node, each in enumerate(plan):
                table.append((query, node, each.parent, each.name, each.text))
        return table.finish()

    def metrics(self) -> pl.DataFrame | None:
        """All values of their metrics, None if there is no plan."""
        if not self._plans:
            return None
        at = {
            id_: (query, node, name, unit)
            for query, plan in self._plans.items()
            for node, each in enumerate(plan)
            for name, unit, id_ in each.metrics
        }
        table = TableBuilder("operator_metrics", SPARK)
        own = self._own()
        for stage, id_ in self._of_stages:
            self._add(table, at.get(id_), stage, own[stage, id_])
        for id_, value in self._of_driver.items():
            self._add(table, at.get(id_), (None, None), value)
        return table.finish()

    def _own(self) -> dict[tuple[Key, int], int]:
        """The contribution of each stage to each metric.

        A stage logs the sum so far over all stages of the operator. Sums only grow, so neither the
        order nor repetition of stages matters.
        """
        before: dict[int, int] = {}
        own = {}
        for (stage, id_), so_far in sorted(self._of_stages.items(), key=lambda each: each[1]):
            own[stage, id_] = so_far - before.get(id_, 0)
            before[id_] = so_far
        return own

    @staticmethod
    def _add(
        table: TableBuilder,
        at: tuple[int, int, str, str] | None,
        stage: Key | tuple[None, None],
        value: int,
    ) -> None:
        if at is not None:  # of a plan that was replaced
            query, node, name, unit = at
            table.append((query, node, *stage, name, unit, value))


def _operators(plan: Any) -> Iterator[LoggedOperator]:
    """Those of a plan, each before its children."""
    waiting: list[tuple[int | None, Any]] = [(None, plan)]
    place = 0
    while waiting:
        parent, node = waiting.pop()
        if not isinstance(node, dict):
            raise ValueError("no operator")
        yield LoggedOperator(
            parent,
            word(node.get("nodeName"), OPERATOR_TEXT) or "unnamed",
            word(_arranged(node.get("simpleString")), OPERATOR_TEXT),
            tuple(_metrics(node.get("metrics"))),
        )
        children = node.get("children")
        waiting += [(place, child) for child in reversed(children or [])]
        place += 1


def _arranged(text: Any) -> Any:
    """Return the text of an operator; a long one of a file scan begins with the entries that
    identify what it reads, because the end of the text is cut.
    """
    if not isinstance(text, str) or len(text) <= OPERATOR_TEXT or not text.startswith("FileScan "):
        return text
    head, bracket, entries = text.partition("] ")
    parts = sorted(_ENTRY.split(entries), key=lambda each: not each.startswith(_SCAN_FIRST))
    return head + bracket + ", ".join(parts)


def _metrics(metrics: Any) -> Iterator[tuple[str, str, int]]:
    for each in metrics or ():
        unit = _UNITS.get(each.get("metricType"))
        name = word(each.get("name"), 100)
        if unit is not None and name is not None:
            try:
                yield _SUFFIX.sub("", name), unit, number(each.get("accumulatorId"))
            except TypeError:
                continue
