"""Options of the verbs that ask about machines: the job, the catalogs, and additions to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import open_repository
from venturi.cli.options import DURATION, SIZE, F, InputPath
from venturi.core.errors import VenturiError
from venturi.core.text_file import read_text_or_stdin
from venturi.machines.advice.suppositions import assumed as with_assumed
from venturi.machines.catalog import Catalog
from venturi.machines.catalog.find import find, shipped_with
from venturi.machines.cost.choices import MOST_NODES, Durability, Exchange, NetworkChoice

if TYPE_CHECKING:
    from venturi.machines.advice.limits import Limits
    from venturi.machines.cost.job import Job


DURABILITIES = tuple(each.value for each in Durability)
NETWORKS = tuple(each.replace(" ", "-") for each in NetworkChoice)


assume_option = click.option(
    "--assume",
    "assumed",
    metavar="WHAT=RATE",
    multiple=True,
    help="Assume a rate for types without one, with a range of 50 to 150 %. Disks: "
    "storage=400MB/s/TB (per TB of local disks), storage=900MB/s (per node, if all types are "
    "equal) or NVMe=1000MB/s (per disk). Network: network=5Gbit/s or network=70% (of line rate). "
    "Or assume for all types: disks=turns, half or both (how concurrent reads and writes share a "
    "disk), fill=90% (of the disks), network-low=70% (worst case), price=spot.",
)
volumes_option = click.option(
    "--volumes",
    metavar="KIND:N,...",
    help="Give each machine N network volumes of a kind in the catalog, such as gp3:4. Optional: "
    "size=135GiB (default: as much as the data needs), iops=6000, throughput=250MiB/s, "
    "hours=720 (a month). Input and output are on them (--durability volumes), and all data "
    "if there are no local disks.",
)
own_option = click.option(
    "--own",
    "owned",
    metavar="years=Y,...",
    help="Hourly price of owned machines from their purchase price. Give years=4 (depreciation). "
    "Optional: use=0.6 (share of hours in use), kwh=0.15 and pue=1.4 (power), usd=1.08 (exchange "
    "rate). Optional per node and year: space=300, staff=500.",
)
measured_option = click.option(
    "--measured",
    metavar="FILE|DIR",
    multiple=True,
    help="Catalog file, or folder of catalogs, with better evidence than --catalog: measured "
    "replaces derived, derived replaces advertised.",
)


def job_options(command: F) -> F:
    """`--sort`, `--job` and `--exchange`."""
    command = click.option(
        "--exchange",
        type=click.Choice(tuple(each.value for each in Exchange)),
        help="Share of the shuffle that crosses the network: (N-1)/N (remote), or all, as in the "
        "equations of the SoCC 2015 paper. Default: the job's, else remote.",
    )(command)
    command = click.option(
        "--job",
        "job_file",
        metavar="FILE",
        type=InputPath(allow_dash=True),
        help="The job as a TOML file (- is stdin): input, intermediate and output bytes, and "
        "more. See docs/reference/formats.md.",
    )(command)
    return click.option(
        "--sort",
        "sort_bytes",
        metavar="SIZE",
        type=SIZE,
        help="Sort this much data, such as 100TB.",
    )(command)


def workload_options(command: F) -> F:
    """The job as `job=`: TRIAL or `job_options`, with its start-up and CPU time."""

    @wraps(command)
    def with_job(
        *,
        trial_id: str | None,
        sort_bytes: int | None,
        data_bytes: int | None,
        shuffle: float | None,
        output: float | None,
        job_file: Path | None,
        exchange: str | None,
        startup_s: float | None,
        core_s_per_gb: float | None,
        **others: Any,
    ) -> Any:
        from venturi.machines.advice.suppositions import filled_share
        from venturi.machines.cost.operation import operated

        one = (trial_id or data_bytes, sort_bytes, job_file)
        if sum(each is not None for each in one) != 1:
            raise click.UsageError("give one of TRIAL, --sort SIZE, --data SIZE and --job FILE")
        if (trial_id or data_bytes is None) and (shuffle is not None or output is not None):
            raise click.UsageError("--shuffle and --output belong to --data SIZE")
        if trial_id is not None:
            job = _recorded(trial_id, data_bytes)
        elif data_bytes is not None:
            job = _short_form(data_bytes, shuffle, output)
        else:
            job = the_job(sort_bytes, job_file)
        if exchange is not None:
            job = replace(job, exchange=Exchange(exchange))
        job = operated(
            job,
            startup_s=startup_s,
            core_s_per_gb=core_s_per_gb,
            filled_share=filled_share(others["assumed"]),
        )
        return command(job=job, **others)

    for option in _workload():
        with_job = option(with_job)
    return with_job  # type: ignore[return-value]  # `job=` replaces the options


def _workload() -> tuple[Callable[[Any], Any], ...]:
    """The options of `workload_options`."""
    return (
        click.option(
            "--core-s-per-gb",
            metavar="X",
            type=click.FloatRange(0, 1e6),
            help="CPU time for each GB of input, in core-seconds. Default: the trial's or the job "
            "file's; for a sort 4 (1 to 12).",
        ),
        click.option(
            "--startup",
            "startup_s",
            metavar="TIME",
            type=DURATION,
            help="Time to start the cluster, which is paid; 0s for one that runs already. Default: "
            "the job file's, else 3.5 min (1.5 to 10 min).",
        ),
        click.option(
            "--output",
            metavar="RATIO",
            type=click.FloatRange(0, 1e6),
            help="Output for each byte of --data. Default: as much as the shuffle.",
        ),
        click.option(
            "--shuffle",
            metavar="RATIO",
            type=click.FloatRange(0, 1e6),
            help="Shuffled bytes for each byte of --data. Default: 1.",
        ),
        click.option(
            "--data",
            "data_bytes",
            metavar="SIZE",
            type=SIZE,
            help="Any job with this much input: see --shuffle, --output and --core-s-per-gb. With "
            "TRIAL: scale its recorded bytes and CPU time to this input.",
        ),
        job_options,
        click.argument("trial_id", metavar="[TRIAL]", required=False),
    )


def _short_form(data_bytes: int, shuffle: float | None, output: float | None) -> Job:
    from venturi.core.units import decimal_size
    from venturi.machines.cost.job import Job

    shuffled = data_bytes * (1.0 if shuffle is None else shuffle)
    written = shuffled if output is None else data_bytes * output
    return Job(f"job on {decimal_size(data_bytes)}", data_bytes, shuffled, written)


def _recorded(trial_id: str, data_bytes: int | None) -> Job:
    """The bytes and CPU time of a trial with an engine's account."""
    from venturi.jobs.two_passes import recorded_job
    from venturi.record.account_tables import has_account
    from venturi.record.job_account import load

    with open_repository() as repository:
        trial = repository.get(trial_id)
        if not has_account(trial):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"trial {trial.id} has no engine log: its bytes and CPU time are unknown",
                where={"trial": trial.id},
                hint="import the log of a Spark or MapReduce job with `venturi import`",
            )
        return recorded_job(trial.workload.name, load(repository, trial), data_bytes)


def limit_options(command: F) -> F:
    """The user's `limits=`, of the settings' file and of options."""

    @wraps(command)
    def with_limits(
        *,
        provider: tuple[str, ...],
        region: tuple[str, ...],
        family: tuple[str, ...],
        max_vcpus: int | None,
        discount: float | None,
        prices: str | None,
        **others: Any,
    ) -> Any:
        from venturi.core import settings
        from venturi.machines.advice.limits import own_limits

        limits = own_limits(settings.load().operating_limits)
        given = {
            "provider": provider,
            "region": region,
            "family": family,
            "max_vcpus": max_vcpus,
            "discount": None if discount is None else discount / 100,
            "prices": prices,
        }
        stated = {name: value for name, value in given.items() if value not in (None, ())}
        return command(limits=limits.model_copy(update=stated), **others)

    options = (
        click.option(
            "--prices",
            metavar="FILE",
            help="Your price list, a CSV file with the columns type and usd_per_hour; only its "
            "types are considered.",
        ),
        click.option(
            "--discount",
            metavar="PERCENT",
            type=click.FloatRange(0, 100, max_open=True),
            help="Your discount on the prices of nodes.",
        ),
        click.option(
            "--max-vcpus",
            metavar="N",
            type=click.IntRange(1),
            help="Your quota: at most N vCPUs in all nodes together.",
        ),
        *(
            click.option(
                f"--{name}",
                metavar=name.upper(),
                multiple=True,
                help=f"Consider only this {name}, such as {like}; repeatable.",
            )
            for name, like in (
                ("family", "i4i or 'Standard_L*_v3'"),
                ("region", "us-east-1"),
                ("provider", "aws, gcp or azure"),
            )
        ),
    )
    for option in options:
        with_limits = option(with_limits)
    return with_limits  # type: ignore[return-value]  # `limits=` replaces the options


def catalog_options(command: F) -> F:
    """`--catalog`, `--measured`, `--assume`, `--own`, `--volumes` and `--network`."""
    for option in (
        click.option(
            "--network",
            type=click.Choice(NETWORKS),
            default=NETWORKS[0],
            show_default=True,
            help="Network bandwidth to use: observed in a large cluster (if known), between two "
            "nodes, or none (storage only).",
        ),
        own_option,
        volumes_option,
        assume_option,
        measured_option,
        click.option(
            "--catalog",
            "catalogs",
            metavar="NAME|FILE",
            multiple=True,
            help="Machines and prices: a shipped catalog (`venturi catalog ls`) or a CSV file; "
            "repeatable. Default: current, plus the shipped catalog of a named type.",
        ),
    ):
        command = option(command)
    return command


def the_job(sort_bytes: int | None, job_file: Path | None, exchange: str | None = None) -> Job:
    """The job that the options describe; exactly one of the first two must be given."""
    job = _job(sort_bytes, job_file)
    return job if exchange is None else replace(job, exchange=Exchange(exchange))


def _job(sort_bytes: int | None, job_file: Path | None) -> Job:
    from venturi.machines.cost.job import parse_job, sort_job

    if (sort_bytes is None) == (job_file is None):
        raise click.UsageError("give either --sort SIZE or --job FILE")
    if sort_bytes is not None:
        return sort_job(sort_bytes)
    assert job_file is not None
    return parse_job(read_text_or_stdin(job_file, "VEN-JOB-FORMAT"), str(job_file))


def the_catalogs(
    names: tuple[str, ...],
    measured: tuple[str, ...],
    assumed: tuple[str, ...],
    today: date,
    owned: str | None = None,
    *,
    types: Iterable[str] = (),
    volumes: str | None = None,
    limits: Limits | None = None,
) -> list[Catalog]:
    """The catalogs with these names, overlaid with measurements and completed with assumptions.

    Without names: the default catalog, and those shipped ones that alone have one of `types`.
    """
    from venturi.machines.advice.limits import limited
    from venturi.machines.advice.own_prices import parse_ownership, with_own_prices
    from venturi.machines.advice.volumes import equipped
    from venturi.machines.cost.overlay import overlay

    ownership = None if owned is None else parse_ownership(owned)
    over = [find(each) for name in measured for each in _files(name)]
    found: list[Catalog] = []
    for name in dict.fromkeys(names) or shipped_with(types):
        catalog = find(name)
        if any(other.name == catalog.name for other in found):
            catalog = replace(catalog, name=name)  # of two files with one name the whole path
        for each in over:
            catalog = overlay(catalog, each)
        found.append(with_own_prices(with_assumed(catalog, assumed, today), ownership, today))
    found = list(map(equipped, found)) if volumes is None else _attached(found, volumes)
    return found if limits is None else limited(found, limits, today)


def _attached(catalogs: Sequence[Catalog], text: str) -> list[Catalog]:
    """The catalogs with the volumes attached; one without this kind of volume is unchanged."""
    from venturi.machines.advice.volumes import attach, parse_volumes

    kind, volumes = parse_volumes(text)
    if any(kind in each.volumes for each in catalogs):
        return [attach(e, kind, volumes) if kind in e.volumes else e for e in catalogs]
    return [attach(catalogs[0], kind, volumes)]  # refuses it


def _files(name: str) -> list[str]:
    """`name`, or the CSV files of the folder `name`."""
    if not os.path.isdir(name):  # noqa: PTH112 - a name too long for a file is not a folder either
        return [name]
    found = sorted(str(path) for path in Path(name).glob("*.csv"))
    if not found:
        raise VenturiError(
            "VEN-CATALOG-UNKNOWN",
            f"--measured {name}: the folder has no CSV file",
            where={"folder": name},
            hint="`venturi catalog overlay --from-trials --type NAME -o FILE` makes one",
        )
    return found


def type_and_nodes(text: str) -> tuple[str, int | None]:
    """`i2.8xlarge:178` as a name and a count; the count may be left out."""
    from venturi.machines.advice.hardware import type_and_nodes as parsed

    found = parsed(text)
    if found is None:
        raise click.UsageError(
            f"{text[:80]!r} is not TYPE or TYPE:NODES, such as i2.8xlarge:178, with at most "
            f"{MOST_NODES:,} nodes"
        )
    return found


def durabilities(names: tuple[str, ...]) -> tuple[Durability, ...]:
    """The durability classes named."""
    return tuple(Durability(name) for name in names)
