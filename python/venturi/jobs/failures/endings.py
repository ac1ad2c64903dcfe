"""Ends of executors that were not needed any more: nothing failed."""

from __future__ import annotations

import re

# Dynamic allocation ends idle executors; on Kubernetes the pod then completes with exit code 0.
_WANTED = re.compile(
    r"\bidle for\b|explicit termination request|killed by driver"
    r"|\bexited with exit code 0\b|\bexit code: 0\b",
    re.IGNORECASE,
)


def is_wanted(reason: str | None) -> bool:
    """Whether an executor ended because it wasn't needed, by the recorded reason."""
    return reason is not None and _WANTED.search(reason) is not None
