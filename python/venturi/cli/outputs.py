"""Where a verb is to write: folders are made, and what cannot be written is refused at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from venturi.errors import VenturiError
from venturi.record.files import refuse_existing


def ready_file(path: Path, *, overwrite: bool) -> None:
    """Makes the folder of `path`; VEN-OUTPUT-EXISTS or -WRITE before the work for it is done."""
    refuse_existing(path, overwrite=overwrite)
    if path.is_dir():
        raise _refused(path, "it is a folder", "name a file in it")
    ready_folder(path.absolute().parent)


def ready_folder(folder: Path) -> None:
    """Makes `folder`, with those above it; VEN-OUTPUT-WRITE if it cannot be written."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        told = Path(str(folder).encode(errors="replace").decode())
        raise _refused(told, "its name is not UTF-8", "name another folder") from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # has no name that could be left behind
            pass
    except OSError as error:
        what = "it is a file" if folder.is_file() else error.strerror or str(error)
        raise _refused(folder, what, "name a folder that you may write to") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what keeps `path` from being written into an error of the user's."""
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
