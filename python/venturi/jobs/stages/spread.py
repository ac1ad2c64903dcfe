"""How the tasks of a stage differ: the least, a quarter, the median, three quarters, the most.

As Spark's own pages have it, over the tasks that succeeded. Between two tasks it is interpolated
(definition 7 of Hyndman and Fan), so that the median is the one that skew is measured by.
"""

from __future__ import annotations

import numpy as np

from venturi.jobs.stages.causes import Floats
from venturi.jobs.stages.stage import TaskSpread
from venturi.jobs.stages.tasks import Tasks

QUARTERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def spreads_of(tasks: Tasks, key: tuple[int, int]) -> tuple[TaskSpread, ...]:
    """Those of the time and of the bytes read, of the stage `key`."""
    here = tasks.of(key)
    succeeded = tasks.succeeded[here]
    return (
        _spread("task time", "s", tasks.times.elapsed_s[here][succeeded]),
        _spread("bytes read", "B", tasks.bytes_read[here][succeeded]),
    )


def _spread(what: str, unit: str, values: Floats) -> TaskSpread:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        reason = "not recorded" if len(values) else "none of its tasks succeeded"
        return TaskSpread(what, unit, 0, reason=reason)
    last = len(known) - 1
    quarters = np.interp(QUARTERS * last, np.arange(last + 1), known).tolist()
    return TaskSpread(what, unit, len(known), *quarters)
