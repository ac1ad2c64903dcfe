"""`venturi ls`: the trials in the repository, newest first."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import (
    conditions_in,
    filter_options,
    open_repository,
    say_left_out,
    say_none_match,
)
from venturi.cli.options import json_option, print_json, where_option, with_excluded_option
from venturi.cli.screen import details_option, is_first_screen, next_step, show
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.terminal.table import UNKNOWN, Table, TableCell, shorten_to, table

if TYPE_CHECKING:
    from venturi.record.query.paging import TrialRow
    from venturi.record.query.selection import Query
    from venturi.record.store.repository import TrialRepository

_STYLES = {"succeeded": "green", "failed": "red", "invalid": "red", "interrupted": "yellow"}
_ROWS = 1_000
_FIRST_ROWS = 20
_WORKLOAD_WIDTH, _WORKLOAD_WIDTH_WITH_STATE = 26, 18


@click.command()
@filter_options(default_limit=50)
@details_option
@where_option()
@with_excluded_option
@click.option(
    "--sort",
    default="-started_at",
    show_default=True,
    metavar="KEY",
    help="Order by a column or configuration key; -KEY is descending.",
)
@json_option
def command(as_json: bool, **options: Any) -> None:
    """List recorded trials, newest first.

    GROUP is the key of a repeat group: trials with the same key have the same settings. A terminal
    shows the end of each id that is unique (ids begin with a time or a format, which many trials
    share), and states other than "succeeded". A pipe gets whole ids and all columns.
    """
    from venturi.record.query.checks import conditions_for, require_keys
    from venturi.record.query.counting import id_length
    from venturi.record.query.selection import Query

    wanted = options["sort"]
    limit = min(options["limit"] or _ROWS, _ROWS)
    with open_repository() as repository:
        (sort,) = require_keys(repository, (wanted.removeprefix("-"),))
        conditions = conditions_for(repository, conditions_in(options))
        query = Query(
            conditions,
            sort,
            wanted.startswith("-"),
            limit,
            with_excluded=options["with_excluded"],
        )
        rows = _rows(repository, query, options["limit"])
        if not rows:
            say_none_match(repository)
        say_left_out(repository, query)
        # A pipe gets whole ids: what reads it may see another repository.
        length = id_length(repository) if sys.stdout.isatty() else None
    if as_json:
        print_json([summary(row) for row in rows])
        return
    if not rows:
        return
    if not sys.stdout.isatty():
        show(_table(rows))
    else:
        show(_terminal_table(rows[:_FIRST_ROWS] if is_first_screen() else rows, length))
    shown = min(len(rows), _FIRST_ROWS) if is_first_screen() else len(rows)
    if shown < len(rows) or len(rows) == options["limit"]:
        first = "newest" if options["sort"] == "-started_at" else "first"
        more = "--all, --limit and --where show" if shown < len(rows) else "--limit shows"
        click.echo(f"the {first} {shown}; {more} more", err=True)
    next_step(f"venturi show {rows[0].id[-length:] if length else rows[0].id}")


def _rows(repository: TrialRepository, query: Query, limit: int) -> list[TrialRow]:
    """The first `limit` rows, or all if it is 0, page by page."""
    from venturi.record.query.paging import rows

    page = rows(repository, query)
    found = list(page.rows)
    while page.next_cursor is not None and (limit == 0 or len(found) < limit):
        page = rows(repository, replace(query, cursor=page.next_cursor))
        found += page.rows
    return found[:limit] if limit else found


def summary(row: TrialRow) -> dict[str, object]:
    """The facts of a trial in a listing."""
    return {
        "id": row.id,
        "started_at": row.started_at and row.started_at.isoformat(),
        "workload": row.workload,
        "workload_version": row.workload_version,
        "scale": row.scale,
        "input_bytes": row.input_bytes,
        "engine": row.engine,
        "engine_version": row.engine_version,
        "state": row.state,
        "failure": row.failure,
        "elapsed_s": row.elapsed_s,
        "experiment": row.experiment,
        "group": row.group,
        "repetition": row.repetition,
        "warm_up": row.warm_up,
        "provenance": row.provenance,
        "warnings": row.warnings,
        "disturbed": row.disturbed,
        "cpu_others_share": row.cpu_others_share,
        "disk_others_share": row.disk_others_share,
        "cpu_steal_share": row.cpu_steal_share,
    }


def _table(rows: list[TrialRow]) -> Table:
    """Return a row for each trial, for a pipe."""
    headings = (
        "id",
        "started (UTC)",
        "workload",
        "engine",
        "state",
        "input",
        "time",
        "group",
        "experiment",
    )
    made = table(*headings, left=len(headings))
    for row in rows:
        made.add(
            row.id,
            UNKNOWN if row.started_at is None else f"{row.started_at:%Y-%m-%d %H:%M}",
            f"{row.workload}/{row.scale}" if row.scale else row.workload,
            row.engine,
            _state(row),
            format_bytes_decimal(row.input_bytes),
            format_duration(row.elapsed_s),
            row.group,
            row.experiment or UNKNOWN,
        )
    return made


def _terminal_table(rows: list[TrialRow], id_length: int | None) -> Table:
    """Return a line of at most 80 columns for each trial; times are local."""
    numeric = ("input", "time")
    columns = ["id", "started", "workload", "engine", *numeric]
    states = {row.id: _state(row).removeprefix("succeeded").strip() for row in rows}
    width = _WORKLOAD_WIDTH
    if any(states.values()):
        columns.append("state")
        width = _WORKLOAD_WIDTH_WITH_STATE
    made = Table(
        tuple(columns),
        tuple(name in numeric for name in columns),
        frozenset({"state"}),
        ("started", "input"),
    )
    for row in rows:
        workload = f"{row.workload}/{row.scale}" if row.scale else row.workload
        cells: list[TableCell] = [
            row.id[-id_length:] if id_length else row.id,
            _local(row.started_at),
            shorten_to(workload, width),
            row.engine,
            format_bytes_decimal(row.input_bytes),
            format_duration(row.elapsed_s),
        ]
        if "state" in columns:
            style = "yellow" if row.disturbed else _STYLES.get(row.state, "")
            cells.append((states[row.id], style))
        made.add(*cells)
    return made


def _local(started_at: datetime | None) -> str:
    """Return the local time, without the year if it is this one; the date in an earlier year."""
    if started_at is None:
        return UNKNOWN
    local = started_at.astimezone()
    this_year = local.year == datetime.now().astimezone().year
    return f"{local:%m-%d %H:%M}" if this_year else f"{local:%Y-%m-%d}"


def _state(row: TrialRow) -> str:
    notes = [note for note, it in (("warm-up", row.warm_up), ("disturbed", row.disturbed)) if it]
    return f"{row.state} ({', '.join(notes)})" if notes else row.state
