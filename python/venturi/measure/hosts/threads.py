"""Threads that the operating system may refuse, as it may refuse a file."""

from __future__ import annotations

import errno
import os
import threading


def start(thread: threading.Thread) -> None:
    """Start it; OSError (EAGAIN), as for any refusal, instead of Python's RuntimeError."""
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, f"no thread: {os.strerror(errno.EAGAIN)}") from error
