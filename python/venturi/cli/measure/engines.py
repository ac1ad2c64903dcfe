"""`venturi engines`: lists the engines, installs them, and locates the Spark plugins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.screen import show
from venturi.core import settings
from venturi.core.errors import ExitCode
from venturi.measure.engines.registry import ENGINES, engine
from venturi.measure.engines.registry import install as fetch
from venturi.record.job_account import TIERS_SETTING
from venturi.terminal.table import UNKNOWN, Paragraph, table

if TYPE_CHECKING:
    from venturi.measure.engines.protocol import Availability


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the engines; install them; locate the Spark plugins.

    The list shows each engine's version, missing parts and how to get them. With --json it also has
    each part's location, its Java and its deployments.
    """
    if context.invoked_subcommand is not None:
        return
    from venturi.cli.measure.measuring import this_host

    home = settings.load().home
    found = [
        engine(name, this_host(), home=home, environ=os.environ).available() for name in ENGINES
    ]
    if as_json:
        print_json([{**asdict(each), "usable": each.usable} for each in found])
        return
    show(*_lines(found))


def _lines(found: Sequence[Availability]) -> Iterator[Paragraph]:
    """A row per engine; below one that is not ready, the command to run."""
    made = table("engine", "version", "state", left=3)
    for each in found:
        made.add(each.engine, each.version or UNKNOWN, "ready" if each.usable else "not ready")
    heading, *rows = made.lines()
    yield Paragraph(heading, "dim")
    for row, each in zip(rows, found, strict=True):
        lacks = "; ".join(lack.what for lack in each.missing)
        yield Paragraph(f"{row}: {lacks}" if lacks else row)
        if lacks:
            yield Paragraph("type: " + "; ".join(lack.mend for lack in each.missing), "cyan", 2)


@command.command("install")
@click.argument(
    "name",
    metavar="ENGINE",
    type=click.Choice([name for name, kind in ENGINES.items() if kind.installer]),
)
@json_option
def install(name: str, *, as_json: bool) -> int:
    """Install ENGINE into VENTURI_HOME (mapreduce, from Maven Central).

    mapreduce is Apache Hadoop; every jar is checked against its pinned SHA-256. Spark comes with
    `pip install 'venturi[spark]'`.
    """
    from venturi.cli.measure.measuring import this_host

    def say(text: str) -> None:
        if not as_json:
            click.echo(text, err=True)

    found = fetch(name, this_host(), settings.load().home, os.environ, say)
    folder, anew = str(found.folder), found.anew
    if as_json:
        print_json({"engine": name, "version": found.version, "dir": folder, "fetched": anew})
    else:
        click.echo(f"{found.title} {found.version} is in {folder}" + ("" if anew else " already"))
    return ExitCode.OK


@command.command("jar")
@click.argument(
    "name",
    metavar="NAME",
    type=click.Choice(("tiered-storage", "tiered-storage-service", "task-names")),
)
@click.option(
    "--spark",
    "version",
    metavar="VERSION",
    help="Version of your Spark, such as 4.1 or 3.5 (for tiered-storage).",
)
@json_option
def jar(name: str, version: str | None, *, as_json: bool) -> None:
    """Print the path of a plugin's jar for your own Spark.

    \b
    tiered-storage          tiered local storage (--jars)
    tiered-storage-service  lets a shuffle service delete files on every tier early
                            (SPARK_DAEMON_CLASSPATH of standalone Workers)
    task-names              names tasks in recordings of `venturi trace` (--jars)

    Pass the path to `spark-submit --jars`, or as the list says. Without tiered-storage-service, an
    external shuffle service deletes these files when the application ends.
    """
    from venturi.measure.engines.spark import task_names, tiers

    if (name == "tiered-storage") != (version is not None):
        needs = "give the version of your Spark" if version is None else "only for tiered-storage"
        raise click.UsageError(f"--spark: {needs}")
    if version is not None:
        found = {"jar": str(tiers.jar(version)), "plugin": tiers.PLUGIN, "setting": TIERS_SETTING}
    elif name == "task-names":
        found = {"jar": str(task_names.jar()), "plugin": task_names.PLUGIN}
    else:
        found = {"jar": str(tiers.service_jar())}
    if as_json:
        print_json(found)
    else:
        click.echo(found["jar"])
