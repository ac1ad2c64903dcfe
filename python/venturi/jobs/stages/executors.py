"""Per executor: when it existed, how busy it was, its memory and its losses."""

from __future__ import annotations

import numpy as np

from venturi.jobs.stages.causes import total
from venturi.jobs.stages.stage import ExecutorUse
from venturi.jobs.stages.timeline import Timeline

HEAP, REGION, PYTHON_RSS = "JVMHeapMemory", "MaximumOnHeap", "ProcessTreePythonRSSMemory"


def executor_uses(line: Timeline) -> tuple[ExecutorUse, ...]:
    """The executors, in the order in which they came."""
    account, tasks, origin_ms = line.account, line.tasks, line.tasks.origin_ms
    memory: dict[str, dict[str, int]] = {}
    if account.memory is not None:
        for executor, metric, value in account.memory.rows():
            memory.setdefault(executor, {})[metric] = value
    numbers = tasks.alike("executor_id")
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-2))
    places = {
        tasks.who(int(own[0])).executor_id: own for own in np.split(order, starts[1:]) if len(own)
    }
    failed = (tasks.rows["outcome"] == "failed").fill_null(value=False).to_numpy()
    found, lacks = [], line.gaps.lacks
    for row in account.executors.rows(named=True):
        own = places.get(row["executor_id"], np.zeros(0, np.intp))
        added_s, removed_s = (
            None if row[name] is None else (row[name] - origin_ms) / 1e3
            for name in ("added_ms", "removed_ms")
        )
        task_s = total(tasks.times.elapsed_s[own])
        until_s = line.elapsed_s if removed_s is None else removed_s
        there_s = None if until_s is None else until_s - (added_s or 0.0)
        cpus = 1 if line.there is None else line.there.cpus
        slots = (row["cores"] or 0) // cpus
        collected_s = tasks.times.causes.get("garbage collection")
        spilled = tasks.bytes_spilled[own]
        seen = memory.get(row["executor_id"], {})
        found.append(
            ExecutorUse(
                row["executor_id"],
                row["host"],
                row["cores"],
                added_s,
                removed_s,
                row["reason"],
                len(own),
                int(failed[own].sum()),
                task_s,
                min(task_s / (slots * there_s), 1.0)
                if slots and there_s and there_s > 0 and not lacks
                else None,
                total(collected_s[own]) / task_s
                if collected_s is not None and task_s and not lacks
                else None,
                None if np.isnan(spilled).all() else int(total(spilled)),
                seen.get(HEAP),
                seen.get(REGION),
                seen.get(PYTHON_RSS),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.added_s or 0.0, each.executor_id)))
