"""What the page of a trial draws of its block I/O: the patterns with the most bytes, beside one
another, each by size, time, seek and place; and how these went over time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from venturi.errors import VenturiError
from venturi.measure.hosts.agent_results import (
    IoTrace,
    RequestPlaces,
    RequestTimesSeen,
    Seeks,
    TracedPattern,
)
from venturi.present.io_page import IoBin, IoHeat, IoPage, IoPattern, IoSeek
from venturi.present.io_shares import limits_of, not_attributed, pattern_name
from venturi.present.io_trace import read
from venturi.record import io_trace

if TYPE_CHECKING:
    from venturi.record.repository import Repository
    from venturi.record.trial import Trial

SHOWN = 6
"""So many patterns are drawn, those with the most bytes; all others are in the table alone."""

_TIMES_OF_OCTAVE = 4
_CCDF_POINTS = 120
_COLUMNS, _ROWS = 64, 32


def io_of(repository: Repository, trial: Trial) -> IoPage:
    """What the trace that is kept with `trial` says, or why nothing."""
    try:
        return page(read(io_trace.load(repository, trial)))
    except VenturiError as error:
        return IoPage(error.message, None, None, 0.0, (), ())


def page(trace: IoTrace) -> IoPage:
    """What is drawn of a trace."""
    owners = trace.whose
    if owners is None:
        reason = "the trace does not tell whose its requests are"
        return IoPage(reason, None, None, trace.elapsed_s, (), ())
    told = [each for each in owners.patterns if each.verdict is not None]
    lost = trace.losses.missing_records
    return IoPage(
        missing_reason=None,
        not_attributed=not_attributed(owners),
        not_in_it=f"{lost:,} events were lost" if lost else None,
        elapsed_s=trace.elapsed_s,
        limits=tuple(limits_of(trace)),
        patterns=tuple(_pattern(each, drawn=place < SHOWN) for place, each in enumerate(told)),
    )


def _pattern(found: TracedPattern, *, drawn: bool) -> IoPattern:
    times, verdict, plain = found.issued_to_done, found.verdict, found.seek_plain
    buckets = [] if times is None else times.buckets
    return IoPattern(
        name=pattern_name(found),
        device=found.device,
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
        places=_places(found.position) if drawn else None,
        times_over=_times_over(found.times) if drawn else None,
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
    # The tail is what it is for: its last points all stay.
    head, tail = points[:-step], points[-step:]
    return (*head[::step], *tail)


def _places(found: RequestPlaces) -> IoHeat:
    cells = [(column, row, size) for column, row, _, size in found.cells]
    last = max((row for _, row, _ in cells), default=0)
    bounds = [found.start_bytes + row * found.row_bytes for row in range(last + 2)]
    return _heat(found.start_s, found.column_s, [float(each) for each in bounds], cells)


def _times_over(found: RequestTimesSeen) -> IoHeat:
    low_s = [ns / 1e9 for ns in found.rows_ns]
    bounds = (
        [*low_s, 2 * low_s[-1] - low_s[-2] if len(low_s) > 1 else 2 * low_s[0]] if low_s else []
    )
    return _heat(found.start_s, found.column_s, bounds, found.cells)


def _heat(
    start_s: float,
    column_s: float,
    bounds: Sequence[float],
    cells: Sequence[tuple[int, int, int]],
) -> IoHeat:
    """The cells, some of them as one where there are more columns or rows than are drawn."""
    columns = max((column for column, _, _ in cells), default=-1) + 1
    rows = max(len(bounds) - 1, 0)
    wide, high = max(1, -(-columns // _COLUMNS)), max(1, -(-rows // _ROWS))
    sums: Counter[tuple[int, int]] = Counter()
    for column, row, amount in cells:
        sums[column // wide, row // high] += amount
    kept = [bounds[row] for row in range(0, rows, high)] + list(bounds[-1:])
    return IoHeat(
        start_s,
        column_s * wide,
        -(-columns // wide),
        tuple(kept),
        tuple((column, row, amount) for (column, row), amount in sorted(sums.items())),
    )
