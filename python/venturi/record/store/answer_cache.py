"""Answers that take long to compute, cached outside the record.

An answer is stored with a digest of its inputs: the program's own files, so that a change of a rule
invalidates it, and the trial's artifacts. An answer with a different digest counts as absent.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from venturi import __version__
from venturi.record.store.files import make_folder, modes_in, replacing
from venturi.record.trial import ID, Trial

_FOLDER = "answers"


def cached_answer(home: Path, trial: Trial, what: str) -> bytes | None:
    """The cached answer to `what` about `trial`; None if it must be computed."""
    return read_answer(home, trial.id, what, _made_of(trial))


def store_answer(home: Path, trial: Trial, what: str, answer: bytes) -> None:
    """Cache an answer; if it can't be written, it is computed again next time."""
    write_answer(home, trial.id, what, _made_of(trial), answer)


def read_answer(home: Path, id_: str, what: str, made_of: str) -> bytes | None:
    """The cached answer to `what` about the trial `id_`; None if it isn't `made_of` this."""
    try:
        digest, _, answer = _path(home, id_, what).read_bytes().partition(b"\n")
    except OSError:
        return None
    return answer if digest.decode("ascii", "replace") == made_of else None


def write_answer(home: Path, id_: str, what: str, made_of: str, answer: bytes) -> None:
    """Cache an answer `made_of` this; if it can't be written, it is computed again next time."""
    folder_mode, file_mode = modes_in(home)
    with suppress(OSError):
        make_folder(home / _FOLDER, folder_mode)
        with replacing(_path(home, id_, what), durable=False, mode=file_mode) as file:
            file.write(f"{made_of}\n".encode())
            file.write(answer)


def digest_of_record(record: str) -> str:
    """A digest of a stored trial and the program, which needs no decoded trial."""
    return hashlib.sha256(f"{_program()}\n{record}".encode()).hexdigest()


def forget_answers(home: Path, id_: str) -> None:
    """Remove all cached answers about the trial `id_`."""
    for path in (home / _FOLDER).glob(f"{id_}.*") if ID.fullmatch(id_) else ():
        path.unlink(missing_ok=True)


def _path(home: Path, id_: str, what: str) -> Path:
    return home / _FOLDER / f"{id_}.{what}"


def _made_of(trial: Trial) -> str:
    artifacts = [(each.name, each.sha256) for each in trial.artifacts]
    samples = [(each.metric, each.value) for each in trial.samples]
    return hashlib.sha256(json.dumps([_program(), artifacts, samples]).encode()).hexdigest()


@cache
def _program() -> str:
    """A digest of the program's files by their sizes and times."""
    folder = Path(__file__).parents[2]
    files = [path for kind in ("*.py", "*.toml") for path in folder.rglob(kind)]
    told = [
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(files)
    ]
    return hashlib.sha256(json.dumps([__version__, told]).encode()).hexdigest()
