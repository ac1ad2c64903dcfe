"""`venturi advise`: a command for each question.

`hardware`: which machines, how many, their cost and how certain that is. `tiers`: how much fast
local storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from venturi.cli.html import PageFile, command_line, html_options
from venturi.cli.jobs.advise_tiers import tiers
from venturi.cli.machines.job_options import (
    DURABILITIES,
    catalog_options,
    durabilities,
    limit_options,
    the_catalogs,
    type_and_nodes,
    workload_options,
)
from venturi.cli.options import DURATION, json_option, print_json
from venturi.cli.screen import details_option, is_first_screen, next_step, show
from venturi.machines.catalog import Catalog
from venturi.machines.catalog.find import unknown
from venturi.machines.cost.choices import MOST_NODES, NetworkChoice

if TYPE_CHECKING:
    from venturi.machines.advice.explain import Explanation
    from venturi.machines.advice.hardware import Advice
    from venturi.machines.advice.limits import Limits
    from venturi.machines.cost.job import Job


class Questions(click.Group):
    """A command for each question; options without one are those of `hardware`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in self.get_help_option_names(ctx):
            args = [hardware.name or "", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, incomplete)
        return found + hardware.shell_complete(ctx, incomplete) if incomplete[:1] == "-" else found


@click.group(cls=Questions, subcommand_metavar="[COMMAND] [ARGS]...")
def command() -> None:
    """Recommend machines and fast storage for a job.

    Without a command, options apply to `hardware`: `venturi advise --sort 100TB`.
    """


command.add_command(tiers)


@command.command()
@workload_options
@limit_options
@catalog_options
@click.option(
    "--durability",
    "classes",
    type=click.Choice(DURABILITIES),
    multiple=True,
    help="Fault tolerance: none (2-io), copies on other nodes (replicated), or input and output on "
    "network volumes (volumes) or in object storage (objects). "
    "Repeatable. Default: the job file's, else 2-io.",
)
@click.option(
    "--deadline",
    "deadline_s",
    metavar="TIME",
    type=DURATION,
    help="Deadline for the job, such as 30min.",
)
@click.option("--budget", "budget_usd", metavar="USD", type=float, help="Maximum cost of the job.")
@click.option(
    "--objective",
    type=click.Choice(("recommended", "cheapest", "fastest")),
    default="recommended",
    show_default=True,
    help="Option to name first. Recommended: the fewest nodes among options that cost at most 25 % "
    "more than the cheapest. Without a deadline, it takes at most 4 times as long as the fastest "
    "of them.",
)
@click.option(
    "--nodes", type=click.IntRange(1, MOST_NODES), help="Consider only this number of nodes."
)
@click.option(
    "--max-nodes",
    "caps",
    metavar="[TYPE=]N",
    multiple=True,
    help="Use at most N nodes of TYPE. Without TYPE: of each type without a limit in the catalog "
    "(default 330).",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=12,
    show_default=True,
    help="Number of options to show and compare.",
)
@click.option(
    "--explain",
    "explained",
    metavar="TYPE[:N]",
    help="Show the origin of every figure of one option.",
)
@html_options()
@details_option
@json_option
def hardware(
    *,
    job: Job,
    limits: Limits,
    catalogs: tuple[str, ...],
    measured: tuple[str, ...],
    assumed: tuple[str, ...],
    owned: str | None,
    volumes: str | None,
    network: str,
    classes: tuple[str, ...],
    deadline_s: float | None,
    budget_usd: float | None,
    objective: str,
    nodes: int | None,
    caps: tuple[str, ...],
    limit: int,
    explained: str | None,
    html: PageFile | None,
    as_json: bool,
) -> None:
    """Recommend machines: type, number and cost.

    Time and cost are a central estimate with, in parentheses, the range that the inputs allow. One
    option beats another only if its worst case is better than the other's best case. Otherwise they
    tie, and the answer names the measurement that would decide.
    """
    from venturi.machines.advice.explain import explain_type
    from venturi.machines.advice.hardware import advise
    from venturi.machines.advice.option import AdviceObjective
    from venturi.machines.advice.question import DEFAULT_MAX_NODES, HardwareRequest

    today = datetime.now(UTC).date()
    max_nodes, max_nodes_of = _caps(caps)
    found = the_catalogs(catalogs, measured, assumed, today, owned, volumes=volumes, limits=limits)
    _need_types(max_nodes_of, found)
    request = HardwareRequest(
        job=job,
        durabilities=durabilities((*classes, *(("volumes",) if volumes else ()))),
        objective=AdviceObjective(objective),
        deadline_s=deadline_s,
        budget_usd=budget_usd,
        nodes=nodes,
        max_nodes=max_nodes or limits.max_nodes or DEFAULT_MAX_NODES,
        max_vcpus=limits.max_vcpus,
        limits=limits.words,
        max_nodes_of=max_nodes_of,
        network=NetworkChoice(network.replace("-", " ")),
        today=today,
        shown=limit,
    )
    advice = advise(request, found)
    explanations: tuple[Explanation, ...] = ()
    if explained is not None:
        explanations = explain_type(advice, found, *type_and_nodes(explained))
    if html is not None:
        write_advice(advice, found, explanations, html)
    if explained is not None:
        print_explanations(explanations, as_json=as_json)
        for found_in in advice.classes:
            if all(each.option.durability is not found_in.durability for each in explanations):
                click.echo(
                    f"warning: {found_in.durability}: it cannot be used there (see "
                    "the answer without --explain)",
                    err=True,
                )
    elif as_json:
        _print_json(advice)
    else:
        _print(advice)


def write_advice(
    advice: Advice,
    catalogs: Sequence[Catalog],
    explanations: Sequence[Explanation],
    html: PageFile,
) -> None:
    """The page; without --explain it explains the first option of each class."""
    from venturi.machines.advice.explain import explain_first
    from venturi.machines.advice.network_costs import network_costs
    from venturi.web.advice_page.build import advice_page

    explanations = explanations or explain_first(advice, catalogs)
    page = advice_page(
        advice,
        bars=network_costs(advice, catalogs),
        explanations=explanations,
        generated_at=datetime.now(UTC),
        command=command_line(),
    )
    html.write("/advice", page)


def _caps(texts: tuple[str, ...]) -> tuple[int | None, dict[str, int]]:
    """`N` for all, `TYPE=N` for one type."""
    from venturi.machines.advice.hardware import node_count

    for_all, of_type = None, {}
    for text in texts:
        name, equals, count = text.rpartition("=")
        nodes = node_count(count)
        if nodes is None or (equals and not name):
            raise click.UsageError(
                f"--max-nodes {text[:80]!r} is neither N nor TYPE=N with N from 1 to {MOST_NODES:,}"
            )
        if equals:
            of_type[name] = nodes
        else:
            for_all = nodes
    return for_all, of_type


def _need_types(names: Iterable[str], catalogs: Sequence[Catalog]) -> None:
    """Refuse a limit for a type that is in no catalog."""
    known = [name for catalog in catalogs for name in catalog.types]
    for name in set(names) - set(known):
        raise unknown(
            f"--max-nodes {name}: no catalog has this type",
            name,
            known,
            "they have",
            {"option": "--max-nodes", "instance_type": name},
        )


def _print(advice: Advice) -> None:
    from venturi.terminal.advice import advice_lines, advice_screen

    if not is_first_screen():
        show(*advice_lines(advice))
        return
    show(*advice_screen(advice))
    best = next((found.ranked[0] for found in advice.classes if found.ranked), None)
    if best is not None:
        next_step(
            f"add --explain {best.instance_type}:{best.nodes} to see which rates and prices this "
            "rests on; --all ranks all types"
        )


def _print_json(advice: Advice) -> None:
    from venturi.terminal.advice import advice_data

    print_json(advice_data(advice))


def print_explanations(explanations: tuple[Explanation, ...], *, as_json: bool) -> None:
    """Each explanation, as tables or as JSON."""
    from venturi.terminal.advice import explanation_lines

    if as_json:
        print_json({"explanations": explanations})
        return
    for each in explanations:
        show(*explanation_lines(each))
