"""Folders that are ours for a while: each says which process it belongs to, and is removed by that
one, or by the next start after a kill, whenever that came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from venturi.measure.hosts.host import Files
from venturi.record.access.owner import current_owner, is_alive
from venturi.record.trial import Owner

PREFIX = "venturi-data-"
SERIES_PREFIX = "venturi-series-"
PUSH_PREFIX = "venturi-push-"
COPY_PREFIX = "venturi-copy-"
PREFIXES = (PREFIX, SERIES_PREFIX, PUSH_PREFIX, COPY_PREFIX)
OWNER_FILE = "owner.json"
# Names of Venturi's folders: with an id, or with the suffix of temporary files.
_OURS = re.compile(r"venturi-(data-[0-9a-z]{26}|(series|push|copy)-[0-9a-z_]{8})")
_TRIES = 1_000


def make(files: Files, folder: Path) -> None:
    """Mark `folder` as Venturi's, for `sweep`; it may already exist.

    A sweep between the two steps removes a folder without an owner, so this tries again.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):
            return _make(files, folder)
    return _make(files, folder)


def _make(files: Files, folder: Path) -> None:
    files.mkdir(folder, parents=True, exist_ok=True)
    files.write(folder / OWNER_FILE, json.dumps(asdict(current_owner())))


def discard(files: Files, folder: Path) -> None:
    """Remove `folder`, its owner file last: after a kill, the next sweep removes the rest."""
    failed: OSError | None = None
    try:
        there = files.entries(folder)
    except OSError:
        there = ()  # a folder that can't be listed now gets one more try below
    for each in there:
        if each.path.name != OWNER_FILE:
            try:
                files.remove(each.path)
            except OSError as error:
                failed = error
    if failed is not None:
        raise failed
    files.remove(folder)


@contextmanager
def temporary(files: Files, prefix: str) -> Iterator[Path]:
    """Yield a temporary folder, as `Files.temporary`, that `sweep` recognizes."""
    with files.temporary(prefix) as folder:
        make(files, folder)
        try:
            yield folder
        finally:
            with suppress(OSError):
                discard(files, folder)


def sweep(
    files: Files,
    parent: Path,
    alive: Callable[[Owner], bool] = is_alive,
    prefix: str = PREFIX,
) -> list[Path]:
    """Remove the folders in `parent` that were `left_behind`; return those removed."""
    removed = []
    for folder, owned in list(_left_behind(files, parent, alive, prefix)):
        with suppress(OSError):
            # Check again: a folder that has got an owner since then is in use.
            (discard if owned else _take_away)(files, folder)
            removed.append(folder)
    return removed


def left_behind(
    files: Files,
    parent: Path,
    alive: Callable[[Owner], bool] = is_alive,
    prefix: str = PREFIX,
) -> Iterator[Path]:
    """Yield the folders in `parent`, named by `prefix`, that have a dead owner, or that are still
    empty, without an owner, under one of Venturi's names.

    All others are left alone.
    """
    return (folder for folder, _ in _left_behind(files, parent, alive, prefix))


def _left_behind(
    files: Files, parent: Path, alive: Callable[[Owner], bool], prefix: str
) -> Iterator[tuple[Path, bool]]:
    """The folders that are `left_behind`, each with whether it has an owner."""
    for found in files.find(parent, f"{prefix}*"):
        try:
            owner = Owner(**json.loads(files.read(found.path / OWNER_FILE)))
        except FileNotFoundError:
            if _OURS.fullmatch(found.path.name) and _is_begun(files, found.path):
                yield found.path, False
            continue
        except (OSError, ValueError, TypeError):
            continue
        if not alive(owner):
            yield found.path, True


def _is_begun(files: Files, folder: Path) -> bool:
    """Return whether the folder is empty, except perhaps for an unfinished owner file."""
    try:
        return all(_is_of_owner(each.path) for each in files.entries(folder))
    except OSError:
        return False


def _is_of_owner(path: Path) -> bool:
    return path.name.startswith(f".{OWNER_FILE}.")


def _take_away(files: Files, folder: Path) -> None:
    """Remove a folder without an owner; keep it if it has one by now."""
    for each in files.entries(folder):
        if _is_of_owner(each.path):
            files.remove(each.path)
    files.rmdir(folder)
