"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from venturi.errors import VenturiError

# What a killed process may leave behind; nothing that ends in it is ever data.
TEMPORARY_SUFFIX = ".part"


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


@contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends, and is removed when it fails.

    If `durable`, the data is on the disk before the name is (write, fsync, rename, fsync of the
    folder), so a crash of the machine at any instant leaves the old file or the new one, too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
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
