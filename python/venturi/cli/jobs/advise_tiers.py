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
    help="A folder on a fast disk that `venturi probe disk` measured, or a disk's rates: "
    "read=2GB/s,write=1.5GB/s,iops=90000. Repeat it for each disk of a host. Default: the "
    "folders of the trial's first tier.",
)
@click.option(
    "--slow",
    "slow",
    metavar="FOLDER|RATES",
    multiple=True,
    help="The same for the slow disks. Default: the trial's other folders.",
)
@click.option(
    "--size",
    "sizes",
    metavar="SIZE",
    type=SIZE,
    multiple=True,
    help="Fast storage per host to estimate the time for, such as 50GB; repeatable. Default: "
    "several sizes, until everything fits.",
)
@click.option(
    "--catalog",
    "catalogs",
    metavar="NAME|FILE",
    multiple=True,
    help="Prices, if the trial has none: a shipped catalog (`venturi catalog ls`) or a CSV file; "
    "repeatable. Default: current.",
)
@click.option(
    "--volumes",
    metavar="KIND",
    help="Use network volumes of this kind, such as gp3, as fast storage, at the catalog's price. "
    "Default: the fast storage is part of the machines.",
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
    is its time with a range, and its cost, for several sizes of fast storage per host. Disk rates
    come from --fast and --slow; without these, from the trial's own series and probes.
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
