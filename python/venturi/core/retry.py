"""When unattended work tries again: one rule for `import --watch` and `push`."""

from __future__ import annotations

import random

from venturi.core.errors import FailureClass, VenturiError

_PASSING = {FailureClass.ENVIRONMENT, FailureClass.CAPACITY, FailureClass.TIMEOUT}
_MOST_DOUBLINGS = 30


def is_passing(error: VenturiError) -> bool:
    """Whether the same input may work later: a server, disk, network or lock was at fault."""
    return error.failure_class in _PASSING or isinstance(error.__cause__, OSError)


def delay_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the pause after that many failures in a row: doubled each time, with jitter of half.

    The jitter keeps clients of one server apart.
    """
    doubled = first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)
    return min(longest_s, doubled) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
