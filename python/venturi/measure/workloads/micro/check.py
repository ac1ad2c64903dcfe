"""Whether words were counted right, and pi estimated: by the input's totals, by a reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from venturi.measure.workloads.shared.halton import reference
from venturi.measure.workloads.shared.zipf import check_totals
from venturi.record.trial import Scalar

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput

# Halton points near the circle's edge fall on either side, as sums are rounded.
PI_TOLERANCE = 1e-6


def check(checking: CheckInput) -> str | None:
    """Why the result is wrong; None: it is right."""
    job = checking.definition.job
    if job == "pi":
        return _check_pi(checking.size.records, checking.answer)
    assert checking.given.answer is not None
    return check_totals(checking.files, job, checking.parts(), checking.given.answer)


def _check_pi(points: int, answer: Mapping[str, Scalar]) -> str | None:
    inside = answer.get("inside")
    if not isinstance(inside, int | float):
        return "the engine gave no estimate"
    expected = reference(points)
    if abs(inside - expected) > max(1.0, points * PI_TOLERANCE):
        return f"{inside:.0f} of {points} points are inside, the reference has {expected}"
    return None
