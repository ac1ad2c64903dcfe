"""`venturi backup`: the whole repository in one file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import json_option, print_json
from venturi.cli.outputs import ready_file, writing
from venturi.core.units import format_bytes_decimal
from venturi.core.wording import count_of

_SHOWN = 5


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_option
def command(*, file: Path, overwrite: bool, as_json: bool) -> None:
    """Back up the whole repository into one file.

    FILE holds a consistent snapshot, even while other commands write. It has trials with their
    artifacts, exclusions, views, digests of tokens, quarantined records and removals. `venturi
    restore` reads it into SQLite or PostgreSQL, whichever it came from. FILE appears when it is
    complete. Only its owner can read it.
    """
    from venturi.record.upkeep.backup import back_up

    ready_file(file, overwrite=overwrite)
    with open_repository() as repository, counting("backup", "bytes") as progress, writing(file):
        copied = back_up(repository, file, overwrite=overwrite, progress=progress)
    for what, paths in (
        ("are missing from this repository's folder and from the backup", copied.missing),
        ("differ from their recorded digest, and are in the backup unchanged", copied.damaged),
    ):
        if paths:
            names = ", ".join(paths[:_SHOWN]) + (" and others" if len(paths) > _SHOWN else "")
            click.echo(f"warning: {count_of(len(paths), 'artifact')} {what}: {names}", err=True)
    if as_json:
        print_json({"file": str(file), "size_bytes": file.stat().st_size, **asdict(copied)})
        return
    click.echo(
        f"{count_of(copied.trials, 'trial')} and {count_of(copied.artifacts, 'artifact')} in "
        f"{file} ({format_bytes_decimal(file.stat().st_size)})",
        err=True,
    )
