"""`venturi import`: trials from archives, and from other people's results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.progress import progress_bars
from venturi.cli.repository import counting, open_repository
from venturi.errors import ExitCode, VenturiError, unreadable
from venturi.wording import did_you_mean

if TYPE_CHECKING:
    from venturi.record.exchange import ImportReport
    from venturi.record.importing.take_in import ImportedResults
    from venturi.record.repository import Repository

# As in record.importers.IMPORTERS, which is too heavy for --help; a test holds them together.
FORMATS = (
    "aloja",
    "scout",
    "ibm",
    "cherrypick",
    "c3o",
    "hibench",
    "spark-perf",
    "pkb",
    "published",
)
# The format whose tables are shipped: without a file it means them.
STARTER = "published"
_SHOWN = 10


def _format_and_files(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[str | None, tuple[Path, ...]]:
    """The format, if the first word names one, and the files, which must be there."""
    format_ = words[0] if words[0] in FORMATS else None
    names = words[1:] if format_ else words
    if not names and format_ != STARTER:
        raise click.BadParameter(f"name a file to import as {format_}")
    files = tuple(map(Path, names))
    for file in files:
        try:
            file.stat()
        except OSError as error:
            code = "VEN-IMPORT-FORMAT" if format_ else "VEN-EXCHANGE-FORMAT"
            hint = "" if format_ else did_you_mean(file.name, FORMATS, "formats are")
            raise unreadable(file, error, code, hint) from error
    return format_, files


@click.command()
@click.argument(
    "what", nargs=-1, required=True, metavar="[FORMAT] [FILE]...", callback=_format_and_files
)
@json_option
def command(what: tuple[str | None, tuple[Path, ...]], as_json: bool) -> int:
    """Read trials from archives that `venturi export` wrote, or other people's results.

    FORMAT says whose results they are: aloja, scout, ibm, cherrypick, c3o, hibench, spark-perf,
    pkb or published; an archive needs none. (A file that is called like a format is ./aloja.)
    `venturi import published` without a FILE reads the tables of publications that come along.

    Trials that are here already stay as they are. A damaged trial of an archive is refused, with
    its line and the reason; the others are taken in, and the exit status is 1. Of other people's
    results, rows that are no trials are refused and counted by reason; the exit status is 1 if no
    row was taken in. A file that is damaged as a whole is an error, and nothing of it is kept.
    """
    format_, files = what
    read = _read_archive if format_ is None else _reader_of(format_)
    data = []
    sound = True
    with open_repository() as repository:
        if not files:
            data.append({"file": None, **_read_starter(repository)})
        for file in files:
            fields, good = read(repository, file)
            data.append({"file": str(file), **fields})
            sound = sound and good
    if as_json:
        print_json(data)
    return ExitCode.OK if sound else ExitCode.USER


def _read_archive(repository: Repository, file: Path) -> tuple[dict[str, Any], bool]:
    from venturi.record.exchange import import_archive

    if not is_zipfile(file):
        raise VenturiError(
            "VEN-EXCHANGE-FORMAT",
            f"{file} is no archive of `venturi export`, or is cut off",
            where={"file": str(file)},
            hint="results of others need their format: venturi import FORMAT FILE; formats are "
            + ", ".join(FORMATS),
        )
    with counting(f"import {file.name}") as progress:
        report = import_archive(repository, file, progress=progress)
    _tell_archive(file, report)
    return asdict(report), not report.refused


def _tell_archive(file: Path, report: ImportReport) -> None:
    click.echo(
        f"{file}: {len(report.added)} added, {len(report.already_present)} already here, "
        f"{len(report.refused)} refused",
        err=True,
    )
    for refusal in report.refused:
        click.echo(
            f"  line {refusal.line} (trial {refusal.trial}): [{refusal.code}] {refusal.reason}",
            err=True,
        )


def _reader_of(format_: str) -> Callable[[Repository, Path], tuple[dict[str, Any], bool]]:
    def read(repository: Repository, file: Path) -> tuple[dict[str, Any], bool]:
        from venturi.record.importing.take_in import import_results

        with _reading(f"import {file.name}") as progress:
            results = import_results(repository, format_, file, progress)
        _tell_results(str(file), format_, results)
        return _fields(format_, results), results.added + results.already_present > 0

    return read


def _read_starter(repository: Repository) -> dict[str, Any]:
    from venturi.record.starter import import_starter

    results = import_starter(repository)
    _tell_results("tables of publications", STARTER, results)
    return _fields(STARTER, results)


def _fields(format_: str, results: ImportedResults) -> dict[str, Any]:
    return {"format": format_, **asdict(results), "refused_count": results.refused_count}


def _tell_results(file: str, format_: str, results: ImportedResults) -> None:
    def tell(line: str) -> None:
        click.echo(line, err=True)

    tell(
        f"{file} ({format_}): {results.added:,} added, {results.already_present:,} already here, "
        f"{results.repeated:,} over again, {results.refused_count:,} refused"
    )
    if results.failed:
        tell(f"  {results.failed:,} of them failed where they ran, and are kept as failed")
    if results.alike:
        tell(
            f"  {results.alike:,} of them equal an earlier row in all but its number; "
            "they are kept and marked"
        )
    # What a file says is shown with !r: it may hold what a terminal would obey.
    for variant in results.spellings[:_SHOWN]:
        tell(
            f"  {variant.field} {variant.written!r} was taken as {variant.taken_as!r} "
            f"{variant.count:,} times"
        )
    for reason in results.reasons[:_SHOWN]:
        tell(f"  refused, {reason.count:,} times: {reason.field or 'row'}: {reason.reason}")
    for refusal in results.refused[:_SHOWN]:
        tell(f"    line {refusal.line}: {refusal.field or 'row'} {refusal.value!r}")
    for what, shown in (
        ("spellings", results.spellings),
        ("reasons", results.reasons),
        ("refused rows", results.refused),
    ):
        if len(shown) > _SHOWN:
            tell(f"  the first {_SHOWN} {what} are shown; --json has more")


@contextmanager
def _reading(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Shows how many bytes of how many are read, where somebody looks."""
    with progress_bars() as show:
        if show is None:
            yield None
            return
        from venturi.measure.hosts.agent import Progress

        start_s = time.monotonic()
        yield lambda done, total: show(
            Progress(what, done, total, "bytes", time.monotonic() - start_s)
        )
