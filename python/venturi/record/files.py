"""Files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from venturi.errors import VenturiError

# What a killed process may leave behind; nothing that ends in it is ever data.
TEMPORARY_SUFFIX = ".part"
_UNLOCKED_S = 60.0


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """VEN-OUTPUT-EXISTS if `path` is there and may not be replaced."""
    # A link that leads nowhere is there, too: what it is called would be replaced.
    if not overwrite and os.path.lexists(path):
        raise VenturiError(
            "VEN-OUTPUT-EXISTS",
            f"{path} is there already",
            where={"file": str(path)},
            hint="choose another name, or add --overwrite",
        )


def modes_in(home: Path) -> tuple[int, int]:
    """The modes of folders and of files that are made in `home`, whatever the umask.

    They are as open to its group as `home` is, so that a group can share it, and never to others.
    """
    group = home.stat().st_mode & stat.S_IRWXG
    return stat.S_IRWXU | group, stat.S_IRUSR | stat.S_IWUSR | group & ~stat.S_IXGRP


def make_folder(folder: Path, mode: int) -> None:
    """Makes `folder`, whose parent is there, with exactly `mode`; one that is there stays."""
    try:
        folder.mkdir(mode)
    except FileExistsError:
        return
    # The umask took from it, and a folder shared with a group hands down that it is.
    folder.chmod(folder.stat().st_mode & stat.S_ISGID | mode)


def abandoned(folder: Path) -> Iterator[Path]:
    """What killed processes had begun to write in `folder` or below it, and nobody writes now.

    A writer holds a lock on its file, so that this is right whichever container it is in; a file
    of the last minute is left alone, for its writer may not have got that far.
    """
    newest_s = time.time() - _UNLOCKED_S
    for path in sorted(folder.rglob(f".*{TEMPORARY_SUFFIX}")):
        try:
            with path.open("rb") as file:
                if path.is_symlink() or os.fstat(file.fileno()).st_mtime > newest_s:
                    continue
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # it is written, gone, or another's
            continue
        yield path


def remove_abandoned(folder: Path) -> None:
    """Removes what `abandoned` finds."""
    for path in abandoned(folder):
        with suppress(OSError):
            path.unlink()


@contextmanager
def replacing(path: Path, *, durable: bool = True, mode: int | None = None) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends, and is removed when it fails.

    It has exactly `mode`, by default what the umask leaves. If `durable`, the data is on the disk
    before the name is (write, fsync, rename, fsync of the folder), so a crash of the machine at any
    instant leaves the old file or the new one, too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        opener = None if mode is None else _private  # which Path.open has not
        with open(temporary, "wb", opener=opener) as file:
            with suppress(OSError):  # a file system without locks; `abandoned` tells by its age
                fcntl.flock(file, fcntl.LOCK_EX)
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
    if not durable:
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, stat.S_IRUSR | stat.S_IWUSR)
