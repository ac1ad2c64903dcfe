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
    try:
        digest, _, answer = _path(home, trial.id, what).read_bytes().partition(b"\n")
    except OSError:
        return None
    return answer if digest.decode("ascii", "replace") == _made_of(trial) else None


def store_answer(home: Path, trial: Trial, what: str, answer: bytes) -> None:
    """Cache an answer; if it can't be written, it is computed again next time."""
    folder_mode, file_mode = modes_in(home)
    with suppress(OSError):
        make_folder(home / _FOLDER, folder_mode)
        with replacing(_path(home, trial.id, what), durable=False, mode=file_mode) as file:
            file.write(f"{_made_of(trial)}\n".encode())
            file.write(answer)


def forget_answers(home: Path, id_: str) -> None:
    """Remove all cached answers about the trial `id_`."""
    for path in (home / _FOLDER).glob(f"{id_}.*") if ID.fullmatch(id_) else ():
        path.unlink(missing_ok=True)


def _path(home: Path, id_: str, what: str) -> Path:
    return home / _FOLDER / f"{id_}.{what}"


def _made_of(trial: Trial) -> str:
    artifacts = [(each.name, each.sha256) for each in trial.artifacts]
    samples = [(each.metric, each.value) for each in trial.samples]
    return hashlib.sha256(json.dumps([program_digest(), artifacts, samples]).encode()).hexdigest()


@cache
def program_digest() -> str:
    """A digest of the program's files by their sizes and times."""
    folder = Path(__file__).parents[2]
    files = [path for kind in ("*.py", "*.toml") for path in folder.rglob(kind)]
    told = [
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(files)
    ]
    return hashlib.sha256(json.dumps([__version__, told]).encode()).hexdigest()
