"""When to kill a command, so that kills come where something happens."""

from __future__ import annotations

import random

_AT_FIRST = 0.85
_STEP = 0.05
_SPREAD = 0.08


class Instants:
    """Times of kills. Half of them are spread evenly over a little more than the command's
    duration. The other half are near its turning point, from which on some of its work exists: each
    kill moves the point a step later if nothing existed, else a step back, so that it is found, and
    followed when the machine becomes slower or faster.
    """

    def __init__(self, chance: random.Random, whole_s: float) -> None:
        """`whole_s`: the command's duration without a kill."""
        self._chance, self._whole_s = chance, whole_s
        self._turn_s = _AT_FIRST * whole_s

    def draw_s(self) -> float:
        """Seconds after which to kill it."""
        if self._chance.random() < 0.5:
            return self._chance.uniform(0, 1.1 * self._whole_s)
        return max(0.0, self._chance.gauss(self._turn_s, _SPREAD * self._whole_s))

    def learn(self, *, something: bool, took_s: float | None = None) -> None:
        """Learn whether some of the work existed; `took_s` if the kill came too late."""
        if took_s is not None:
            self._whole_s = min(self._whole_s, took_s)
        step_s = _STEP * self._whole_s
        self._turn_s = min(max(self._turn_s + (-step_s if something else step_s), 0), self._whole_s)
