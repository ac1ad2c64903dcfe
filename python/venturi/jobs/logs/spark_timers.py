"""Times of Python workers, scans and state stores, which only the accumulables of tasks have.

About half of a task's event are accumulables, most of which repeat its metrics. They are not
decoded: the event is searched for a few names, and its rest is read without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from venturi.jobs.logs.columnar import TableBuilder
from venturi.record.account_kind import SPARK

if TYPE_CHECKING:
    import polars as pl

# Their names and ends are unescaped, so that no text in the event can be taken for them. With keys
# in another order than Spark's, they are decoded.
_ACCUMULABLES = re.compile(rb',"Accumulables":\[(?=\{"ID":\d+,"Name":"[^"]*","Update":)')
_AFTER = (b']},"Task Executor Metrics":{', b']},"Task Metrics":{')
_TASK_END = b'{"Event":"SparkListenerTaskEnd"'
# 2.x adds " total (min, med, max)" to the names of timers.
_DIGITS = 15
_NAME = (
    rb"(time to run Python workers|scan time|data sent to Python workers"
    rb"|time to (?:update|remove|commit changes)"
    rb"|JDBC (?:query execution|remote data fetch and translation) time)[a-z, ()]*"
)
_TIMER = re.compile(rb'"Name":"' + _NAME + rb'","Update":"?(\d{1,%d})"?[,}]' % _DIGITS)
_NAMED = re.compile(_NAME.decode())
_OF_PYTHON = frozenset({"PythonRDD", "PairwiseRDD"})
_RUN, _SCAN = "time to run Python workers", "scan time"
_OF_DATABASES = (  # in ns; the others are in ms
    "JDBC query execution time",
    "JDBC remote data fetch and translation time",
)
_STATE = ("time to update", "time to remove", "time to commit changes")


class Timers:
    """The timers found so far; `noted` are those of the last event that was cut."""

    def __init__(self) -> None:
        self._table = TableBuilder("timers", SPARK)
        self._noted: dict[str, int] = {}
        self._n = 0

    def without_accumulables(self, line: bytes) -> bytes:
        """A task's event without its accumulables, of which the timers are noted."""
        self._noted = {}
        if not line.startswith(_TASK_END) or (found := _ACCUMULABLES.search(line)) is None:
            return line
        start = found.start()
        for after in _AFTER:
            end = line.find(after, start)
            if end >= 0:
                for name, value in _TIMER.findall(line, start, end):
                    self._note(name.decode(), value)
                return line[:start] + line[end + 1 :]
        return line

    def _note(self, name: str, value: bytes | str | int) -> None:
        self._noted[name] = self._noted.get(name, 0) + int(value)

    def of_task(self, stage: tuple[int, int], task_id: str, info: Mapping[str, Any]) -> None:
        """Keeps the timers of the task in the last event, of which `info` is left."""
        for each in info.get("Accumulables") or ():
            timer, value = _NAMED.fullmatch(each.get("Name") or ""), str(each.get("Update"))
            if timer is not None and value.isdecimal() and len(value) <= _DIGITS:
                self._note(timer[1], value)
        if self._noted:
            ran_ms, scan_ms = self._noted.get(_RUN), self._scan_ms()
            state = [self._noted[name] for name in _STATE if name in self._noted]
            python = bool(self._noted.keys() - {_SCAN, *_OF_DATABASES, *_STATE})
            self._append(stage, task_id, python, ran_ms, scan_ms, sum(state) if state else None)

    def _scan_ms(self) -> int | None:
        """Return the time to read files and database tables, None if nothing was timed."""
        times_ms = [self._noted[_SCAN]] if _SCAN in self._noted else []
        times_ms += [self._noted[name] // 10**6 for name in _OF_DATABASES if name in self._noted]
        return sum(times_ms) if times_ms else None

    def of_stage(self, stage: tuple[int, int], info: Mapping[str, Any]) -> None:
        """Keeps that all tasks of a stage run Python workers, which RDDs have no timers of."""
        if any(rdd.get("Name") in _OF_PYTHON for rdd in info.get("RDD Info") or ()):
            self._append(stage, None, True, None, None, None)

    def _append(self, stage: tuple[int, int], *row: str | float | None) -> None:
        self._table.append((*stage, *row))
        self._n += 1

    def table(self) -> pl.DataFrame | None:
        """All of it, None if there is nothing."""
        return self._table.finish() if self._n else None
