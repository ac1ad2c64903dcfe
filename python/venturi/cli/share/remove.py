"""`venturi remove`: trials deleted for good."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.login import login
from venturi.cli.open_repository import open_repository, say_none_match
from venturi.cli.options import json_option, print_json, where_option
from venturi.core.units import format_bytes_decimal
from venturi.core.wording import count_of

if TYPE_CHECKING:
    from venturi.record.upkeep.removal import RemovableTrials, Removal


@click.command()
@where_option(
    "Remove trials with this value of a column or configuration key; id=ID is a single trial.",
    "texts",
    required=True,
)
@click.option("--reason", metavar="TEXT", help="Reason for the removal; required with --yes.")
@click.option(
    "--author",
    metavar="NAME",
    help="Name recorded as the author of this change, in addition to the login.",
)
@click.option("--yes", is_flag=True, help="Delete the trials. Without it, nothing is changed.")
@json_option
def command(
    *, texts: tuple[str, ...], reason: str | None, author: str | None, yes: bool, as_json: bool
) -> None:
    """Delete trials for good (a dry run without --yes).

    Without --yes it lists the trials and their size. Unfinished trials stay; excluded trials are
    removed like others. The removal stays on record with its author, time, conditions and reason
    (`venturi repository removals`). Removed trials are not imported again. To leave trials out
    reversibly, use `venturi exclude`.

    \b
    venturi remove --where experiment=warm-up-of-lab --where "started_at<2026-01-01"
    venturi remove --where id=01JZX3J8V0W4Q6N7T2B5 --reason "disk was failing" --yes
    """
    from venturi.record.query.checks import conditions_for
    from venturi.record.upkeep import removal

    if yes and reason is None:
        raise click.UsageError("say why they are removed with --reason TEXT: it stays on record")
    with open_repository() as repository:
        conditions = conditions_for(repository, texts)
        done: Removal | None = None
        if yes and reason is not None:
            by = login().saying(author)
            done, found = removal.remove(repository, conditions, texts, by, reason)
        else:
            found = removal.removable(repository, conditions)
        if not found.ids and not found.unfinished:
            say_none_match(repository)
    if as_json:
        print_json(_data(done, found))
        return
    for id_ in found.ids:
        click.echo(id_)
    _print_removal(done, found, yes=yes)


def _data(done: Removal | None, found: RemovableTrials) -> dict[str, Any]:
    return {"removal": None if done is None else done.id, **asdict(found)}


def _print_removal(done: Removal | None, found: RemovableTrials, *, yes: bool) -> None:
    if found.unfinished:
        click.echo(
            f"{count_of(len(found.unfinished), 'trial')} not ended and left alone: "
            f"{', '.join(found.unfinished[:5])}",
            err=True,
        )
    size = (
        f"{count_of(len(found.ids), 'trial')}, {format_bytes_decimal(found.artifact_bytes)} of "
        f"artifacts and {format_bytes_decimal(found.record_bytes)} of records"
    )
    if done is not None:
        click.echo(f"{done.id}: removed {size}", err=True)
    elif found.ids and not yes:
        click.echo(
            f"would remove {size}; nothing was changed: --yes --reason TEXT removes them for good",
            err=True,
        )
