"""Imports results, archives and engines' logs through one code path.

Ids are derived from the content, so a second import adds nothing. The trials of a file of results
are stored in one transaction, so a file that turns out to be damaged leaves nothing behind. Trials
of archives and logs have files; each is stored separately once its files are stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from venturi.core.errors import UsageError, VenturiError, unreadable
from venturi.core.settings import TrialLimits
from venturi.record.importing.containers import (
    errors_name,
    is_container,
    require_depth,
    unpacked,
)
from venturi.record.importing.exchange import import_archive
from venturi.record.importing.formats import FORMATS, Format, FormatKind, Log
from venturi.record.importing.host_series import bounded, take_series
from venturi.record.importing.items import ImportedItem, ImportSource
from venturi.record.importing.recognise import refuse_special
from venturi.record.importing.tally import ImportReport, Tally
from venturi.record.store.files import remove_abandoned
from venturi.record.store.repository import TrialRepository

Progress = Callable[[int, int | None], None]
"""Called with the amount read so far and the total, if known: bytes, or trials of an archive."""
Take = Callable[[TrialRepository, Progress], ImportReport]
"""Imports one file, or one log; on an error nothing of it is stored."""

_ITEMS_A_STEP = 500


def format_named(name: str) -> Format:
    """The format `name`."""
    if name not in FORMATS:
        raise UsageError(
            "VEN-IMPORT-FORMAT",
            f"{name!r} is not a format that can be imported",
            where={"format": name},
            hint=f"one of {', '.join(FORMATS)}",
        )
    return FORMATS[name]


def found(format: Format, path: Path) -> Generator[tuple[Path, Take]]:
    """Yield the files to import at `path`, by name: the file itself, or each log in the folder.

    Containers in containers are unpacked, too, VEN-INGEST-LIMIT if they are too deep.
    """
    with ExitStack() as kept:
        yield from _found(format, path, kept, 0)


def _found(format: Format, path: Path, kept: ExitStack, depth: int) -> Iterator[tuple[Path, Take]]:
    """Yield the files to import; unpacked ones exist as long as `kept` is open."""
    refuse_special(path, format.kind.value)
    if format.kind is FormatKind.RESULTS:
        yield path, partial(_take_results, format, path)
    elif format.kind is FormatKind.SERIES:
        yield path, partial(_take_series, format, path)
    elif format.kind is FormatKind.ARCHIVE:
        yield path, partial(_take_archive, path)
    elif is_container(path):
        require_depth(path, depth)
        folder = kept.enter_context(unpacked(path))
        logs = list(_found(format, folder, kept, depth + 1))
        for name, take in logs:
            own = path if len(logs) == 1 else path / name.relative_to(folder)
            yield own, partial(_take_unpacked, take, path, folder)
    else:
        for log in format.reader.find(path):
            if log.files == (log.path,) and path.is_dir() and is_container(log.path):
                # Each container in a folder is unpacked only while it is read.
                if depth:
                    yield from _found(format, log.path, kept, depth)
                else:
                    yield from found(format, log.path)
            else:
                yield log.path, partial(_take_log, format, log)


def import_file(
    repository: TrialRepository,
    format: str,
    path: Path,
    progress: Progress = lambda done, total: None,
) -> ImportReport:
    """Import the file `path` in the format `format` (a name in `FORMATS`).

    If the file isn't in the format, is damaged or cannot be read, this raises the code of the
    format's kind, and nothing is stored.
    """
    # Taken while `found` goes on: a container is unpacked until then.
    (report,) = [take(repository, progress) for _, take in found(format_named(format), path)]
    return report


def results(
    format: Format, path: Path, progress: Progress, limits: TrialLimits | None = None
) -> Iterator[ImportedItem]:
    """Yield the items of the file of results `path`. It is read twice: for its digest and its rows.

    With `limits`, rows of trials that exceed them are rejected.
    """
    try:
        with path.open("rb") as file:
            source = ImportSource(
                str(path), hashlib.file_digest(file, "sha256").hexdigest(), limits
            )
            size_bytes = file.tell()
            file.seek(0)
            more = (format.options,) if format.options else ()
            for count, item in enumerate(format.reader.read(file, source, *more)):
                if count % _ITEMS_A_STEP == 0:
                    progress(file.tell(), size_bytes)
                yield item
            progress(size_bytes, size_bytes)
    except OSError as error:
        raise unreadable(path, error, format.kind.value) from error


def store(repository: TrialRepository, items: Iterable[ImportedItem]) -> ImportReport:
    """Stores the trials among `items`, all or none of them."""
    tally = Tally()
    report = repository.add_many(tally.trials(items))
    tally.added, tally.already_present = report.added, report.already_present
    tally.removed = report.removed
    return tally.done()


def _take_unpacked(
    take: Take, path: Path, folder: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    with errors_name(path, folder):
        return take(repository, progress)


def _take_results(
    format: Format, path: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    try:
        return store(repository, results(format, path, progress))
    except VenturiError as error:
        if error.code != "VEN-RECORD-LIMIT":
            raise
    # Nothing was stored. Few files have such rows, so that only theirs are looked at one by one.
    return store(repository, results(format, path, progress, repository.limits))


def _take_series(
    format: Format, path: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            source = ImportSource(str(path), digest, code=format.kind.value)
            size_bytes = file.tell()
            file.seek(0)
            items = bounded(format.reader.read(file, source), source)
            report = take_series(repository, items, source)
    except OSError as error:
        raise unreadable(path, error, format.kind.value) from error
    progress(size_bytes, size_bytes)
    return report


def _take_archive(path: Path, repository: TrialRepository, progress: Progress) -> ImportReport:
    remove_abandoned(repository.artifacts_dir)
    return import_archive(repository, path, progress=progress)


def _take_log(
    format: Format, log: Log, repository: TrialRepository, progress: Progress
) -> ImportReport:
    reader = format.reader
    found = reader.accounts(log, progress=lambda done: progress(done, None))
    return reader.take_in(repository, found)  # type: ignore[no-any-return]
