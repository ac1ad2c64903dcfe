"""Imports files and folders, and prints the result for each."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import labels_given
from venturi.cli.results.import_messages import (
    FileOutcome,
    goes_on,
    say,
    say_imported,
    say_skipped,
    suggest_next,
)
from venturi.cli.results.import_workers import import_logs, workers_for
from venturi.cli.screen import is_first_screen
from venturi.core.errors import ExitCode, VenturiError, unreadable
from venturi.record.importing.formats import FORMATS, Format, FormatKind, Log
from venturi.record.importing.recognise import formats_of

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

STARTER = "published"
"""The format of the shipped tables, which it stands for without a file."""
SERVED = FORMATS["spark-eventlog"]
"""The format of the logs that a server or store has."""
_REFUSED_SHOWN = 5
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def is_url(source: str) -> bool:
    """Whether `source` is the URL of a server or of object storage."""
    return _URL.match(source) is not None


def check_exist(format_: Format | None, files: Sequence[Path], hint: str = "") -> None:
    """Raise an error if one of `files` does not exist, before any is read."""
    for file in files:
        try:
            file.stat()
        except OSError as error:
            code = (format_.kind if format_ else FormatKind.RESULTS).value
            raise unreadable(file, error, code, hint) from error


def import_all(
    format_: Format | None,
    files: Sequence[Path],
    named: str | None = None,
    *,
    watched: bool = False,
) -> tuple[list[FileOutcome], ExitCode]:
    """Import `files`, or without any the shipped tables; return the outcomes and the exit status.

    Each outcome is printed. A single file raises its error. `named` is the name of a file from a
    server or store: its applications are printed in a line each. With `watched`, the progress of
    running applications isn't printed.
    """
    outcomes: list[FileOutcome] = []
    refused, brief = 0, False
    with (
        open_repository() as repository,
        closing(_outcomes(repository, format_, files, named)) as all_found,
    ):
        for found in all_found:
            outcome = found if named is None else replace(found, file=named)
            outcomes.append(outcome)
            if outcome.imported is not None:
                brief = outcome.file not in files  # found in a folder
                if not (watched and goes_on(outcome.imported)):
                    say_imported(repository, outcome, outcome.imported, brief=brief)
            elif outcome.error is not None:
                if named is not None:
                    outcome.error.message = outcome.error.message.replace(str(files[0]), named)
                if len(files) == 1 and outcome.file == files[0] and len(outcomes) == 1:
                    raise outcome.error
                refused += 1
                if refused <= _REFUSED_SHOWN:
                    say(f"{outcome.file}: rejected: [{outcome.error.code}] {outcome.error.message}")
        suggest_next(repository, outcomes, brief=brief)
    if refused > _REFUSED_SHOWN:
        say(f"and {refused - _REFUSED_SHOWN:,} more rejected; --json has all")
    say_skipped(outcomes)
    if named is None and not any(each.imported for each in outcomes):
        say(f"no trial found in {', '.join(map(str, files))}")
    results = [each for each in outcomes if not each.skipped]
    sound = all(each.imported is not None and each.imported.sound for each in results)
    return outcomes, ExitCode.OK if sound and results else ExitCode.USER


def _outcomes(
    repository: TrialRepository,
    format_: Format | None,
    files: Sequence[Path],
    named: str | None,
) -> Generator[FileOutcome]:
    if not files:
        from venturi.record.starter import import_starter

        yield FileOutcome(None, STARTER, import_starter(repository))
    for given in files:
        try:
            chosen = [format_] if format_ else _recognised(given, named)
        except VenturiError as error:
            yield FileOutcome(given, None, error=error)
            continue
        unknown: set[Path] | None = None
        for each in chosen:
            others: set[Path] = set()
            for outcome in _of_format(repository, each, given):
                if outcome.skipped and isinstance(outcome.file, Path):
                    others.add(outcome.file)
                else:
                    yield outcome
            unknown = others if unknown is None else unknown & others
        for file in sorted(unknown or ()):
            yield FileOutcome(file, None, skipped=True)


def _of_format(repository: TrialRepository, format_: Format, given: Path) -> Iterator[FileOutcome]:
    """Import the files of one format at `given`; others are skipped."""
    from venturi.record.importing.importer import found

    if format_.kind is FormatKind.LOG and given.is_dir():
        logs = list(format_.reader.find(given))
        if (workers := workers_for(len(logs))) > 1:
            yield from _by_workers(format_, given, logs, workers)
            return
    unit = "trials" if format_.kind is FormatKind.ARCHIVE else "bytes"
    try:
        for file, take in found(format_, given):
            if take is None:
                yield FileOutcome(file, None, skipped=True)
                continue
            try:
                with counting(f"import {file.name}", unit) as progress:
                    imported = take(repository, progress)
            except VenturiError as error:
                yield FileOutcome(file, format_.name, error=error)
            else:
                yield FileOutcome(file, format_.name, imported)
    except VenturiError as error:
        yield FileOutcome(given, format_.name, error=error)


def _by_workers(
    format_: Format, folder: Path, logs: Sequence[Log], workers: int
) -> Iterator[FileOutcome]:
    from venturi.record.importing.importer import nothing_found

    with counting(f"import {folder.name}", "logs") as progress:
        none = True
        outcomes = import_logs(
            format_, logs, workers, labels_given(), first_screen=is_first_screen()
        )
        for number, of_log in enumerate(outcomes, 1):
            progress(number, len(logs))
            none &= all(each.skipped for each in of_log)
            yield from of_log
    if none:
        yield FileOutcome(folder, format_.name, error=nothing_found(format_, folder))


def _recognised(file: Path, named: str | None) -> list[Format]:
    found = formats_of(file)
    if not is_first_screen():
        for each in found:
            say(f"{named or file}: recognized as {each.name}: {each.title}")
    return found
