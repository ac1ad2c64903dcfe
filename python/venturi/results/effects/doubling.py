"""The effect of twice the resource or work, over all curves: each of them counts once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from venturi.core.statistics.stats import ALPHA
from venturi.results.effects.strata import PooledRatio, over_works
from venturi.results.scaling.contexts import Context


def effect_of_doubling(contexts: Sequence[Context]) -> PooledRatio | None:
    """The mean ratio of times for twice the x, from the ends of each curve; None of fewer than two.

    Each kind of work counts once, as in the effects of settings.
    """
    known = [each for each in contexts if each.x[0] > 0 and len(each.x) > 1]
    if len(known) < 2:
        return None
    logs = [
        math.log(median(each.times[-1]) / median(each.times[0])) / math.log2(each.x[-1] / each.x[0])
        for each in known
    ]
    works = [str(each.settings.get("workload")) for each in known]
    _, work = np.unique(works, return_inverse=True)
    return over_works(np.array(logs), work.astype(np.int64), 1 - ALPHA)


def doubling_sentence(x: str, found: PooledRatio, curves: int) -> str:
    """`twice the hosts take 0.62 of the time [0.55, 0.70], on average over 357 settings`."""
    take = "take" if x.endswith("s") else "takes"
    over = f"on average over {curves:,} settings"
    if found.interval is None:
        return f"twice the {x} {take} about {found.ratio:.2f} of the time, {over}"
    ends = f"[{found.interval.low:.2f}, {found.interval.high:.2f}]"
    if found.interval.low <= 1 <= found.interval.high:
        return (
            f"cannot tell whether twice the {x} {take} less time: ratio {found.ratio:.2f} {ends} "
            f"{over}"
        )
    return f"twice the {x} {take} {found.ratio:.2f} of the time {ends}, {over}"
