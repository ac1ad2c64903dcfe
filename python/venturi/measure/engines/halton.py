"""Pi from the points of the Halton sequence with bases 2 and 3, as Hadoop's example has them.

No randomness: every engine must count the same points, but for rounding at the circle's edge.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 20
BASES = (2, 3)
CENTRE = 0.5


def points_inside(count: int, first: int = 0) -> int:
    """How many of the points `first + 1` ... `first + count` lie in the circle in the square."""
    inside = 0
    for start in range(first, first + count, CHUNK):
        stop = min(start + CHUNK, first + count)
        numbers = np.arange(start + 1, stop + 1, dtype=np.int64)
        x, y = (radical_inverse(numbers, base) - CENTRE for base in BASES)
        inside += int(np.count_nonzero(x * x + y * y <= CENTRE * CENTRE))
    return inside


def radical_inverse(numbers: npt.NDArray[np.int64], base: int) -> npt.NDArray[np.float64]:
    """Each number's digits in `base`, mirrored at the point (van der Corput)."""
    result = np.zeros(len(numbers))
    rest, weight = numbers.copy(), 1.0 / base
    while rest.any():
        result += weight * (rest % base)
        rest //= base
        weight /= base
    return result
