"""Charts of a trial's block I/O: the patterns with the most bytes side by side, each by size, time,
seek and place, and their bytes over time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.measure.hosts.trace_results import IoTrace, Seeks, TracedOperation, TracedPattern
from venturi.record import io_trace
from venturi.terminal.io_shares import (
    NO_OWNERS,
    kind_name,
    limits_of,
    not_attributed,
    pattern_name,
)
from venturi.terminal.io_trace import flush_lines, losses, read
from venturi.web.io.amounts import amounts_of
from venturi.web.io.heat import (
    NO_CELLS,
    HeatFile,
    carried,
    no_closer_look,
    of_places,
    of_times,
)
from venturi.web.io.page import (
    IoBin,
    IoHeat,
    IoPage,
    IoPattern,
    IoSeek,
    IoStage,
    TracePage,
)

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

SHOWN = 6
"""Patterns with charts, those with the most bytes; the others are only in the table."""

_TIMES_OF_OCTAVE = 4
_CCDF_POINTS = 120
_COLUMNS, _ROWS = 64, 32


def io_of(repository: TrialRepository, trial: Trial) -> IoPage:
    """The charts of the trace that is kept with `trial`, or why there aren't any."""
    try:
        trace = read(io_trace.load(repository, trial))
        amounts = [] if trace.whose is None else amounts_of(repository, trial, trace.whose)
        return replace(page(trace), amounts=tuple(amounts), no_closer_look=no_closer_look(trial))
    except VenturiError as error:
        return IoPage(error.message, None, None, 0.0, (), (), None)


def trace_page(
    title: str, trace: IoTrace, heat: Path | None, warnings: tuple[str, ...]
) -> TracePage:
    """A trace by itself, with cells of its charts from the file `heat`, if it exists."""
    drawn = page(trace)
    shown = [(each.name, each.device) for each in drawn.patterns[:SHOWN]]
    cells = tuple(carried(HeatFile(heat), shown)) if heat and heat.exists() else ()
    if heat is None or not heat.exists():
        drawn = replace(drawn, no_closer_look=NO_CELLS)
    return TracePage(title, drawn, cells, warnings)


def page(trace: IoTrace) -> IoPage:
    """The charts of a trace: by files, or by disks if the trace has no files."""
    owners, lost = trace.whose, losses(trace)
    return IoPage(
        missing_reason=None,
        not_attributed=NO_OWNERS if owners is None else not_attributed(owners),
        not_in_it=lost and f"not in it: {lost}",
        elapsed_s=trace.elapsed_s,
        limits=tuple(limits_of(trace)),
        patterns=tuple(_patterns(trace)),
        no_closer_look=None,
        stages=tuple(_stages(trace)),
        flushes=tuple(flush_lines(trace)),
    )


def _patterns(trace: IoTrace) -> Iterator[IoPattern]:
    found: list[tuple[str, str, TracedOperation]] = []
    if trace.whose is None:
        found = [
            (kind_name(each.operation, None, None), device.device, each)
            for device in trace.devices
            for each in device.operations
        ]
        found.sort(key=lambda each: -each[2].issued.bytes)
    else:
        found = [(pattern_name(each), each.device, each) for each in trace.whose.patterns]
    told = [each for each in found if each[2].verdict is not None]
    for place, (name, device, requests) in enumerate(told):
        yield _pattern(name, device, requests, drawn=place < SHOWN)


def _stages(trace: IoTrace) -> Iterator[IoStage]:
    """The stages that ran during the recording, from its beginning on."""
    began_s = trace.started_unix_s
    if began_s is None or trace.whose is None:
        return
    for stage in trace.whose.stages:
        from_s, until_s = stage.from_unix_s - began_s, stage.until_unix_s - began_s
        if until_s > 0 and from_s < trace.elapsed_s:
            yield IoStage(stage.name, stage.phase, max(0.0, from_s), min(until_s, trace.elapsed_s))


def _pattern(name: str, device: str, found: TracedOperation, *, drawn: bool) -> IoPattern:
    times, verdict, plain = found.issued_to_done, found.verdict, found.seek_plain
    buckets = [] if times is None else times.buckets
    over = found.times if isinstance(found, TracedPattern) else None
    return IoPattern(
        name=name,
        device=device,
        requests=found.issued.count,
        bytes=found.issued.bytes,
        access=None if verdict is None else verdict.access,
        verdict="" if verdict is None else verdict.text,
        size_median_bytes=found.size_median_bytes,
        zero_seeks=plain.zero / plain.count if plain.count else None,
        p50_s=None if times is None or times.p50_ns is None else times.p50_ns / 1e9,
        p99_s=None if times is None or times.p99_ns is None else times.p99_ns / 1e9,
        run_mean_bytes=found.runs.mean_bytes,
        sizes=_sizes(found.sizes) if drawn else None,
        times=_times(buckets) if drawn else None,
        seeks=_seeks(plain) if drawn else None,
        ccdf=_ccdf(buckets) if drawn else None,
        places=_drawn(of_places(found.position)) if drawn else None,
        times_over=_drawn(of_times(over)) if drawn and over is not None else None,
    )


def _sizes(sizes: Iterable[tuple[int, int]]) -> tuple[IoBin, ...]:
    """Sizes by powers of two, each from its lowest size on."""
    requests: Counter[int] = Counter()
    bytes_: Counter[int] = Counter()
    for size, count in sizes:
        octave = size.bit_length() - 1
        requests[octave] += count
        bytes_[octave] += size * count
    return tuple(
        IoBin(2.0**octave, 2.0 ** (octave + 1), requests[octave], bytes_[octave])
        for octave in sorted(requests)
    )


def _times(buckets: Iterable[tuple[int, int]]) -> tuple[IoBin, ...]:
    """Times in seconds, in four steps an octave."""
    requests: Counter[int] = Counter()
    for low_ns, count in buckets:
        requests[math.floor(_TIMES_OF_OCTAVE * math.log2(max(low_ns, 1)))] += count
    return tuple(
        IoBin(
            2.0 ** (step / _TIMES_OF_OCTAVE) / 1e9,
            2.0 ** ((step + 1) / _TIMES_OF_OCTAVE) / 1e9,
            requests[step],
            None,
        )
        for step in sorted(requests)
    )


def _seeks(seeks: Seeks) -> tuple[IoSeek, ...]:
    found: Counter[int] = Counter({0: seeks.zero} if seeks.zero else {})
    for sign, buckets in ((-1, seeks.backward), (1, seeks.forward)):
        for sectors, count in buckets:
            found[sign * max(sectors, 1).bit_length()] += count
    return tuple(IoSeek(octave, found[octave]) for octave in sorted(found))


def _ccdf(buckets: Sequence[tuple[int, int]]) -> tuple[tuple[float, float], ...]:
    """The share of requests that took at least as long as each bucket's least, thinned."""
    left = whole = sum(count for _, count in buckets)
    points = []
    for low_ns, count in buckets:
        points.append((low_ns / 1e9, left / whole))
        left -= count
    step = max(1, math.ceil(len(points) / _CCDF_POINTS))
    # The chart is about the tail: its last points all stay.
    head, tail = points[:-step], points[-step:]
    return (*head[::step], *tail)


def _drawn(heat: IoHeat) -> IoHeat:
    """The cells, some of them as one where there are more columns or rows than are drawn."""
    columns = max((column for column, _, _ in heat.cells), default=-1) + 1
    rows = max(len(heat.rows) - 1, 0)
    wide, high = max(1, -(-columns // _COLUMNS)), max(1, -(-rows // _ROWS))
    counts: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    files: dict[tuple[int, int], int] = {}
    for place, (column, row, count) in enumerate(heat.cells):
        cell = column // wide, row // high
        counts[cell] += count
        sizes[cell] += heat.bytes[place] if heat.bytes else 0
        if heat.files:
            file, before = heat.files[place], files.get(cell, heat.files[place])
            files[cell] = file if file == before else -abs(before or file)
    kept = [*heat.rows[:rows:high], *heat.rows[-1:]]
    ordered = sorted(counts.items())
    return IoHeat(
        heat.start_s,
        heat.column_s * wide,
        tuple(kept),
        tuple((column, row, count) for (column, row), count in ordered),
        None if heat.bytes is None else tuple(sizes[cell] for cell, _ in ordered),
        heat.names,
        tuple(files[cell] for cell, _ in ordered) if heat.files else (),
    )
