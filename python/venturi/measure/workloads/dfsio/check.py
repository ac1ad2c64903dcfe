"""Whether all files are there, and were counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput


def check(checking: CheckInput) -> str | None:
    """Why the result is wrong; None: it is right.

    What was counted, and what is stored: on disk, or where the engine says that it looked.
    """
    size, answer = checking.size, checking.answer
    files, expected = size.parts or 0, size.bytes or 0
    counted = answer.get("bytes"), answer.get("files")
    if counted != (expected, files):
        return f"{counted[0]} bytes in {counted[1]} files were counted, not {expected} in {files}"
    stored = answer.get("stored_bytes"), answer.get("stored_files")
    if stored == (None, None):
        sizes = [each.bytes for each in checking.files.find(checking.output, "**/test_io_*")]
        stored = sum(sizes), len(sizes)
    if stored != (expected, files):
        return f"{stored[1]} files of {stored[0]} bytes are stored, not {files} of {expected}"
    return None
