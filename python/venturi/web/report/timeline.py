"""Phases of a trial and its host's resource use, on one time axis."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from venturi.core.statistics.stats import Missing
from venturi.record.store.series import stacked_on_others
from venturi.record.trial import Trial
from venturi.results.hosts.use import CPU_STATES, NO_SERIES
from venturi.web.report.data import (
    Lane,
    LaneLine,
    LaneUnit,
    Number,
    PhaseLoad,
    PhaseSpan,
    ReportTimeline,
)

if TYPE_CHECKING:
    import polars as pl

POINTS_MAX = 600  # a page can't show more; neighboring points are averaged
CPU_ROLES = {
    "user": "cpu-user",
    "system": "cpu-system",
    "waiting for I/O": "cpu-iowait",
    "stolen by the hypervisor": "cpu-steal",
}
PointsByTime = dict[float, float]


def _read(series: pl.DataFrame) -> dict[str, dict[str | None, PointsByTime]]:
    """metric -> device -> time -> value; missing and non-finite values are left out."""
    table: dict[str, dict[str | None, PointsByTime]] = defaultdict(lambda: defaultdict(dict))
    for t_s, metric, device, value in series.select("t_s", "metric", "device", "value").iter_rows():
        if value is not None and math.isfinite(value):
            table[metric][device][float(t_s)] = float(value)
    return table


def _sum(parts: Iterable[PointsByTime]) -> PointsByTime:
    """The sum at each time of the parts that have a value there."""
    total: PointsByTime = {}
    for part in parts:
        for t_s, value in part.items():
            total[t_s] = total.get(t_s, 0.0) + value
    return total


def _disk(devices: dict[str | None, PointsByTime]) -> PointsByTime:
    names = {name for name in devices if name is not None}
    return _sum(
        points
        for name, points in devices.items()
        if name is None or not stacked_on_others(name, names)
    )


def _network(devices: dict[str | None, PointsByTime]) -> PointsByTime:
    return _sum(points for name, points in devices.items() if name != "lo")


def _thin(times: list[float]) -> list[list[float]]:
    """`times` in at most `POINTS_MAX` groups of neighboring ones."""
    width = max(1, -(-len(times) // POINTS_MAX))
    return [times[start : start + width] for start in range(0, len(times), width)]


def _line(name: str, role: str, points: PointsByTime, groups: list[list[float]]) -> LaneLine:
    def mean(group: list[float]) -> float | None:
        values = [points[t_s] for t_s in group if t_s in points]
        return sum(values) / len(values) if values else None

    return LaneLine(name, role, tuple(mean(group) for group in groups))


def _lane(title: str, unit: LaneUnit, stacked: bool, lines: list[LaneLine], what: str) -> Lane:
    told = tuple(line for line in lines if any(value is not None for value in line.values))
    missing = None if told else Missing(f"the sampler reported no {what}")
    return Lane(title, unit, stacked, told, missing)


def _loads(
    spans: tuple[PhaseSpan, ...], t_s: tuple[float, ...], lanes: tuple[Lane, ...]
) -> tuple[PhaseLoad, ...]:
    def mean(values: tuple[float | None, ...], span: PhaseSpan) -> Number:
        end_s = span.started_s + span.elapsed_s
        inside = [
            value
            for at_s, value in zip(t_s, values, strict=True)
            if value is not None and span.started_s <= at_s <= end_s
        ]
        if not inside:
            return Missing("no sample in this phase")
        return sum(inside) / len(inside)

    lines = [line for lane in lanes for line in lane.lines]
    return tuple(
        PhaseLoad(span.name, tuple(mean(line.values, span) for line in lines)) for span in spans
    )


def timeline(trial: Trial, series: pl.DataFrame | None) -> ReportTimeline:
    """The timeline of `trial`; `series` has t_s in seconds since the start of the trial."""
    spans = tuple(PhaseSpan(p.name, p.started_s, p.elapsed_s) for p in trial.phases)
    if series is None or series.is_empty():
        lanes = (
            Lane("CPU", "fraction", True, (), NO_SERIES),
            Lane("Disk", "B/s", False, (), NO_SERIES),
            Lane("Network", "B/s", False, (), NO_SERIES),
        )
        return ReportTimeline(spans, (), lanes, ())
    table = _read(series)
    # Every timestamp of the series: one without values must stay a gap.
    times = sorted(float(t_s) for t_s in series["t_s"].unique())
    groups = _thin(times)
    t_s = tuple(sum(group) / len(group) for group in groups)
    cpu = [
        _line(
            state,
            CPU_ROLES[state],
            _sum(points for metric in metrics for points in table[metric].values()),
            groups,
        )
        for state, metrics in CPU_STATES.items()
    ]
    disk = [
        _line("read", "read", _disk(table["disk_read_bytes_per_s"]), groups),
        _line("write", "write", _disk(table["disk_write_bytes_per_s"]), groups),
    ]
    network = [
        _line("receive", "read", _network(table["net_receive_bytes_per_s"]), groups),
        _line("transmit", "write", _network(table["net_transmit_bytes_per_s"]), groups),
    ]
    lanes = (
        _lane("CPU", "fraction", True, cpu, "CPU load"),
        _lane("Disk", "B/s", False, disk, "disk rates"),
        _lane("Network", "B/s", False, network, "network rates other than loopback"),
    )
    width = len(groups[0]) if groups else 1
    thinned = f"each point is the mean of {width} samples" if width > 1 else None
    return ReportTimeline(spans, t_s, lanes, _loads(spans, t_s, lanes), thinned)
