"""`venturi whatif`: a recorded job's time and cost on other machines, settings and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from venturi.cli.jobs.job import own_prices
from venturi.cli.machines.job_options import the_catalogs
from venturi.cli.open_repository import open_repository
from venturi.cli.options import DURATION, json_option, print_json
from venturi.cli.screen import details_option, next_step, show
from venturi.machines.catalog import Catalog, shipped

if TYPE_CHECKING:
    from venturi.jobs.whatif.answer import RecordedJob, WhatIfPrediction
    from venturi.jobs.whatif.changes import JobChanges
    from venturi.jobs.whatif.ranking import Objective


@click.command()
@click.argument("id_", metavar="TRIAL")
@click.option(
    "--on",
    "machines",
    metavar="TYPE:NODES|CATALOG",
    multiple=True,
    help="Machine type and number, such as i4i.4xlarge:8; repeatable. The name of a catalog, such "
    "as current, ranks all of its types.",
)
@click.option(
    "--from",
    "source",
    metavar="TYPE",
    help="Machine type that the job ran on. Gives today's cost, disks, network and CPU speed.",
)
@click.option(
    "--executors",
    metavar="N|A..B",
    help="Number of executors, or a range; powers of two within it are tried.",
)
@click.option("--cores-per-executor", type=click.IntRange(1), help="Cores of each executor.")
@click.option(
    "--disk", metavar="hdd|ssd|nvme|RATE", help="Disks of each host: a class, or their total rate."
)
@click.option("--network", metavar="RATE", help="Network of each host, such as 25Gbit.")
@click.option(
    "--data", metavar="FACTOR", help="Size of the data relative to the recorded job, such as 2x."
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A Spark setting, such as spark.sql.shuffle.partitions=400; repeatable. The answer names "
    "settings that aren't modeled.",
)
@click.option(
    "--usd-per-node-hour",
    metavar="USD",
    type=click.FloatRange(0),
    help="Price of each target machine per hour; without --on also of today's.",
)
@click.option(
    "--spot",
    metavar="RATE/h|catalog",
    help="Also show the expected time and cost on interruptible machines, with so many losses per "
    "machine and hour, such as 0.05/h, or the catalog's.",
)
@click.option(
    "--objective",
    type=click.Choice(("cost", "time")),
    default="cost",
    show_default=True,
    help="How to rank the types of a catalog.",
)
@click.option(
    "--deadline",
    "deadline_s",
    metavar="TIME",
    type=DURATION,
    help="Rank only machines that meet this deadline.",
)
@click.option(
    "--validate",
    "others",
    metavar="TRIAL...",
    multiple=True,
    help="Predict these recorded trials from TRIAL, and compare with their measured times. "
    "Repeatable; more trials may follow.",
)
@click.argument("more", metavar="[TRIAL]...", nargs=-1)
@click.option(
    "--catalog",
    "catalogs",
    metavar="NAME|FILE",
    multiple=True,
    help="Machines and prices: a shipped catalog (`venturi catalog ls`) or a CSV file; repeatable.",
)
@details_option
@json_option
def command(
    *,
    id_: str,
    machines: tuple[str, ...],
    source: str | None,
    executors: str | None,
    cores_per_executor: int | None,
    disk: str | None,
    network: str | None,
    data: str | None,
    settings: tuple[str, ...],
    usd_per_node_hour: float | None,
    spot: str | None,
    objective: Objective,
    deadline_s: float | None,
    others: tuple[str, ...],
    more: tuple[str, ...],
    catalogs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Predict a recorded job's time and cost on other machines, settings and data.

    TRIAL is a Spark job with an event log (venturi import spark-eventlog FILE). Executors keep
    their recorded size unless you change it. Prices set by `venturi prices` replace the catalog's.
    """
    from venturi.jobs.whatif.answer import RecordedJob, answer
    from venturi.jobs.whatif.changes import JobChanges
    from venturi.jobs.whatif.question import WhatIfQuestion, recorded_type, type_in
    from venturi.jobs.whatif.spot import all_on_spot, no_ranking, spot_rate
    from venturi.terminal.whatif import whatif_lines

    if more and not others:
        raise click.UsageError("give more than one trial only with --validate")
    per_hour = None if spot is None else spot_rate(spot)
    ranked = next((name for name in machines if name in shipped()), None)
    if spot is not None and (ranked or others):
        raise no_ranking() if ranked else click.UsageError("give --spot without --validate")
    question = WhatIfQuestion(
        [each for each in machines if each != ranked],
        executors,
        cores_per_executor,
        disk,
        network,
        data,
        settings,
        usd_per_node_hour,
    )
    types = question.type_names() + ([source] if source else [])
    found = the_catalogs(
        catalogs or ((ranked,) if ranked else ()), (), (), datetime.now(UTC).date(), types=types
    )
    changes = question.changes()
    with open_repository() as repository:
        trial = repository.get(id_)
        ran_on = type_in(found, source) if source else recorded_type(found, trial)
        job = RecordedJob(repository, trial, ran_on, own_prices())
        compared = [
            RecordedJob(repository, repository.get(each), ran_on) for each in (*others, *more)
        ]
    if compared:
        _show_validation(job, compared, as_json)
        return
    if ranked is not None:
        _show_ranking(id_, job, changes[0], found, (objective, deadline_s), as_json=as_json)
        return
    wanted = question.targets(found)
    if wanted == [JobChanges()]:
        raise click.UsageError(
            "say what changes: --on TYPE:NODES, --executors, --cores-per-executor, --disk, "
            "--network, --data, --set or --usd-per-node-hour"
        )
    found_answer = answer(job, wanted)
    on_spots = () if spot is None else all_on_spot(job, wanted, found_answer, per_hour)
    if as_json:
        print_json({**asdict(found_answer), "spot": on_spots} if on_spots else found_answer)
        return
    next_step(f"venturi whatif {id_} --on current: the best machine types for this job")
    show(*whatif_lines(found_answer, on_spots))


def _show_ranking(
    id_: str,
    job: RecordedJob,
    change: JobChanges,
    catalogs: Sequence[Catalog],
    ranked_by: tuple[Objective, float | None],
    *,
    as_json: bool,
) -> None:
    from venturi.jobs.whatif.ranking import rank
    from venturi.terminal.whatif import ranking_lines

    found = rank(job, change, catalogs, *ranked_by)
    if as_json:
        print_json(found)
        return
    next_step(f"venturi whatif {id_} --on {_on(found.recommended)}: its stages")
    show(*ranking_lines(found, job.today()))


def _show_validation(job: RecordedJob, others: Sequence[RecordedJob], as_json: bool) -> None:
    from venturi.jobs.whatif.validation import validate
    from venturi.terminal.whatif import validation_lines

    found = validate(job, others)
    if as_json:
        print_json({**asdict(found), "sentence": found.sentence})
    else:
        show(*validation_lines(found))


def _on(best: WhatIfPrediction) -> str:
    """The option that asks for a prediction's machines."""
    return best.name.replace(" × ", ":")
