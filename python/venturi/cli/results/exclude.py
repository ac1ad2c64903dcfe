"""`venturi exclude`: rules that leave trials out, on record and reversible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from venturi.cli.login import login
from venturi.cli.open_repository import open_repository
from venturi.cli.options import F, json_option, print_change, where_option
from venturi.cli.screen import show_list
from venturi.core.wording import count_of

if TYPE_CHECKING:
    from venturi.record.access.exclusions import Exclusion


author_option: Callable[[F], F] = click.option(
    "--author",
    metavar="NAME",
    help="Name recorded as the author of this change, in addition to the login name.",
)


@click.group()
def command() -> None:
    """Exclude trials from results by reversible rules.

    No trial is changed or deleted: revoking a rule brings its trials back.
    """


@command.command("add")
@where_option(
    "Exclude trials with this value of a column or configuration key.",
    "texts",
    required=True,
)
@click.option("--reason", required=True, metavar="TEXT", help="Reason for the exclusion.")
@author_option
@json_option
def add(texts: tuple[str, ...], reason: str, author: str | None, as_json: bool) -> None:
    """Record a rule. It also covers trials that you add later.

    \b
    venturi exclude add --where workload=terasort --where "elapsed_s>5000" \\
        --reason "the disk of node 3 was failing"
    """
    from venturi.record.access import exclusions
    from venturi.record.query.checks import conditions_for, near_values
    from venturi.record.query.conditions import written

    with open_repository() as repository:
        # Later trials may bring a value that none has yet.
        conditions = conditions_for(repository, texts, values=False)
        named = [text for condition in conditions for text in written(condition)]
        made = exclusions.add(repository, named, login().saying(author), reason)
        if not made.trials:
            click.echo("warning: the rule covers no trial so far", err=True)
            for line in near_values(repository, conditions):
                click.echo(f"  {line}", err=True)
    count = count_of(made.trials, "trial")
    print_change(
        made, as_json, f"{made.id}: {count} {'is' if made.trials == 1 else 'are'} left out"
    )


@command.command("revoke")
@click.argument("id")
@author_option
@json_option
def revoke(id: str, author: str | None, as_json: bool) -> None:
    """Revoke a rule. The author stays on record."""
    from venturi.record.access import exclusions

    with open_repository() as repository:
        revoked = exclusions.revoke(repository, id, login().saying(author))
    count = count_of(revoked.trials, "trial")
    print_change(revoked, as_json, f"{revoked.id}: revoked; it covered {count}")


@command.command("ls")
@click.option("--all", "with_revoked", is_flag=True, help="Also list revoked rules.")
@json_option
def ls(with_revoked: bool, as_json: bool) -> None:
    """List the rules, with the number of trials each covers."""
    from venturi.record.access import exclusions

    with open_repository() as repository:
        found = [
            each for each in exclusions.find(repository) if with_revoked or each.revoked_at is None
        ]
    none, prose, spare = "no exclusions", ("conditions", "reason"), ("since (UTC)", "by")
    show_list(found, as_json, none, _row, left=3, prose=prose, spare=spare)


def _row(each: Exclusion) -> dict[str, str]:
    ended = ""
    if each.revoked_at is not None and each.revoked_by is not None:
        ended = f"revoked {each.revoked_at:%Y-%m-%d} by {each.revoked_by.text}: "
    return {
        "id": each.id,
        "since (UTC)": f"{each.created_at:%Y-%m-%d %H:%M}",
        "by": each.author.text,
        "trials": f"{each.trials:,}",
        "conditions": ", ".join(each.conditions),
        "reason": ended + each.reason,
    }
