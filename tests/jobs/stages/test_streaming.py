"""Batches of streaming queries: what is read of them, and whether they keep up."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog, event
from venturi.jobs.logs.spark_batches import PROGRESS
from venturi.jobs.stages.stage import StreamUse
from venturi.jobs.stages.streaming import stream_batches, stream_uses
from venturi.jobs.stages.timeline import Timeline, timeline


def timed(folder: Path, took_s: list[float], every_s: int) -> Timeline:
    """A stream with batches of 100 rows that begin at a fixed interval in seconds."""
    log = SparkLog()
    for n, took in enumerate(took_s):
        parts_s = {"addBatch": took / 4, "walCommit": took / 2}
        log.batch(n, n * every_s, took, 100, 7 * n, **parts_s)
    log.lines.append(event(PROGRESS, progress={"durationMs": {"triggerExecution": 1}}))  # idle
    log.lines.append(event(PROGRESS, progress={"durationMs": {"addBatch": 1}}))  # damaged
    never = {"id": "s1", "batchId": 9, "timestamp": "never", "durationMs": {"addBatch": 1}}
    log.lines.append(event(PROGRESS, progress=never))
    log.end(600)
    account = log.account(folder)
    assert account.reading.damaged == {PROGRESS: 2}
    return timeline(account)


def stream(folder: Path, took_s: list[float], every_s: int) -> StreamUse:
    (told,) = stream_uses(timed(folder, took_s, every_s))
    return told


def test_a_stream_tells_its_rate_and_what_its_slowest_batch_did(tmp_path: Path) -> None:
    told = stream(tmp_path, [2.0] * 5 + [4.0], 10)
    assert (told.name, told.batches, told.rows) == ("clicks", 6, 600)
    assert told.rows_per_s == pytest.approx(200 / 6)
    assert told.input_rows_per_s == pytest.approx(10)
    assert (told.slowest_batch, told.slowest_s) == (5, 4)
    assert told.slowest_at_s == 50
    assert told.slowest_part == "writing the commit log"
    assert told.busy == pytest.approx(14 / 54)
    assert (told.behind, told.state_rows, told.state_bytes) == (False, 35, 1_000)


@pytest.mark.parametrize(("took_s", "behind"), [([9, 9, 10, 10, 12, 13], True), ([10] * 6, False)])
def test_a_stream_falls_behind_whose_batches_fill_the_time_and_grow(
    tmp_path: Path, took_s: list[float], *, behind: bool
) -> None:
    assert stream(tmp_path, took_s, 10).behind is behind


def test_what_kafka_still_has_came_in_and_says_that_a_stream_falls_behind(tmp_path: Path) -> None:
    log = SparkLog()
    for n in range(6):
        log.batch(n, 10 * n, 10, 1_000, 0, left=500 * n, addBatch=9)
    log.end(60)
    (told,) = stream_uses(timeline(log.account(tmp_path)))
    assert (told.behind, told.left_rows) == (True, 2_500)
    assert (told.input_rows_per_s, told.rows_per_s) == (pytest.approx(150), pytest.approx(100))


def test_a_stream_that_leaves_less_and_less_catches_up_however_long_its_batches(
    tmp_path: Path,
) -> None:
    log = SparkLog()
    begins_s = 0.0
    for n, took_s in enumerate((7, 7, 9, 9, 9, 9)):
        log.batch(n, begins_s, took_s, 1_000, 0, left=10_000 - 1_000 * n, addBatch=5)
        begins_s += took_s
    log.end(60)
    (told,) = stream_uses(timeline(log.account(tmp_path)))
    assert not told.behind


def test_batches_stand_over_time_with_what_each_did(tmp_path: Path) -> None:
    line = timed(tmp_path, [2.0] * 5 + [4.0], 10)
    (found,) = stream_batches(line, 1)
    assert stream_batches(line, 0) == ()
    assert found.batch == (0, 1, 2, 3, 4, 5)
    assert found.t_s == (0, 10, 20, 30, 40, 50)
    assert found.took_s == (2, 2, 2, 2, 2, 4)
    parts = {part.what: part.time_s for part in found.parts}
    assert parts["its jobs"] == (0.5, 0.5, 0.5, 0.5, 0.5, 1)
    assert parts["writing the commit log"][-1] == 2
    assert parts["planning"] == (None,) * 6
    assert parts["the rest"][-1] == 1
    assert found.input_rows_per_s == (None, 10, 10, 10, 10, 10)
    assert found.rows_per_s == (50, 50, 50, 50, 50, 25)
    assert found.state_rows == (0, 7, 14, 21, 28, 35)
    assert found.late_s == (None, 30, 30, 30, 30, 30)


def test_of_very_many_batches_the_slowest_are_seen(tmp_path: Path) -> None:
    took_s = [0.5] * 1_000
    took_s[700] = 0.9
    (found,) = stream_batches(timed(tmp_path, took_s, 1), 1)
    assert len(found.batch) <= 400
    assert found.took_s[found.batch.index(700)] == 0.9
    assert sum(each or 0 for each in found.rows) == 100_000
    assert found.input_rows_per_s[1:] == pytest.approx([100] * (len(found.batch) - 1))
