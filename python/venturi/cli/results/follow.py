"""Imports logs from history servers and object stores, and watches these and folders for new ones.

Each try of a log is noted with its size and time, so that a restart reads only new logs and those
that wait. A lost note costs time alone: an application that is in the repository isn't added again.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from venturi.cli.results.import_files import SERVED, import_all, is_url
from venturi.cli.results.import_messages import FileOutcome
from venturi.cli.results.watch_notes import WatchNote, WatchNotes, WatchState
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.retry import delay_s, is_passing
from venturi.jobs.logs.history_server import completed_applications, download
from venturi.jobs.logs.object_store import fetch, stored_logs
from venturi.jobs.logs.trial import is_live
from venturi.record.importing.formats import Format, FormatKind, Log
from venturi.record.importing.recognise import formats_of
from venturi.terminal.table import plain

EVERY_S = 30.0
_LONGEST_PAUSE_S = 900.0
_PAUSE_TIMES = 10  # the time that reading a growing log takes, until it is read again


def import_served(url: str) -> tuple[list[FileOutcome], ExitCode]:
    """Import all finished applications of the history server, or of the store, at `url`."""
    outcomes: list[FileOutcome] = []
    status = ExitCode.OK
    for item in _served(url):
        with ExitStack() as stack:
            try:
                path = stack.enter_context(item.there())
            except VenturiError as error:  # it is gone, or unreadable: the others may not be
                click.echo(f"{item.named}: rejected: [{error.code}] {error.message}", err=True)
                outcomes.append(FileOutcome(item.named, item.format.name, error=error))
                status = ExitCode.USER
                continue
            found, ended = import_all(item.format, [path], item.named)
        outcomes += found
        status = max(status, ended)
    if not outcomes:
        click.echo(f"{url}: no application is over there", err=True)
    return outcomes, status


def follow(
    format_: Format | None,
    sources: Sequence[str],
    every_s: float = EVERY_S,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Import applications from `sources`, running ones as they go on, until interrupted.

    Without a format, that of a folder is recognized each time, since it may be empty at first. A
    log that a passing failure kept out is tried again with growing pauses, a refused one when its
    contents change.
    """
    notes = WatchNotes(sources)
    due_s: dict[str, float] = {}
    while True:
        for item in _items(format_, sources, every_s):
            began_s = time.monotonic()
            before = notes.of(item.key)
            same = before is not None and before.stamp == item.stamp
            if same and before is not None and before.state is not WatchState.WAITING:
                continue
            if began_s < due_s.get(item.key, 0) and (same or item.live):
                continue
            note = _try(item, before if same else None)
            notes.add(note)
            now_s = time.monotonic()
            if note.state is WatchState.WAITING:
                due_s[item.key] = now_s + delay_s(note.failures, every_s, _LONGEST_PAUSE_S)
            elif item.live:
                due_s[item.key] = now_s + _PAUSE_TIMES * (now_s - began_s)
        pause(every_s)


def _try(item: _FollowedLog, before: WatchNote | None) -> WatchNote:
    """Import a log, and return how that went; `before` is the last try of the same contents."""
    error, digest = None, None
    try:
        with item.there() as path:
            outcomes, _ = import_all(item.format, [path], item.named, watched=True)
            found = [each.error for each in outcomes if each.error is not None]
            error = next(filter(is_passing, found), found[0] if found else None)
            if error is not None and not isinstance(item.place, Path):
                digest = _digest(path)
    except VenturiError as raised:
        error = raised
        digest = str(raised.where["sha256"]) if "sha256" in raised.where else None
        click.echo(f"{item.named}: rejected: [{error.code}] {error.message}", err=True)
    except Exception as raised:  # a bug must not keep the other logs out
        error = VenturiError("VEN-INGEST-BUG", f"{type(raised).__name__}: {raised}")
        click.echo(f"{item.named}: rejected: [{error.code}] {error.message}", err=True)
    note = WatchNote(
        item.key, item.stamp, WatchState.IMPORTED, datetime.now(UTC).isoformat(timespec="seconds")
    )
    if error is None:
        return note
    # A server may damage a sound log on the way: only the same contents twice are refused.
    downloaded = not isinstance(item.place, Path)
    again = before is not None and (before.digest, before.code) == (digest, error.code)
    waits = is_passing(error) or (downloaded and not again)
    return replace(
        note,
        state=WatchState.WAITING if waits else WatchState.REFUSED,
        failures=1 + (before.failures if before else 0),
        code=error.code,
        reason=error.message,
        digest=digest,
    )


def _digest(path: Path) -> str:
    """The digest of the files at `path`."""
    whole = hashlib.sha256()
    for file in sorted(each for each in (path, *path.rglob("*")) if each.is_file()):
        with file.open("rb") as opened:
            whole.update(hashlib.file_digest(opened, "sha256").digest())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class _FollowedLog:
    """A log with its stable name; `stamp` changes when the log does.

    `place` is its path, or a function that downloads it into a folder. `live` is whether Spark
    still writes it.
    """

    format: Format
    key: str
    stamp: str
    place: Path | Callable[[Path], Path]
    live: bool = False

    @property
    def named(self) -> str:
        """Its name for messages; objects of a store have a different one."""
        return plain(self.key)

    @contextmanager
    def there(self) -> Iterator[Path]:
        """Yield its path; a downloaded log exists only while it is used."""
        if isinstance(self.place, Path):
            yield self.place
            return
        with tempfile.TemporaryDirectory(prefix="venturi-") as folder:
            yield self.place(Path(folder))


def _served(url: str) -> Iterator[_FollowedLog]:
    scheme, _, place = url.partition("://")
    url = f"{scheme}://{place.rstrip('/')}"
    if not url.startswith(("http://", "https://")):
        for log in stored_logs(url):
            yield _FollowedLog(SERVED, log.url, log.stamp, partial(fetch, url, log))
        return
    for each in completed_applications(url):
        yield _FollowedLog(SERVED, f"{url} {each.id}", each.stamp, partial(download, url, each))


def _items(
    format_: Format | None, sources: Sequence[str], every_s: float
) -> Iterator[_FollowedLog]:
    """Yield the logs that can be read. A failing server or folder is reported, and asked again."""
    for source in sources:
        try:
            if is_url(source):
                yield from _served(source)
                continue
            found = [format_] if format_ else formats_of(Path(source))
            for chosen in (each for each in found if each.kind is FormatKind.LOG):
                for log in chosen.reader.find(Path(source)):
                    item = _seen(chosen, log, every_s)
                    if item is not None:
                        yield item
        except VenturiError as error:
            click.echo(f"{source}: [{error.code}] {error.message}", err=True)


def _seen(format_: Format, log: Log, every_s: float) -> _FollowedLog | None:
    """Return a log that Spark writes, or that hasn't been written since the previous check."""
    try:
        found = [each.stat() for each in log.files]
    except OSError:  # it was moved while it was looked at
        return None
    written_at = max(each.st_mtime for each in found)
    if not log.in_progress and time.time() - written_at < every_s:
        return None
    live = is_live(replace(log, written_at=written_at), time.time())
    stamp = f"{sum(each.st_size for each in found)} {max(each.st_mtime_ns for each in found)}"
    stamp += " live" if live else ""
    return _FollowedLog(format_, str(log.path.absolute()), stamp, log.path, live)
