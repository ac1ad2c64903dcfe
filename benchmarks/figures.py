"""Figures from raw iterations: pure arithmetic, no processes, no clocks, no files.

A figure is the median over iterations with a bootstrap interval, compared with a bar. A comparison
is the median of the ratios of successive iterations (A1/B1, A2/B2, ...): both sides of a pair saw
the same state of the machine, which separate medians don't guarantee. Times are in seconds, rates
in bytes per second, CPU in core-seconds unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from venturi.core.statistics.stats import Missing, median_interval


@dataclass(frozen=True, slots=True)
class Bar:
    """The required range of a figure: at least `low`, at most `high`; None is no bound."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f">= {self.low:g}"
        return "none" if self.high is None else f"<= {self.high:g}"

    def shortfall(self, value: float) -> float:
        """Return how far `value` is outside the bar, as a fraction of the bound (absolute if the
        bound is 0).
        """
        if self.low is not None and value < self.low:
            return (self.low - value) / self.low
        if self.high is not None and value > self.high:
            return (value - self.high) / (self.high or 1.0)
        return 0.0


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One line of the table: the figure, its unit, its bar.

    A row without a bar is informative only (`bar=None`).
    """

    key: str
    title: str
    unit: str
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A row with its value, or with the reason for a missing one."""

    row: FigureRow
    value: float | None
    low: float | None = None
    high: float | None = None
    iterations: tuple[float, ...] = ()
    note: str = ""
    missing_reason: str | None = None


def figure(row: FigureRow, values: Sequence[float], note: str = "") -> Figure:
    """The median of `values` with its interval; too few values carry none, which the note says."""
    if not values:
        return missing(row, "no iteration was measured")
    interval = median_interval(values)
    if isinstance(interval, Missing):
        note = f"{note}; {interval.reason}" if note else interval.reason
        return Figure(row, median(values), iterations=tuple(values), note=note)
    return Figure(row, median(values), interval.low, interval.high, tuple(values), note)


def ratio_figure(
    row: FigureRow, numerators: Sequence[float], denominators: Sequence[float], note: str = ""
) -> Figure:
    """The median of the pairs' ratios with its interval."""
    return figure(row, [a / b for a, b in zip(numerators, denominators, strict=True)], note)


def missing(row: FigureRow, reason: str) -> Figure:
    """A row that could not be measured."""
    return Figure(row, None, missing_reason=reason)


def verdict(fig: Figure, scale: float = 1.0) -> str:
    """Return whether the bar is met, or the miss; only sizes of scale 1 are judged."""
    if fig.value is None:
        return f"not measured: {fig.missing_reason}"
    bar = fig.row.bar
    if bar is None:
        return "no bar"
    if scale != 1.0:
        return f"not judged (scale {scale:g})"
    short = bar.shortfall(fig.value)
    text = "met" if short == 0.0 else f"missed by {short * 100:.1f} %"
    ends = [end for end in (fig.low, fig.high) if end is not None]
    if any((bar.shortfall(end) == 0.0) != (short == 0.0) for end in ends):
        text += "; the interval crosses the bar"
    return text


def time_over_mixed_floor(
    elapsed_s: float,
    bytes_read: float,
    bytes_written: float,
    read_bytes_per_s: float,
    write_bytes_per_s: float,
) -> float:
    """Return the time over the floor of a disk that reads and writes concurrently at R and W: bytes
    / (R + W).
    """
    return elapsed_s / ((bytes_read + bytes_written) / (read_bytes_per_s + write_bytes_per_s))


def time_over_alone_floor(
    elapsed_s: float, data_bytes: float, read_bytes_per_s: float, write_bytes_per_s: float
) -> float:
    """Time over reading all, then writing all: D/B_read + D/B_write.

    No byte of the first range can be written before all input was read.
    """
    return elapsed_s / (data_bytes / read_bytes_per_s + data_bytes / write_bytes_per_s)


def core_ns_per_record(cpu_s: float, records: int) -> float:
    """CPU time per record in core-nanoseconds."""
    return cpu_s * 1e9 / records


def gb_per_core_s(data_bytes: float, cpu_s: float) -> float:
    """Decimal GB that one core works off in a second."""
    return data_bytes / 1e9 / cpu_s


def relative_error(predicted: float, measured: float) -> float:
    """|predicted / measured - 1|."""
    return abs(predicted / measured - 1.0)


def fastest(times_s: Mapping[str, Sequence[float]]) -> str:
    """The name with the smallest median time."""
    return min(times_s, key=lambda name: median(times_s[name]))


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """Return the order of turn `turn`: A B, B A, A B, ...: drift of the machine affects all
    equally.
    """
    at = turn % len(names)
    return [*names[at:], *names[:at]]
