"""`venturi scaling`: time against hosts, data or any number, a curve for each context."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.open_repository import open_repository
from venturi.cli.options import (
    ignore_option,
    json_option,
    keep_option,
    print_json,
    where_option,
    with_excluded_option,
)
from venturi.cli.screen import details_option, is_first_screen, next_step, show, warn
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

if TYPE_CHECKING:
    from venturi.web.api.results.scaling_shapes import CurvePoint, Scaling, ScalingGroup


@click.command()
@click.argument("x", metavar="KEY", default="hosts")
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    help="List first the curves that differ only in this key; repeatable.",
)
@where_option()
@with_excluded_option
@click.option(
    "--to",
    type=click.FloatRange(0, min_open=True),
    metavar="NUMBER",
    help="Estimate the time at this KEY, at most twice the largest measured one.",
)
@ignore_option("Ignore differences in this key within a curve; the answer notes it.")
@keep_option
@click.option(
    "--skip",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Skip the first N curves.",
)
@html_options()
@details_option
@json_option
def command(
    *,
    x: str,
    by: tuple[str, ...],
    where: tuple[str, ...],
    with_excluded: bool,
    to: float | None,
    ignored: tuple[str, ...],
    keep: tuple[str, ...],
    skip: int,
    html: PageFile | None,
    as_json: bool,
) -> None:
    """Show how run time scales with hosts, data or another number.

    KEY is hosts, input_bytes or any other number. The trials of a curve match in every other
    setting. Intervals (90 %) are for one more trial, within the measured range; up to twice as far
    the curve is extrapolated without an interval.

    \b
    venturi scaling hosts --where workload=terasort --by instance_type --to 12
    """
    from venturi.record.query.checks import conditions_for, require_keys
    from venturi.web.api.context import Selection, Services
    from venturi.web.api.results.scaling import scaling

    with open_repository() as repository:
        selection = Selection(conditions_for(repository, where), with_excluded)
        found = scaling(
            Services(repository),
            selection,
            x=x,
            by=list(require_keys(repository, by)) or None,
            ignore=list(ignored) or None,
            keep=list(keep) or None,
            skip=skip,
            to=to,
        )
        if html is not None:
            asked = [
                ("x", x),
                *(("by", key) for key in by),
                *(("where", text) for text in where),
                *(("ignore", key) for key in ignored),
                *(("keep", key) for key in keep),
            ]
            asked += [("to", str(to))] if to is not None else []
            asked += [("excluded", "1")] if with_excluded else []
            asked += [("skip", str(skip))] if skip else []
            html.write_answers(f"/scaling?{urlencode(asked)}", repository)
    if as_json:
        print_json(found, found.warnings)
    else:
        leads = found.matched is not None and found.verdict == found.matched.sentence
        brief = is_first_screen() and leads and not (by or skip)
        _print(found, brief=brief)
        if not brief:  # they are about the curves
            warn(found.warnings, "note")


def _print(found: Scaling, *, brief: bool) -> None:
    """Print the answer; a `brief` one has only the matched curve."""
    show(Paragraph(found.verdict, "bold"))
    if found.leave_out:
        show("Next: " + " ".join(f"--ignore {shlex.quote(key)}" for key in found.leave_out))
    if found.matched is not None and (brief or found.total > 1):
        from venturi.cli.results.curve_table import curve_lines

        show("", *curve_lines(found.matched, whole=not is_first_screen()))
        if brief:
            next_step("add --all for a curve of each group of settings")
            return
    if not found.groups:
        return
    if len(found.groups) > 1:
        show("", _curves(found))
    show("", *_points(found, found.groups[0]))


def _size(found: Scaling, value: float) -> str:
    return format_bytes_decimal(value) if found.x_unit == "B" else f"{value:,.6g}"


def _curves(found: Scaling) -> Table:
    """The curves that are drawn, one a line."""
    to = any(group.predicted for group in found.groups)
    at = [f"at {_size(found, g.predicted.x)}" for g in found.groups if g.predicted][:1]
    made = table(
        "curve",
        found.x,
        "points",
        "trials",
        "times the time",
        *at,
        left=1,
        prose=("curve",),
        spare=("trials", "points"),
    )
    for group in found.groups:
        xs = [point.x for point in group.points]
        told = UNKNOWN
        if group.effect is not None:
            xs = [group.effect.x_low, group.effect.x_high]
            told = f"{group.effect.ratio:.2f}"
            if (within := group.effect.interval) is not None:
                told += f" [{within.low:.2f}, {within.high:.2f}]"
        made.add(
            group.name or "all",
            f"{_size(found, xs[0])} to {_size(found, xs[-1])}",
            str(len(group.points)),
            str(sum(point.n for point in group.points)),
            told,
            *([_time(group.predicted)] if to else []),
        )
    return made


def _points(found: Scaling, group: ScalingGroup) -> list[Table | Paragraph]:
    """The measured points of one curve, next to the curve's values."""
    curve = {point.x: point for point in group.curve}
    made = table(found.x, "trials", "median", "curve (90 % of one trial)", left=0)
    for point in group.points:
        made.add(
            _size(found, point.x),
            str(point.n),
            format_duration(point.elapsed_s.median),
            _time(curve.get(point.x)),
        )
    said = [
        f"{group.name or 'the curve'}: {group.basis}" if group.basis else "",
        group.formula or "",
        group.cliff.evidence if group.cliff else "",
        group.reason or "",
    ]
    if group.error_relative is not None:
        said.append(f"points left out of the fit are missed by {100 * group.error_relative:.2g} %")
    return [made, *(Paragraph(text) for text in said if text)]


def _time(point: CurvePoint | None) -> str:
    if point is None:
        return UNKNOWN
    if point.low_s is None or point.high_s is None:
        return f"about {format_duration(point.elapsed_s)}"
    low, high = format_duration(point.low_s), format_duration(point.high_s)
    return f"{format_duration(point.elapsed_s)} ({low} to {high})"
