"""Downloads over HTTP, held to a size, a rate, a total time and the free disk space."""

from __future__ import annotations

import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError

from venturi.core.errors import VenturiError

NETWORK_ERRORS = (OSError, HTTPException, ValueError)
"""Raised by opening and reading an answer; ValueError for malformed URLs."""
_SILENCE_S = 60
_LEAST_BYTES_PER_S = 1_000
_LONGEST_S = 6 * 3_600
_CHUNK = 1 << 20
_KEPT_FREE_BYTES = 256 << 20
_CHECK_EVERY_BYTES = 64 << 20


@contextmanager
def opened(url: str) -> Iterator[HTTPResponse]:
    """Yield the answer of an http or https URL; NETWORK_ERRORS."""
    try:
        # The callers take no other scheme.
        answer = urllib.request.urlopen(url, timeout=_SILENCE_S)  # noqa: S310
    except HTTPError as error:
        error.close()
        raise
    with answer:
        yield cast("HTTPResponse", answer)


def read_answer(answer: HTTPResponse, most_bytes: int, name: str) -> bytes:
    """Return a whole answer; NETWORK_ERRORS if it is slow or cut off, VEN-INGEST-LIMIT."""
    return b"".join(_chunks(answer, most_bytes, name))


def save_answer(answer: HTTPResponse, target: Path, most_bytes: int, name: str) -> None:
    """Write a whole answer to `target`; `name` is its name in errors.

    NETWORK_ERRORS if it is slow or cut off, VEN-INGEST-LIMIT, VEN-MEASURE-SPACE.
    """
    require_space(target.parent, int(answer.headers.get("Content-Length") or 0))
    with target.open("wb") as file:
        for chunk in _checked(_chunks(answer, most_bytes, name), target.parent):
            file.write(chunk)


def copy_bounded(source: IO[bytes], target: Path, most_bytes: int, name: str) -> int:
    """Copy all of `source` to `target`; return the bytes. VEN-INGEST-LIMIT, VEN-MEASURE-SPACE."""
    done = 0
    with target.open("wb") as file:
        for chunk in _checked(_limited(source.read, most_bytes, name), target.parent):
            done += file.write(chunk)
    return done


def require_space(folder: Path, size_bytes: int) -> None:
    """VEN-MEASURE-SPACE if `folder` has no room for that many bytes."""
    free = shutil.disk_usage(folder).free - _KEPT_FREE_BYTES
    if size_bytes > free:
        raise VenturiError(
            "VEN-MEASURE-SPACE",
            f"{folder} has {max(0, free) >> 20:,} MiB for a download of {size_bytes >> 20:,} MiB",
            where={"folder": str(folder)},
            hint="free some space, or name a folder on another disk with TMPDIR",
        )


def _chunks(answer: HTTPResponse, most_bytes: int, name: str) -> Iterator[bytes]:
    began_s = time.monotonic()
    done = 0
    for chunk in _limited(answer.read1, most_bytes, name):
        done += len(chunk)
        passed_s = time.monotonic() - began_s
        if passed_s > _SILENCE_S and done < _LEAST_BYTES_PER_S * passed_s:
            raise TimeoutError(f"slower than {_LEAST_BYTES_PER_S:,} bytes/s")
        if passed_s > _LONGEST_S:
            raise TimeoutError(f"not complete after {_LONGEST_S // 3_600} hours")
        yield chunk
    promised = answer.headers.get("Content-Length")
    if promised is not None and promised != str(done):
        raise OSError(f"cut off after {done:,} of {promised} bytes")


def _limited(read: Callable[[int], bytes], most_bytes: int, name: str) -> Iterator[bytes]:
    done = 0
    while chunk := read(_CHUNK):
        done += len(chunk)
        if done > most_bytes:
            size = f"{most_bytes >> 30} GiB" if most_bytes >= 1 << 30 else f"{most_bytes:,} bytes"
            raise VenturiError(
                "VEN-INGEST-LIMIT",
                f"{name} has more than {size}",
                where={"source": name},
                hint="save it to a file and import that",
            )
        yield chunk


def _checked(chunks: Iterator[bytes], folder: Path) -> Iterator[bytes]:
    """Yield `chunks` as long as there is space for them in `folder`."""
    since = 0
    for chunk in chunks:
        since += len(chunk)
        if since >= _CHECK_EVERY_BYTES:
            require_space(folder, _CHECK_EVERY_BYTES)
            since = 0
        yield chunk
