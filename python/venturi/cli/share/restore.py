"""`venturi restore`: an empty repository filled from a backup."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import InputPath, json_option, print_change
from venturi.core.errors import unreadable
from venturi.core.wording import count_of


@click.command()
@click.argument("file", type=InputPath(dir_okay=False))
@click.option(
    "--keep-tokens",
    is_flag=True,
    help="Keep the backup's tokens valid, including those revoked after the backup.",
)
@json_option
def command(*, file: Path, keep_tokens: bool, as_json: bool) -> None:
    """Restore a backup into an empty repository.

    FILE was written by `venturi backup`. Every file and table is compared with its digest; a
    damaged backup or a killed command restores nothing. Trials that were running at the time of the
    backup become interrupted. The database may be of a different kind than the original.
    """
    from venturi.record.upkeep.backup import read_manifest, restore

    try:
        read_manifest(file)  # before a repository is made for it
    except OSError as error:
        raise unreadable(file, error, "VEN-BACKUP-FORMAT") from error
    with open_repository() as repository, counting("restore", "bytes") as progress:
        restored = restore(repository, file, keep_tokens=keep_tokens, progress=progress)
    if restored.quarantined:
        click.echo(
            f"{count_of(restored.quarantined, 'trial')} cannot be read and went into "
            "quarantine; `venturi repository quarantined` says why",
            err=True,
        )
    if restored.interrupted:
        click.echo(
            f"{count_of(restored.interrupted, 'trial')} had not ended and count as interrupted",
            err=True,
        )
    if restored.revoked:
        click.echo(
            f"{count_of(restored.revoked, 'token')} revoked: the backup does not know which have "
            "been since it was made; `venturi token add` makes new ones, --keep-tokens leaves all",
            err=True,
        )
    what = f"{count_of(restored.trials, 'trial')} and {count_of(restored.artifacts, 'artifact')}"
    print_change(restored, as_json, f"restored {what}")
