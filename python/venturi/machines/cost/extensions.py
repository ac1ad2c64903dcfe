"""Extensions of equations (1) to (11), one small function each, combined as a job needs.

Bonds and caps change a node's rates before `dataflow.job_time` sees them; the memory cliff changes
times. Disks shared by reading and writing, CPU time, start-up, skew and retained memory are terms
of `dataflow` itself.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from venturi.core.domain import invalid, need_rate
from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity
from venturi.core.units import format_rate
from venturi.machines.scaling.network import check_range

# --- Network ------------------------------------------------------------------------------------


def bonded(member: Quantity, members: int, units: int) -> Quantity:
    """Bandwidth (bytes/s) of a bond of equal NICs over which `units` are spread: min(p, m) * b.

    A bond gives each of the things that it balances one member, whatever the load: virtual ports
    where it routes by originating port, flows where it hashes them. Hence p of them reach at most
    min(p, m) of the m members, and one reaches one. The low end is all of them on one member.
    Source: VMware vSphere Networking, "Route Based on Originating Virtual Port"; it explains the
    2017 study of virtual Hadoop better than its own "disks per DataNode" (tests/golden).
    """
    for name, count in (("members", members), ("units", units)):
        if count < 1:
            raise invalid(name, count, "at least 1")
    used = min(members, units)
    note = f"{units} virtual port{'s' * (units > 1)} over a bond of {members} x " + (
        f"{format_rate(member.value)}: {used} member{'s' * (used > 1)} at most"
    )
    at_best = member.times(float(used), note)
    if used == 1:
        return at_best
    how = "all on one member, to one member each"
    return replace(at_best, low=member.low, range_from=f"{how}; {member.range_from}".rstrip("; "))


# --- Caps ---------------------------------------------------------------------------------------


def capped(rate: Quantity, caps: Mapping[str, Quantity]) -> Quantity:
    """`rate` behind shared limits, such as {"storage controller": ..., "hypervisor": ...}.

    min(B, C_1, C_2, ...), for each end of the range too; the note names the limit that binds. The
    result is an upper bound if that limit, or the rate behind it, is one.
    """
    name, least = min({"": rate, **caps}.items(), key=lambda item: item[1].value)
    low = min([rate.low, *(cap.low for cap in caps.values())])
    high = min([rate.high, *(cap.high for cap in caps.values())])
    if not name:
        if (low, high) == (rate.low, rate.high):
            return rate
        return replace(rate, low=low, high=high, range_from=f"{rate.range_from}, and caps on it")
    return Quantity(
        least.value,
        low,
        high,
        least.kind,
        least.source,
        least.as_of,
        f"capped by the {name}; without it {format_rate(rate.value)}",
        f"least of the ranges of {', '.join(caps)} and the resource behind",
        least.upper_bound or rate.upper_bound,
    )


# --- Memory -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryCliff:
    """Time of an iterating job by size of its data: one line in memory, a steeper one beyond.

    seconds = within_s + within_s_per_byte * size up to `fits_bytes`, then beyond_s +
    beyond_s_per_byte * size. `step_s`: how much longer the smallest measured size beyond took
    than the largest within. `residuals_s`: measured minus fitted, by size; with two sizes a side
    they are zero because two points make a line, not because the model is right.
    """

    fits_bytes: float
    within_s: float
    within_s_per_byte: float
    beyond_s: float
    beyond_s_per_byte: float
    step_s: float
    residuals_s: tuple[float, ...]
    measured_bytes: tuple[float, float]  # smallest, largest


def fit_memory_cliff(
    sizes_bytes: Sequence[float], elapsed_s: Sequence[float], fits_bytes: float
) -> MemoryCliff:
    """Fits two least-squares lines to measured points, split at the size that fits into memory.

    The points can't locate the cliff between the last size that fits and the next, so the caller
    gives `fits_bytes`, such as executors * heap. Shape after the 2017 VMware study, Table 21.
    VEN-MODEL-INPUT: fewer than two sizes on either side.
    """
    need_rate("fits_bytes", fits_bytes)
    if len(sizes_bytes) != len(elapsed_s):
        raise invalid("elapsed_s", f"{len(elapsed_s)} values", f"{len(sizes_bytes)}, as the sizes")
    points = sorted(zip(map(float, sizes_bytes), map(float, elapsed_s), strict=True))
    for size, seconds in points:
        need_rate("sizes_bytes", size)
        need_rate("elapsed_s", seconds)
    sides = [p for p in points if p[0] <= fits_bytes], [p for p in points if p[0] > fits_bytes]
    for name, side in zip(("within", "beyond"), sides, strict=True):
        if len({size for size, _ in side}) < 2:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"a line {name} memory needs two sizes, but has {len({s for s, _ in side})}",
                where={"field": "sizes_bytes", "value": [size for size, _ in side]},
                hint="measure at least two sizes that fit in memory and two that do not",
            )
    lines = [statistics.linear_regression(*zip(*side, strict=True)) for side in sides]
    residuals = tuple(
        seconds - (line.intercept + line.slope * size)
        for line, side in zip(lines, sides, strict=True)
        for size, seconds in side
    )
    within, beyond = lines
    last, first = sides[0][-1][0], sides[1][0][0]
    step_s = statistics.fmean(s for size, s in points if size == first) - statistics.fmean(
        s for size, s in points if size == last
    )
    return MemoryCliff(
        fits_bytes,
        within.intercept,
        within.slope,
        beyond.intercept,
        beyond.slope,
        step_s,
        residuals,
        (points[0][0], points[-1][0]),
    )


def memory_cliff_s(size_bytes: float, cliff: MemoryCliff) -> float:
    """Seconds at `size_bytes`. Errors: VEN-MODEL-RANGE beyond 8 times the measured sizes, and where
    the line gives no time at all."""
    need_rate("size_bytes", size_bytes)
    check_range("size_bytes", size_bytes, *cliff.measured_bytes)
    if size_bytes <= cliff.fits_bytes:
        seconds = cliff.within_s + cliff.within_s_per_byte * size_bytes
    else:
        seconds = cliff.beyond_s + cliff.beyond_s_per_byte * size_bytes
    if not (math.isfinite(seconds) and seconds > 0):
        raise VenturiError(
            "VEN-MODEL-RANGE",
            f"the fitted line gives {seconds:g} s at {size_bytes:g} bytes",
            where={"field": "size_bytes", "value": size_bytes},
            hint="measure nearer to this size",
        )
    return seconds
