"""`venturi tiers`: the plugin that fills fast local disks first, for a Spark of one's own."""

from __future__ import annotations

import click

from venturi.cli.options import json_option, print_json
from venturi.record.job_account import TIERS_SETTING


@click.group()
def command() -> None:
    """Fast local disks first, slow ones when they are full, in stock Spark.

    docs/guide/jobs/tiers.md says how. `venturi run --engine spark --tiers` measures what it brings.
    """


@command.command("jar")
@click.option(
    "--spark", "version", required=True, metavar="VERSION", help="Of Spark, such as 4.1 or 3.5."
)
@json_option
def jar(*, version: str, as_json: bool) -> None:
    """Print the path of the plugin, for `spark-submit --jars`."""
    from venturi.measure.engines.spark import tiers

    found = tiers.jar(version)
    if as_json:
        print_json({"jar": str(found), "plugin": tiers.PLUGIN, "setting": TIERS_SETTING})
    else:
        click.echo(str(found))


@command.command("service-jar")
@json_option
def service_jar(*, as_json: bool) -> None:
    """Print the path of a class for external shuffle services, which need not have it.

    With it a service deletes a shuffle's files on every tier at once, without it only at the end of
    the application. On standalone Workers its path is SPARK_DAEMON_CLASSPATH.
    """
    from venturi.measure.engines.spark import tiers

    found = tiers.service_jar()
    if as_json:
        print_json({"jar": str(found)})
    else:
        click.echo(str(found))
