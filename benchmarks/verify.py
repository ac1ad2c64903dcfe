"""Checks a sorted output without Venturi's own validator: order, count, and that nothing changed.

`python -m benchmarks.verify --format fixed|parquet FILE...` prints one JSON object. The digest is
a sum over records of a mixed hash of all 100 bytes, so it does not depend on the order: input and
output of a right sort have the same one. It runs as a child so that the harness stays small.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RECORD_BYTES = 100
KEY_BYTES = 10
_CHUNK_RECORDS = 1 << 16
_WEIGHTS = np.random.default_rng(2015).integers(1, 2**63, RECORD_BYTES // 4, dtype=np.uint64) | 1

Records = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of files: `digest` is equal for equal multisets of records (mod 2^64)."""

    records: int
    unordered: int
    digest: str

    def problem_as_sorted(self, source: Content) -> str | None:
        """Why this is not the sorted form of `source`; None when it is."""
        if self.records != source.records:
            return f"{self.records} records, {source.records} expected"
        if self.unordered:
            return f"{self.unordered} records are smaller than the one before"
        return None if self.digest == source.digest else "records differ from the input's"


def digest(records: Records) -> int:
    """Sum of the mixed 64-bit hashes of `records` (n x 100 bytes), modulo 2^64."""
    words = records.view("<u4").astype(np.uint64)
    mixed = (words * _WEIGHTS).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def unordered(records: Records) -> int:
    """Count the records with a smaller 10-byte key than their predecessor (bytes, unsigned)."""
    high = np.ascontiguousarray(records[:, :8]).view(">u8").ravel().astype(np.uint64)
    low = np.ascontiguousarray(records[:, 8:KEY_BYTES]).view(">u2").ravel().astype(np.uint64)
    falls = (high[1:] < high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] < low[:-1]))
    return int(falls.sum())


def content(chunks: Iterable[Records]) -> Content:
    """Order, count and digest over consecutive chunks of one sequence of records."""
    count, falls, total = 0, 0, 0
    last: Records | None = None
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        falls += unordered(chunk)
        if last is not None:
            falls += unordered(np.concatenate([last, chunk[:1]]))
        last = chunk[-1:].copy()
        count += len(chunk)
        total = (total + digest(chunk)) % 2**64
    return Content(count, falls, f"{total:016x}")


def fixed_chunks(files: Iterable[Path]) -> Iterator[Records]:
    """The records of flat files, in order; a file that is no multiple of 100 bytes is an error."""
    for file in files:
        size = file.stat().st_size
        if size % RECORD_BYTES:
            raise ValueError(f"{file}: {size} bytes is not a multiple of {RECORD_BYTES}")
        with file.open("rb") as stream:
            while raw := stream.read(_CHUNK_RECORDS * RECORD_BYTES):
                yield np.frombuffer(raw, np.uint8).reshape(-1, RECORD_BYTES)


def parquet_chunks(files: Iterable[Path]) -> Iterator[Records]:
    """The records of Parquet files with binary columns `key` (10 bytes) and `payload` (90)."""

    def column(array: Any, width: int) -> Records:
        flat = array.cast(pa.binary()).cast(pa.binary(width))
        raw = np.frombuffer(flat.buffers()[1], np.uint8)[flat.offset * width :]
        return raw[: len(flat) * width].reshape(-1, width)

    for file in files:
        with pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(_CHUNK_RECORDS, columns=["key", "payload"]):
                key = column(batch.column(0), KEY_BYTES)
                payload = column(batch.column(1), RECORD_BYTES - KEY_BYTES)
                yield np.hstack([key, payload])


def main() -> None:
    """Print the content of the given files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify")
    parser.add_argument("--format", choices=("fixed", "parquet"), required=True)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    chunks = fixed_chunks if args.format == "fixed" else parquet_chunks
    print(json.dumps(asdict(content(chunks(args.files)))))


if __name__ == "__main__":
    main()
