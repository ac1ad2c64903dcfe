"""Figures that a publication prints, each of which may stand for many executions."""

from __future__ import annotations

from collections.abc import Collection

KEY = "published_statistic"
"""The key with the kind of a printed figure; other trials have no value of it."""


_ABOUT = "printed figures"


def about_printed(reason: str | None) -> bool:
    """Whether `reason` is one of `no_repeats`."""
    return reason is not None and reason.startswith(_ABOUT)


def no_repeats(kinds: Collection[object]) -> str | None:
    """Why values, of these `kinds` one each, are not repeats of each other; None where they may be.

    The best or the mean of several executions, or a figure of which that is not said, does not vary
    as an execution does: two of them say nothing of the spread of trials.
    """
    printed = sorted({str(kind) for kind in kinds} - {"None", "single"})
    if len(kinds) < 2 or not printed:
        return None
    return f"{_ABOUT} ({', '.join(printed)}) are not repeats of each other"
