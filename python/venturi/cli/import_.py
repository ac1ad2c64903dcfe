"""`venturi import`: trials from archives."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.repository import counting, open_repository
from venturi.errors import ExitCode


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@json_option
def command(files: tuple[Path, ...], as_json: bool) -> int:
    """Read trials from archives that `venturi export` wrote.

    Trials that are here already stay as they are. A damaged trial is refused, with its line in the
    archive and the reason; the others are taken in, and the exit status is 1.
    """
    from venturi.record.exchange import import_archive

    reports = {}
    with open_repository() as repository:
        for file in files:
            with counting(f"import {file.name}") as progress:
                reports[file] = report = import_archive(repository, file, progress=progress)
            click.echo(
                f"{file}: {len(report.added)} added, {len(report.already_present)} already here, "
                f"{len(report.refused)} refused",
                err=True,
            )
            for refusal in report.refused:
                click.echo(
                    f"  line {refusal.line} (trial {refusal.trial}): "
                    f"[{refusal.code}] {refusal.reason}",
                    err=True,
                )
    if as_json:
        print_json([{"file": str(file), **asdict(report)} for file, report in reports.items()])
    return ExitCode.USER if any(report.refused for report in reports.values()) else ExitCode.OK
