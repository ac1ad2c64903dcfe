"""Ranges from the errors of earlier predictions, without a model of their distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from venturi.core.domain import invalid
from venturi.core.statistics.stats import Missing, checked


def conformal_error(errors: Sequence[float], level: float) -> float | Missing:
    """The absolute error that the next prediction exceeds with a chance of at most 1 - `level`.

    It is the ceil(level (n + 1))-th smallest of n absolute errors (Vovk, Gammerman and Shafer 2005,
    split conformal prediction). It assumes that the next error is drawn like the earlier ones.
    Missing if n is so small that no error is large enough.
    """
    if not 0 < level < 1:
        raise invalid("level", level, "between 0 and 1")
    ordered = sorted(map(abs, checked(errors)))
    place = math.ceil(level * (len(ordered) + 1) * (1 - 1e-12))
    if place > len(ordered):
        least = math.ceil(level / (1 - level) * (1 - 1e-12))
        return Missing(f"{len(ordered)} of the {least} errors that {level:.0%} need")
    return ordered[place - 1]
