"""Imports results, archives and engines' logs through one code path.

Ids are derived from the content, so a second import adds nothing. A log's id is derived from its
application, so a longer log updates the trial in place. The trials of a file of results are stored
in one transaction, so a file that turns out to be damaged leaves nothing behind. Trials of archives
and logs have files; each is stored separately once its files are stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from venturi.core.errors import UsageError, VenturiError, unreadable
from venturi.core.settings import TrialLimits
from venturi.core.wording import joined
from venturi.record.importing.containers import (
    RECORDS,
    errors_name,
    is_container,
    plain_file,
    require_depth,
    unpacked,
    zipped_archive,
)
from venturi.record.importing.exchange import import_archive
from venturi.record.importing.formats import FORMATS, Format, FormatKind, Log, NothingFoundError
from venturi.record.importing.host_series import bounded, take_series
from venturi.record.importing.identity import other_values
from venturi.record.importing.items import ImportedItem, ImportSource
from venturi.record.importing.recognise import files_in, may_be, refuse_special
from venturi.record.importing.tally import ArrivalKind, ImportReport, Tally
from venturi.record.store.files import remove_abandoned
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

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


def found(format: Format, path: Path) -> Generator[tuple[Path, Take | None]]:
    """Yield the files to import at `path`, by name: the file itself, or each one in the folder.

    Containers in containers are unpacked, too, VEN-INGEST-LIMIT if they are too deep. A file that
    lies in a folder or container and isn't of the format has None; an error follows if all are so.
    """
    none = True
    with ExitStack() as kept:
        for name, take in _found(format, path, kept, 0):
            none &= take is None
            yield name, take
    if none:
        raise nothing_found(format, path)


def nothing_found(format: Format, path: Path) -> NothingFoundError:
    """The error for a file or folder without anything in the format."""
    return NothingFoundError(
        format.kind.value,
        f"{path} contains no file of the format {format.name}",
        where={"file": str(path)},
        hint=f"`venturi import {path}` recognizes the formats of the files in it",
    )


def found_in_log(format: Format, log: Log) -> Generator[tuple[Path, Take | None]]:
    """Yield what `found` yields for one of the logs in a folder."""
    with ExitStack() as kept:
        yield from _in_log(format, log, kept, 0, in_folder=True)


def _found(
    format: Format, path: Path, kept: ExitStack, depth: int
) -> Iterator[tuple[Path, Take | None]]:
    """Yield the files to import; unpacked ones exist as long as `kept` is open."""
    refuse_special(path, format.kind.value)
    if is_container(path, format.kind.value):
        yield from _in_container(format, path, kept, depth)
    elif format.kind is FormatKind.LOG:
        for log in format.reader.find(path):
            yield from _in_log(format, log, kept, depth, in_folder=path.is_dir())
    elif path.is_dir():
        for file in files_in(path):
            yield from _in_folder(format, file, kept, depth)
    else:
        code = format.kind.value
        made = zipped_archive(path) if path.name == RECORDS else plain_file(path, code)
        plain = kept.enter_context(made)
        yield (
            path,
            partial(_take_unpacked, partial(_TAKES[format.kind], format, plain), path, plain),
        )


def _in_log(
    format: Format, log: Log, kept: ExitStack, depth: int, *, in_folder: bool
) -> Iterator[tuple[Path, Take | None]]:
    if log.files == (log.path,) and in_folder:
        yield from _in_folder(format, log.path, kept, depth)
    else:
        yield log.path, partial(_take_log, format, log, unpacked=depth > 0)


def _in_container(
    format: Format, path: Path, kept: ExitStack, depth: int
) -> Iterator[tuple[Path, Take | None]]:
    require_depth(path, depth)
    problems: list[VenturiError] = []
    folder = kept.enter_context(unpacked(path, problems=problems))
    with errors_name(path, folder):
        inside = list(_found(format, folder, kept, depth + 1))
    alone = len(inside) == 1 and not problems
    for name, take in inside:
        if take is None:
            yield path / name.relative_to(folder), None
        else:
            own = path if alone else path / name.relative_to(folder)
            yield own, partial(_take_unpacked, take, path, folder)
    for problem in problems:
        yield path, partial(_fail, problem)


def _in_folder(
    format: Format, file: Path, kept: ExitStack, depth: int
) -> Iterator[tuple[Path, Take | None]]:
    """Yield a file of a folder, those in it if it is a container, or why it can't be read."""
    try:
        if is_container(file):
            # Each container in a folder is unpacked only while it is read.
            yield from _found(format, file, kept, depth) if depth else found(format, file)
        elif not format.is_recognizable or may_be(format, file):
            yield from _found(format, file, kept, depth)
        else:
            yield file, None
    except NothingFoundError:
        yield file, None
    except VenturiError as error:
        yield file, partial(_fail, error)


def _fail(error: VenturiError, repository: TrialRepository, progress: Progress) -> ImportReport:
    raise error


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
    with closing(found(format_named(format), path)) as files:
        (report,) = [take(repository, progress) for _, take in files if take is not None]
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


def store(
    repository: TrialRepository, items: Iterable[ImportedItem], *, update: bool = False
) -> ImportReport:
    """Stores the trials among `items`, all or none of them.

    With `update`, a trial that has more samples than the stored one replaces it, and one that
    contradicts it is reported.
    """
    tally = Tally()
    trials = tally.trials(items)
    report = repository.add_many(_updated(repository, trials, tally) if update else trials)
    tally.added += report.added
    tally.already_present += report.already_present
    tally.removed = report.removed
    return tally.done()


def _updated(repository: TrialRepository, trials: Iterable[Trial], tally: Tally) -> Iterator[Trial]:
    """Update stored trials, report contradicting ones, and return the others."""
    others = []
    for trial in trials:
        stored = repository.stored(trial.id)
        if stored is None:
            others.append(trial)
        elif differences := other_values(stored, trial):
            tally.arrive(trial, ArrivalKind.CONTRADICTING, note=joined(differences[:3]))
        elif len(trial.samples) > len(stored.samples) and repository.supersede(stored, trial):
            counts = f"{len(trial.samples):,} samples instead of {len(stored.samples):,}"
            tally.arrive(trial, ArrivalKind.UPDATED, note=counts)
        else:
            others.append(trial)
    return iter(others)


def _take_unpacked(
    take: Take, path: Path, folder: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    with errors_name(path, folder):
        return take(repository, progress)


def _take_results(
    format: Format, path: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    try:
        return store(repository, results(format, path, progress), update=format.has_run_ids)
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


def _take_archive(
    format: Format, path: Path, repository: TrialRepository, progress: Progress
) -> ImportReport:
    remove_abandoned(repository.artifacts_dir)
    return import_archive(repository, path, progress=progress)


def _take_log(
    format: Format, log: Log, repository: TrialRepository, progress: Progress, *, unpacked: bool
) -> ImportReport:
    reader = format.reader
    if not unpacked:
        with suppress(OSError):  # its reader says what is wrong
            log = replace(log, written_at=max(each.stat().st_mtime for each in log.files))
    if (unchanged := getattr(reader, "unchanged", None)) is not None:
        report: ImportReport | None = unchanged(repository, log)
        if report is not None:
            return report
    found = reader.accounts(log, progress=lambda done: progress(done, None))
    return reader.take_in(repository, found, log)  # type: ignore[no-any-return]


_TAKES = {
    FormatKind.RESULTS: _take_results,
    FormatKind.SERIES: _take_series,
    FormatKind.ARCHIVE: _take_archive,
}
