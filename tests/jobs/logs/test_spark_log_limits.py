"""Event logs of Spark that are damaged on purpose or too large."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from event_log import END, START, Write, event
from venturi.core.errors import VenturiError
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import lost
from venturi.record.importing.streams import LogLimits, LogText, OversizedLine
from venturi.record.job_account import JobAccount


def read(path: Path, limits: LogLimits | None = None) -> JobAccount:
    (log,) = spark_logs(path)
    return spark.read(log) if limits is None else spark.read(log, limits)


def test_an_event_that_is_too_long_is_counted(write: Write) -> None:
    long = event("SparkListenerJobStart", Padding="x" * 5_000)
    useless = event("SparkListenerTaskGettingResult", Padding="x" * 5_000)
    reading = read(write(START + long + useless + END), LogLimits(line_bytes=4_000)).reading
    assert (reading.oversized, sum(reading.skipped.values())) == (1, 1)


def test_a_line_without_end_is_held_only_to_its_limit(write: Write) -> None:
    text = LogText([write(START + b'{"Event":"x' + b"a" * (8 << 20))], LogLimits(line_bytes=1_000))
    *_, last = text.lines()
    assert isinstance(last, OversizedLine)
    assert len(last) <= 512


def lz4_block(data: bytes, plain_bytes: int | None = None) -> bytes:
    packed = pa.Codec("lz4_raw").compress(data, asbytes=True)
    size = len(data) if plain_bytes is None else plain_bytes
    return struct.pack("<8sBiiI", b"LZ4Block", 0x25, len(packed), size, 0) + packed


def bomb(codec: str, size: int) -> bytes:
    zeros = b"0" * (1 << 20)
    if codec == "lz4":
        return lz4_block(START) + lz4_block(zeros) * (size >> 20)
    if codec == "gzip":
        return gzip.compress(START + zeros * (size >> 20))
    return bytes(pa.Codec("zstd").compress(START + zeros * (size >> 20), asbytes=True))


@pytest.mark.slow
def test_a_block_of_short_lines_is_never_in_memory_at_once(write: Write) -> None:
    block_bytes = 6 << 20
    text = LogText([write(lz4_block(START + b"ab\n" * (block_bytes // 3)))])
    tracemalloc.start()
    try:
        assert sum(1 for _ in text.lines()) == 2 + block_bytes // 3
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * block_bytes  # as objects the lines are 18 times as large


def test_segments_share_what_a_log_may_unpack_to(tmp_path: Path) -> None:
    files = [tmp_path / f"events_{number}" for number in (1, 2)]
    for file in files:
        file.write_bytes(gzip.compress(START + b"{}\n" * (1 << 20)))
    limits = LogLimits(free_bytes=4 << 20, expansion=1)
    assert sum(1 for _ in LogText(files[:1], limits).lines()) == 2 + (1 << 20)
    with pytest.raises(VenturiError) as raised:
        list(LogText(files, limits).lines())
    assert raised.value.code == "VEN-INGEST-LIMIT"


def job(job_id: int, *stage_ids: int) -> bytes:
    return event("SparkListenerJobStart", **{"Job ID": job_id, "Stage IDs": stage_ids})


def stage(stage_id: int, *parent_ids: int) -> bytes:
    info = {"Stage ID": stage_id, "Stage Attempt ID": 0, "Parent IDs": parent_ids}
    return event("SparkListenerStageCompleted", **{"Stage Info": info})


def executor(executor_id: int) -> bytes:
    info = {"Host": "h", "Total Cores": 1}
    return event(
        "SparkListenerExecutorAdded", **{"Executor ID": str(executor_id), "Executor Info": info}
    )


@pytest.mark.parametrize(
    ("limit", "made", "name"),
    [
        ("_JOBS", job, "JobStart"),
        ("_STAGES", stage, "StageCompleted"),
        ("_EXECUTORS", executor, "ExecutorAdded"),
    ],
)
def test_rows_beyond_what_a_table_holds_are_counted(
    limit: str,
    made: Callable[[int], bytes],
    name: str,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark, limit, 3)
    account = read(write(START + b"".join(map(made, [0, 1, 2, 2, 3, 4])) + END))
    tables = (account.jobs, account.stages, account.executors)
    assert sorted(map(len, tables)) == [0, 0, 3]
    assert account.reading.lost
    assert f"2 events SparkListener{name} are too many and were left out" in lost(account.reading)
    if made is job:
        assert account.application.outcome == "unfinished"
        assert account.application.reason == "it has more than the 3 jobs that are read"


@pytest.mark.parametrize(("made", "table"), [(job, "jobs"), (stage, "stages")])
def test_lists_of_stages_are_bounded_in_all(
    made: Callable[..., bytes], table: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_IDS", 5)
    account = read(write(START + made(10, 1, 2) + made(11, 1, 2) + made(12, 1, 2) + END))
    lists = account.table(table)["stage_ids" if made is job else "parent_ids"]
    assert lists.to_list() == [[1, 2], [1, 2], []]
    assert account.reading.lost


@pytest.mark.parametrize("codec", ["lz4", "gzip", "zstd"])
def test_a_bomb_is_refused_before_it_is_unpacked(codec: str, write: Write) -> None:
    limits = LogLimits(line_bytes=1 << 20, free_bytes=4 << 20, expansion=10)
    with pytest.raises(VenturiError, match="unpacks to more") as raised:
        read(write(bomb(codec, 64 << 20)), limits)
    assert raised.value.code == "VEN-INGEST-LIMIT"
    assert int(str(raised.value.where["text_bytes"])) <= 24 << 20


@pytest.mark.parametrize(
    "after",
    [
        b"LZ4Block",
        struct.pack("<8sBiiI", b"LZ4Block", 0x25, -5, 100, 0),
        struct.pack("<8sBiiI", b"LZ4Block", 0x25, 5, 1 << 30, 0) + b"abcde",
        lz4_block(b"abc" * 100, plain_bytes=7),
        b"garbage that is longer than a head of a block",
    ],
)
def test_damaged_lz4_blocks(after: bytes, write: Write) -> None:
    account = read(write(lz4_block(START) + after))
    assert account.reading.events == 2
    assert account.reading.truncated


@pytest.mark.parametrize(
    "after", [b"\0\0", b"\xff\xff\xff\xff", b"\0\0\0\5ab", b"\0\0\0\6\xff\xff\xff\xff\xff\x0f"]
)
def test_damaged_snappy_blocks(after: bytes, write: Write) -> None:
    packed = pa.Codec("snappy").compress(START, asbytes=True)
    head = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    account = read(write(head + struct.pack(">i", len(packed)) + packed + after))
    assert account.reading.events == 2
    assert account.reading.truncated
