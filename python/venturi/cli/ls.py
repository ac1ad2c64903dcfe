"""`venturi ls`: the trials in the repository, newest first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.repository import filter_options, filters, open_repository
from venturi.units import format_bytes_decimal, format_duration

if TYPE_CHECKING:
    from venturi.record.trial import Trial

_STYLES = {"succeeded": "green", "failed": "red", "invalid": "red", "interrupted": "yellow"}


@click.command()
@filter_options(default_limit=50)
@json_option
def command(as_json: bool, **options: Any) -> None:
    """List recorded trials, newest first.

    GROUP is the key of a repeat group: trials with the same key differ in nothing that was chosen.
    """
    with open_repository() as repository:
        trials = repository.find(**filters(options))
    if as_json:
        print_json([summary(trial) for trial in trials])
        return
    if not trials:
        click.echo("no trials match", err=True)
        return
    _print_table(trials)
    if len(trials) == options["limit"]:
        click.echo(f"the newest {len(trials)}; --limit shows more", err=True)


def summary(trial: Trial) -> dict[str, object]:
    """What a listing says of a trial."""
    return {
        "id": trial.id,
        "started_at": trial.started_at.isoformat(),
        "workload": trial.workload.name,
        "workload_version": trial.workload.version,
        "scale": trial.workload.scale,
        "input_bytes": trial.workload.input_bytes,
        "engine": trial.engine.name,
        "engine_version": trial.engine.version,
        "state": trial.state.value,
        "failure": trial.failure and trial.failure.code,
        "elapsed_s": trial.elapsed_s,
        "experiment": trial.experiment,
        "group": trial.group_key,
        "repetition": trial.repetition,
        "warm_up": trial.warm_up,
        "provenance": trial.provenance.kind.value,
        "warnings": len(trial.warnings),
    }


def _print_table(trials: list[Trial]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "started (UTC)", "workload", "engine", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("input", "time"):
        table.add_column(name, no_wrap=True, justify="right")
    for name in ("group", "experiment"):
        table.add_column(name, no_wrap=True)
    for trial in trials:
        name = f"{trial.workload.name}/{trial.workload.scale}"
        state = trial.state.value + (" (warm-up)" if trial.warm_up else "")
        table.add_row(
            trial.id,
            f"{trial.started_at:%Y-%m-%d %H:%M}",
            Text(name if trial.workload.scale else trial.workload.name),
            Text(trial.engine.name),
            Text(state, style=_STYLES.get(trial.state.value, "")),
            format_bytes_decimal(trial.workload.input_bytes),
            format_duration(trial.elapsed_s),
            trial.group_key,
            Text(trial.experiment or "—"),
        )
    # Into a pipe goes the whole line; a terminal gets its own width.
    width = None if sys.stdout.isatty() else 250
    Console(width=width, soft_wrap=width is not None).print(table)
