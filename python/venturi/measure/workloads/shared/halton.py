"""Pi from the points of the Halton sequence with bases 2 and 3, as in Hadoop's example.

No randomness: every engine must count the same points, except for rounding at the circle's edge. No
point lies on the edge itself.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

BASES = (2, 3)
CENTRE = 0.5
RADIUS_SQUARED = 0.25
# Tables of coordinates stay in the second-level cache.
_TABLE_DIGITS = (16, 10)
_MOST_BOXES = 1 << 18
# Rounding errors of sums of squares stay below this.
_ROUNDING = 1e-12

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def points_inside(count: int, first: int = 0) -> int:
    """Count the points `first + 1` ... `first + count` in the circle inscribed in the square.

    Every point is tested. A table holds the last digits, for all numbers that differ only there.
    """
    tables = [_table(base, digits) for base, digits in zip(BASES, _TABLE_DIGITS, strict=True)]
    inside, number, end = 0, first + 1, first + count + 1
    while number < end:
        stop = min(end, *(number - number % len(table) + len(table) for table in tables))
        x, y = (
            table[number % len(table) :][: stop - number]
            + radical_inverse(np.array([number // len(table)]), base) / len(table)
            for base, table in zip(BASES, tables, strict=True)
        )
        inside += int(np.count_nonzero(x * x + y * y <= RADIUS_SQUARED))
        number = stop
    return inside


@cache
def _table(base: int, digits: int) -> Floats:
    return radical_inverse(np.arange(base**digits), base) - CENTRE


def reference(count: int) -> int:
    """Compute `points_inside(count)` differently, in about sqrt(count) steps.

    Every (2^k 3^m)-th of the points lies in a given box of 2^-k by 3^-m, which yields their number
    without enumerating them (Chinese remainder theorem). A box within the circle counts, one
    outside doesn't, and one at the edge is divided, until at most one point is left in it.
    """
    return _in_boxes(count, np.zeros((3, 1), dtype=np.int64), (1, 1))


def _in_boxes(count: int, boxes: Integers, scales: tuple[int, int]) -> int:
    """Points in the circle and in `boxes`; of each its corner, in units of 1 / `scales`, and the
    lowest number of a point, which the others follow in steps of the scales' product."""
    if boxes.shape[1] > _MOST_BOXES:
        return sum(_in_boxes(count, part, scales) for part in np.array_split(boxes, 2, axis=1))
    if scales[0] * scales[1] > count:
        return _in_points(boxes, scales)
    boxes, scales = _divided(boxes, scales)
    near, far = _squared_distances(boxes, scales)
    whole = far < RADIUS_SQUARED - _ROUNDING
    lowest = boxes[2]
    inside = int(((count - lowest[whole]) // (scales[0] * scales[1]) + 1).sum())
    edge = ~whole & (near < RADIUS_SQUARED + _ROUNDING) & (lowest <= count)
    return inside + _in_boxes(count, boxes[:, edge], scales)


def _divided(boxes: Integers, scales: tuple[int, int]) -> tuple[Integers, tuple[int, int]]:
    """The boxes in halves or thirds, along the axis on which they are longer."""
    x, y = scales
    axis = 0 if x <= y else 1
    base = BASES[axis]
    parts = np.tile(boxes, base)
    parts[2] += np.repeat(np.arange(base), boxes.shape[1]) * (x * y)
    parts[axis] = parts[axis] * base + parts[2] // scales[axis] % base
    return parts, (x * base, y) if axis == 0 else (x, y * base)


def _squared_distances(boxes: Integers, scales: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the squared distances from the center to the nearest and farthest point of each
    box.
    """
    near, far = np.zeros(boxes.shape[1]), np.zeros(boxes.shape[1])
    for place, scale in zip(boxes, scales, strict=False):
        low, high = place / scale - CENTRE, (place + 1) / scale - CENTRE
        near += np.maximum(0, np.maximum(low, -high)) ** 2
        far += np.maximum(-low, high) ** 2
    return near, far


def _in_points(boxes: Integers, scales: tuple[int, int]) -> int:
    """Count the boxes with their only point, given by its number, in the circle."""
    squares = np.zeros(boxes.shape[1])
    for place, base, scale in zip(boxes, BASES, scales, strict=False):
        within = radical_inverse(boxes[2] // scale, base)
        squares += ((place + within) / scale - CENTRE) ** 2
    return int(np.count_nonzero(squares <= RADIUS_SQUARED))


def radical_inverse(numbers: Integers, base: int) -> Floats:
    """Each number's digits in `base`, mirrored at the point (van der Corput)."""
    result = np.zeros(len(numbers))
    rest, weight = numbers.copy(), 1.0 / base
    while rest.any():
        result += weight * (rest % base)
        rest //= base
        weight /= base
    return result
