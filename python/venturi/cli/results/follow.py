"""Taking in logs that are not all there yet: of a folder that is written to, of a server or store.

What was taken in is noted with how it looked then, so that a start after a stop or a kill looks
only at what is new. A note that is lost costs time alone: what is here already is not added again.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from venturi.cli.open_repository import open_repository
from venturi.cli.results.import_ import Outcome, import_all
from venturi.core import settings
from venturi.core.errors import ExitCode, VenturiError
from venturi.jobs.logs.history_server import download, served
from venturi.jobs.logs.object_store import fetch, stored
from venturi.record.importing.formats import Format, Log
from venturi.record.store.files import make_folder, modes_in, replacing
from venturi.terminal.table import plain

EVERY_S = 30.0
_WRITTEN = ".inprogress"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")


def is_url(source: str) -> bool:
    """Whether `source` is the address of a server or of object storage."""
    return _ADDRESS.match(source) is not None


def import_served(format_: Format, url: str) -> tuple[list[Outcome], ExitCode]:
    """Takes in all applications that are over on the history server, or in the store, at `url`."""
    outcomes: list[Outcome] = []
    status = ExitCode.OK
    for item in _served(url):
        with ExitStack() as stack:
            try:
                path = stack.enter_context(item.there())
            except VenturiError as error:  # it is gone, or may not be read: the others may
                click.echo(f"{item.named}: refused: [{error.code}] {error.message}", err=True)
                outcomes.append(Outcome(item.named, format_.name, error=error))
                status = ExitCode.USER
                continue
            found, ended = import_all(format_, [path], item.named)
        outcomes += found
        status = max(status, ended)
    if not outcomes:
        click.echo(f"{url}: no application is over there", err=True)
    return outcomes, status


def follow(
    format_: Format,
    sources: Sequence[str],
    every_s: float = EVERY_S,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Takes in what ends in `sources`, folders and servers, until it is interrupted."""
    notes = _Notes(sources)
    while True:
        for item in _items(format_, sources, every_s):
            if notes.has(item):
                continue
            try:
                with item.there() as path:
                    import_all(format_, [path], item.named)
            except VenturiError as error:  # as long as it looks so, it will be refused
                click.echo(f"{item.named}: refused: [{error.code}] {error.message}", err=True)
            notes.add(item)
        pause(every_s)


@dataclass(frozen=True, slots=True)
class _Item:
    """A log, by a name that stays; `stamp` changes when it does.

    It is at `place`: a path here, or what brings it into a folder.
    """

    key: str
    stamp: str
    place: Path | Callable[[Path], Path]

    @property
    def named(self) -> str:
        """What it is called; a store's objects are named by others."""
        return plain(self.key)

    @contextmanager
    def there(self) -> Iterator[Path]:
        """Its files; those from elsewhere only as long as they are used."""
        if isinstance(self.place, Path):
            yield self.place
            return
        with tempfile.TemporaryDirectory(prefix="venturi-") as folder:
            yield self.place(Path(folder))


def _served(url: str) -> Iterator[_Item]:
    scheme, _, place = url.partition("://")
    url = f"{scheme}://{place.rstrip('/')}"
    if not url.startswith(("http://", "https://")):
        for log in stored(url):
            yield _Item(log.url, log.stamp, partial(fetch, url, log))
        return
    for each in served(url):
        yield _Item(f"{url} {each.id}", each.stamp, partial(download, url, each))


def _items(format_: Format, sources: Sequence[str], every_s: float) -> Iterator[_Item]:
    """The logs that are whole: a server or folder that cannot be asked is said, and asked again."""
    for source in sources:
        try:
            if is_url(source):
                yield from _served(source)
                continue
            for log in format_.reader.find(Path(source)):
                item = _seen(log, every_s)
                if item is not None:
                    yield item
        except VenturiError as error:
            click.echo(f"{source}: [{error.code}] {error.message}", err=True)


def _seen(log: Log, every_s: float) -> _Item | None:
    """A log that nobody writes to any more: it was not touched since the look before."""
    names = [each.name for each in (*log.files, log.path)]
    if log.path.is_dir():
        names += [each.name for each in log.path.iterdir()]
    if any(name.endswith(_WRITTEN) for name in names):
        return None
    try:
        found = [each.stat() for each in log.files]
    except OSError:  # it was moved while it was looked at
        return None
    if time.time() - max(each.st_mtime for each in found) < every_s:
        return None
    stamp = f"{sum(each.st_size for each in found)} {max(each.st_mtime_ns for each in found)}"
    return _Item(str(log.path.absolute()), stamp, log.path)


class _Notes:
    """What was taken in of some sources, kept in Venturi's home."""

    def __init__(self, sources: Sequence[str]) -> None:
        names = sorted(each if is_url(each) else str(Path(each).absolute()) for each in sources)
        name = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        home = settings.load().home
        open_repository().close()  # which makes it
        folder, self._mode = home / "followed", modes_in(home)[1]
        make_folder(folder, modes_in(home)[0])
        self._path = folder / f"{name}.json"
        try:
            found = json.loads(self._path.read_bytes())
            self._seen = {str(key): str(stamp) for key, stamp in found.items()}
        except (OSError, ValueError, AttributeError):
            self._seen = {}

    def has(self, item: _Item) -> bool:
        """Whether it was taken in as it is now."""
        return self._seen.get(item.key) == item.stamp

    def add(self, item: _Item) -> None:
        """Notes that it was."""
        self._seen[item.key] = item.stamp
        with replacing(self._path, mode=self._mode) as file:
            file.write(json.dumps(self._seen).encode())
