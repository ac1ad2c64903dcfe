"""`venturi simulate`: a job on machines that are not equal and may be lost, many times over."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, command_line, html_options
from venturi.cli.machines.job_options import (
    assume_option,
    job_options,
    measured_option,
    the_catalogs,
    the_job,
    type_and_nodes,
)
from venturi.cli.options import DURATION, json_option, print_json, quiet_option
from venturi.cli.progress import progress_bars
from venturi.cli.screen import show
from venturi.core.quantity import UNLIMITED, Quantity, ValueKind
from venturi.core.units import format_duration, format_usd
from venturi.machines.catalog import InstanceType
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.choices import Durability
from venturi.terminal.table import pairs, table

if TYPE_CHECKING:
    from venturi.machines.advice.option import OptionPrice
    from venturi.machines.cost.node import Node
    from venturi.machines.simulate.distribution import RateDistribution
    from venturi.machines.simulate.scenario import Scenario
    from venturi.machines.simulate.simulation import SimulationResult

TRIALS_MAX = 1_000_000
LEVELS = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
_BINS, _BAR = 16, 40
_DISTRIBUTION = "DIST"
_KIND = re.compile(r"(?!shared:|unlimited)[A-Za-z][\w-]*(:|,|$)")  # else a rate, or K: and a rate
_DESCRIBED = ("catalog", "measured", "assumed")  # options that describe a type


@click.command()
@job_options
@click.option("--on", required=True, metavar="TYPE:N", help="Instance type and number of nodes.")
@click.option(
    "--catalog",
    metavar="NAME|FILE",
    help="Catalog with the instance type. Default: the shipped catalog that has it.",
)
@measured_option
@assume_option
@click.option(
    "--trials",
    type=click.IntRange(1, TRIALS_MAX),
    default=2000,
    show_default=True,
    help="Number of simulated executions.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Random seed; the same seed gives the same answer.",
)
@click.option(
    "--durability",
    type=click.Choice(["2-io", "replicated", "volumes"]),
    help="Fault tolerance. Default: the job's, else 2-io.",
)
@click.option("--storage", metavar=_DISTRIBUTION, help="Rate of a node's local disks.")
@click.option("--network", metavar=_DISTRIBUTION, help="Rate of a node's network.")
@click.option(
    "--volumes",
    metavar="KIND:N,...|K:DIST",
    help="Network volumes per node: N of a kind in the catalog with its price, such as gp3:4 (as "
    "for `advise`), or K volumes and the rate of each.",
)
@click.option(
    "--skew",
    metavar="FACTOR|cv:PERCENT",
    help="Largest share of the shuffled data, as a multiple of the mean, or the spread of the "
    "shares.",
)
@click.option(
    "--spare",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Provision N more nodes and drop the N slowest before the job.",
)
@click.option(
    "--cull-below",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="FACTOR",
    help="With --spare: drop only nodes below FACTOR times the median speed.",
)
@click.option(
    "--loss-per-node-hour",
    type=click.FloatRange(0),
    default=0.0,
    metavar="X",
    help="Expected losses per node and hour.",
)
@click.option(
    "--recovery",
    type=click.Choice(["job", "tasks"]),
    default="job",
    show_default=True,
    help="Work to restart when a node is lost.",
)
@click.option(
    "--speculation/--no-speculation",
    default=False,
    show_default=True,
    help="Speculative execution: copy lagging tasks to nodes that have finished.",
)
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Tasks per node in each phase, one after the other.",
)
@click.option(
    "--deadline", type=DURATION, metavar="TIME", help="Report how many trials finish within TIME."
)
@html_options()
@json_option
@quiet_option
def command(
    *,
    as_json: bool,
    quiet: bool,
    trials: int,
    seed: int,
    deadline: float | None,
    html: PageFile | None,
    **options: Any,
) -> None:
    """Simulate a job on uneven machines: stragglers, lost nodes.

    Each trial draws the rates of every node. Without --storage, --network and --volumes, rates and
    their spread come from the catalog. DIST is a rate such as 900MB/s, `unlimited`, or a
    distribution. By mean and spread: normal(1738MB/s,5%), lognormal(900MB/s,10%). By lowest and
    highest rate: uniform(800MB/s,1GB/s). By usual rate, slow rate and share of slow nodes:
    bimodal(220MB/s,73MB/s,1.3%). By examples: samples(RATE,...). A normal distribution by its mean
    and the slowest of 178 nodes: slowest(1738MB/s,1515MB/s,178). With `shared:`, as in
    shared:uniform(...), one rate is drawn for the whole cluster.

    \b
    venturi simulate --sort 100TB --on i2.8xlarge:178
    venturi simulate --sort 100TB --on i2.8xlarge:178 --loss-per-node-hour 0.01 --deadline 30min
    """
    volumes = options["volumes"]
    if kind := of_a_kind(volumes):
        options |= {"volumes": None, "durability": options["durability"] or "volumes"}
    described = {k: options.pop(k) for k in _DESCRIBED}
    machine, nodes = _machines(options.pop("on"), volumes=volumes if kind else None, **described)
    if kind and options["durability"] != "volumes":
        raise _volumes_unused()
    from venturi.machines.advice.option import price_of

    scenario = scenario_of(machine, nodes, **options)
    result = run(scenario, trials, seed, quiet=quiet)
    price = price_of(machine, scenario.job)
    if html is not None:
        from venturi.web.advice_page.build import simulation_page

        page = simulation_page(
            result,
            settings=settings_of(scenario),
            price=price,
            deadline_s=deadline,
            generated_at=datetime.now(UTC),
            command=command_line(),
        )
        html.write("/simulation", page)
    if as_json:
        print_json(as_data(result, price, deadline), warnings_of(result))
        return
    _print(result, price, deadline)
    for warning in warnings_of(result):
        click.echo(f"warning: {warning}", err=True)


def of_a_kind(volumes: str | None) -> bool:
    """Whether these are volumes of a catalog's kind (`gp3:4`), not a number with a rate."""
    return volumes is not None and _KIND.match(volumes.strip()) is not None


def _volumes_unused() -> click.UsageError:
    return click.UsageError("--volumes needs --durability volumes")


def _machines(
    on: str,
    catalog: str | None,
    measured: tuple[str, ...],
    assumed: tuple[str, ...],
    volumes: str | None = None,
) -> tuple[InstanceType, int]:
    """The type and the number of nodes, with measurements, assumptions and volumes."""
    name, nodes = _on(on)
    names = () if catalog is None else (catalog,)
    today = datetime.now(UTC).date()
    found = the_catalogs(names, measured, assumed, today, types=[name], volumes=volumes)
    return type_named(next((each for each in found if name in each.types), found[0]), name), nodes


def scenario_of(
    machine: InstanceType,
    nodes: int,
    *,
    job_file: Path | None,
    sort_bytes: int | None,
    exchange: str | None,
    durability: str | None,
    skew: str | None,
    recovery: str,
    speculation: bool,
    storage: str | None,
    network: str | None,
    volumes: str | None,
    **more: Any,
) -> Scenario:
    """The scenario of the command line; `more` goes into the `Scenario` unchanged."""
    from venturi.machines.advice.hardware import need_room
    from venturi.machines.simulate.scenario import Recovery, Scenario, Speculation

    job = the_job(sort_bytes, job_file, exchange)
    if durability is not None:
        job = replace(job, durability=Durability(durability))
    if job.durability is Durability.OBJECTS:
        raise click.UsageError("object storage is not simulated: use `venturi predict`")
    stated = {"storage": storage, "network": network, "volumes": volumes}
    node, rates = _machine(machine, stated)
    need_room(job, node, nodes)
    if job.durability is not Durability.VOLUMES:
        if volumes is not None:
            raise _volumes_unused()
        rates.pop("volumes", None)  # the catalog's, which such a job does not use
    share_cv = 0.0
    if skew is not None:
        factor, share_cv = _skew(skew)
        job = replace(job, partition_skew=factor)
    return Scenario(
        job,
        node,
        nodes,
        rates,
        share_cv=share_cv,
        recovery=Recovery(recovery),
        speculation=Speculation() if speculation else None,
        **more,
    )


def run(scenario: Scenario, trials: int, seed: int, *, quiet: bool = False) -> SimulationResult:
    """The simulation, with its progress on stderr."""
    from venturi.machines.simulate.simulation import simulate
    from venturi.measure.hosts.agent import AgentProgress

    started = time.monotonic()
    with progress_bars(enabled=not quiet) as show_progress:

        def on_progress(done: int) -> None:
            if show_progress is not None:
                elapsed_s = time.monotonic() - started
                show_progress(AgentProgress("simulating", done, trials, "trials", elapsed_s))

        return simulate(scenario, trials, seed, on_progress)


def _on(text: str) -> tuple[str, int]:
    name, nodes = type_and_nodes(text)
    if nodes is None:
        raise click.UsageError(f"--on is {text!r}; write it like i2.8xlarge:178")
    return name, nodes


def _skew(text: str) -> tuple[float, float]:
    """The largest share over the mean, and the coefficient of variation of the shares."""
    from venturi.machines.simulate.distribution import parse_share

    if text.startswith("cv:"):
        return 1.0, parse_share(text.removeprefix("cv:"))
    return parse_share(text), 0.0


def _machine(
    instance_type: InstanceType, stated: Mapping[str, str | None]
) -> tuple[Node, dict[str, RateDistribution]]:
    """The node and the distributions of its rates: as stated, else the catalog's."""
    from venturi.machines.cost.node import node_of
    from venturi.machines.simulate.distribution import distributions_of, parse_rates

    node, rates = node_of(instance_type), distributions_of(instance_type)
    for resource, text in stated.items():
        if text is None:
            continue
        quantity = UNLIMITED
        rates.pop(resource, None)
        if text.strip() != "unlimited":
            rates[resource] = parse_rates(text)
            value = rates[resource].nominal
            quantity = Quantity(value, value, value, ValueKind.ASSUMED, f"--{resource}", note=text)
        if resource == "storage":
            node = replace(node, storage=quantity, local_read=None, local_write=None)
        elif resource == "network":
            node = replace(node, network=quantity)
        else:
            node = replace(node, volume_read=quantity, volume_write=quantity)
    return node, rates


def warnings_of(result: SimulationResult) -> tuple[str, ...]:
    """The warnings that belong to the numbers."""
    said = list(result.assumptions)
    if result.lower_bound:
        said.append("a rate is an advertised limit: the job takes at least this long")
    if result.unfinished:
        said.append(f"{result.unfinished} of {result.trials} trials did not finish")
    return tuple(said)


def settings_of(scenario: Scenario) -> list[tuple[str, str]]:
    """The simulated settings, formatted for people."""
    rows = [
        ("job", f"{scenario.job.name}, {scenario.job.durability.value}"),
        ("machines", f"{scenario.nodes:,} x {scenario.node.name}"),
    ]
    rows += [(resource, str(rate)) for resource, rate in scenario.rates.items()]
    for resource, stated in (
        ("storage", scenario.node.storage),
        ("network", scenario.node.network),
    ):
        if stated is not None and math.isinf(stated.value):
            rows.append((resource, "unlimited"))
    if scenario.share_cv:
        rows.append(("shares", f"coefficient of variation {100 * scenario.share_cv:g} %"))
    elif scenario.job.partition_skew > 1:
        rows.append(("shares", f"the largest {scenario.job.partition_skew:g} times the mean"))
    if scenario.spare:
        below = scenario.cull_below
        rule = "the slowest" if below is None else f"those below {below:g} of the median speed"
        rows.append(("spare nodes", f"{scenario.spare}, dropping {rule}"))
    if scenario.loss_per_node_hour:
        loss = f"{scenario.loss_per_node_hour:g} a node-hour, recovery by {scenario.recovery.value}"
        rows.append(("losses", loss))
    if (rule_of := scenario.speculation) is not None:
        rows.append(
            (
                "speculation",
                f"tasks {rule_of.behind:g} times behind the median, once "
                f"{100 * rule_of.quantile:g} % are done; {scenario.tasks_per_node} tasks a node",
            )
        )
    return rows


def costs_of(result: SimulationResult, price: OptionPrice | str) -> dict[float, float | None]:
    """US dollars by the second of each of `LEVELS` of the time; None where it never ends."""
    from venturi.web.advice_page.build import cost_of

    def usd(level: float) -> float | None:
        seconds = result.quantile_s(level)
        cost = cost_of(price, seconds, result.scenario.nodes) if math.isfinite(seconds) else None
        return cost if isinstance(cost, float) else None

    return {level: usd(level) for level in LEVELS}


def as_data(
    result: SimulationResult, price: OptionPrice | str, deadline_s: float | None = None
) -> dict[str, Any]:
    """The result as `--json` prints it; a time is null where that share did not finish."""
    from venturi.machines.simulate.simulation import PHASES

    scenario = result.scenario
    counts, edges = result.histogram(_BINS)
    return {
        "job": scenario.job.name,
        "instance_type": scenario.node.name,
        "nodes": scenario.nodes,
        "trials": result.trials,
        "seed": result.seed,
        "settings": dict(settings_of(scenario)),
        "median_s": _finite(result.median_s),
        "median_noise_s": [_finite(value) for value in result.median_noise_s()],
        "interval_95_s": [_finite(value) for value in result.interval_s()],
        "quantiles_s": {f"{level:g}": _finite(result.quantile_s(level)) for level in LEVELS},
        "expected_s": _finite(sum(result.expected_s) + scenario.job.startup_s),
        "usd": {f"{level:g}": usd for level, usd in costs_of(result, price).items()},
        "no_price": price if isinstance(price, str) else None,
        "phases": [
            {
                "name": name,
                "expected_s": result.expected_s[index],
                "median_s": _finite(result.phase_quantile_s(index, 0.5)),
                "quantiles_s": {
                    f"{level:g}": _finite(result.phase_quantile_s(index, level)) for level in LEVELS
                },
                "nodes_done_s": {
                    f"{level:g}": _finite(value)
                    for level, value in result.node_finish_median_s(index).items()
                },
            }
            for index, name in enumerate(PHASES)
        ],
        "startup_s": scenario.job.startup_s,
        "lost_nodes": _spread(result.lost_nodes),
        "restarts": _spread(result.restarts),
        "culled_nodes": _spread(result.culled),
        "unfinished_trials": result.unfinished,
        "deadline_s": deadline_s,
        "share_within_deadline": None if deadline_s is None else result.share_within(deadline_s),
        "histogram": {"counts": counts.tolist(), "edges_s": edges.tolist()},
    }


def _cost_line(result: SimulationResult, price: OptionPrice | str) -> str:
    if isinstance(price, str):
        return f"no cost: {price}"
    usd = costs_of(result, price)
    low, middle, high = (format_usd(usd[level]) for level in (LEVELS[0], 0.5, LEVELS[-1]))
    return f"cost, by the second: median {middle}; 95 % of the trials {low} to {high}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _spread(counts: Any) -> dict[str, float]:
    return {"mean": float(counts.mean()), "max": int(counts.max())}


def _print(result: SimulationResult, price: OptionPrice | str, deadline_s: float | None) -> None:
    """Prints the result: settings, quantiles, histogram, events."""
    from venturi.machines.simulate.simulation import PHASES

    heads = [f"{100 * level:g} %" if level != 0.5 else "median" for level in LEVELS]
    times = table("done within [s]", "equal nodes", *heads)
    expected_s = sum(result.expected_s) + result.scenario.job.startup_s
    quantiles = [result.quantile_s(level) for level in LEVELS]
    times.add("job", *map(_seconds, (expected_s, *quantiles)))
    for index, name in enumerate(PHASES):
        quantiles = [result.phase_quantile_s(index, level) for level in LEVELS]
        times.add(name, *map(_seconds, (result.expected_s[index], *quantiles)))
    show(pairs(settings_of(result.scenario)), "", times, "")
    low, high = result.interval_s()
    middle = format_duration(result.median_s) if math.isfinite(result.median_s) else "never"
    click.echo(
        f"median {middle}; 95 % of {result.trials:,} trials take {_seconds(low)} to "
        f"{_seconds(high)} s"
    )
    click.echo(_cost_line(result, price))
    click.echo("\n".join(_histogram(result)))
    for index, name in enumerate(PHASES):
        done = result.node_finish_median_s(index)
        click.echo(
            f"{name}: half of the nodes done at {_seconds(done[0.5])} s, 95 % at "
            f"{_seconds(done[0.95])} s, all at {_seconds(done[1.0])} s"
        )
    for line in _happened(result, deadline_s):
        click.echo(line)


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "never"


def _histogram(result: SimulationResult) -> Sequence[str]:
    counts, edges = result.histogram(_BINS)
    if not counts.size:
        return []
    most = counts.max()
    return [
        f"{edge:>10,.0f} s  {'█' * round(_BAR * count / most) or '▏' * (count > 0)}"
        for count, edge in zip(counts.tolist(), edges.tolist(), strict=False)
    ]


def _happened(result: SimulationResult, deadline_s: float | None) -> list[str]:
    lines = []
    if result.scenario.spare:
        lines.append(
            f"slow nodes dropped: {result.culled.mean():.3g} of "
            f"{result.scenario.spare} spare on average"
        )
    if result.scenario.loss_per_node_hour:
        lines.append(
            f"nodes lost: {result.lost_nodes.mean():.3g} a trial, at most "
            f"{result.lost_nodes.max()}; restarts: {result.restarts.mean():.3g} a trial, "
            f"at most {result.restarts.max()}"
        )
    if deadline_s is not None:
        share = result.share_within(deadline_s)
        lines.append(f"within {format_duration(deadline_s)}: {100 * share:.1f} % of trials")
    return lines
