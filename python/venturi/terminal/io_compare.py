"""Two traces of block I/O compared, pattern by pattern, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from venturi.core.units import binary_size, format_bytes_decimal, format_latency
from venturi.measure.hosts.trace_results import IoTrace, TracedOperation
from venturi.terminal.io_shares import not_attributed, pattern_name
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

T = TypeVar("T")

_ACCESS = {
    "sequential": "sequential",
    "short_runs": "short runs",
    "mixed": "mixed",
    "random": "random",
    "cannot_tell": "cannot tell",
}


def parts(before: IoTrace, after: IoTrace) -> Iterator[Table | Paragraph]:
    """The share that could not be attributed in each, then every pattern of either."""
    for name, trace in (("before", before), ("after", after)):
        if trace.whose is not None:
            yield Paragraph(f"{name}: {not_attributed(trace.whose)}")
    by_files = before.whose is not None and after.whose is not None
    if not by_files:
        yield Paragraph("by disk: at least one trace doesn't say which processes made its requests")
    one, other = (_operations(each, by_files=by_files) for each in (before, after))
    yield _table(one, other)


def _operations(trace: IoTrace, *, by_files: bool) -> dict[str, TracedOperation]:
    """Patterns, or operations on disks, by name; with several disks, the name includes the disk."""
    found: list[tuple[str, str, TracedOperation]] = []
    if by_files and trace.whose is not None:
        found = [(pattern_name(each), each.device, each) for each in trace.whose.patterns]
    else:
        found = [
            (each.operation, device.device, each)
            for device in trace.devices
            for each in device.operations
        ]
    several = len({device for _, device, _ in found}) > 1
    return {
        f"{name} on {device}" if several else name: each
        for name, device, each in found
        if each.verdict is not None
    }


def _table(before: Mapping[str, TracedOperation], after: Mapping[str, TracedOperation]) -> Table:
    columns: dict[str, tuple[Callable[[TracedOperation], Any], Callable[[Any], str]]] = {
        "bytes": (lambda of: of.issued.bytes, format_bytes_decimal),
        "requests": (lambda of: of.issued.count, "{:,}".format),
        "median size": (lambda of: of.size_median_bytes, binary_size),
        "mean run": (lambda of: of.runs.mean_bytes, format_bytes_decimal),
        "served: median": (_median_s, format_latency),
        "99 %": (_p99_s, format_latency),
        "access": (_access, str),
    }

    def most(name: str) -> tuple[int, str]:
        both = (side[name].issued.bytes for side in (before, after) if name in side)
        return -max(both), name

    made = table("pattern", *columns, spare=("99 %", "requests"))
    for name in sorted({*before, *after}, key=most):
        pair = before.get(name), after.get(name)
        made.add(name, *(_change(pair, value, told) for value, told in columns.values()))
    return made


def _median_s(of: TracedOperation) -> float | None:
    times = of.issued_to_done
    return None if times is None or times.p50_ns is None else times.p50_ns / 1e9


def _p99_s(of: TracedOperation) -> float | None:
    times = of.issued_to_done
    return None if times is None or times.p99_ns is None else times.p99_ns / 1e9


def _access(of: TracedOperation) -> str | None:
    return None if of.verdict is None else _ACCESS.get(of.verdict.access, of.verdict.access)


def _change(
    pair: tuple[TracedOperation | None, TracedOperation | None],
    value: Callable[[TracedOperation], T | None],
    told: Callable[[T], str],
) -> str:
    """`1.2 MB → 2.4 MB`; only one of them if both have the same text."""
    found = [None if of is None else value(of) for of in pair]
    before, after = (UNKNOWN if each is None else told(each) for each in found)
    return before if before == after else f"{before} → {after}"
