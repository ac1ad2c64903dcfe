"""Making what an engine wrote durable; standard library only, for it runs inside engines too."""

from __future__ import annotations

import os
from pathlib import Path


def sync(folder: Path) -> None:
    """Makes the files in `folder` durable, and their names; nothing if there is no such folder."""
    if not folder.is_dir():
        return
    for path in (*folder.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
