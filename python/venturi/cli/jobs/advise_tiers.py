"""`venturi advise tiers`: how much fast local storage a job needs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from venturi.cli.machines.job_options import the_catalogs
from venturi.cli.open_repository import open_repository
from venturi.cli.options import SIZE, json_option, print_json
from venturi.cli.screen import show


@click.command("tiers")
@click.argument("id_", metavar="TRIAL")
@click.option(
    "--fast",
    "fast",
    metavar="FOLDER|RATES",
    multiple=True,
    help="A folder on a fast disk, which `venturi probe disk` measured, or the rates of "
    "one: read=2GB/s,write=1.5GB/s,iops=90000. Repeatable, once for each disk of a host; "
    "default: the folders of the trial's first tier.",
)
@click.option(
    "--slow",
    "slow",
    metavar="FOLDER|RATES",
    multiple=True,
    help="The same for the slow disks; default: the trial's other folders.",
)
@click.option(
    "--size",
    "sizes",
    metavar="SIZE",
    type=SIZE,
    multiple=True,
    help="Fast storage of a host to tell the time with, such as 50GB; repeatable. "
    "Default: a row of sizes until everything fits.",
)
@click.option(
    "--catalog",
    "catalogs",
    metavar="NAME|FILE",
    multiple=True,
    help="Prices, where the trial has none: a shipped catalogue (`venturi catalog ls`) "
    "or a CSV file; repeatable. Default: current.",
)
@click.option(
    "--volumes",
    metavar="KIND",
    help="The fast storage is network volumes of this kind, such as gp3, and costs what "
    "the catalogue says; without, it is part of the machines.",
)
@json_option
def tiers(
    *,
    id_: str,
    fast: tuple[str, ...],
    slow: tuple[str, ...],
    sizes: tuple[int, ...],
    catalogs: tuple[str, ...],
    volumes: str | None,
    as_json: bool,
) -> None:
    """Estimate how much fast local storage a Spark job needs.

    TRIAL is a Spark job with an event log; it may be shortened, as for `venturi show`. The answer
    is its time with a range, and its cost, for several sizes of fast storage per host. Disks are as
    fast as --fast and --slow say, otherwise as the trial's own series and probes say.
    """
    from venturi.jobs.tiers.advice import TiersQuestion, advise_tiers
    from venturi.jobs.tiers.rates import disks_given
    from venturi.terminal.tiers import sentence, tiers_lines

    question = TiersQuestion(
        disks_given("fast", [_from_here(each) for each in fast]),
        disks_given("slow", [_from_here(each) for each in slow]),
        sizes,
        tuple(the_catalogs(catalogs, (), (), datetime.now(UTC).date())),
        volumes,
    )
    with open_repository() as repository:
        advice = advise_tiers(repository, repository.get(id_), question)
    if as_json:
        print_json({**asdict(advice), "sentence": sentence(advice)})
    else:
        show(*tiers_lines(advice))


def _from_here(text: str) -> str:
    """Rates as given; a folder as an absolute path, as probes record it."""
    return text if "=" in text else str(Path(text).absolute())
