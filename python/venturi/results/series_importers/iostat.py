"""iostat's text: `iostat`, `-x`, `-d`, `-k`, `-m`, with or without `-t`.

- Columns are found by their names, which differ between versions. `kB` is 1,024 bytes.
- The time is that of `-t`. Without it the interval is unknown, and 1 s is assumed, with a warning.
- The first report is the mean since the host started, unless `-y` was given, which the text doesn't
  show. It is left out if there are others.
- A line that can't be read, such as the last one of a truncated file, is refused; others are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.host_series import HostSeries
from venturi.record.importing.items import ImportSource
from venturi.record.importing.text import Refusal, lines
from venturi.results.series_importers.metrics import CPU, DISK, add_all
from venturi.results.series_importers.times import ReportClock, clock_time

FORMAT = Format(
    "iostat",
    "iostat: its text, with or without -x and -t; host series",
    pattern=(
        r"(?:[^\n]{0,4000}+\n){0,5}?Linux \S+ \([^)\n]*\)[^\n]*\(\d+ CPU\)\s++"
        r"(?:[^\n]{0,60}+\n\s*+){0,2}?(?:avg-cpu:|Device)"
    ),
)

_HEAD = re.compile(r"Linux (\S+) \(([^)]*)\)")
_LINE_BYTES = 64 << 10


def read(file: BinaryIO, source: ImportSource) -> Iterator[HostSeries | Refusal]:
    """Yield the series of each run of iostat in `file`."""
    reports: _Reports | None = None
    for number, raw in lines(file, source, _LINE_BYTES):
        text = raw.strip()
        if head := _HEAD.match(text):
            if reports is not None:
                yield reports.finish()
            reports = _Reports(head[2] or "unknown", head[1])
        elif text and reports is not None:
            refusal = reports.take(text, number, ended=raw.endswith("\n"))
            if refusal is not None:
                yield refusal
    if reports is None:
        raise source.malformed("no output of iostat: a line that begins with Linux")
    yield reports.finish()


class _Reports:
    """The reports of one run, read line by line."""

    def __init__(self, host: str, kernel: str) -> None:
        self._series = HostSeries(host[:200], "iostat", "unknown", kernel=kernel[:200])
        self._clock = ReportClock(self._series, since_boot=True)
        self._columns: list[str] = []
        self._cpu = False
        self._at_s: float | None = None  # of the report that is being read
        self._seen: set[str] = set()  # of its sections
        self._timed = False
        self._first_rows: int | None = None

    def take(self, text: str, line: int, *, ended: bool) -> Refusal | None:
        """Read a line that isn't empty; return why it is refused, if it is."""
        if (at := clock_time(text.removeprefix("Time:"))) is not None:
            self._begin(self._clock.next(at), timed=True)
            return None
        words = text.split()
        section = words[0].rstrip(":")
        if section in {"avg-cpu", "Device"}:
            if not self._timed and (self._at_s is None or section in self._seen):
                self._begin(self._clock.next(None))
            self._seen.add(section)
            self._cpu, self._columns = section == "avg-cpu", words[1:]
            return None
        return self._values(words, text, line, ended=ended)

    def _values(self, words: list[str], text: str, line: int, *, ended: bool) -> Refusal | None:
        device = None if self._cpu else words[0]
        try:
            values = [float(word.replace(",", ".")) for word in words[0 if self._cpu else 1 :]]
        except ValueError:
            return Refusal(line, "", text[:100], "not a line of iostat")
        if len(values) != len(self._columns) or not self._columns or self._at_s is None:
            reason = "truncated" if not ended else f"{len(values)} values below other columns"
            return Refusal(line, "", text[:100], reason)
        named = dict(zip(self._columns, values, strict=True))
        add_all(self._series, self._at_s, device, named, CPU if self._cpu else DISK)
        return None

    def _begin(self, at_s: float, *, timed: bool = False) -> None:
        if self._at_s is not None and self._first_rows is None:
            self._first_rows = len(self._series.rows)
        self._at_s, self._timed, self._seen = at_s, timed, set()

    def finish(self) -> HostSeries:
        """Return the series, without the first report if there are others."""
        first = self._first_rows is not None
        if self._first_rows is not None:
            del self._series.rows[: self._first_rows]
        self._clock.finish(first)
        return self._series
