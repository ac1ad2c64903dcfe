"""dstat's CSV (`--output`), and that of its successors dool and pcp-dstat.

- Two lines above the values name the groups and the columns.
- The time is that of `-T` (epoch). With `-t` only the time of day is read. Without either, rows are
  apart by the delay of the command line, by default 1 s.
- The first row is the mean since the host started, and is left out if there are others.
- A row that can't be read, such as the last one of a truncated file, is refused; others are kept.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.host_series import HostSeries
from venturi.record.importing.items import ImportSource, since_1970
from venturi.record.importing.text import Refusal, lines
from venturi.results.series_importers.metrics import CPU, Metric, add_all
from venturi.results.series_importers.times import ReportClock, clock_time

FORMAT = Format(
    "dstat",
    "dstat, dool and pcp-dstat: CSV (--output); host series",
    pattern=r'\s*"(?:Dstat|Dool|dool|pcp-dstat)[ ][^"\n]*CSV [Oo]utput"',
)

_LINE_BYTES = 256 << 10
_DELAY = re.compile(r"\s(\d{1,5})(?:\s+\d+)?\s*$")
_BYTES = {
    "read": ("disk_read_bytes_per_s", 1.0, "B/s"),
    "writ": ("disk_write_bytes_per_s", 1.0, "B/s"),
}
_GROUPS: Mapping[str, Mapping[str, Metric]] = {
    "total cpu usage": CPU,
    "total usage": CPU,
    "dsk": _BYTES,
    "io": {
        "read": ("disk_read_ops_per_s", 1.0, "1/s"),
        "writ": ("disk_write_ops_per_s", 1.0, "1/s"),
    },
    "net": {
        "recv": ("net_receive_bytes_per_s", 1.0, "B/s"),
        "send": ("net_transmit_bytes_per_s", 1.0, "B/s"),
    },
    "memory usage": {
        "used": ("memory_used_bytes", 1.0, "B"),
        "free": ("memory_free_bytes", 1.0, "B"),
        "cach": ("memory_cached_bytes", 1.0, "B"),
        "avai": ("memory_available_bytes", 1.0, "B"),
    },
    "paging": {
        "in": ("page_in_bytes_per_s", 1.0, "B/s"),
        "out": ("page_out_bytes_per_s", 1.0, "B/s"),
    },
    "swap": {"used": ("swap_used_bytes", 1.0, "B")},
}
_UTILIZATION = {"util": ("disk_busy", 0.01, "fraction")}


def read(file: BinaryIO, source: ImportSource) -> Iterator[HostSeries | Refusal]:
    """Yield the series in `file`; dstat appends more runs to a file, each with its own head."""
    run: _DstatRun | None = None
    for number, text in lines(file, source, _LINE_BYTES):
        try:
            fields = next(csv.reader([text]), [])
        except csv.Error as error:
            yield Refusal(number, "", text[:100], f"not a row: {error}")
            continue
        if not any(fields):
            continue
        if fields[0].casefold().endswith("csv output"):
            if run is not None:
                yield run.finish()
            run = _DstatRun(fields[0])
        elif run is not None and (refusal := run.take(fields, number, text)) is not None:
            yield refusal
    if run is None:
        raise source.malformed("no CSV output of dstat")
    yield run.finish()


class _DstatRun:
    """One run of dstat, row by row."""

    def __init__(self, title: str) -> None:
        words = title.split()
        self._series = HostSeries("unknown", "dstat", f"{words[0]} {words[1]}"[:100])
        self._clock = ReportClock(self._series, since_boot=True)
        self._groups: list[str] = []
        self._columns: list[str] = []
        self._rows = 0
        self._first_rows = 0

    def take(self, fields: Sequence[str], line: int, text: str) -> Refusal | None:
        """Read a row; return why it is refused, if it is."""
        if fields[0].endswith(":") and not self._columns:
            self._head(fields)
        elif not self._groups:
            self._groups = _filled(fields)
        elif not self._columns:
            self._columns = [field.rpartition(":")[2] for field in fields]
        else:
            return self._values(fields, line, text)
        return None

    def _head(self, fields: Sequence[str]) -> None:
        named = dict(pairwise(fields))
        if host := named.get("Host:"):
            self._series.host = host[:200]
        if delay := _DELAY.search(named.get("Cmdline:", "")):
            self._clock = ReportClock(self._series, float(delay[1]) or 1.0, since_boot=True)

    def _values(self, fields: Sequence[str], line: int, text: str) -> Refusal | None:
        if len(fields) < len(self._columns) or not text.endswith("\n"):
            return Refusal(line, "", text[:100], "truncated, or fewer values than columns")
        by_group: dict[str, dict[str, float]] = {}
        at = None
        for group, column, written in zip(self._groups, self._columns, fields, strict=False):
            if column == "epoch":
                at = _epoch(written)
            elif column == "time":
                at = clock_time(written)
            else:
                try:
                    by_group.setdefault(group, {})[column] = float(written)
                except ValueError:
                    continue  # empty, or a process's name
        at_s = self._clock.next(at)
        for group, values in by_group.items():
            kind, _, device = group.partition("/")
            known = _GROUPS.get(group) or _GROUPS.get(kind)
            if known is not None:
                add_all(self._series, at_s, device or None, values, known)
            elif len(values) == 1 and "util" in values:
                add_all(self._series, at_s, group, values, _UTILIZATION)
        self._rows += 1
        if self._rows == 1:
            self._first_rows = len(self._series.rows)
        return None

    def finish(self) -> HostSeries:
        """Return the series, without the first row if there are others."""
        first = self._rows > 1
        if first:
            del self._series.rows[: self._first_rows]
        self._clock.finish(first)
        return self._series


def _filled(fields: Sequence[str]) -> list[str]:
    """Return the group of each column: an empty one continues the group before."""
    groups: list[str] = []
    for field in fields:
        groups.append(field.strip() or (groups[-1] if groups else ""))
    return groups


def _epoch(written: str) -> datetime | None:
    try:
        seconds = float(written)
    except ValueError:
        return None
    return since_1970(seconds)
