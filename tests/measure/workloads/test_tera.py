"""TeraGen's records on Spark are gensort's; TeraValidate sees every record out of order."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from venturi.measure.workloads.shared.spark_records import ByteRange
from venturi.measure.workloads.shared.spark_storage import DiskStorage
from venturi.measure.workloads.tera.on_spark import (
    CHUNK_RECORDS,
    RECORD_BYTES,
    look_at,
    records_between,
)

QUICK = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(st.integers(0, 2**63), st.integers(1, 2_000))
@example(0, CHUNK_RECORDS + 1)
def test_records_are_those_of_gensort(
    agent_binary: Path, tmp_path: Path, first: int, count: int
) -> None:
    path = tmp_path / "records"
    subprocess.run(
        [
            agent_binary,
            "gen",
            "--start",
            str(first),
            "--count",
            str(count),
            "--overwrite",
            "--output",
            path,
        ],
        check=True,
        capture_output=True,
    )
    made = b"".join(each.tobytes() for each in records_between(first, first + count))
    assert made == path.read_bytes()


def looked_at(tmp_path: Path, records: list[bytes]) -> tuple[int, int]:
    """Records out of order, and the checksum."""
    path = tmp_path / "part-00000"
    path.write_bytes(b"".join(records))
    seen = look_at(DiskStorage(), ByteRange(str(path), 0, path.stat().st_size))
    assert seen.records == len(records)
    assert (seen.first, seen.last) == (records[0][:10], records[-1][:10])
    return seen.unordered, seen.checksum


@QUICK
@given(st.lists(st.binary(min_size=10, max_size=10), min_size=1, max_size=50))
@example([b"\0" * 10, b"a" + b"\0" * 9, b"a" + b"\0" * 8 + b"\1", b"\xff" * 10])
@example([b"b" + b"\0" * 9, b"a" * 10, b"a" * 9 + b"\0"])
def test_every_record_out_of_order_is_seen(tmp_path: Path, keys: list[bytes]) -> None:
    records = [key + bytes([number]) * 90 for number, key in enumerate(keys)]
    unordered = sum(after < before for before, after in pairwise(keys))
    assert looked_at(tmp_path, records) == (unordered, sum(map(crc32, records)))
    assert looked_at(tmp_path, sorted(records))[0] == 0


def test_order_is_seen_across_batches(tmp_path: Path) -> None:
    records = [f"{number:010}".encode() + bytes(90) for number in range(50_000)]
    assert looked_at(tmp_path, records)[0] == 0
    at = 4 * 2**20 // RECORD_BYTES  # where the second batch begins
    records[at - 1], records[at] = records[at], records[at - 1]
    assert looked_at(tmp_path, records)[0] == 1
