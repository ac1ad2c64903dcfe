"""DuckDB: sorts a Parquet file by `key` into a Parquet file, spilling under a memory limit."""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb  # type: ignore[import-not-found, unused-ignore]  # the `bench` group has it

from benchmarks.peers.timed import report


def main() -> None:
    """One sort; the connection and its settings are made before the clock starts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.duckdb_sort")
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--memory-bytes", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    args = parser.parse_args()
    connection = duckdb.connect()
    # The sort fixes the output's order; without this flag the reader would keep the input's too.
    settings = {
        "threads": args.threads,
        "memory_limit": f"'{args.memory_bytes}B'",
        "temp_directory": f"'{args.scratch}'",
        "preserve_insertion_order": "false",
    }
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")
    query = (
        f"COPY (SELECT key, payload FROM read_parquet('{args.input}') ORDER BY key) "
        f"TO '{args.output}' (FORMAT parquet, COMPRESSION uncompressed)"
    )
    report(lambda: connection.execute(query), args.output, duckdb.__version__)


if __name__ == "__main__":
    main()
