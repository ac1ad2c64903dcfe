"""`venturi token`: named tokens for servers of this repository."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.login import login
from venturi.cli.open_repository import MomentType, open_repository
from venturi.cli.options import json_option, print_change, print_json
from venturi.cli.screen import show_list
from venturi.terminal.table import UNKNOWN

if TYPE_CHECKING:
    from venturi.record.access.tokens import Token


_UNTIL = MomentType(1, "write it like 90d, 2027-01-31 or 2027-01-31T12:00")


@click.group()
def command() -> None:
    """Issue and revoke named access tokens.

    A token's name is recorded as the author of every change made with it. A new, expired or revoked
    token takes effect immediately on every server of the repository.
    """


@command.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["read", "write"]),
    required=True,
    help="read: view everything; write: also upload, exclude and save views.",
)
@click.option(
    "--expires",
    type=_UNTIL,
    metavar="WHEN",
    help="Expiry: a date (UTC), or a duration such as 90d. Default: until revoked.",
)
@json_option
def add(name: str, role: str, expires: datetime | None, as_json: bool) -> None:
    """Issue the token NAME and print its secret once.

    \b
    (umask 077; venturi token add ci --role write --expires 90d > ci.token)
    """
    from venturi.record.access import tokens

    with open_repository() as repository:
        granted: tokens.Role = "write" if role == "write" else "read"
        made, secret = tokens.add(repository, name, granted, login(), expires)
    if as_json:
        print_json({**_data(made), "token": secret})
        return
    until = f" until {made.expires_at:%Y-%m-%d %H:%M} UTC" if made.expires_at else ""
    click.echo(f"{made.name}: may {made.role}{until}; the secret is not shown again", err=True)
    click.echo(secret)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List tokens with their last use (to the minute), without secrets."""
    from venturi.record.access import tokens

    with open_repository() as repository:
        found = [_data(each) for each in tokens.find(repository)]
    show_list(found, as_json, "no tokens", _row, left=7, spare=("since (UTC)", "by"))


@command.command("revoke")
@click.argument("name")
@json_option
def revoke(name: str, as_json: bool) -> None:
    """Revoke the token NAME and end all its sessions, immediately and permanently."""
    from venturi.record.access import tokens

    with open_repository() as repository:
        ended = tokens.revoke(repository, name)
    print_change(_data(ended), as_json, f"{ended.name}: revoked")


def _data(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role,
        "state": token.state(datetime.now(UTC)),
        "created_at": token.created_at.isoformat(),
        "created_by": token.author.text,
        "expires_at": token.expires_at and token.expires_at.isoformat(),
        "last_used_at": token.last_used_at and token.last_used_at.isoformat(),
        "revoked_at": token.revoked_at and token.revoked_at.isoformat(),
    }


def _row(each: dict[str, Any]) -> dict[str, str]:
    def minute(moment: str | None) -> str:
        return moment[:16].replace("T", " ") if moment else UNKNOWN

    return {
        "name": each["name"],
        "role": each["role"],
        "state": each["state"],
        "since (UTC)": minute(each["created_at"]),
        "by": each["created_by"],
        "expires": minute(each["expires_at"]),
        "last used": minute(each["last_used_at"]),
    }
