"""Locks of open files, which the kernel releases when their process ends; the file names the
holder.
"""

from __future__ import annotations

import fcntl
import os

_ABOUT_BYTES = 4096


def take(file: int, about: str) -> str | None:
    """Lock `file` and write `about` into it. If another process holds it, return that one's text,
    which may be empty.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder(file)
    os.ftruncate(file, 0)
    os.pwrite(file, about.encode(), 0)
    return None


def is_taken(file: int) -> bool:
    """Whether another process holds the lock of `file`."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def holder(file: int) -> str:
    """Return the text that the present or last holder of the lock wrote into `file`."""
    return os.pread(file, _ABOUT_BYTES, 0).decode(errors="replace").strip()
