"""Ends of executors and streams that were wanted: nothing failed."""

from __future__ import annotations

import re
from enum import Enum

# Dynamic allocation ends idle executors; on Kubernetes the pod then completes with exit code 0.
_WANTED = re.compile(
    r"\bidle for\b|explicit termination request|killed by driver"
    r"|\bexited with exit code 0\b|\bexit code: 0\b",
    re.IGNORECASE,
)


def is_wanted(reason: str | None) -> bool:
    """Whether an executor ended because it wasn't needed, by the recorded reason."""
    return reason is not None and _WANTED.search(reason) is not None


class StreamStop(Enum):
    """How a message says that a stream was stopped; servers and notebooks name groups, too."""

    QUERY = re.compile(r"cancell?ed Query \[id = .* was stopped")
    GROUP = re.compile(r"part of cancell?ed job group [0-9a-f]{8}(-[0-9a-f]+){4}\b")


def stream_stop(reason: str | None) -> StreamStop | None:
    """Return how the reason of a canceled job says that a stream was stopped; None if it doesn't.

    Source: StreamExecution, which cancels the job group named by its run's UUID; from Spark 4.1 on
    it says why.
    """
    return next((each for each in StreamStop if each.value.search(reason or "")), None)
