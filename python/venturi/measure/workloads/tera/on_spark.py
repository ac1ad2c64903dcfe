"""The TeraSort suite on Spark: gensort's records, made and looked at in vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from pyspark import TaskContext
from pyspark.sql import SparkSession

from venturi.measure.workloads.shared.spark_records import (
    BATCH_BYTES,
    SPLIT_BYTES,
    ByteRange,
    ranges_of,
    read_records,
    write_records,
)
from venturi.measure.workloads.shared.spark_storage import Storage, storage_of

Words = npt.NDArray[np.uint64]
RECORD_BYTES = 100
KEY_BYTES = 10
CHUNK_RECORDS = 1 << 15
CHECKSUM_MODULUS = 2**128

# gensort 1.5: X(0) = 0, X(n + 1) = A X(n) + C mod 2^128. A record is ten pieces, each the leading
# ten bytes of an X, with MASK added bit by bit; the next record begins one X later.
A = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645
C = 0x4A69_6D47_7261_7952_4950_2020_2020_2001
MODULUS = 2**128
PIECES = RECORD_BYTES // KEY_BYTES
MASK = bytes.fromhex(
    "00000000000000000000 f0e8e4e2e1d8d4d2d1cc"
    "cac9c6c5c3b8b4b2b1ac aaa9a6a5a39c9a999695"
    "938e8d8b87787472716c 6a696665635c5a595655"
    "534e4d4b473c3a393635 332e2d2b271e1d1b170f"
    "c8c4c2c1989492918ce0 170f332e2d2b271e1d1b"
)
PIECE = np.dtype([("high", ">u8"), ("low", ">u2")])
RECORD = np.dtype([("key", f"S{KEY_BYTES}"), ("rest", f"V{RECORD_BYTES - KEY_BYTES}")])


def teragen(spark: SparkSession, task: dict[str, Any]) -> None:
    """Each task writes a file of consecutive records."""
    storage, output, records = storage_of(task), task["output"], task["records"]
    least = spark.sparkContext.defaultParallelism
    parts = max(least, -(-records * RECORD_BYTES // SPLIT_BYTES))
    bounds = [records * part // parts for part in range(parts + 1)]
    storage.make(output)

    def write(part: int) -> None:
        context = TaskContext.get()
        assert context is not None
        name = f"part-{part:05d}"
        temporary = f"{output}/.{name}-{context.taskAttemptId()}"
        with storage.written(f"{output}/{name}", temporary) as target:
            for made in records_between(bounds[part], bounds[part + 1]):
                target(made.data.cast("B"))

    spark.sparkContext.parallelize(range(parts), parts).foreach(write)


def terasort(spark: SparkSession, task: dict[str, Any]) -> None:
    """Partition by sampled ranges and sort each partition: orderBy."""
    write_records(read_records(spark, task).orderBy("value"), task)


def teravalidate(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Each task looks at the records of a range, the driver at where ranges meet."""
    storage = storage_of(task)
    ranges = ranges_of(spark, storage, task["input"], RECORD_BYTES)
    tasks = spark.sparkContext.parallelize(ranges, max(1, len(ranges)))
    seen = tasks.map(lambda part: look_at(storage, part)).collect()
    meeting = sum(after.first < before.last for before, after in pairwise(seen))
    return {
        "records": sum(each.records for each in seen),
        "unordered_records": sum(each.unordered for each in seen) + meeting,
        "checksum": f"{sum(each.checksum for each in seen) % CHECKSUM_MODULUS:x}",
    }


PROGRAMS = {
    "teragen": teragen,
    "terasort": terasort,
    "terasort-skewed": terasort,
    "teravalidate": teravalidate,
}


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A range of records: their number, their checksum, the number less than their predecessor, and
    the first and last key.
    """

    records: int
    checksum: int
    unordered: int
    first: bytes
    last: bytes


def look_at(storage: Storage, part: ByteRange) -> RecordSummary:
    """Read the records of `part`, which has at least one."""
    count, checksum, unordered = 0, 0, 0
    first: bytes | None = None
    last = b""
    step = BATCH_BYTES // RECORD_BYTES * RECORD_BYTES
    for data in storage.read(part.file, part.first, part.last, step):
        # Trailing zeros, which numpy takes for the end of a key, sort first anyway.
        keys = np.frombuffer(data, RECORD)["key"]
        unordered += int(np.count_nonzero(keys[1:] < keys[:-1]))
        begin = data[:KEY_BYTES]
        unordered += first is not None and begin < last
        first = begin if first is None else first
        last = data[-RECORD_BYTES : KEY_BYTES - RECORD_BYTES]
        count += len(keys)
        checksum += sum(
            crc32(data[at : at + RECORD_BYTES]) for at in range(0, len(data), RECORD_BYTES)
        )
    return RecordSummary(count, checksum, unordered, first or b"", last)


def records_between(first: int, last: int) -> Iterator[npt.NDArray[np.uint8]]:
    """The records with the numbers `first` to `last - 1` in arrays of shape (some, 100)."""
    mask = np.frombuffer(MASK, np.uint8)
    for start in range(first, last, CHUNK_RECORDS):
        count = min(CHUNK_RECORDS, last - start)
        high, low = _elements(start + 1, count + PIECES - 1)
        pieces = np.empty(len(high), PIECE)
        pieces["high"], pieces["low"] = high, low >> np.uint64(48)
        windows = np.lib.stride_tricks.sliding_window_view(pieces.view(np.uint8), RECORD_BYTES)
        yield windows[::KEY_BYTES] ^ mask


def _elements(first: int, count: int) -> tuple[Words, Words]:
    """X(first) to X(first + count - 1), their upper and their lower 64 bits."""
    high, low = np.empty(count, np.uint64), np.empty(count, np.uint64)
    x = _element(first)
    high[0], low[0] = x >> 64, x % 2**64
    a, c, have = A, C, 1  # X(n + have) = a X(n) + c
    while have < count:
        more = slice(have, min(2 * have, count))
        fewer = slice(0, more.stop - have)
        high[more], low[more] = _times_plus(high[fewer], low[fewer], a, c)
        a, c, have = a * a % MODULUS, c * (a + 1) % MODULUS, more.stop
    return high, low


def _element(number: int) -> int:
    x, a, c = 0, A, C
    while number:
        if number & 1:
            x = (a * x + c) % MODULUS
        a, c = a * a % MODULUS, c * (a + 1) % MODULUS
        number >>= 1
    return x


def _times_plus(high: Words, low: Words, a: int, c: int) -> tuple[Words, Words]:
    """a X + c mod 2^128 from products of 32 bits, which fit into 64."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_high, a_low = np.uint64(a >> 64), np.uint64(a % 2**64)
    a1, a0 = a_low >> half, a_low & mask
    x1, x0 = low >> half, low & mask
    middle = x1 * a0 + (x0 * a0 >> half)
    other = x0 * a1 + (middle & mask)
    carried = x1 * a1 + (middle >> half) + (other >> half)
    product = low * a_low
    total = product + np.uint64(c % 2**64)
    upper = carried + low * a_high + high * a_low + np.uint64(c >> 64)
    return upper + (total < product), total
