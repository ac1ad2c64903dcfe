"""Polars: streams a Parquet file through a sort by `key` into a Parquet file, spilling.

The caller sets its memory budget and spill folder as environment variables.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from benchmarks.peers.timed import report


def main() -> None:
    """One sort."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.polars_sort")
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()

    def query() -> None:
        frame = pl.scan_parquet(args.input).sort("key")
        frame.sink_parquet(args.output, compression="uncompressed", engine="streaming")

    report(query, args.output, pl.__version__)


if __name__ == "__main__":
    main()
