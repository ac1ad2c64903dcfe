"""`venturi whatif`: a recorded job's time and cost on other machines, settings and data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from venturi.cli.machines.job_options import the_catalogs, type_and_nodes
from venturi.cli.open_repository import open_repository
from venturi.cli.options import DURATION, json_option, print_json
from venturi.cli.screen import details_option, next_step, show
from venturi.core.errors import UsageError
from venturi.machines.catalog import Catalog, InstanceType, shipped
from venturi.machines.catalog.find import type_named

if TYPE_CHECKING:
    from venturi.jobs.whatif.answer import RecordedJob, WhatIfPrediction
    from venturi.jobs.whatif.changes import JobChanges
    from venturi.jobs.whatif.ranking import Objective
    from venturi.record.trial import Trial

_MOST_TARGETS = 6


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
    objective: Objective,
    deadline_s: float | None,
    others: tuple[str, ...],
    more: tuple[str, ...],
    catalogs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Predict a recorded job's time and cost on other machines, settings and data.

    TRIAL is a Spark job with an event log (venturi import spark-eventlog FILE). Executors keep
    their recorded size unless you change it.
    """
    from venturi.jobs.whatif.answer import RecordedJob, answer
    from venturi.jobs.whatif.changes import JobChanges
    from venturi.terminal.whatif import whatif_lines

    if more and not others:
        raise click.UsageError("give more than one trial only with --validate")
    ranked = next((name for name in machines if name in shipped()), None)
    names = [type_and_nodes(each) for each in machines if each != ranked]
    types = [name for name, _ in names] + ([source] if source else [])
    found = the_catalogs(
        catalogs or ((ranked,) if ranked else ()), (), (), datetime.now(UTC).date(), types=types
    )
    changes = _changes(executors, cores_per_executor, (disk, network), data, settings)
    with open_repository() as repository:
        trial = repository.get(id_)
        ran_on = _type(found, source) if source else _recorded_type(found, trial)
        job = RecordedJob(repository, trial, ran_on)
        compared = [
            RecordedJob(repository, repository.get(each), ran_on) for each in (*others, *more)
        ]
    if compared:
        _show_validation(job, compared, as_json)
        return
    if ranked is not None:
        _show_ranking(job, changes[0], found, (objective, deadline_s), as_json)
        return
    wanted = [
        replace(change, setup=replace(change.setup, type=_type(found, name), nodes=nodes))
        for name, nodes in names
        for change in changes
    ] or changes
    if wanted == [JobChanges()]:
        raise click.UsageError(
            "say what changes: --on TYPE:NODES, --executors, --cores-per-executor, --disk, "
            "--network, --data or --set"
        )
    found_answer = answer(job, wanted)
    if as_json:
        print_json(found_answer)
        return
    next_step(f"venturi whatif {id_} --on current: the best machine types for this job")
    show(*whatif_lines(found_answer))


def _changes(
    executors: str | None,
    cores: int | None,
    rates: tuple[str | None, str | None],
    data: str | None,
    settings: tuple[str, ...],
) -> list[JobChanges]:
    """The changes for each number of executors; `rates` are those of --disk and --network."""
    from venturi.jobs.whatif.changes import (
        CORES,
        INSTANCES,
        MEMORY,
        MODELED,
        JobChanges,
        codec_change,
        settings_given,
    )
    from venturi.jobs.whatif.setup import SetupChange, disk_given, positive_rate
    from venturi.jobs.whatif.task_plan import size_setting

    given = settings_given(settings)
    disk, network = rates
    heap = size_setting(given, MEMORY) if MEMORY in given else None
    if disk is not None:
        disk_given(disk)
    rate = None if network is None else positive_rate("--network", network)
    change = SetupChange(
        cores_per_executor=cores or (int(given[CORES]) if CORES in given else None),
        heap_bytes=heap,
        disk=disk,
        network_bytes_per_s=rate,
    )
    modeled = {key: value for key, value in given.items() if key in MODELED}
    _, unknown = codec_change({}, modeled)
    left_out = [key for key in given if key not in MODELED]
    left_out += [f"codec {unknown}"] if unknown else []
    counts = _counts(executors or given.get(INSTANCES))
    factor = 1.0 if data is None else _factor(data)
    return [
        JobChanges(replace(change, executors=count), factor, modeled, tuple(left_out))
        for count in counts
    ]


def _counts(text: str | None) -> list[int | None]:
    """The numbers of executors to try: of a range its ends, and powers of two between them."""
    if text is None:
        return [None]
    match = re.fullmatch(r"(\d{1,6})(?:\.\.(\d{1,6}))?", text.strip())
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < low <= high:
        raise UsageError(
            "VEN-UNIT-SYNTAX",
            f"--executors {text[:40]!r} is not a number above 0, or a range",
            where={"option": "--executors", "value": text[:40]},
            hint="write it like 8 or 4..64",
        )
    powers = [2**n for n in range(20) if low < 2**n < high]
    step = max(-(-len(powers) // (_MOST_TARGETS - 2)), 1)
    return list(dict.fromkeys([low, *powers[::-1][::step][::-1], high]))


def _factor(text: str) -> float:
    match = re.fullmatch(r"(\d*\.?\d+)x?", text.strip())
    value = float(match[1]) if match else 0.0
    if value <= 0:
        raise UsageError(
            "VEN-UNIT-SYNTAX",
            f"--data {text[:40]!r} is not a factor above 0",
            where={"option": "--data", "value": text[:40]},
            hint="write it like 2x or 0.5x",
        )
    return value


def _recorded_type(catalogs: Iterable[Catalog], trial: Trial) -> InstanceType | None:
    """The type that the trial's cluster names, if a catalog has it."""
    name = trial.cluster.instance_type or ""
    return next((each.types[name] for each in catalogs if name in each.types), None)


def _type(catalogs: Iterable[Catalog], name: str) -> InstanceType:
    every = list(catalogs)
    catalog = next((each for each in every if name in each.types), every[0])
    return type_named(catalog, name)


def _show_ranking(
    job: RecordedJob,
    change: JobChanges,
    catalogs: Sequence[Catalog],
    ranked_by: tuple[Objective, float | None],
    as_json: bool,
) -> None:
    from venturi.jobs.whatif.ranking import rank
    from venturi.terminal.whatif import ranking_lines

    found = rank(job, change, catalogs, *ranked_by)
    if as_json:
        print_json(found)
        return
    next_step(f"venturi whatif {job.trial.id[-12:]} --on {_on(found.best[0])}: its stages")
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
