"""Imports files and folders, and prints the result for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.cli.open_repository import counting, open_repository
from venturi.cli.results.import_messages import FileOutcome, say, say_imported
from venturi.cli.screen import is_first_screen
from venturi.core.errors import ExitCode, VenturiError, unreadable
from venturi.record.importing.formats import FORMATS, Format, FormatKind
from venturi.record.importing.recognise import recognise

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
    format_: Format | None, files: Sequence[Path], named: str | None = None
) -> tuple[list[FileOutcome], ExitCode]:
    """Import `files`, or without any the shipped tables; return the outcomes and the exit status.

    Each outcome is printed. A single file raises its error. `named` is the name of a file from a
    server or store: its applications are printed in a line each.
    """
    outcomes: list[FileOutcome] = []
    refused = 0
    with open_repository() as repository:
        for found in _outcomes(repository, format_, files):
            outcome = found if named is None else replace(found, file=named)
            outcomes.append(outcome)
            if outcome.imported is not None:
                brief = outcome.file not in files  # found in a folder
                say_imported(repository, outcome, outcome.imported, brief=brief)
                continue
            assert outcome.error is not None
            if len(files) == 1 and outcome.file == files[0]:
                raise outcome.error
            refused += 1
            if refused <= _REFUSED_SHOWN:
                say(f"{outcome.file}: rejected: [{outcome.error.code}] {outcome.error.message}")
    if refused > _REFUSED_SHOWN:
        say(f"and {refused - _REFUSED_SHOWN:,} more rejected; --json has all")
    if refused == len(outcomes) and named is None:
        say(f"no trial found in {', '.join(map(str, files))}")
    sound = all(each.imported is not None and each.imported.sound for each in outcomes)
    return outcomes, ExitCode.OK if sound else ExitCode.USER


def _outcomes(
    repository: TrialRepository, format_: Format | None, files: Sequence[Path]
) -> Iterator[FileOutcome]:
    from venturi.record.importing.importer import found

    if not files:
        from venturi.record.starter import import_starter

        yield FileOutcome(None, STARTER, import_starter(repository))
    for given in files:
        chosen, file = format_, given
        try:
            chosen = format_ or _recognised(given)
            unit = "trials" if chosen.kind is FormatKind.ARCHIVE else "bytes"
            for file, take in found(chosen, given):
                try:
                    with counting(f"import {file.name}", unit) as progress:
                        imported = take(repository, progress)
                except VenturiError as error:
                    yield FileOutcome(file, chosen.name, error=error)
                else:
                    yield FileOutcome(file, chosen.name, imported)
        except VenturiError as error:
            yield FileOutcome(given, chosen.name if chosen else None, error=error)


def _recognised(file: Path) -> Format:
    format_ = recognise(file)
    if not is_first_screen():
        say(f"{file}: recognized as {format_.name}: {format_.title}")
    return format_
