"""`venturi export`: trials and their artifacts in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.outputs import ready_file
from venturi.cli.repository import conditions_of, counting, filter_options, open_repository
from venturi.record.trial import TERMINAL
from venturi.wording import count_of


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Every trial that has ended.")
@filter_options(default_limit=None)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True,
    help="The archive to write (a zip).",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the archive if it is there.")
@json_option
def command(
    ids: tuple[str, ...],
    everything: bool,
    output: Path,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write trials and their artifacts to one archive.

    Choose them by ID (or its beginning; `last`, `last~1`), by --all, or by the options that
    `ls` has too. Trials that have not ended are left out, and named. `venturi import` reads the
    archive; importing it twice changes nothing.
    """
    conditions, most = conditions_of(options), options["limit"] or None
    if sum((bool(ids), everything, bool(conditions or most))) != 1:
        raise click.UsageError(
            "say which trials to export: their IDs, --all, or filters such as --workload NAME"
        )
    ready_file(output, overwrite=overwrite)
    from venturi.record.exchange import export_trials
    from venturi.record.query.paging import whole_trials

    with open_repository() as repository:
        found = (
            [repository.get(id_) for id_ in ids]
            if ids
            else whole_trials(repository, *conditions, most=most)
        )
        # One that was asked for by its id is not left out silently: exporting it is an error.
        trials = [trial for trial in found if ids or trial.state in TERMINAL]
        unfinished = [trial.id for trial in found if not (ids or trial.state in TERMINAL)]
        for id_ in unfinished:
            click.echo(f"left out: trial {id_} has not ended", err=True)
        with counting("export") as progress:
            export_trials(repository, trials, output, overwrite=overwrite, progress=progress)
    if as_json:
        data = {"file": str(output), "trials": [t.id for t in trials], "left_out": unfinished}
        print_json(data)
    else:
        click.echo(
            f"{count_of(len(trials), 'trial')} in {output} ({output.stat().st_size:,} bytes)",
            err=True,
        )
