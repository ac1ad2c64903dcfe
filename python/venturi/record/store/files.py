"""Files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from venturi.core.errors import VenturiError

# A killed process may leave such files behind; no data file ends in it.
TEMPORARY_SUFFIX = ".part"


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise VEN-OUTPUT-EXISTS if `path` exists and may not be replaced."""
    # A broken link exists, too: its name would be replaced.
    if not overwrite and os.path.lexists(path):
        raise VenturiError(
            "VEN-OUTPUT-EXISTS",
            f"{path} already exists",
            where={"file": str(path)},
            hint="choose another name, or add --overwrite",
        )


def modes_in(home: Path) -> tuple[int, int]:
    """The modes of folders and of files that are made in `home`, whatever the umask.

    They are as open to its group as `home` is, so that a group can share it, and never to others.
    """
    group = home.stat().st_mode & stat.S_IRWXG
    return stat.S_IRWXU | group, stat.S_IRUSR | stat.S_IWUSR | group & ~stat.S_IXGRP


def is_open_to_others(path: Path) -> bool:
    """Whether users outside the group of `path` may read it, write it, or enter it as a folder."""
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & stat.S_IRWXO)
    except OSError:  # it is not there
        return False


def make_folder(folder: Path, mode: int) -> None:
    """Create `folder` in an existing parent with exactly `mode`; an existing one is unchanged."""
    try:
        folder.mkdir(mode)
    except FileExistsError:
        return
    # The umask took from it, and a folder shared with a group hands down that it is.
    folder.chmod(folder.stat().st_mode & stat.S_ISGID | mode)


def is_abandoned(path: Path, *, remove: bool = False) -> bool:
    """Whether the temporary file `path` has no writer any more; if so and `remove`, it is deleted.

    A writer holds a lock on its file until it renames it, so this works across containers. The lock
    is held while the file is deleted: see `_begun`.
    """
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if remove:
                path.unlink()
    except OSError:  # it is written, gone, or another's
        return False
    return True


def remove_abandoned(folder: Path) -> None:
    """Remove partly written files of killed processes in `folder` or below it."""
    for path in sorted(folder.rglob(f".*{TEMPORARY_SUFFIX}")):
        is_abandoned(path, remove=True)


@contextmanager
def replacing(
    path: Path, *, durable: bool = True, mode: int | None = None, names_durable: bool = True
) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends, and is removed when it fails.

    It has exactly `mode`, by default the one that the umask leaves. If `durable`, the data is on
    the disk before the name is (write, fsync, rename, fsync of the folder), so a crash of the
    machine at any instant leaves the old file or the new one, too. Without `names_durable`, the
    caller calls `sync_names` after its last file in the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with _begun(temporary, 0o666 if mode is None else stat.S_IRUSR | stat.S_IWUSR) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable and names_durable:
        sync_names(path.parent)


def sync_names(folder: Path) -> None:
    """Wait until the names of the files in `folder` are on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _begun(temporary: Path, mode: int) -> BinaryIO:
    """Create the file `temporary`, empty and locked.

    The lock comes after the name: until then another process may take the file for abandoned and
    delete it, or write it (another container may have a process of the same id). So it is checked
    again.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags & ~os.O_TRUNC, mode)

    while True:
        # Not to be read, too: Python would ask whether it can be sought, and not say why not.
        file: BinaryIO = open(temporary, "wb", opener=opener)  # noqa: SIM115
        try:
            with suppress(OSError):  # a file system without locks: nothing is removed there
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(temporary.stat(), os.fstat(file.fileno())):
                    file.truncate(0)
                    return file
        except BaseException:
            file.close()
            raise
        file.close()
