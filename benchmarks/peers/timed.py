"""Times a query the way its user sees it: until the output is durable. Imports stay outside."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.process import fsync_tree


def cpu_s() -> float:
    """User+sys of this process so far, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def report(query: Callable[[], object], output: Path, version: str) -> None:
    """Run `query`, make `output` durable, print both costs as one JSON object."""
    before_cpu_s, before_s = cpu_s(), time.perf_counter()
    query()
    fsync_tree(output)
    cost = {"time_s": time.perf_counter() - before_s, "cpu_s": cpu_s() - before_cpu_s}
    print(json.dumps({**cost, "version": version}))
