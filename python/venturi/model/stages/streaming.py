"""What the batches of a streaming query took, and whether it keeps up."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from venturi.model.stages.stage import StreamUse
from venturi.record.job_account import JobAccount

_PARTS = {
    "add_ms": "its jobs", "planning_ms": "planning", "offsets_ms": "asking the sources",
    "commit_ms": "writing down what was done",
}  # fmt: skip
# Our judgement: a stream that works all the time, and takes longer for each batch, falls behind.
_ALWAYS, _GROWS, _LEAST = 0.9, 1.2, 6


def stream_uses(account: JobAccount) -> Iterator[StreamUse]:
    """The streaming queries of an account, in the order in which they began."""
    if account.batches is None:
        return
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in account.batches.sort("began_ms").rows(named=True):
        if row["took_ms"] is not None:
            rows.setdefault(row["stream"], []).append(row)
    for stream, batches in rows.items():
        took_s = [row["took_ms"] / 1e3 for row in batches]
        slowest = max(batches, key=lambda row: row["took_ms"])
        parts = {name: slowest[column] or 0 for column, name in _PARTS.items()}
        wall_s = (batches[-1]["began_ms"] - batches[0]["began_ms"]) / 1e3 + took_s[-1]
        busy = min(sum(took_s) / wall_s, 1.0) if wall_s > 0 else None
        third = len(took_s) // 3
        grows = len(took_s) >= _LEAST and median(took_s[-third:]) >= _GROWS * median(took_s[:third])
        last = batches[-1]
        n_rows = sum(row["input_rows"] or 0 for row in batches)
        yield StreamUse(
            stream, last["name"], len(batches), n_rows,
            n_rows / sum(took_s) if sum(took_s) > 0 else None, median(took_s),
            slowest["took_ms"] / 1e3, slowest["batch_id"],
            max(parts, key=lambda name: parts[name]), busy,
            bool(grows and busy is not None and busy >= _ALWAYS), last["state_rows"],
            last["state_bytes"],
        )  # fmt: skip
