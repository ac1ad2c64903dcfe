"""Tokens in files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from venturi.core.errors import VenturiError, unreadable

_BYTES_MAX = 4_096


def token_in(file: Path | None) -> str | None:
    """The token in `file`, which only its owner may be able to read; None without a file."""
    if file is None:
        return None
    where = {"file": str(file)}
    try:
        with file.open(encoding="ascii") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            token = opened.read(_BYTES_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        hint = "make one: umask 077; openssl rand -hex 32 > FILE"
        raise unreadable(file, error, "VEN-SERVE-TOKEN", hint) from error
    if mode & 0o077:
        raise VenturiError(
            "VEN-SERVE-TOKEN",
            f"{file} can be read by others (its mode is {mode:o})",
            where=where,
            hint=f"chmod 600 {file}",
        )
    if not token.isprintable():
        raise VenturiError(
            "VEN-SERVE-TOKEN",
            f"{file} is no text: its first line must be the token",
            where=where,
            hint="make one: umask 077; openssl rand -hex 32 > FILE",
        )
    if not token:
        raise VenturiError(
            "VEN-SERVE-TOKEN",
            f"{file} is empty: its first line must be the token",
            where=where,
            hint="make one: umask 077; openssl rand -hex 32 > FILE",
        )
    return token
