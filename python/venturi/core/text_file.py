"""Reading text files that a user names: bounded, and without waiting for a writer."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from venturi.core import units
from venturi.core.errors import UsageError, unreadable

MOST_BYTES = 16 * 2**20
"""Limit for a file that people write; a larger one is something else."""


def read_text(file: Path, code: str, hint: str = "", *, most_bytes: int = MOST_BYTES) -> str:
    """The UTF-8 text of `file`, without a byte order mark.

    An error by `code` if it can't be read, is no regular file, or has more than `most_bytes`.
    """
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
            data = opened.read(most_bytes + 1) if is_file else b""
        if is_file and len(data) <= most_bytes:
            return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error, code, hint) from error
    why = f"it has more than {units.size_text(most_bytes)}" if is_file else "it is not a file"
    raise UsageError(
        code,
        f"{file} cannot be read: {why}",
        where={"file": str(file)},
        hint=hint if is_file else "write its content to a file first",
    )


def read_text_or_stdin(file: Path, code: str, hint: str = "") -> str:
    """As `read_text`; the file `-` is standard input."""
    if str(file) != "-":
        return read_text(file, code, hint)
    try:
        text = sys.stdin.read(MOST_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("standard input", error, code, hint) from error
    if len(text) > MOST_BYTES:
        raise UsageError(
            code,
            f"standard input has more than {units.size_text(MOST_BYTES)}",
            where={"file": "-"},
            hint=hint,
        )
    return text
