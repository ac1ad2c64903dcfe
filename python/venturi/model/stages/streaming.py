"""What the batches of a streaming query took, and whether it keeps up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from venturi.model.stages.stage import StreamUse
from venturi.model.stages.timeline import Timeline

JOBS, PLANNING, OFFSETS, COMMIT = (
    "its jobs", "planning", "asking the sources", "writing down what was done",
)  # fmt: skip
_PARTS = {
    "add_ms": JOBS, "planning_ms": PLANNING, "offsets_ms": OFFSETS, "commit_ms": COMMIT,
}  # fmt: skip
# Our judgement: a stream that works all the time, and takes longer for each batch, falls behind.
_ALWAYS, _GROWS, _LEAST = 0.9, 1.25, 6
_Batch = Mapping[str, Any]


def stream_uses(line: Timeline) -> Iterator[StreamUse]:
    """The streaming queries of an application, in the order in which they began."""
    table = line.account.batches
    if table is None:
        return
    batches: dict[str, list[_Batch]] = {}
    for row in table.sort("began_ms").rows(named=True):
        if row["took_ms"] is not None:
            batches.setdefault(row["stream"], []).append(row)
    for stream, own in batches.items():
        yield _use(stream, own, line.tasks.origin_ms)


def _use(stream: str, batches: Sequence[_Batch], origin_ms: float) -> StreamUse:
    took_s = [row["took_ms"] / 1e3 for row in batches]
    slowest = max(batches, key=lambda row: row["took_ms"])
    parts = {name: slowest[column] or 0 for column, name in _PARTS.items()}
    wall_s = (batches[-1]["began_ms"] - batches[0]["began_ms"]) / 1e3 + took_s[-1]
    busy = min(sum(took_s) / wall_s, 1.0) if wall_s > 0 else None
    third = max(len(took_s) // 3, 1)
    first_s, last_s = median(took_s[:third]), median(took_s[-third:])
    grows = len(took_s) >= _LEAST and last_s >= _GROWS * first_s > 0
    last = batches[-1]
    late_s, came_in = sum(took_s[-third:]), _rows(batches[-third:])
    # What a batch has came in since the one before began.
    since_s = (last["began_ms"] - batches[max(len(batches) - third - 1, 0)]["began_ms"]) / 1e3
    return StreamUse(
        stream=stream,
        name=last["name"],
        batches=len(batches),
        rows=_rows(batches),
        rows_per_s=came_in / late_s if late_s > 0 else None,
        input_rows_per_s=came_in / since_s if since_s > 0 else None,
        median_s=median(took_s),
        first_s=first_s,
        last_s=last_s,
        slowest_s=slowest["took_ms"] / 1e3,
        slowest_batch=slowest["batch_id"],
        slowest_at_s=(slowest["began_ms"] - origin_ms) / 1e3,
        slowest_part=max(parts, key=lambda name: parts[name]),
        busy=busy,
        behind=bool(grows and busy is not None and busy >= _ALWAYS),
        first_state_rows=batches[third - 1]["state_rows"],
        state_rows=last["state_rows"],
        state_bytes=last["state_bytes"],
    )


def _rows(batches: Sequence[_Batch]) -> int:
    return sum(row["input_rows"] or 0 for row in batches)
