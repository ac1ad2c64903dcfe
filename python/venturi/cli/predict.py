"""`venturi predict`: time and cost of a job on given machines."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from venturi.cli.advise import WIDTH, print_explanations, write_advice
from venturi.cli.html import free_for_page, html_options
from venturi.cli.machines import (
    DURABILITIES,
    catalog_options,
    job_options,
    the_catalogs,
    the_job,
    type_and_nodes,
)
from venturi.cli.options import json_option, print_json


@click.command()
@job_options
@click.option("--on", "machines", metavar="TYPE:NODES", multiple=True, required=True,
              help="On so many of these, such as i2.8xlarge:178; may be repeated.")  # fmt: skip
@catalog_options
@click.option("--durability", type=click.Choice(DURABILITIES),
              help="In this durability class; default: as the job says, or 2-io.")  # fmt: skip
@click.option("--explain", "explained", is_flag=True,
              help="Show where every figure comes from.")  # fmt: skip
@html_options
@json_option
def command(
    *,
    sort_bytes: int | None,
    job_file: Path | None,
    machines: tuple[str, ...],
    catalogs: tuple[str, ...],
    measured: tuple[str, ...],
    assumed: tuple[str, ...],
    owned: str | None,
    network: str,
    durability: str | None,
    explained: bool,
    html: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Time and cost of a job on given machines, with formula and origin (--explain)."""
    from dataclasses import replace

    from venturi.advise.explain import explain
    from venturi.advise.hardware import Request, compared, predict
    from venturi.model.catalog.find import type_named
    from venturi.model.job import Durability
    from venturi.model.node import Network

    free_for_page(html, overwrite=overwrite)
    wanted = [type_and_nodes(text) for text in machines]
    job = the_job(sort_bytes, job_file)
    if durability is not None:
        job = replace(job, durability=Durability(durability))
    today = datetime.now(UTC).date()
    found = the_catalogs(catalogs, measured, assumed, today, owned)
    request = Request(job, network=Network(network.replace("-", " ")), today=today)
    explanations = []
    for name, nodes in wanted:
        if nodes is None:
            raise click.UsageError(f"--on {name} needs a number of nodes: {name}:NODES")
        catalog = next((each for each in found if name in each.types), found[0])
        candidate = predict(job, catalog.name, type_named(catalog, name), nodes, request.network)
        explanations.append(explain(request, candidate, nodes))
    options = [each.option for each in explanations]
    if html is not None:
        advice = compared(request, options, found)
        write_advice(advice, found, explanations, html, overwrite=overwrite)
    if explained:
        print_explanations(tuple(explanations), as_json=as_json)
        return
    from venturi.present.advice import option_data, prediction_table, unpriced

    if as_json:
        print_json({"job": job.name, "options": [option_data(each) for each in options]})
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    console.print(f"{job.name}, {job.durability.value}", style="bold", markup=False)
    console.print(prediction_table(options))
    for name, why in unpriced(options):
        console.print(f"  no cost of {name}: {why}", style="dim", markup=False)
    if any(each.lower_bound for each in options):
        console.print("  ≥ at least: of a rate only an upper bound is known", style="dim")
