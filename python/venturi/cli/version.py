"""`venturi version`: of the package, the agent and the record's schema."""

from __future__ import annotations

import platform

import click

from venturi import __version__
from venturi.cli.measure.measuring import find_agent
from venturi.cli.options import json_option, print_json
from venturi.core.errors import VenturiError
from venturi.record.trial import SCHEMA_VERSION


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Show the versions of Venturi, its agent and its schema."""
    data: dict[str, object] = {
        "venturi": __version__,
        "python": platform.python_version(),
        "trial_schema": SCHEMA_VERSION,
    }
    warnings: tuple[str, ...] = ()
    try:
        agent = find_agent()
        identity = agent.run("facts").identity
        data["agent"] = {
            "path": agent.path,
            "version": identity.version,
            "git_sha": identity.git_sha,
            "build_profile": identity.build_profile,
            "target_arch": identity.target_arch,
        }
    except VenturiError as error:
        # Users need the version most when something is wrong: report the problem and go on.
        data["agent"] = None
        warnings = (f"{error.code}: {error.message}",)
    if as_json:
        print_json(data, warnings)
        return
    for name, value in data.items():
        text = " ".join(str(part) for part in value.values()) if isinstance(value, dict) else value
        click.echo(f"{name:<13}{text if text is not None else '—'}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
