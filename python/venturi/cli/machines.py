"""Options of the verbs that ask about machines: the job, the catalogues, what is added to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venturi.cli.options import BYTES

if TYPE_CHECKING:
    from datetime import date

    from venturi.model.catalog import Catalog
    from venturi.model.job import Durability, Job

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_CATALOG = "ec2-2014"
DURABILITIES = ("2-io", "replicated", "volumes")
NETWORKS = ("at-scale", "baseline", "unlimited")


def job_options(command: F) -> F:
    """`--sort` and `--job`."""
    command = click.option(
        "--job", "job_file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True),
        help="The job, a TOML file: input, intermediate and output bytes, durability, ... (- is "
        "stdin).",
    )(command)  # fmt: skip
    return click.option(
        "--sort", "sort_bytes", metavar="SIZE", type=BYTES,
        help="The job is to sort so much, such as 100TB.",
    )(command)  # fmt: skip


def catalog_options(command: F) -> F:
    """`--catalog`, `--measured`, `--assume` and `--network`."""
    for option in (
        click.option(
            "--network", type=click.Choice(NETWORKS), default=NETWORKS[0], show_default=True,
            help="Which network bandwidth counts: as observed in a large cluster where that is "
            "known, as between two nodes, or none (storage alone).",
        ),
        click.option(
            "--assume", "assumed", metavar="WHAT=RATE", multiple=True,
            help="A rate for the types of which it is not known: storage=900MB/s, NVMe=1000MB/s "
            "(one disk), network=5Gbit/s or network=70% (of the line rate). Marked as assumed, "
            "from half of it to one and a half.",
        ),
        click.option(
            "--measured", metavar="FILE", multiple=True,
            help="A catalogue whose figures are laid over the others where they are better known.",
        ),
        click.option(
            "--catalog", "catalogs", metavar="NAME|FILE", multiple=True,
            default=(DEFAULT_CATALOG,), show_default=True,
            help="Machines and prices: a shipped catalogue (`venturi catalog ls`) or a CSV file; "
            "may be given several times.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def the_job(sort_bytes: int | None, job_file: Path | None) -> Job:
    """The job that the options describe; exactly one of both must be given."""
    from venturi.errors import VenturiError
    from venturi.model.job import parse_job, sort_job

    if (sort_bytes is None) == (job_file is None):
        raise click.UsageError("give either --sort SIZE or --job FILE")
    if sort_bytes is not None:
        return sort_job(sort_bytes)
    try:
        with click.open_file(str(job_file), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise VenturiError(
            "VEN-JOB-FORMAT", f"{job_file} cannot be read: {error}", where={"file": str(job_file)}
        ) from error
    return parse_job(text, str(job_file))


def the_catalogs(
    names: tuple[str, ...], measured: tuple[str, ...], assumed: tuple[str, ...], today: date
) -> list[Catalog]:
    """The catalogues named, with what was measured laid over and what is assumed filled in."""
    from venturi.advise.assume import assume, parse_assumption
    from venturi.model.catalog.find import find
    from venturi.model.catalog.overlay import overlay

    assumptions = [parse_assumption(text) for text in assumed]
    over = [find(name) for name in measured]
    found = []
    for name in dict.fromkeys(names):
        catalog = find(name)
        for each in over:
            catalog = overlay(catalog, each)
        found.append(assume(catalog, assumptions, today))
    return found


def type_and_nodes(text: str) -> tuple[str, int | None]:
    """`i2.8xlarge:178` as a name and a count; the count may be left out."""
    name, colon, count = text.partition(":")
    if not name or (colon and not (count.isascii() and count.isdigit() and int(count) > 0)):
        raise click.UsageError(f"{text!r} is not TYPE or TYPE:NODES, such as i2.8xlarge:178")
    return name, int(count) if colon else None


def durabilities(names: tuple[str, ...]) -> tuple[Durability, ...]:
    """The durability classes named."""
    from venturi.model.job import Durability

    return tuple(Durability(name) for name in names)
