"""Whether a micro workload's result is right: by its input's totals, by files, by a reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.record.trial import Scalar

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import Checking
    from venturi.measure.workloads.definition import Size

# Halton points near the circle's edge fall on either side, as sums are rounded.
PI_TOLERANCE = 1e-6


def check(checking: Checking) -> str | None:
    """Why the result is wrong; None: it is right."""
    job = checking.definition.job
    if job == "pi":
        return _check_pi(checking.size.records, checking.answer)
    if job in {"dfsio-write", "dfsio-read"}:
        return _check_files(checking.size, checking.answer, checking.output)
    files = sorted(path for path in checking.output.glob("part-*") if path.stat().st_size)
    assert checking.given.answer is not None
    from venturi.measure.workloads.shared.zipf import check_totals

    return check_totals(job, files, checking.given.answer)


def _check_pi(points: int, answer: Mapping[str, Scalar]) -> str | None:
    inside = answer.get("inside")
    if not isinstance(inside, int | float):
        return "the engine gave no estimate"
    from venturi.measure.workloads.shared.halton import reference

    expected = reference(points)
    if abs(inside - expected) > max(1.0, points * PI_TOLERANCE):
        return f"{inside:.0f} of {points} points are inside, the reference has {expected}"
    return None


def _check_files(size: Size, answer: Mapping[str, Scalar], output: Path) -> str | None:
    """What was counted, and what is stored: on disk, or where the engine says that it looked."""
    files, expected = size.parts or 0, size.bytes or 0
    counted = answer.get("bytes"), answer.get("files")
    if counted != (expected, files):
        return f"{counted[0]} bytes in {counted[1]} files were counted, not {expected} in {files}"
    stored = answer.get("stored_bytes"), answer.get("stored_files")
    if stored == (None, None):
        sizes = [path.stat().st_size for path in output.rglob("test_io_*")]
        stored = sum(sizes), len(sizes)
    if stored != (expected, files):
        return f"{stored[1]} files of {stored[0]} bytes are stored, not {files} of {expected}"
    return None
