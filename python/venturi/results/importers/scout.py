"""scout: Spark and Hadoop jobs of HiBench on 69 clusters of AWS machines, one trial a row.

`completed` False is a failed trial; its `t` is the time until then, never a time of success. An
`input_size` of -1 means unknown. `timestamp` has no time zone, so that `started_at` stays None; a
warning keeps the text. Prices are not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    CLOCK,
    FAILED,
    SOFTWARE,
    Item,
    Source,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    Row,
    UnreadableError,
    number,
    positive_or_none,
    rows,
    text,
    whole,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Sample,
    State,
    Trial,
    TrialWarning,
    Workload,
)

FORMAT = Format(
    "scout",
    "scout: Spark and Hadoop on AWS, one CSV",
    columns=("framework", "datasize", "completed"),
)

_COLUMNS = (
    "run",
    "n",
    "vm",
    "workload",
    "framework",
    "datasize",
    "completed",
    "t",
    "input_size",
    "timestamp",
)
_COMPLETED = {"true": True, "false": False}
_FRAMEWORK = re.compile(r"(hadoop|spark)([0-9.]*)")
_ENGINES = {"hadoop": "mapreduce", "spark": "spark"}


def read(file: BinaryIO, source: Source) -> Iterator[Item]:
    """The trials of scout's table, with what was refused and what was interpreted."""
    return of_rows(rows(file, source, _COLUMNS), lambda row: _items(row, source), source)


def _items(row: Row, source: Source) -> Iterator[Item]:
    trial = _trial(row, source)
    framework = row.fields["framework"]
    if not framework.startswith(trial.engine.name):
        yield Spelling(row.line, "framework", framework, trial.engine.name)
    yield trial


def _trial(row: Row, source: Source) -> Trial:
    completed = _COMPLETED.get(row.fields["completed"].casefold())
    if completed is None:
        raise UnreadableError(row.refuse("completed", "neither True nor False"))
    seconds = number(row, "t", above=0) if completed else positive_or_none(row, "t")
    vm, nodes = text(row, "vm"), whole(row, "n", least=1, most=10_000)
    input_bytes = whole(row, "input_size", least=-1)
    return Trial(
        id=imported_id("scout", *(row.fields[name] for name in _COLUMNS)),
        workload=Workload(
            name=text(row, "workload"),
            version="scout",
            scale=text(row, "datasize"),
            input_bytes=input_bytes if input_bytes > 0 else None,
        ),
        engine=_engine(row),
        cluster=Cluster(unnamed_hosts(f"scout-{vm}", nodes, {}), instance_type=vm),
        configuration={"nodes": nodes},
        software=SOFTWARE,
        provenance=source.provenance("scout"),
        started_at=None,
        state=State.SUCCEEDED if completed else State.FAILED,
        elapsed_s=seconds if completed else None,
        samples=() if completed else (_time_to_failure(seconds),),
        warnings=_clock(row),
        failure=None if completed else Failure("workload", FAILED, "the source: not completed"),
    )


def _time_to_failure(seconds: float | None) -> Sample:
    reason = "not stated" if seconds is None else None
    return Sample("time_to_failure_s", seconds, "s", missing_reason=reason)


def _engine(row: Row) -> Engine:
    match = _FRAMEWORK.fullmatch(row.fields["framework"])
    if match is None:
        raise UnreadableError(row.refuse("framework", "neither hadoop nor spark"))
    return Engine(_ENGINES[match[1]], match[2] or "unknown")


def _clock(row: Row) -> tuple[TrialWarning, ...]:
    written = row.fields["timestamp"]
    if not written:
        return ()
    return (TrialWarning(CLOCK, f"dated {written}, in a time zone the source does not name"),)
