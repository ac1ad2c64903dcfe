"""Fields of Spark's events: columns of a task, and values of another type than theirs.

A value of a wrong type is taken for one that is not there; where the first of its like stood is
kept, so that it can be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from venturi.core.wording import count_of
from venturi.jobs.logs.columnar import amount, ends, number, word

_METRICS = (
    "Executor Deserialize Time",
    "Executor Deserialize CPU Time",
    "Executor Run Time",
    "Executor CPU Time",
    "Peak Execution Memory",
    "Result Size",
    "JVM GC Time",
    "Result Serialization Time",
    "Memory Bytes Spilled",
    "Disk Bytes Spilled",
)
_PARTS = {
    "Shuffle Read Metrics": (
        "Remote Bytes Read",
        "Local Bytes Read",
        "Remote Bytes Read To Disk",
        "Fetch Wait Time",
        "Total Records Read",
    ),
    "Shuffle Write Metrics": (
        "Shuffle Bytes Written",
        "Shuffle Write Time",
        "Shuffle Records Written",
    ),
    "Input Metrics": ("Bytes Read", "Records Read"),
    "Output Metrics": ("Bytes Written", "Records Written"),
}
NO_METRICS = (None,) * (len(_METRICS) + sum(map(len, _PARTS.values())))
_NUMBERS = frozenset(
    {
        *_METRICS,
        *(name for names in _PARTS.values() for name in names),
        "Timestamp",
        "Submission Time",
        "Completion Time",
        "Launch Time",
        "Finish Time",
        "Getting Result Time",
        "Attempt",
        "Number of Tasks",
        "Total Cores",
        "time",
    }
)
_TEXTS = frozenset(
    {
        "Host",
        "Executor ID",
        "Locality",
        "Stage Name",
        "Failure Reason",
        "Removed Reason",
        "App Name",
        "App ID",
        "User",
        "Spark Version",
        "description",
    }
)
_INSIDE = frozenset({"Task Info", "Task Metrics", "Stage Info", "Executor Info", *_PARTS})
_MOST = 200
_SHOWN = 40
_LINE_OF_FILE = re.compile(r"[^/]+:\d+")


def metrics_of(metrics: object, outcome: str) -> tuple[int | None, ...]:
    """The metrics of a task with `outcome`, in the order of their columns."""
    if not isinstance(metrics, dict):
        return NO_METRICS
    found = [amount(metrics.get(name)) for name in _METRICS]
    if outcome != "succeeded" and not any(found):
        return NO_METRICS  # its executor was lost, or it never began: Spark writes zeros
    for part, names in _PARTS.items():
        values = metrics.get(part)
        if isinstance(values, dict):
            found += [amount(values.get(name)) for name in names]
        else:
            found += [None] * len(names)
    return tuple(found)


def identity_of(event: Mapping[str, Any], info: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of a task up to `speculative`."""
    attempt = event.get("Stage Attempt ID")
    return (
        number(event["Stage ID"]),
        0 if attempt is None else number(attempt),
        str(number(info["Task ID"])),
        number(info["Index"]),
        amount(info.get("Attempt")),
        word(info.get("Executor ID")),
        word(info.get("Host")),
        word(info.get("Locality")),
        info.get("Speculative") is True,
    )


def reason_of(reason: Mapping[str, Any]) -> str | None:
    """The text of a task's end reason; None if it succeeded."""
    kind = reason["Reason"]
    if kind == "Success":
        return None
    said = (
        reason.get("Kill Reason")
        or reason.get("Loss Reason")
        or reason.get("Message")
        or reason.get("Description")
    )
    parts = (word(kind), word(reason.get("Class Name")), ends(said))
    return ": ".join(part for part in parts if part)


def call_site(value: object) -> str | None:
    """A call and its line, without the path of a program in Python; the JVM's have none."""
    name = word(value, 4_000)  # of the system's longest path nothing is cut off
    if name is None:
        return None
    call, _, path = name.partition(" at /")
    _, slash, file = path.rpartition("/")
    return word(f"{call} at {file}" if slash and _LINE_OF_FILE.fullmatch(file) else name)


class WrongTypes:
    """The values of a wrong type that were met, by event and field."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, str], list[Any]] = {}

    def look(self, name: str, event: Mapping[str, Any], line: int) -> None:
        """Looks at an event called `name`, which stood in `line`, from 1."""
        for field, value in _wrong(event):
            met = self._met.get((name, field))
            if met is not None:
                met[0] += 1
            elif len(self._met) < _MOST:
                self._met[name, field] = [1, line, repr(value)[:_SHOWN]]

    def told(self) -> tuple[str, ...]:
        """A sentence for each event and field."""
        return tuple(
            f"{count:,} values of {field!r} in events {name} are of a wrong type and were left "
            f"out; the first stands in line {line:,}: {word(shown)}"
            for (name, field), (count, line, shown) in self._met.items()
        )


def _wrong(event: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for field, value in event.items():
        if value is None:
            continue
        if field in _NUMBERS:
            if type(value) is not int:
                yield field, value
        elif field in _TEXTS:
            if type(value) is not str:
                yield field, value
        elif field in _INSIDE:
            if type(value) is dict:
                yield from _wrong(value)
            else:
                yield field, value


def end_stages_by_children(stages: Mapping[tuple[int, int], dict[str, Any]]) -> int:
    """End stages without a recorded end when a stage that reads their output began.

    Returns how many. A stage begins only after its parents succeeded.
    """
    began_ms: dict[int, int] = {}
    for stage in stages.values():
        if (submitted_ms := stage["submitted_ms"]) is not None:
            for parent in stage.get("parent_ids") or ():
                began_ms[parent] = min(submitted_ms, began_ms.get(parent, submitted_ms))
    count = 0
    last = {stage_id: key for key in sorted(stages) for stage_id in key[:1]}
    for stage_id, key in last.items():
        stage = stages[key]
        ended_ms = began_ms.get(stage_id)
        if stage["outcome"] != "unfinished" or ended_ms is None:
            continue
        if ended_ms >= (stage["submitted_ms"] or ended_ms):
            stage |= {"outcome": "succeeded", "ended_ms": ended_ms}
            count += 1
    return count


def end_jobs_by_stages(
    jobs: Mapping[int, dict[str, Any]], stages: Mapping[tuple[int, int], Mapping[str, Any]]
) -> int:
    """Give jobs without an end that of their stages, if all of these succeeded; return how many.

    Spark's listener queue drops events of large applications. For applications that have ended.
    """
    last: dict[int, Mapping[str, Any]] = {}
    for (stage_id, _), stage in sorted(stages.items()):
        last[stage_id] = stage
    count = 0
    for job in jobs.values():
        ids = job.get("stage_ids") or ()
        # The stage that makes a job's result is created last; earlier ones may be skipped.
        if job["outcome"] != "unfinished" or not ids or max(ids) not in last:
            continue
        own = [last[each] for each in ids if each in last]
        if all(stage["outcome"] == "succeeded" for stage in own):
            job |= {"outcome": "succeeded", "ended_ms": max(stage["ended_ms"] for stage in own)}
            count += 1
    return count


def dropped_events(missing: Mapping[str, int]) -> Iterator[str]:
    """Say which events a log lacks, by their names and numbers."""
    counts = [count_of(n, name) for name, n in missing.items() if n]
    if counts:
        yield (
            f"{' and '.join(counts)} missing, although what followed shows success: Spark's "
            "listener queue dropped events (raise spark.scheduler.listenerbus.eventqueue.capacity)"
        )
