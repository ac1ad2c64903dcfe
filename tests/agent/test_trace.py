"""`venturi-agent trace analyze` against a reference that knows every request: sizes, latencies."""

from __future__ import annotations

import signal
import struct
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from block_requests import MAGIC, RECORD, SECTOR_BYTES, Request, drawn, far_apart, text, write

PER_OCTAVE = 64


def bucket(value: int) -> int:
    """The lowest value of the bucket that has `value`: 64 in each octave."""
    shift = max(value.bit_length() - PER_OCTAVE.bit_length(), 0)
    return value >> shift << shift


def of_operation(result: dict[str, Any], operation: str) -> dict[str, Any]:
    (device,) = result["trace"]["devices"]
    assert device["device"] == "259,1"
    (found,) = (each for each in device["operations"] if each["operation"] == operation)
    assert isinstance(found, dict)
    return found


def agrees(found: dict[str, Any], requests: list[Request]) -> None:
    """Sizes are equal, latencies to the bucket, and their extremes and mean exactly."""
    sizes = Counter(each.sectors * SECTOR_BYTES for each in requests)
    assert dict(found["sizes"]) == sizes
    size_bytes = sum(size * count for size, count in sizes.items())
    assert found["issued"] == {"count": len(requests), "bytes": size_bytes}
    for key, times in (
        ("issued_to_done", sorted(each.done_ns - each.issued_ns for each in requests)),
        ("queued_to_done", sorted(each.done_ns - each.queued_ns for each in requests)),
    ):
        told = found[key]
        assert (told["count"], told["min_ns"], told["max_ns"]) == (len(times), times[0], times[-1])
        assert told["mean_ns"] == pytest.approx(sum(times) / len(times))
        assert dict(told["buckets"]) == Counter(map(bucket, times))
        for name, per_mille in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990)):
            exact = times[-(-per_mille * len(times) // 1000) - 1]
            assert bucket(told[name]) == bucket(exact)
            assert exact <= told[name] <= exact * (1 + 1 / PER_OCTAVE)
        assert (told["p99_9_ns"] is None) == (len(times) < 2995)


@pytest.mark.parametrize(("count", "seed"), [(2000, 1), (9000, 2)])
def test_sizes_and_latencies_agree_with_the_reference(
    agent: Any, tmp_path: Path, count: int, seed: int
) -> None:
    requests = drawn(count, seed)
    result = agent.run("trace", "analyze", write(tmp_path / "trace", requests)).result
    for operation, writes in (("read", False), ("write", True)):
        agrees(of_operation(result, operation), [r for r in requests if r.writes == writes])
    assert result["trace"]["losses"]["not_done"] == 0
    assert result["trace"]["records"] == 3 * count


def test_the_median_seek_is_the_median(agent: Any, tmp_path: Path) -> None:
    """`test_trace_peers.py` has what btt says of them."""
    requests = far_apart()
    result = agent.run("trace", "analyze", write(tmp_path / "trace", requests)).result
    plain = of_operation(result, "read")["seek_plain"]
    assert (plain["count"], plain["zero"]) == (1001, 0)
    assert 4016 <= plain["median_sectors"] <= 4016 * (1 + 1 / PER_OCTAVE)


@pytest.mark.parametrize("written", ["text", "merged"])
def test_standard_input_is_a_trace_too(agent: Any, tmp_path: Path, written: str) -> None:
    requests = drawn(2000, 3)
    folder = write(tmp_path / "trace", requests)
    if written == "text":
        content = text(requests)
    else:
        size = struct.calcsize(RECORD)
        joined = b"".join(path.read_bytes() for path in folder.iterdir())
        records = [joined[at : at + size] for at in range(0, len(joined), size)]
        content = b"".join(sorted(records, key=lambda each: struct.unpack_from("<Q", each, 8)))
    started_s = time.monotonic()
    process = agent.start("trace", "analyze", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.close()
    process.stdin = None
    piped = agent.end(process, started_s).result
    of_files = agent.run("trace", "analyze", folder).result
    assert piped["trace"]["devices"] == of_files["trace"]["devices"]


def test_memory_does_not_grow_with_the_trace(agent: Any, tmp_path: Path) -> None:
    peaks = []
    for count in (2_000, 100_000):
        folder = write(tmp_path / str(count), drawn(count, 4))
        ended, peak_bytes = agent.peak("trace", "analyze", folder)
        assert ended.result["trace"]["records"] == 3 * count
        peaks.append(peak_bytes)
    assert peaks[1] < peaks[0] + 4 * 1024 * 1024


def test_what_is_no_trace_is_refused(agent: Any, tmp_path: Path) -> None:
    nothing = agent.run("trace", "analyze", tmp_path / "none").refused("VEN-TRACE-READ")
    assert nothing["where"] == {"file": str(tmp_path / "none")}
    (tmp_path / "notes").write_text("hello\n")
    error = agent.run("trace", "analyze", tmp_path / "notes").refused("VEN-TRACE-FORMAT")
    assert "blktrace" in error["hint"]
    record = struct.pack(RECORD, MAGIC + 9, *[0] * 10)
    (tmp_path / "newer").write_bytes(record)
    error = agent.run("trace", "analyze", tmp_path / "newer").refused("VEN-TRACE-VERSION")
    assert "version 9" in error["message"]


def test_ctrl_c_ends_it(agent: Any) -> None:
    process = agent.start("trace", "analyze", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    line = b"8,0 0 1 0.1 1 D R 8 + 8 [dd]\n"
    process.stdin.write(line * 20_000)  # more than is read before it begins
    process.send_signal(signal.SIGINT)
    started_s = time.monotonic()
    with suppress(BrokenPipeError):  # it has ended already
        process.stdin.write(line * 20_000)
    process.stdin.close()
    process.stdin = None
    agent.end(process, started_s).refused("VEN-INTERRUPTED", 130)
