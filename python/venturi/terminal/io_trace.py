"""A trace of block I/O as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from venturi.core.errors import VenturiError
from venturi.core.units import (
    binary_size,
    format_bytes_decimal,
    format_duration,
    format_latency,
    format_rate,
)
from venturi.core.wording import count_of
from venturi.measure.hosts.trace_results import (
    IoTrace,
    RequestTimes,
    Seeks,
    TracedDevice,
    TracedOperation,
)
from venturi.terminal.io_shares import disk_names, percent_of, share_tables
from venturi.terminal.table import UNKNOWN, Paragraph, Table, pairs, table_of

SIZES_SHOWN = 3
"""So many sizes of requests are named, those with the most bytes."""


def read(data: Mapping[str, Any]) -> IoTrace:
    """Parse a trace that the agent wrote; VEN-RECORD-ARTIFACT if a different version wrote it."""
    try:
        return TypeAdapter(IoTrace).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"the trace is not as this version writes it: {place or 'it'}: {first['msg']}",
            where={"field": place},
            hint="read the recording next to it with venturi trace show",
        ) from error


def parts(trace: IoTrace) -> Iterator[Table | Paragraph]:
    """The trace: owners of the requests, then each device with verdicts, sizes, times and seeks."""
    yield pairs(_card(trace))
    if trace.whose is not None:
        yield Paragraph("")
        yield from share_tables(trace, "class")
    names = disk_names(trace)
    for device in trace.devices:
        yield Paragraph("")
        yield Paragraph(_device(device, names.get(device.device, device.device), trace.elapsed_s))
        if device.flush_times is not None:
            yield Paragraph(_flush_text(device.flush_times, trace.elapsed_s), indent=2)
        for operation in device.operations:
            if operation.verdict is not None:
                yield Paragraph(f"{operation.operation}: {operation.verdict.text}", indent=2)
        yield _requests(device)
        yield _locality(device)


def _card(trace: IoTrace) -> list[tuple[str, str]]:
    written, size = ", ".join(trace.formats), format_bytes_decimal(trace.bytes)
    rows = [
        ("trace", f"{count_of(trace.files, 'file')}, {size}: {written}"),
        ("records", f"{trace.records:,}, {format_duration(trace.elapsed_s)} from first to last"),
    ]
    if trace.started_unix_s is not None:
        began = datetime.fromtimestamp(trace.started_unix_s, UTC)
        rows.append(("began", f"{began:%Y-%m-%d %H:%M:%S} UTC"))
    rows.append(("not in it", losses(trace) or "nothing, as far as is known"))
    return rows


def losses(trace: IoTrace) -> str | None:
    """The losses of the trace; None if it has none."""
    lost = trace.losses
    before = sum(device.begun_before for device in trace.devices)
    found = [
        (lost.missing_records, "record by its number", "records by their numbers"),
        (lost.truncated_bytes + lost.damaged_bytes, "damaged byte", "damaged bytes"),
        (lost.unread_lines, "line that is not an event", "lines that are not events"),
        (lost.late_events, "event out of order", "events out of order"),
        (before, "beginning of a request", "beginnings of requests"),
        (lost.not_done + lost.given_up, "end of a request", "ends of requests"),
    ]
    told = [count_of(count, noun, plural) for count, noun, plural in found if count]
    told += [
        f"CPUs {cpus.removeprefix('processors ').removeprefix('CPUs ')}"
        for cpus in lost.missing_cpus
    ]
    return "; ".join(told) or None


def _device(device: TracedDevice, name: str, elapsed_s: float) -> str:
    share = device.busy_s / elapsed_s if elapsed_s else 0.0
    busy = f"{share:.2%}".replace("%", " %") if 0 < share < 0.001 else percent_of(share, 1.0)
    mean = device.depth_mean
    depth = "" if mean is None else f", {mean:.1f} requests in flight on average"
    moved = sum(each.issued.bytes for each in device.operations)
    more = [f"{format_rate(moved / device.busy_s)} while busy"] if moved and device.busy_s else []
    more += [
        count_of(count, noun, plural)
        for count, noun, plural in (
            (device.flushes, "flush", "flushes"),
            (device.others, "request without data", "requests without data"),
            (device.requeues, "request given back", "requests given back"),
        )
        if count
    ]
    told = f"device {name}: busy {busy}{depth}, {device.depth_max:,} at most"
    return "; ".join([told, *more])


def flush_lines(trace: IoTrace) -> Iterator[str]:
    """Yield a line for each device of which flushes were timed."""
    names = disk_names(trace)
    for device in trace.devices:
        if device.flush_times is not None:
            name = names.get(device.device, device.device)
            yield f"{name}: {_flush_text(device.flush_times, trace.elapsed_s)}"


def _flush_text(times: RequestTimes, elapsed_s: float) -> str:
    """Say how many flushes were timed, how long they took, and their share of the time."""
    flush_s = times.count * times.mean_ns / 1e9
    median, longest = (
        format_latency(None if ns is None else ns / 1e9) for ns in (times.p50_ns, times.max_ns)
    )
    spread = f"median {median}, longest {longest}" if times.p50_ns else f"longest {longest}"
    return (
        f"flush: {count_of(times.count, 'flush', 'flushes')} in {format_duration(flush_s)} "
        f"({percent_of(flush_s, elapsed_s)} of the time), {spread}"
    )


def _requests(device: TracedDevice) -> Table:
    return table_of(
        (
            {
                "what": each.operation,
                "requests": f"{each.issued.count:,}",
                "bytes": format_bytes_decimal(each.issued.bytes),
                "largest shares of the bytes": _sizes(each),
                "read ahead": percent_of(each.readahead.bytes, each.issued.bytes),
                "merged": percent_of(each.back_merges + each.front_merges, each.queued.count),
                **_times(each.issued_to_done, "served: median", "99 %", "longest"),
                **_times(each.queued_to_done, "with queue: median", "99 % with queue"),
            }
            for each in device.operations
        ),
        prose=("largest shares of the bytes",),
        spare=("99 % with queue", "merged", "read ahead"),
    )


def _times(times: RequestTimes | None, *headings: str) -> dict[str, str]:
    """The median, the 99th percentile and the longest, as far as there are headings."""
    if times is None:
        return dict.fromkeys(headings, UNKNOWN)
    found_ns = times.p50_ns, times.p99_ns, times.max_ns
    told = (format_latency(None if ns is None else ns / 1e9) for ns in found_ns)
    return dict(zip(headings, told, strict=False))


def _sizes(operation: TracedOperation) -> str:
    by_bytes = sorted(operation.sizes, key=lambda each: (-each[0] * each[1], each[0]))
    return ", ".join(
        f"{binary_size(size)} {percent_of(size * count, operation.issued.bytes)}"
        for size, count in by_bytes[:SIZES_SHOWN]
    )


def _locality(device: TracedDevice) -> Table:
    rows = []
    for each in device.operations:
        seek = each.seek_plain.median_sectors
        rows.append(
            {
                "what": each.operation,
                "follows the last one": _zero(each.seek_plain),
                "one of the last 16": _zero(each.seek_window),
                "one of 16 streams": _zero(each.seek_streams),
                "median seek": UNKNOWN if seek is None else f"{seek:,} sectors",
                "runs": f"{each.runs.count:,}",
                "mean run": format_bytes_decimal(each.runs.mean_bytes),
                "half of the bytes in runs up to": format_bytes_decimal(each.runs.median_by_bytes),
            }
        )
    return table_of(rows, left=1, spare=("median seek", "runs"))


def _zero(seeks: Seeks) -> str:
    return percent_of(seeks.zero, seeks.count)
