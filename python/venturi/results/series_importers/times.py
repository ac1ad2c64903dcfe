"""Times of reports as the tools write them, in seconds since the series began."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from venturi.record.importing.host_series import HostSeries

_CLOCK = re.compile(
    r"(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}-\d{1,2})?[ T]*"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)[:.](?P<second>\d\d)\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_DAY = timedelta(days=1)
_ASSUMED_S = 1.0


def clock_time(written: str) -> datetime | None:
    """Return an ISO time with its zone, any other time of day on an unknown day; None: not a time.

    The order of day and month differs between languages, so only the time of day is read.
    """
    text = written.strip()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        if found.tzinfo is not None:
            return found
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    try:
        return datetime.combine(date.min, time(hour, int(match["minute"]), int(match["second"])))
    except ValueError:
        return None


class ReportClock:
    """Gives each report its time in seconds since the series began, and sets when that was.

    With `since_boot` the first report is the mean since the host started: the series begins with
    it, because the first interval of the series does.
    """

    def __init__(
        self, series: HostSeries, assumed_s: float = _ASSUMED_S, *, since_boot: bool = False
    ) -> None:
        self._series = series
        self._assumed_s = assumed_s
        self._first: datetime | None = None
        self._before: datetime | None = None
        self._first_interval_s: float | None = None
        self._days = timedelta()
        self._at_s = 0.0
        self._reports = 0
        self._since_boot = since_boot

    def next(self, at: datetime | None, interval_s: float | None = None) -> float:
        """Return the time of the next report, which was made at `at`."""
        self._reports += 1
        if at and self._first and (at.tzinfo is None) != (self._first.tzinfo is None):
            at = None  # of no known distance
        if at is None:
            if self._since_boot and self._reports == 1:
                return 0.0
            self._at_s += interval_s or self._assumed_s
            return self._at_s
        if self._first is None or self._before is None:
            self._first = self._before = at
            self._first_interval_s = interval_s
            self._at_s = interval_s or 0.0
            return self._at_s
        if at < self._before and at.tzinfo is None and at.date() == self._before.date():
            self._days += _DAY  # midnight, where only the time of day is known
        self._before = at
        since_first = at - self._first + self._days
        self._at_s = (self._first_interval_s or 0.0) + since_first.total_seconds()
        return max(self._at_s, 0.0)

    def finish(self, first_left_out: bool) -> None:
        """Set the beginning of the series, with warnings about unstated times."""
        series = self._series
        if self._first is None and self._reports > self._since_boot:
            series.warn(
                f"the times of the reports aren't stated; {self._assumed_s:g} s apart assumed"
            )
        elif self._first is not None:
            began = (
                self._first - timedelta(seconds=self._first_interval_s or 0.0)
                if (self._first - datetime.min.replace(tzinfo=self._first.tzinfo) > _DAY)
                else self._first
            )
            if began.tzinfo is not None:
                series.started_at = began
            elif began.date() == date.min:
                series.began = str(began.time())
            else:
                series.began = str(began)
        if first_left_out:
            series.warn("the first report, the mean since the host started, is left out")
        elif self._since_boot and self._reports == 1:
            series.warn("the only report is the mean since the host started")
