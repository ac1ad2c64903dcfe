"""`/api/scaling`: time against nodes, amount of data, or any numeric key; curve and cliff."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from venturi.model.cost.extensions import MemoryCliff, fit_memory_cliff, memory_cliff_s
from venturi.model.scaling.curves import (
    AMOUNTS,
    RESOURCES,
    CurveFit,
    FoundCliff,
    find_cliff,
    fit_curve,
)
from venturi.model.scaling.network import check_range
from venturi.model.statistics.stats import Missing
from venturi.present.api.analysis.cells import (
    ByDep,
    Cell,
    alike,
    keys_of,
    merged,
    number,
    refused,
)
from venturi.present.api.analysis.spreads import spread_of
from venturi.present.api.asking import Parameter
from venturi.present.api.context import SelectionDep, Services
from venturi.present.api.shapes import (
    Cliff,
    CurvePoint,
    Key,
    Scaling,
    ScalingGroup,
    ScalingPoint,
)
from venturi.units import format_bytes_decimal, format_duration
from venturi.wording import percent

GROUPS_MAX = 50
POINTS_MAX = 200
CURVE_POINTS = 41
BYTES_SHOWN = 1e9
CHOSEN_CURVE = (
    "the 90 % intervals take the form of the curve as known; as the same points chose it, they "
    "hold the true curve in about 80 % of cases"
)
_TWO_LINES = "two lines with a jump between them"


def scaling(
    services: Services,
    selection: SelectionDep,
    *,
    x: Annotated[
        str,
        Parameter(
            min_length=1,
            max_length=200,
            description="hosts, input_bytes or a numeric key.",
            examples=["hosts"],
        ),
    ] = "hosts",
    by: ByDep = None,
    to: Annotated[
        float | None,
        Parameter(
            gt=0,
            allow_inf_nan=False,
            description="Draw the curve as far as this x, at most 8 times what was measured.",
        ),
    ] = None,
) -> Scaling:
    """Measured medians by x within like work, and the curve through them."""
    keys = tuple(key for key in keys_of(by) if key != x)
    but = ("input_bytes", "scale") if size_like(x) else ()
    every, found, said = alike(services.repository, selection, (x, *keys), but=but)
    warnings = list(said)
    without = sum(cell.n for cell in found if number(cell.key[0]) is None)
    kept = [replace(cell, key=(number(cell.key[0]), *cell.key[1:]))
            for cell in found if number(cell.key[0]) is not None]  # fmt: skip
    if not kept and found:
        raise refused(f"no trial of the selection has a number as {x!r}", "x", "see /api/keys")
    if without:
        warnings.append(f"{without:,} trials have no number as {x}")
    groups: dict[Key, list[Cell]] = {}
    for cell in merged(kept, len(every)):  # 2 and "2.0" are one x
        if cell.elapsed_s:
            groups.setdefault(cell.key[1:], []).append(cell)
    if len(groups) > GROUPS_MAX:
        warnings.append(f"only the {GROUPS_MAX} biggest of {len(groups):,} groups are shown")
    kept_groups = list(groups.items())[:GROUPS_MAX]
    made = tuple(_group(key, of_group, x, to) for key, of_group in kept_groups)
    if any(point.low_s is not None for group in made for point in group.curve):
        warnings.append(CHOSEN_CURVE)
    return Scaling(x, unit_of(x), every[1:], made, tuple(warnings))


def size_like(x: str) -> bool:
    """Whether x is an amount of work: more of it takes longer."""
    return x.endswith(("bytes", "records", "scale", "size"))


def unit_of(x: str) -> str:
    """What x is counted in, as far as its name says."""
    if x == "hosts":
        return "hosts"
    ends = {"_bytes": "B", "_s": "s", "_records": "records", "cores": "cores"}
    return next((unit for end, unit in ends.items() if x.endswith(end)), "")


def _group(key: Key, of_group: Sequence[Cell], x: str, to: float | None) -> ScalingGroup:
    ordered = sorted(of_group, key=lambda cell: float(cell.key[0] or 0))[:POINTS_MAX]
    xs = [float(cell.key[0] or 0) for cell in ordered]
    medians = [statistics.median(cell.elapsed_s) for cell in ordered]
    points = tuple(
        ScalingPoint(at, len(cell.elapsed_s), spread_of(cell.elapsed_s))
        for at, cell in zip(xs, ordered, strict=True)
    )
    empty = ScalingGroup(key, points, (), None, None, None, None, None)
    sizes = size_like(x)
    cliff = find_cliff(xs, medians) if sizes else None
    if cliff is not None:
        return _with_cliff(empty, cliff, fit_memory_cliff(xs, medians, cliff.below), to)
    fit = fit_curve(xs, medians, AMOUNTS if sizes else RESOURCES)
    if isinstance(fit, Missing):
        return replace(empty, reason=fit.reason)
    grid = _grid(x, xs, to)
    per, unit = (BYTES_SHOWN, "GB") if unit_of(x) == "B" else (1.0, "")
    return replace(
        empty,
        curve=_curve(fit, grid),
        model=str(fit.shape),
        formula=fit.formula(per, unit),
        error_relative=fit.left_out if math.isfinite(fit.left_out) else None,
        reason=fit.reason,
    )


def _grid(x: str, xs: Sequence[float], to: float | None) -> list[float]:
    """Where the curve is drawn: over what was measured, and as far as `to` asks."""
    if to is not None:
        check_range(x, to, xs[0], xs[-1])
    low, high = min(xs[0], to or xs[0]), max(xs[-1], to or xs[-1])
    # Evenly in the logarithm: curves like a + b / x bend where x is small.
    return [float(each) for each in np.geomspace(low, high, CURVE_POINTS)]


def _curve(fit: CurveFit, grid: Sequence[float]) -> tuple[CurvePoint, ...]:
    low, high = fit.interval(grid)
    return tuple(
        CurvePoint(at, float(middle), *(float(end) if math.isfinite(end) else None for end in ends))
        for at, middle, *ends in zip(grid, fit.at(grid), low, high, strict=True)
    )


def _with_cliff(
    group: ScalingGroup, found: FoundCliff, lines: MemoryCliff, to: float | None
) -> ScalingGroup:
    """The two lines instead of a curve: each is drawn where it was measured."""
    xs = [point.x for point in group.points]
    end = xs[-1] if to is None else max(xs[-1], to)
    if to is not None:
        check_range("to", to, xs[0], xs[-1])
    within = [at for at in xs if at <= found.below]
    beyond = sorted({*(at for at in xs if at > found.below), end})
    below, above = format_bytes_decimal(found.below), format_bytes_decimal(found.above)
    evidence = (
        f"up to {below} the times lie on a line, by which {above} would take "
        f"{format_duration(found.predicted_s)}, at most {format_duration(found.limit_s)} (97.5 %); "
        f"it took {format_duration(found.measured_s)}. The best smooth curve misses by "
        f"{percent(found.misfit)}, two lines by {percent(found.left)}"
    )
    formula = " | ".join(
        f"t = {start:.4g} s + {slope * BYTES_SHOWN:.4g} s * x[GB]"
        for start, slope in (
            (lines.within_s, lines.within_s_per_byte),
            (lines.beyond_s, lines.beyond_s_per_byte),
        )
    )
    return replace(
        group,
        curve=tuple(
            CurvePoint(at, memory_cliff_s(at, lines), None, None) for at in (*within, *beyond)
        ),
        model=_TWO_LINES,
        formula=formula,
        error_relative=found.left,
        cliff=Cliff(found.below, found.above, found.jump, evidence),
        reason="across a cliff there is no interval: too few points on either side",
    )
