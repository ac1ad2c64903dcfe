"""Checks that all files exist and were counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput


def check(checking: CheckInput) -> str | None:
    """Return why the result is wrong; None if it is right.

    Compares the counted with the stored bytes, on disk or in the engine's own report.
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
