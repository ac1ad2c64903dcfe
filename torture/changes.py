"""Kills that follow a change, so that most of them come where something is half done."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_ANYWHERE = 0.2
_LATE = 1.1
_WEIGHT = 0.2


@dataclass(frozen=True, slots=True)
class Kill:
    """A delay after a change, given by its name; None is the start."""

    after: str | None
    delay_s: float

    def __str__(self) -> str:
        return f"killed {1000 * self.delay_s:.1f} ms after {self.after or 'its start'}"


class Changes:
    """A command's changes to stored data.

    One kill in five falls anywhere in a little more than the command's duration. The others fall
    between a change, each equally likely, and the next one or the end.
    """

    def __init__(self, made_s: Mapping[str, float], whole_s: float) -> None:
        """When it makes each after its start, in order, and when it ends."""
        starts_s, ends_s = [0.0, *made_s.values()], [*made_s.values(), whole_s]
        gaps_s = (end_s - start_s for start_s, end_s in zip(starts_s, ends_s, strict=True))
        self._gaps_s: dict[str | None, float] = dict(zip([None, *made_s], gaps_s, strict=True))

    @property
    def last(self) -> str | None:
        """None: it made none."""
        return list(self._gaps_s)[-1]

    def draw(self, chance: random.Random) -> Kill:
        made = list(self._gaps_s)[1:]
        if not made or chance.random() < _ANYWHERE:
            return Kill(None, chance.uniform(0, _LATE * sum(self._gaps_s.values())))
        after = chance.choice(made)
        return Kill(after, chance.uniform(0, self._gaps_s[after]))

    def learn(self, seen: Changes, *, killed: bool) -> None:
        """Follow a machine that becomes slower or faster; a `killed` run cut short the `seen`
        changes.
        """
        gaps = list(seen._gaps_s.items())
        for after, gap_s in gaps[: len(gaps) - killed]:
            known_s = self._gaps_s.setdefault(after, gap_s)
            self._gaps_s[after] = known_s + _WEIGHT * (gap_s - known_s)


def follow(
    stage: Callable[[], str],
    works: Callable[[], bool],
    kill: Kill | None,
    by: Callable[[], None],
    *,
    every_s: float,
) -> Changes:
    """Poll the state until nothing `works` at it, and end that `by` a function at the time of
    `kill`. Each new `stage` is a change.
    """
    begun_s = time.monotonic()
    made_s: dict[str, float] = {}
    before = stage()
    while works():
        now, now_s = stage(), time.monotonic() - begun_s
        if now != before:
            made_s.setdefault(now, now_s)
        if kill and now_s >= kill.delay_s + _made_s(kill, made_s):
            by()
        time.sleep(every_s)
    return Changes(made_s, time.monotonic() - begun_s)


def _made_s(kill: Kill, made_s: Mapping[str, float]) -> float:
    return 0 if kill.after is None else made_s.get(kill.after, math.inf)
