"""Output paths of verbs: creates folders, and rejects unwritable paths early."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.record.store.files import refuse_existing


def ready_file(path: Path, *, overwrite: bool) -> None:
    """Raise VEN-OUTPUT-EXISTS or -WRITE if `path` could not be written, before the work for it is
    done.

    Missing folders are created only when it is written, so rejected commands create none.
    """
    refuse_existing(path, overwrite=overwrite)
    with writing(path), suppress(FileNotFoundError):  # reports too long a name
        path.lstat()
    if path.is_dir():
        raise _refused(path, "it is a folder", "name a file in it")
    parents = path.absolute().parents
    above = next(folder for folder in parents if os.path.lexists(folder))
    new = path.absolute().relative_to(above).parts
    if max((len(os.fsencode(part)) for part in new), default=0) > os.pathconf(above, "PC_NAME_MAX"):
        raise _refused(path, "the name is too long", "give a shorter one")
    try:
        _try(above)
    except OSError as error:
        what = f"no file can be made in {above}: {error.strerror or error}"
        raise _refused(path, what, "name a file in a folder that you may write to") from error


@contextmanager
def ready_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Create `folders` as `ready_folder` does; remove new ones that stay empty."""
    made: list[Path] = []
    try:
        for folder in folders:
            made += [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
            ready_folder(folder)
        yield
    finally:
        for each in sorted(made, key=lambda path: -len(path.parts)):
            with suppress(OSError):  # it holds something
                each.rmdir()


def ready_folder(folder: Path) -> None:
    """Create `folder` and its parents; VEN-OUTPUT-WRITE if it cannot be written."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        told = Path(str(folder).encode(errors="replace").decode())
        raise _refused(told, "its name is not UTF-8", "name another folder") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _try(folder)
    except OSError as error:
        there = os.path.lexists(folder) and not os.path.isdir(folder)  # noqa: PTH112 - raises never
        what = "it is not a folder" if there else error.strerror or str(error)
        raise _refused(folder, what, "name a folder that you may write to") from error


def _try(folder: Path) -> None:
    """OSError if no file can be made in `folder`."""
    with tempfile.TemporaryFile(dir=folder):  # has no name that could be left behind
        pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert errors that prevent writing to `path` into errors of the user's."""
    try:
        yield
    except OSError as error:
        hint = "give a file in a folder that can be written to and has space"
        raise _refused(path, error.strerror or str(error), hint) from error


def _refused(path: Path, why: str, hint: str) -> VenturiError:
    return VenturiError(
        "VEN-OUTPUT-WRITE",
        f"{path} cannot be written: {why}",
        where={"file": str(path)},
        hint=hint,
    )
