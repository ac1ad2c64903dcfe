"""What the first tasks of a stage on each slot take more than its later ones.

An executor loads and compiles a stage's code while it runs its first tasks of it: 10 s instead of
1 s were measured on a slow processor (docs/guide/diagnosis.md). Each slot pays for that itself, so
that with more slots there is more of it, and with fewer less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.model.stages.causes import Floats, Seconds

LEAST_LATER = 2
"""Tasks of a stage that are not the first on their slot, without which nothing tells of warm-up."""
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Warm:
    """The tasks of a stage as if nothing was to be warmed up: what each takes; and how much more
    the first, second, ... of the stage on a slot take."""

    lasting_s: Seconds
    more_s: tuple[float, ...]


def warm(lasting_s: Seconds, places: Places, read: Floats) -> Warm:
    """The tasks of a stage without their warm-up.

    `places` says for each which of the stage it was on its slot, from 0 on (-1: not known), `read`
    how many bytes it read (NaN: not known). Warmed up are those of the second half of the places,
    of few all but the first; another one that read more than the median of these is expected to
    take longer by as much. The warm-up of a place is what half of its tasks took more than that,
    and of two the shorter one: a single long one is none. It never grows from place to place.
    """
    if not (places == 0).any() or (places > 0).sum() < LEAST_LATER:
        return Warm(lasting_s, ())
    settled = max(1, int(places.max() + 1) // 2)
    later = places >= settled
    usual_s, usual_bytes = float(np.median(lasting_s[later])), float(np.median(read[later]))
    larger = read / usual_bytes if usual_bytes > 0 else np.ones(len(read))
    over_s = lasting_s - usual_s * np.maximum(np.nan_to_num(larger, nan=1.0), 1.0)
    more_s: list[float] = []
    for place in range(settled):
        here_s = np.sort(over_s[places == place])
        usually_s = max(float(here_s[(len(here_s) - 1) // 2]), 0.0) if len(here_s) else 0.0
        more_s.append(min(usually_s, more_s[-1]) if more_s else usually_s)
    taken_s = np.array([*more_s, 0.0])[np.where(places < 0, settled, np.minimum(places, settled))]
    return Warm(np.maximum(lasting_s - taken_s, 0.0), tuple(more_s))


def places_on_slots(launched_s: Seconds, finished_s: Seconds, executors: Places) -> Places:
    """Which task of a stage each was on its slot: 0 for the first, -1 where its executor (a number
    each) is below 0, not known.

    As many are first on an executor as began before any of the stage was half done there: the next
    task on a slot is launched a little before the end of the one before it is noted. All others
    follow in turns of as many.
    """
    found = np.full(len(executors), -1, dtype=np.int64)
    order = np.argsort(launched_s, kind="stable")
    for executor in np.unique(executors[executors >= 0]):
        own = order[executors[order] == executor]
        half_s = float(((launched_s[own] + finished_s[own]) / 2).min())
        at_once = max(int((launched_s[own] < half_s).sum()), 1)
        found[own] = np.arange(len(own)) // at_once
    return found
