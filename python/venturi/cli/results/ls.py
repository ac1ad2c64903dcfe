"""`venturi ls`: the trials in the repository, newest first."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import (
    asked_of,
    filter_options,
    open_repository,
    say_left_out,
    say_none_match,
)
from venturi.cli.options import json_option, print_json
from venturi.cli.screen import show
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.terminal.table import UNKNOWN, Table

if TYPE_CHECKING:
    from venturi.record.query.paging import TrialRow
    from venturi.record.query.selection import Query
    from venturi.record.store.repository import TrialRepository

_STYLES = {"succeeded": "green", "failed": "red", "invalid": "red", "interrupted": "yellow"}
_ROWS = 1_000


@click.command()
@filter_options(default_limit=50)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE|KEY<N|KEY>N",
    help="Only trials with this value of a column or configuration key (also <=, >=; KEY= is one "
    "without a value); several must all hold.",
)
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

    GROUP is the key of a repeat group: trials with the same key have the same settings. On a
    terminal, ids are shortened to what is unique.
    """
    from venturi.record.query.checks import require_conditions, require_keys
    from venturi.record.query.counting import id_length

    query = _query(options)
    with open_repository() as repository:
        (sort,) = require_keys(repository, (query.sort,))
        conditions = require_conditions(repository, query.conditions)
        query = replace(query, conditions=conditions, sort=sort)
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
    show(_table(rows, length))
    if len(rows) == options["limit"]:
        first = "newest" if options["sort"] == "-started_at" else "first"
        click.echo(f"the {first} {len(rows)}; --limit shows more", err=True)


def _query(options: dict[str, Any]) -> Query:
    from venturi.record.query.selection import Query

    sort = options["sort"]
    limit = min(options["limit"] or _ROWS, _ROWS)
    return Query(asked_of(options), sort.removeprefix("-"), sort.startswith("-"), limit)


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
    """What a listing says of a trial."""
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


def _table(rows: list[TrialRow], id_length: int | None) -> Table:
    """One trial a row; id, engine, input and time stay whatever the width."""

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
    numeric = tuple(name in {"input", "time"} for name in headings)
    spare = ("experiment", "group", "started (UTC)", "state")
    made = Table(headings, numeric, frozenset({"workload", "engine", "state"}), spare)
    for row in rows:
        made.add(
            row.id[:id_length],
            UNKNOWN if row.started_at is None else f"{row.started_at:%Y-%m-%d %H:%M}",
            f"{row.workload}/{row.scale}" if row.scale else row.workload,
            row.engine,
            (_state(row), "yellow" if row.disturbed else _STYLES.get(row.state, "")),
            format_bytes_decimal(row.input_bytes),
            format_duration(row.elapsed_s),
            row.group,
            row.experiment or UNKNOWN,
        )
    return made


def _state(row: TrialRow) -> str:
    notes = [note for note, it in (("warm-up", row.warm_up), ("disturbed", row.disturbed)) if it]
    return f"{row.state} ({', '.join(notes)})" if notes else row.state
