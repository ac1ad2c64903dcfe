"""Batches of streaming queries: what is read of them, and whether they keep up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog, event
from venturi.model.stages.stage import StreamUse
from venturi.model.stages.streaming import stream_uses
from venturi.record.accounts.spark_batches import PROGRESS


def stream(folder: Path, took_ms: list[int], every_s: int) -> StreamUse:
    """A stream whose batches of 100 rows begin every so many seconds."""
    log = SparkLog()
    for number, took in enumerate(took_ms):
        at_s = number * every_s
        progress: dict[str, Any] = {
            "id": "s1", "name": "clicks", "batchId": number,
            "timestamp": f"2026-01-01T00:{at_s // 60:02d}:{at_s % 60:02d}.000Z",
            "durationMs": {"triggerExecution": took, "addBatch": took // 4, "walCommit": took // 2},
            "sources": [{"numInputRows": 60}, {"numInputRows": 40}],
            "stateOperators": [{"numRowsTotal": 7 * number, "memoryUsedBytes": 1_000}],
        }  # fmt: skip
        log.lines.append(event(PROGRESS, progress=progress))
    log.lines.append(event(PROGRESS, progress={"durationMs": {"triggerExecution": 1}}))  # idle
    log.lines.append(event(PROGRESS, progress={"durationMs": {"addBatch": 1}}))  # damaged
    log.end(600)
    account = log.account(folder)
    assert account.reading.damaged == {PROGRESS: 1}
    (told,) = stream_uses(account)
    return told


def test_a_stream_tells_its_rate_and_what_its_slowest_batch_did(tmp_path: Path) -> None:
    told = stream(tmp_path, [2_000] * 5 + [4_000], 10)
    assert (told.name, told.batches, told.rows) == ("clicks", 6, 600)
    assert told.rows_per_s == pytest.approx(600 / 14)
    assert (told.slowest_batch, told.slowest_s) == (5, 4)
    assert told.slowest_part == "writing down what was done"
    assert told.busy == pytest.approx(14 / 54)
    assert (told.behind, told.state_rows, told.state_bytes) == (False, 35, 1_000)


@pytest.mark.parametrize(("took_s", "behind"), [([9, 9, 10, 10, 12, 13], True), ([10] * 6, False)])
def test_a_stream_falls_behind_whose_batches_fill_the_time_and_grow(
    tmp_path: Path, took_s: list[int], *, behind: bool
) -> None:
    assert stream(tmp_path, [each * 1_000 for each in took_s], 10).behind is behind
