"""Whether the sums are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venturi.measure.workloads.shared.zipf import check_totals

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput


def check(checking: CheckInput) -> str | None:
    """Why the result is wrong; None: it is right."""
    assert checking.given.answer is not None
    return check_totals(
        checking.files, checking.definition.job, checking.parts(), checking.given.answer
    )
