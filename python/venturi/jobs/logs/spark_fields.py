"""Fields of Spark's events: columns of a task, and values of another type than theirs.

A value of a wrong type is taken for one that is not there; where the first of its like stood is
kept, so that it can be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from venturi.jobs.failures.messages import condensed
from venturi.jobs.logs.columnar import amount, moment, number, word

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
OUTCOMES = {"Success": "succeeded", "TaskKilled": "killed", "TaskCommitDenied": "killed"}
"""By the reason of a task's end; any other is a failure."""
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
_KIND_FIELDS = ("placements", "seen_bytes", "present_bytes", "peak_bytes", "overflows")
NAME_CHARACTERS = 500
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
    said = condensed(said, reason.get("Full Stack Trace"))
    if kind == "FetchFailed" and (host := _host_read_from(reason)) is not None:
        kind = f"FetchFailed from {host}"
    parts = (word(kind), word(reason.get("Class Name")), word(said))
    return ": ".join(part for part in parts if part)


def _host_read_from(reason: Mapping[str, Any]) -> str | None:
    """The host that a failed fetch read from; None if the log doesn't name it."""
    address = reason.get("Block Manager Address")
    return word(address.get("Host")) if isinstance(address, dict) else None


def call_site(value: object) -> str | None:
    """A call and its line, without the path of a program in Python; the JVM's have none."""
    name = word(value, 4_000)  # of the system's longest path nothing is cut off
    if name is None:
        return None
    call, _, path = name.partition(" at /")
    _, slash, file = path.rpartition("/")
    return word(f"{call} at {file}" if slash and _LINE_OF_FILE.fullmatch(file) else name)


def tier_rows(account: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of `job_account.TIERS` in a report of tiered storage."""
    for order, tier in enumerate(account["tiers"]):
        before = (
            number(account["at_ms"]),
            str(account["executor_id"])[:NAME_CHARACTERS],
            word(account.get("host")),
            str(tier["tier"])[:NAME_CHARACTERS],
            order,
            amount(tier.get("leave_free_bytes")),
            amount(tier.get("use_at_most_bytes")),
        )
        for kind in tier["kinds"]:
            yield (
                *before,
                str(kind["kind"])[:NAME_CHARACTERS],
                *(amount(kind.get(name)) for name in _KIND_FIELDS),
                moment(kind.get("first_overflow_ms")),
                amount(tier.get("errors")),
            )


class NumberSet:
    """A set of numbers from 0, a bit for each; those beyond `_MOST` are never in it."""

    _MOST = 1 << 26

    def __init__(self) -> None:
        self._bits = bytearray()

    def has(self, value: int) -> bool:
        """Whether `value` was added."""
        place = value >> 3
        return 0 <= place < len(self._bits) and bool(self._bits[place] >> (value & 7) & 1)

    def add(self, value: int) -> None:
        """Adds `value`."""
        if 0 <= value < self._MOST:
            place = value >> 3
            if place >= len(self._bits):
                self._bits.extend(bytes(place + 1 - len(self._bits)))
            self._bits[place] |= 1 << (value & 7)


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
