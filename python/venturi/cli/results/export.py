"""`venturi export`: trials as a table, or with their artifacts in one archive."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import (
    conditions_in,
    counting,
    filter_options,
    open_repository,
    say_left_out,
    say_none_match,
    say_unreadable,
)
from venturi.cli.options import json_option, print_json, where_option
from venturi.cli.outputs import ready_file, writing
from venturi.core.wording import count_of
from venturi.record.store.files import replacing
from venturi.record.trial import TERMINAL

if TYPE_CHECKING:
    from venturi.core.errors import VenturiError
    from venturi.record.query.table_files import TableFormat
    from venturi.record.query.trial_table import TrialTable
    from venturi.record.store.repository import TrialRepository

ARCHIVE = "archive"
TABLES: tuple[TableFormat, ...] = ("csv", "parquet", "ndjson")
STDOUT = Path("-")

OTHERS = frozenset({".tsv", ".json", ".jsonl", ".xls", ".xlsx", ".txt", ".arrow", ".feather"})
"""Endings of tables that an archive would be taken for."""


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Export every recorded trial.")
@filter_options(default_limit=None)
@where_option()
@click.option(
    "--format",
    "format_",
    type=click.Choice((ARCHIVE, *TABLES)),
    help="Format to write. Default: from the extension of --output, else an archive.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    required=True,
    metavar="FILE|-",
    help="Write to FILE; - is stdout (tables only).",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Write only this column; repeatable, in the given order. A single CSV column gets `id` "
    "before it, so that missing values still have a row.",
)
@click.option(
    "--samples",
    is_flag=True,
    help="Write one row per sample, with its labels, instead of one per trial.",
)
@click.option("--with-excluded", is_flag=True, help="Include excluded trials in the table.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_option
def command(
    *,
    ids: tuple[str, ...],
    everything: bool,
    format_: str | None,
    output: Path,
    columns: tuple[str, ...],
    samples: bool,
    with_excluded: bool,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Export trials as an archive or as a table.

    Choose them by ID (or its beginning; `last`, `last~1`), by --all, or by the filters of `ls`.

    A table (--format csv, parquet or ndjson) has one row per trial, newest first: the columns of
    `ls`, the configuration, and the trial's own samples with their units. Failed trials have a row,
    too; see `state`. Missing values are empty; ndjson has the reason.

    An archive holds trials with their artifacts, for `venturi import`; importing it twice changes
    nothing. Unfinished trials are skipped and listed.
    """
    conditions, most = conditions_in(options), options["limit"] or None
    if sum((bool(ids), everything, bool(conditions or most))) != 1:
        raise click.UsageError(
            "say which trials to export: their IDs, --all, or filters such as --workload NAME"
        )
    chosen = _format(format_, output)
    if chosen is None and (columns or samples or with_excluded):
        raise click.UsageError(
            "an archive has whole trials: --format csv, parquet or ndjson "
            "writes the table that this asks for"
        )
    if samples and columns:
        raise click.UsageError("--samples has its own columns: leave out --column")
    if output == STDOUT and as_json:
        raise click.UsageError(
            "stdout is used for the table: write it to a file with --output to use --json"
        )
    if output != STDOUT:
        ready_file(output, overwrite=overwrite)
    with open_repository() as repository:
        if chosen is None:
            data = _archive(repository, ids, conditions, most, output, overwrite=overwrite)
        else:
            table = _table(
                repository,
                ids,
                conditions,
                most,
                format_=chosen,
                columns=columns,
                samples=samples,
                with_excluded=with_excluded,
            )
            data = _write(table, chosen, output)
    if as_json:
        print_json(data)
    elif output != STDOUT:
        what = count_of(data["rows"], "row") if samples else count_of(_count(data), "trial")
        click.echo(f"{what} in {output} ({output.stat().st_size:,} bytes)", err=True)


def _format(asked: str | None, output: Path) -> TableFormat | None:
    """The format of the table to be written; None: an archive."""
    ending = output.suffix.lower()
    by_ending = next((each for each in TABLES if ending == f".{each}"), None)
    if asked is None and by_ending is None and ending in OTHERS:
        raise click.UsageError(
            f"{output.name}: {ending} is not written; name a .csv, .parquet, .ndjson or .zip (an "
            "archive), or say it with --format"
        )
    found = by_ending if asked is None else next((each for each in TABLES if each == asked), None)
    if output == STDOUT and found is None:
        raise click.UsageError(
            "an archive needs a file; to stdout goes --format csv, parquet or ndjson"
        )
    if output == STDOUT and found == "parquet" and sys.stdout.isatty():
        raise click.UsageError("a Parquet file is not for a terminal: name a file, or pipe it")
    return found


def _count(data: dict[str, Any]) -> int:
    return data["rows"] if "rows" in data else len(data["trials"])


def _archive(
    repository: TrialRepository,
    ids: tuple[str, ...],
    conditions: tuple[str, ...],
    most: int | None,
    output: Path,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    from venturi.record.importing.exchange import export_trials
    from venturi.record.query.checks import conditions_for
    from venturi.record.query.paging import whole_trials

    found = (
        [repository.get(id_) for id_ in ids]
        if ids
        else whole_trials(
            repository, *conditions_for(repository, conditions), most=most, skip=_say_left_out
        )
    )
    # A trial that the user named isn't left out silently: exporting it is an error.
    trials = [trial for trial in found if ids or trial.state in TERMINAL]
    unfinished = [trial.id for trial in found if not (ids or trial.state in TERMINAL)]
    for id_ in unfinished:
        click.echo(f"left out: trial {id_} has not ended", err=True)
    with counting("export") as progress:
        export_trials(repository, trials, output, overwrite=overwrite, progress=progress)
    return {"file": str(output), "trials": [t.id for t in trials], "left_out": unfinished}


def _say_left_out(error: VenturiError) -> None:
    click.echo(f"left out: trial {error.where['trial']}: {error.message}; {error.hint}", err=True)


def _table(
    repository: TrialRepository,
    ids: tuple[str, ...],
    conditions: tuple[str, ...],
    most: int | None,
    *,
    format_: TableFormat,
    columns: tuple[str, ...],
    samples: bool,
    with_excluded: bool,
) -> TrialTable:
    from venturi.record.query.checks import conditions_for
    from venturi.record.query.conditions import Condition, Op
    from venturi.record.query.selection import Query
    from venturi.record.query.table_files import columns_of
    from venturi.record.query.trial_table import sample_table, trial_table

    if ids:  # named trials are not left out
        whole = tuple(repository.get(id_).id for id_ in ids)
        query = Query((Condition("id", Op.ONE_OF, whole),), with_excluded=True)
    else:
        query = Query(conditions_for(repository, conditions), with_excluded=with_excluded)
    with counting("read") as progress:
        table = (
            sample_table(repository, query, most=most, progress=progress)
            if samples
            else trial_table(
                repository,
                query,
                columns=columns_of(format_, columns),
                most=most,
                progress=progress,
            )
        )
    if not table.rows:
        say_none_match(repository)
    if not with_excluded:
        say_left_out(repository, query)
    if table.unreadable:
        say_unreadable(table.unreadable)
    if table.left_out:
        click.echo(
            f"{count_of(table.left_out, 'column')} with the fewest values left out: name the "
            "columns to write with --column",
            err=True,
        )
    if table.labelled and not columns:
        click.echo(
            f"{count_of(table.labelled, 'trial')} also measured by device, stage or iteration: "
            "--samples writes each",
            err=True,
        )
    return table


def _write(table: TrialTable, format_: TableFormat, output: Path) -> dict[str, Any]:
    from venturi.record.query.table_files import content

    pieces: Iterable[bytes] = content(table, format_)
    if output == STDOUT:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    else:
        with writing(output), replacing(output) as file:
            file.writelines(pieces)
    names = [column.name for column in table.columns]
    return {"file": str(output), "rows": table.rows, "columns": names}
