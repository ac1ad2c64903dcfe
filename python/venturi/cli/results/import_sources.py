"""Files to import that aren't on disk: standard input, and files behind URLs."""

from __future__ import annotations

import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError

from venturi.core.errors import VenturiError

STDIN = "-"
"""The source that stands for standard input."""
_BYTES = 1 << 30
_CHUNK = 1 << 20
_TIMEOUT_S = 60
_TEXTS = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".report", ".log", ".jhist"}
_PACKED = {".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4"}
_SUFFIXES = _TEXTS | _PACKED | {".parquet"}


def is_file_url(url: str, *, format_given: bool) -> bool:
    """Whether `url` is a file to download, and not a history server or a store.

    Its path ends like a file's, or the user named a format of results.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return False
    return format_given or Path(parts.path).suffix.lower() in _SUFFIXES


@contextmanager
def fetched(source: str) -> Iterator[tuple[Path, str]]:
    """Yield the path of a copy of standard input or of the file at a URL, and its name for users.

    The copy exists only inside. VEN-INGEST-SERVER if the server doesn't give the file,
    VEN-INGEST-LIMIT beyond 1 GiB.
    """
    with tempfile.TemporaryDirectory(prefix="venturi-") as folder:
        if source == STDIN:
            path = Path(folder, "stdin")
            with path.open("wb") as file:
                _copy(sys.stdin.buffer, file, "standard input")
            yield path, "standard input"
            return
        name = Path(urllib.parse.unquote(urllib.parse.urlsplit(source).path)).name
        path = Path(folder, name or "file")
        try:
            # The scheme is http or https.
            with (
                urllib.request.urlopen(source, timeout=_TIMEOUT_S) as answer,  # noqa: S310
                path.open("wb") as file,
            ):
                _copy(answer, file, source)
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(error, HTTPError):
                error.close()
            raise VenturiError(
                "VEN-INGEST-SERVER",
                f"{source} can't be downloaded: {error}",
                where={"url": source},
                hint="check the URL; or download it with your own tool and import the file",
            ) from error
        yield path, source


def _copy(source: IO[bytes], target: IO[bytes], name: str) -> None:
    done = 0
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        if done > _BYTES:
            raise VenturiError(
                "VEN-INGEST-LIMIT",
                f"{name} has more than {_BYTES >> 30} GiB",
                where={"source": name},
                hint="save it to a file and import that",
            )
        target.write(chunk)
