"""The sampler that accompanies a trial: the host's counters over time, stored as the trial's
series.

A failed sampler must not fail a trial: any error becomes a warning.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from venturi.core.errors import Interrupted, VenturiError
from venturi.core.settings import TrialLimits
from venturi.measure.hosts import threads
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import Process
from venturi.measure.hosts.local import HERE
from venturi.measure.trial.disturbance import Tick, tick
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Clock, TrialWarning

GRACE_S = 5.0


class Sampler:
    """Runs `sample` from `start` to `stop` and writes `path` (Parquet).

    Times in the file are seconds since `origin_s` on this process's monotonic clock, the start of
    the trial, so that series and phases share one axis. A single sample is no series: a trial that
    ends before the second has none. Values beyond `limits` are omitted. `ticks` are the figures
    about concurrent load. Times are those of the host's clock, corrected by its offset `clock`;
    without an offset, the first one is the time at which its event arrives.
    """

    def __init__(
        self,
        agent: Agent,
        path: Path,
        *,
        origin_s: float,
        interval_ms: int,
        limits: TrialLimits,
        clock: Clock | None = None,
    ) -> None:
        self._agent = agent
        self._path = path
        self._origin_s = origin_s
        self._interval_ms = interval_ms
        self._limits = limits
        self._moments_each, self._lines_left_out = 1, 0
        self._clock = clock
        self._process: Process | None = None
        self._thread: threading.Thread | None = None
        self._offset_s: float | None = None
        self._problem: str | None = None
        self._rows = 0
        self._last_s: float | None = None
        self.ticks: list[Tick] = []

    def start(self) -> None:
        """Start sampling in the background."""
        try:
            self._process = self._agent.start("sample", "--own", "--interval-ms", self._interval_ms)
        except VenturiError as error:
            self._problem = error.message
            return
        self._thread = threading.Thread(target=self._listen, daemon=True)
        try:
            threads.start(self._thread)
        except OSError as error:
            self._problem, self._thread = str(error.strerror), None
            self._process.stop(0.0)

    def stop(self) -> tuple[Path | None, TrialWarning | None]:
        """End sampling; return the file, if any, and the warning, if any."""
        if self._process is not None and self._thread is not None:
            try:
                self._process.terminate()
                self._thread.join(GRACE_S)
                if self._thread.is_alive():
                    self._problem = f"it did not end within {GRACE_S:.0f} s"
                    self._process.stop(0.0)
                    self._thread.join(GRACE_S)
            except (VenturiError, OSError) as error:  # its host is gone
                self._problem = str(error)
        if self._problem is None and self._rows == 0:
            self._problem = "the trial ended before the first sample"
        warning = None
        if self._problem is not None:
            warning = TrialWarning(
                "VEN-MEASURE-SERIES", f"the host's series is incomplete: {self._problem}"
            )
        elif thinned := self._thinned():
            warning = TrialWarning("VEN-MEASURE-SERIES", thinned)
        return (self._path if HERE.is_file(self._path) else None), warning

    def _thinned(self) -> str:
        """Describe the values omitted from the series because of the limits."""
        said = []
        if self._moments_each > 1:
            said.append(
                f"the host's series was reduced to means over {self._moments_each} samples: "
                f"it had more than {self._limits.series_rows:,} values"
            )
        if self._lines_left_out:
            said.append(
                f"{self._lines_left_out:,} device metrics are missing from the host's "
                f"series, which has the maximum of {self._limits.series_lines:,}"
            )
        return "; ".join(said)

    def _moment_s(self, event: Mapping[str, Any]) -> float:
        """Return the time of an event that has just arrived, in seconds of the trial."""
        now_s, there_s = time.monotonic() - self._origin_s, event.get("unix_time_s")
        if self._clock is None or there_s is None:
            return now_s
        return now_s - (time.time() - (float(there_s) - self._clock.offset_s))

    def _listen(self) -> None:
        assert self._process is not None
        first: list[tuple[Any, ...]] = []
        writer: SeriesWriter | None = None
        try:
            with ExitStack() as stack:

                def rows_of(event: Mapping[str, Any]) -> None:
                    nonlocal writer
                    if event["event"] != "series":
                        return
                    if self._offset_s is None:
                        # The first event shows the offset of the agent's clock from the trial's.
                        self._offset_s = self._moment_s(event) - float(event["t_s"])
                    t_s = float(event["t_s"]) + self._offset_s
                    rows = [
                        (t_s, metric, device, value, unit)
                        for metric, device, value, unit in event["rows"]
                    ]
                    self._rows += len(rows)
                    if self._last_s is not None:
                        values = ((metric, device, value) for _, metric, device, value, _ in rows)
                        self.ticks.append(tick(self._last_s, t_s, values))
                    self._last_s = t_s
                    if not first:
                        first.extend(rows)
                        return
                    if writer is None:
                        # Parquet's library takes as long to load as a short trial: load it while
                        # the work runs, and only for a trial that has a series.

                        writer = stack.enter_context(SeriesWriter(self._path, self._limits))
                        rows = [*first, *rows]
                    for row in rows:
                        writer.append(*row)

                self._agent.follow(self._process, "sample", on_event=rows_of)
        except Interrupted:
            return
        except VenturiError as error:
            self._problem = error.message
        except BaseException as error:  # the library of tables panics with a BaseException
            self._problem = f"{type(error).__name__}: {error}"
        finally:
            if writer is not None:
                self._moments_each = writer.moments_each
                self._lines_left_out = writer.lines_left_out
            self._process.stop(GRACE_S)  # it has ended already, unless its events were nonsense
