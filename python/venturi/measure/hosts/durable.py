"""Makes engines' output durable; standard library only, because it runs inside engines, too."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Make a file, or a folder and its content, durable; do nothing if it doesn't exist."""
    if not path.exists():
        return
    for each in (*path.rglob("*"), path):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
