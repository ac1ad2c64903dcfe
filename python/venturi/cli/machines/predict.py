"""`venturi predict`: time and cost of a job on given machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import wraps
from itertools import starmap
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.machines.advise import print_explanations, write_advice
from venturi.cli.machines.job_options import (
    DURABILITIES,
    catalog_options,
    limit_options,
    the_catalogs,
    type_and_nodes,
    workload_options,
)
from venturi.cli.open_repository import open_repository
from venturi.cli.options import DURATION, F, json_option, print_json
from venturi.cli.screen import details_option, next_step, show
from venturi.core.errors import VenturiError
from venturi.core.units import format_duration, format_usd
from venturi.machines.catalog import Catalog
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.choices import Durability, NetworkChoice
from venturi.terminal.table import Paragraph

if TYPE_CHECKING:
    from venturi.machines.advice.limits import Limits
    from venturi.machines.advice.option import Candidate, Option, ReferenceTrial
    from venturi.machines.advice.question import HardwareRequest
    from venturi.machines.cost.job import Job
    from venturi.machines.cost.spot import SpotCost

_EXPLAIN = "--explain to see which rates and prices this rests on"
_STARTUP = "--startup with your cluster's start-up time (0s if it runs already)"


def errors_option(command: F) -> F:
    """`--errors`, which answers from the record and takes no job."""

    @wraps(command)
    def with_errors(*, errors: bool, **others: Any) -> Any:
        if errors:
            given = ("trial_id", "sort_bytes", "data_bytes", "job_file", "machines")
            if any(others[name] for name in given):
                raise click.UsageError("give --errors without a job and without --on")
            return _show_errors(as_json=others["as_json"])
        if not others["machines"]:
            raise click.UsageError("Missing option '--on'.")
        return command(**others)

    return click.option(
        "--errors",
        is_flag=True,
        help="Instead, show how far the predictions stored by `venturi run --predict` were off.",
    )(with_errors)  # type: ignore[return-value]  # has one option more


@click.command()
@errors_option
@workload_options
@click.option(
    "--on",
    "machines",
    metavar="TYPE:NODES",
    multiple=True,
    help="Machine type and number, such as i2.8xlarge:178; repeatable.",
)
@limit_options
@catalog_options
@click.option(
    "--durability",
    type=click.Choice(DURABILITIES),
    help="Durability class. Default: the job file's, else 2-io.",
)
@click.option(
    "--took",
    "took_s",
    metavar="TIME",
    type=DURATION,
    multiple=True,
    help="Actual time of the job on the machines of --on, in their order, without start-up. Shows "
    "its cost next to the model's.",
)
@click.option(
    "--spot",
    metavar="USD:LOSSES|catalog",
    help="Also show the cost on spot nodes. Give USD and losses per node and hour, such as "
    "0.82:0.05; default: the catalog's.",
)
@click.option("--explain", "explained", is_flag=True, help="Show the origin of every figure.")
@html_options()
@details_option
@json_option
def command(
    *,
    job: Job,
    limits: Limits,
    machines: tuple[str, ...],
    catalogs: tuple[str, ...],
    measured: tuple[str, ...],
    assumed: tuple[str, ...],
    owned: str | None,
    volumes: str | None,
    network: str,
    durability: str | None,
    took_s: tuple[float, ...],
    spot: str | None,
    explained: bool,
    html: PageFile | None,
    as_json: bool,
) -> None:
    """Predict a job's time and cost on given machines.

    With --explain, each figure shows its formula and the origin of its inputs. With --errors, see
    how far predictions of your own runs were from their times.
    """
    from venturi.machines.advice.explain import explain
    from venturi.machines.advice.hardware import compared
    from venturi.machines.advice.question import HardwareRequest

    wanted = [type_and_nodes(text) for text in machines]
    if took_s:  # a job's time is measured on a cluster that runs
        job = replace(job, startup_s=0.0, startup_range_s=None)
    wanted_class = durability or (volumes and Durability.VOLUMES)
    if wanted_class:
        job = replace(job, durability=Durability(wanted_class))
    today = datetime.now(UTC).date()
    types = [name for name, _ in wanted]
    found = the_catalogs(
        catalogs,
        measured,
        assumed,
        today,
        owned,
        types=types,
        volumes=volumes,
        limits=limits.of_prices(),
    )
    request = HardwareRequest(job, network=NetworkChoice(network.replace("-", " ")), today=today)
    candidates = _predicted(request, wanted, found)
    explanations = [explain(request, each, int(each.counts[0])) for each in candidates]
    options = [each.option for each in explanations]
    runs = _runs(candidates, took_s)
    on_spot = {
        f"{each.nodes:,} {each.instance_type}": _spot(spot, each, found) for each in options if spot
    }
    if html is not None:
        write_advice(compared(request, options, found), found, explanations, html)
    if explained:
        print_explanations(tuple(explanations), as_json=as_json)
        return
    from venturi.terminal.advice import prediction_screen, startup_decides, unpriced

    if as_json:
        data: dict[str, Any] = {"job": job.name, "options": options}
        if runs:
            data["ran"] = runs
        if spot is not None:
            data["spot"] = on_spot
        print_json(data)
        return

    show(*prediction_screen(explanations))
    next_step(f"add {_STARTUP if startup_decides(explanations[0]) else _EXPLAIN}")
    for name, why in unpriced(options):
        show(Paragraph(f"no cost of {name}: {why}", "dim", 2))
    for line in (*map(_run_line, runs), *starmap(_spot_line, on_spot.items())):
        show(Paragraph(line, indent=2))
    if any(each.lower_bound for each in options):
        show(Paragraph("≥ at least: of a rate only an upper bound is known", "dim", 2))


def _show_errors(*, as_json: bool) -> None:
    """Predicted against measured times of all runs."""
    from venturi.core import settings
    from venturi.jobs.fleet.bottlenecks import job_bottlenecks
    from venturi.record.query.predicted import predicted_trials
    from venturi.results.predictions.errors import prediction_errors
    from venturi.terminal.predictions import error_lines

    with open_repository() as repository:
        trials = predicted_trials(repository)
        found = prediction_errors(trials, job_bottlenecks(repository, trials, settings.load().home))
    if as_json:
        print_json({**asdict(found), "sentence": found.sentence})
        return
    if not found.runs:
        next_step("store one", "venturi run terasort --predict")
    show(*error_lines(found))


def _predicted(
    request: HardwareRequest, wanted: Sequence[tuple[str, int | None]], catalogs: Sequence[Catalog]
) -> list[Candidate]:
    from venturi.machines.advice.hardware import predict

    made = []
    for name, nodes in wanted:
        if nodes is None:
            raise click.UsageError(f"--on {name} needs a number of nodes: {name}:NODES")
        catalog = next((each for each in catalogs if name in each.types), catalogs[0])
        instance_type = type_named(catalog, name)
        made.append(predict(request.job, catalog.name, instance_type, nodes, request.network))
    return made


def _runs(candidates: Sequence[Candidate], took_s: Sequence[float]) -> list[ReferenceTrial]:
    from venturi.machines.advice.option import measured_job

    if took_s and len(took_s) != len(candidates):
        raise click.UsageError(f"--took is given {len(took_s)} times, --on {len(candidates)} times")
    return [measured_job(each, seconds) for each, seconds in zip(candidates, took_s, strict=False)]


def _run_line(run: ReferenceTrial) -> str:
    told = f"{run.nodes:,} {run.instance_type} took {format_duration(run.time_s)}"
    if run.usd is not None:
        told += f" and cost {format_usd(run.usd)}"
    told += f"; the model says {format_duration(run.model_s)}"
    if run.model_usd is not None:
        told += f" and {format_usd(run.model_usd)}"
    return f"{told}: {100 * run.error:+.1f} %"


def _spot(text: str, option: Option, catalogs: Sequence[Catalog]) -> SpotCost:
    """The time and cost of the option on interruptible nodes."""
    from venturi.machines.cost.price import Tariff
    from venturi.machines.cost.spot import spot_cost, spot_of

    if text == "catalog":
        catalog = next(each for each in catalogs if each.name == option.catalog)
        instance_type = catalog.types[option.instance_type]
        known = spot_of(instance_type)
        if known is None:
            facts = (instance_type.fact(name) for name in ("spot_price", "spot_loss_rate"))
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"--spot catalog: of {option.instance_type} "
                + "; ".join(fact.note for fact in facts if fact.value is None),
                where={"instance_type": option.instance_type, "catalog": option.catalog},
                hint="write --spot USD:LOSSES, the price of a node and hour and the losses to "
                "expect in it, such as --spot 0.82:0.05",
            )
        tariff, per_node_hour = known
    else:
        price, _, losses = text.partition(":")
        try:
            tariff, per_node_hour = Tariff(float(price), "USD", source="--spot"), float(losses)
        except ValueError as error:
            raise click.UsageError(
                f"--spot {text!r} is neither `catalog` nor USD:LOSSES, such as 0.82:0.05"
            ) from error
    return spot_cost(tariff, option.time_s.value, option.nodes, per_node_hour)


def _spot_line(name: str, cost: SpotCost) -> str:
    if cost.metered is None or cost.elapsed_s is None:
        return f"spot, {name}, every loss starting the job again: do not use: {cost.do_not_use}"
    return (
        f"spot, {name}, every loss starting the job again: ${cost.metered.mean:,.2f} in the mean "
        f"(median ${cost.metered.p50:,.2f}, 95 % below ${cost.metered.p95:,.2f}), "
        f"{cost.losses:.2f} losses expected; time: median {format_duration(cost.elapsed_s.p50)}, "
        f"95 % below {format_duration(cost.elapsed_s.p95)}"
    )
