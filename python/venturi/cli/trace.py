"""`venturi trace`: what a job did to its disks, of a trace of its block I/O."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.measuring import find_agent
from venturi.cli.options import json_option, print_json, quiet_option
from venturi.cli.progress import progress_bars
from venturi.cli.screen import show as show_on_screen


@click.group()
def command() -> None:
    """What a job did to its disks, of a trace of its block I/O."""


@command.command("show")
@click.argument("path", type=click.Path(path_type=Path))
@quiet_option
@json_option
def show(path: Path, *, quiet: bool, as_json: bool) -> None:
    """Show sizes, latencies, seeks and runs of the requests in PATH.

    PATH is the folder with blktrace's files, one such file, what `blkparse -d` wrote, or text by
    blkparse in its default format, ftrace or perf script. What is missing or damaged in it is told.
    """
    with progress_bars(enabled=not quiet and not as_json) as on_progress:
        result = find_agent().run("trace", "analyze", path.absolute(), on_progress=on_progress)
    if as_json:
        print_json(result.data["trace"], tuple(each.message for each in result.warnings))
        return
    from venturi.measure.hosts.agent_results import TraceAnalyzed
    from venturi.present.io_trace import parts

    show_on_screen(*parts(result.read(TraceAnalyzed).trace))
    for warning in result.warnings:
        click.echo(f"warning[{warning.code}]: {warning.message}", err=True)
