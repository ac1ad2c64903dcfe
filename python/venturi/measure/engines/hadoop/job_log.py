"""Reads MapReduce's output about a job: the client's log and its counters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from venturi.measure.engines.process_job import LAUNCH, START
from venturi.measure.trial.programs import ProcessResult
from venturi.record.trial import Phase, Sample

# Phases, and the log text that marks the end of each; the first phase ends with the first line.
LOCAL = (
    (START, ""),
    ("submit", "Running job:"),
    ("map", "map task executor complete"),
    ("shuffle+sort+reduce", "completed successfully"),
)
CLUSTER = (
    (START, ""),
    ("submit", "Running job:"),
    (LAUNCH, "running in uber mode"),  # true or false: the application master is up
    ("map", " map 100% "),
    ("shuffle+sort+reduce", "completed successfully"),
)

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) \w+ (.*)")
_COUNTER = re.compile(r"\t\t(.+)=(-?\d+)")


def read_counters(text: str) -> dict[str, dict[str, int]]:
    """The job's counters by group: those printed last, which are of the whole job."""
    _, found, rest = text.rpartition("Counters: ")
    groups: dict[str, dict[str, int]] = {}
    name = ""
    for line in rest.splitlines()[1:] if found else ():
        if counter := _COUNTER.fullmatch(line):
            groups.setdefault(name, {})[counter[1]] = int(counter[2])
        elif line.startswith("\t"):
            name = line.strip()
        else:
            break
    return groups


def samples(counters: Mapping[str, Mapping[str, int]]) -> Iterator[Sample]:
    """Yield the counters as samples with Venturi's names and units."""
    framework = counters.get("Map-Reduce Framework", {})
    for counter, metric, unit, scale in (
        ("Spilled Records", "spilled_records", "1", 1.0),
        ("Reduce shuffle bytes", "shuffle_bytes", "B", 1.0),
        ("GC time elapsed (ms)", "gc_s", "s", 1e-3),
        ("Map input records", "records", "1", 1.0),
    ):
        if counter in framework:
            yield Sample(metric, framework[counter] * scale, unit)


def read_phases(
    text: str, ended: ProcessResult, shift_s: float, signs: Sequence[tuple[str, str]] = LOCAL
) -> tuple[Phase, ...]:
    """Return the phases; each ends at the time at which the log first says so.

    The log has wall-clock times; adding `shift_s` makes them monotonic.
    """
    over: dict[str, float] = {}
    for line in text.splitlines():
        stamp = _STAMP.match(line)
        if stamp is None:
            continue
        moment = datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        at_s = moment.timestamp() + int(stamp[2]) / 1000 + shift_s
        for name, sign in signs:
            if sign in stamp[3]:
                over.setdefault(name, at_s)
    over.setdefault(signs[-1][0], ended.ended_s)
    phases = []
    before = ended.started_s
    for name, _ in signs:
        if name in over:
            bound = min(max(over[name], before), ended.ended_s)
            phases.append(Phase(name, before, bound - before))
            before = bound
    phases.append(Phase("end", before, ended.ended_s - before))
    return tuple(phases)
