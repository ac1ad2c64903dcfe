"""Converts flat 100-byte records to Parquet (key, payload as binary); never inside a timer.

No compression, no dictionary: the records are random, both would only cost the reader CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.verify import KEY_BYTES, Records, fixed_chunks


def _column(values: Records) -> pa.Array:
    rows, width = values.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * width
    flat = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(flat)]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def convert(source: Path, target: Path) -> None:
    """Write `source` (flat records) to `target`; row groups of 65,536 rows."""
    schema = pa.schema({"key": pa.binary(), "payload": pa.binary()})
    with pq.ParquetWriter(target, schema, compression="none", use_dictionary=False) as writer:
        for chunk in fixed_chunks([source]):
            columns = [_column(chunk[:, :KEY_BYTES]), _column(chunk[:, KEY_BYTES:])]
            writer.write_table(pa.table(columns, schema=schema))


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.to_parquet")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    args = parser.parse_args()
    convert(args.source, args.target)


if __name__ == "__main__":
    main()
