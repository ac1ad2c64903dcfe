"""Batches of streaming queries: what is read of them, and whether they keep up."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog, event
from venturi.model.stages.stage import StreamUse
from venturi.model.stages.streaming import stream_uses
from venturi.model.stages.timeline import timeline
from venturi.record.accounts.spark_batches import PROGRESS


def stream(folder: Path, took_s: list[float], every_s: int) -> StreamUse:
    """A stream whose batches of 100 rows begin every so many seconds."""
    log = SparkLog()
    for n, took in enumerate(took_s):
        parts_s = {"addBatch": took / 4, "walCommit": took / 2}
        log.batch(n, n * every_s, took, 100, 7 * n, **parts_s)
    log.lines.append(event(PROGRESS, progress={"durationMs": {"triggerExecution": 1}}))  # idle
    log.lines.append(event(PROGRESS, progress={"durationMs": {"addBatch": 1}}))  # damaged
    log.end(600)
    account = log.account(folder)
    assert account.reading.damaged == {PROGRESS: 1}
    (told,) = stream_uses(timeline(account))
    return told


def test_a_stream_tells_its_rate_and_what_its_slowest_batch_did(tmp_path: Path) -> None:
    told = stream(tmp_path, [2.0] * 5 + [4.0], 10)
    assert (told.name, told.batches, told.rows) == ("clicks", 6, 600)
    assert told.rows_per_s == pytest.approx(200 / 6)
    assert told.input_rows_per_s == pytest.approx(10)
    assert (told.slowest_batch, told.slowest_s) == (5, 4)
    assert told.slowest_at_s == 50
    assert told.slowest_part == "writing down what was done"
    assert told.busy == pytest.approx(14 / 54)
    assert (told.behind, told.state_rows, told.state_bytes) == (False, 35, 1_000)


@pytest.mark.parametrize(("took_s", "behind"), [([9, 9, 10, 10, 12, 13], True), ([10] * 6, False)])
def test_a_stream_falls_behind_whose_batches_fill_the_time_and_grow(
    tmp_path: Path, took_s: list[float], *, behind: bool
) -> None:
    assert stream(tmp_path, took_s, 10).behind is behind
