"""Files to import that aren't on disk: standard input, and files behind URLs."""

from __future__ import annotations

import re
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from venturi.core.errors import UsageError, VenturiError

STDIN = "-"
"""The source that stands for standard input."""
_BYTES = 1 << 30
_USER = re.compile(r"[A-Za-z][\w+.-]*://[^/?#]*@")
_NAME = re.compile(r"[^\w.-]")
_TEXTS = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".report", ".log", ".jhist"}
_PACKED = {".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4"}
_SUFFIXES = _TEXTS | _PACKED | {".parquet"}


def is_file_url(url: str, *, format_given: bool) -> bool:
    """Whether `url` is a file to download, and not a history server or a store.

    Its path ends like a file's, or the user named a format of results.
    """
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:  # downloading it says what is wrong
        return True
    if parts.scheme not in {"http", "https"}:
        return False
    return format_given or Path(parts.path).suffix.lower() in _SUFFIXES


def refuse_password(url: str) -> None:
    """VEN-INGEST-SERVER if `url` has a user name or password, which messages and records show."""
    place = _USER.match(url)
    if place is None:
        return
    raise UsageError(
        "VEN-INGEST-SERVER",
        f"the URL of {url[place.end() :].partition('?')[0]} contains a user name or password, "
        "which isn't used",
        hint="download the file with your own tool, such as curl --netrc, and import it",
    )


def _shown(url: str) -> str:
    """`url` without its query, which may hold a signature."""
    before, mark, _ = url.partition("?")
    return f"{before}?..." if mark else url


@contextmanager
def fetched(source: str) -> Iterator[tuple[Path, str]]:
    """Yield the path of a copy of standard input or of the file at a URL, and its name for users.

    The copy exists only inside. VEN-INGEST-SERVER if the server doesn't give the file,
    VEN-INGEST-LIMIT beyond 1 GiB.
    """
    with tempfile.TemporaryDirectory(prefix="venturi-") as folder:
        if source == STDIN:
            path = Path(folder, "stdin")
            if sys.stdin is None:
                raise UsageError(
                    "VEN-IMPORT-FORMAT",
                    "standard input is closed",
                    hint="pipe a file into it, or name the file",
                )
            from venturi.record.importing.download import copy_bounded

            copy_bounded(sys.stdin.buffer, path, _BYTES, "standard input")
            yield path, "standard input"
            return
        # Files on disk need no HTTP.
        from venturi.record.importing.download import NETWORK_ERRORS, opened, save_answer

        try:
            name = _NAME.sub("_", Path(urllib.parse.urlsplit(source).path).name)
            path = Path(folder, name or "file")
            with opened(source) as answer:
                save_answer(answer, path, _BYTES, _shown(source))
        except NETWORK_ERRORS as error:
            raise VenturiError(
                "VEN-INGEST-SERVER",
                f"{_shown(source)} can't be downloaded: {_without_query(str(error), source)}",
                where={"url": _shown(source)},
                hint="check the URL; or download it with your own tool and import the file",
            ) from error
        yield path, _shown(source)


def _without_query(text: str, url: str) -> str:
    query = url.partition("?")[2]
    return text.replace(query, "...") if query else text
