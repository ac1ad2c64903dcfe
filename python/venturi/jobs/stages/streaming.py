"""Batch times of streaming queries, and whether each query keeps up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from venturi.jobs.stages.stage import StreamBatches, StreamPart, StreamUse
from venturi.jobs.stages.timeline import Timeline

JOBS, PLANNING, OFFSETS, COMMIT, REST = (
    "its jobs",
    "planning",
    "querying the sources",
    "writing the commit log",
    "the rest",
)
_PARTS = {
    "add_ms": JOBS,
    "planning_ms": PLANNING,
    "offsets_ms": OFFSETS,
    "commit_ms": COMMIT,
}
# Chosen by us: a stream that is always busy and takes longer for each batch is falling behind.
_ALWAYS, _GROWS, _LEAST = 0.9, 1.25, 6
_POINTS = 400
_Batch = Mapping[str, Any]


def stream_uses(line: Timeline) -> Iterator[StreamUse]:
    """The streaming queries of an application, in the order in which they began."""
    for stream, batches in _streams(line).items():
        yield _use(stream, batches, line.tasks.origin_ms)


def stream_batches(line: Timeline, most: int) -> tuple[StreamBatches, ...]:
    """Batches over time of the `most` streams with the highest total batch time."""
    streams = _streams(line)
    took_ms = {name: sum(row["took_ms"] for row in own) for name, own in streams.items()}
    busiest = sorted(streams, key=lambda name: -took_ms[name])[:most]
    return tuple(
        _over_time(name, own, line.tasks.origin_ms)
        for name, own in streams.items()
        if name in busiest
    )


def _streams(line: Timeline) -> dict[str, list[_Batch]]:
    """The batches of each stream, in the order in which they began."""
    batches: dict[str, list[_Batch]] = {}
    if line.account.batches is not None:
        for row in line.account.batches.sort("began_ms").rows(named=True):
            if row["took_ms"] is not None:
                batches.setdefault(row["stream"], []).append(row)
    return batches


def _over_time(stream: str, batches: Sequence[_Batch], origin_ms: float) -> StreamBatches:
    edges = [*range(0, len(batches), -(-len(batches) // _POINTS)), len(batches)]
    groups = [batches[start:end] for start, end in pairwise(edges)]
    slowest = [max(group, key=lambda row: row["took_ms"]) for group in groups]
    rows = [_known_sum(row["input_rows"] for row in group) for group in groups]
    began_ms = [group[-1]["began_ms"] for group in groups]
    since_ms = [None, *(end - start for start, end in pairwise(began_ms))]
    worked_ms = [_known_sum(row["took_ms"] for row in group) for group in groups]

    def of_slowest(column: str) -> tuple[float | None, ...]:
        return tuple(None if row[column] is None else row[column] / 1e3 for row in slowest)

    rest_s = tuple(
        max(row["took_ms"] - sum(row[column] or 0 for column in _PARTS), 0) / 1e3 for row in slowest
    )
    return StreamBatches(
        stream=stream,
        batch=tuple(row["batch_id"] for row in slowest),
        t_s=tuple((row["began_ms"] - origin_ms) / 1e3 for row in slowest),
        took_s=tuple(row["took_ms"] / 1e3 for row in slowest),
        parts=(
            *(StreamPart(what, of_slowest(column)) for column, what in _PARTS.items()),
            StreamPart(REST, rest_s),
        ),
        rows=tuple(rows),
        input_rows_per_s=tuple(map(_rate, rows, since_ms)),
        rows_per_s=tuple(map(_rate, rows, worked_ms)),
        state_rows=tuple(group[-1]["state_rows"] for group in groups),
        state_bytes=tuple(group[-1]["state_bytes"] for group in groups),
        late_s=tuple(
            None if row["watermark_ms"] is None else (row["began_ms"] - row["watermark_ms"]) / 1e3
            for row in slowest
        ),
    )


def _known_sum(values: Iterable[int | None]) -> int | None:
    """The sum of the recorded values; None if all are missing."""
    told = [value for value in values if value is not None]
    return sum(told) if told else None


def _rate(rows: int | None, time_ms: int | None) -> float | None:
    """Rows a second."""
    return rows / time_ms * 1e3 if rows is not None and time_ms else None


def _use(stream: str, batches: Sequence[_Batch], origin_ms: float) -> StreamUse:
    took_s = [row["took_ms"] / 1e3 for row in batches]
    slowest = max(batches, key=lambda row: row["took_ms"])
    parts = {name: slowest[column] or 0 for column, name in _PARTS.items()}
    wall_s = (batches[-1]["began_ms"] - batches[0]["began_ms"]) / 1e3 + took_s[-1]
    busy = min(sum(took_s) / wall_s, 1.0) if wall_s > 0 else None
    third = max(len(took_s) // 3, 1)
    first_s, last_s = median(took_s[:third]), median(took_s[-third:])
    last, before = batches[-1], batches[max(len(batches) - third - 1, 0)]
    late_s, worked_off = sum(took_s[-third:]), _rows(batches[-third:])
    # A batch's rows, and those left at its sources, arrived since the batch before began.
    since_s = (last["began_ms"] - before["began_ms"]) / 1e3
    left, left_before = last["left_rows"], before["left_rows"]
    more = 0 if left is None or left_before is None else left - left_before
    came_in = max(worked_off + more, 0)
    longer = last_s >= _GROWS * first_s > 0
    # One that leaves less and less catches up, however long its batches are.
    grows = (longer and more >= 0) or (more > 0 and came_in >= _GROWS * worked_off > 0)
    return StreamUse(
        stream=stream,
        name=last["name"],
        batches=len(batches),
        rows=_rows(batches),
        rows_per_s=worked_off / late_s if late_s > 0 else None,
        input_rows_per_s=came_in / since_s if since_s > 0 else None,
        median_s=median(took_s),
        first_s=first_s,
        last_s=last_s,
        slowest_s=slowest["took_ms"] / 1e3,
        slowest_batch=slowest["batch_id"],
        slowest_at_s=(slowest["began_ms"] - origin_ms) / 1e3,
        slowest_part=max(parts, key=lambda name: parts[name]),
        busy=busy,
        behind=bool(grows and len(took_s) >= _LEAST and busy is not None and busy >= _ALWAYS),
        left_rows=left,
        first_state_rows=batches[third - 1]["state_rows"],
        state_rows=last["state_rows"],
        state_bytes=last["state_bytes"],
    )


def _rows(batches: Sequence[_Batch]) -> int:
    return sum(row["input_rows"] or 0 for row in batches)
