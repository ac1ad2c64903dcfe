"""`venturi-agent trace analyze` beside a reference that knows every request: sizes, latencies."""

from __future__ import annotations

import random
import signal
import struct
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SECTOR_BYTES = 512
DEVICE = 259 << 20 | 1
QUEUE, ISSUE, COMPLETE = 1, 7, 8
READ, WRITE = 1 << 0, 1 << 1
PER_OCTAVE = 64


@dataclass(frozen=True)
class Request:
    """One request from being queued to being done, and on which processors."""

    writes: bool
    sector: int
    sectors: int
    queued_ns: int
    issued_ns: int
    done_ns: int
    cpus: tuple[int, int]


def drawn(count: int, seed: int) -> list[Request]:
    """Requests of all lengths; some follow another one on the device, some are at once with it."""
    draw = random.Random(seed)
    now_ns, place, requests = 10**9, 2048, []
    for _ in range(count):
        now_ns += draw.randrange(1, 200_000)
        sectors = draw.choice((1, 8, 8, 8, 64, 256, 1024, 2560, 9000))
        place += draw.choice((0, 0, 8, 100_000))
        issued_ns = now_ns + draw.randrange(50_000)
        done_ns = issued_ns + int(draw.lognormvariate(13, 2)) + 1
        cpus = draw.randrange(4), draw.randrange(4)
        requests.append(
            Request(draw.random() < 0.4, place, sectors, now_ns, issued_ns, done_ns, cpus)
        )
        place += sectors
    return requests


def events(requests: list[Request]) -> list[tuple[int, int, Request]]:
    """Time, action and request of every event, in order of time."""
    found = []
    for each in requests:
        found += [(each.queued_ns, QUEUE, each), (each.issued_ns, ISSUE, each)]
        found.append((each.done_ns, COMPLETE, each))
    return sorted(found, key=lambda event: event[:2])


def write(folder: Path, requests: list[Request]) -> Path:
    """As blktrace writes them, a file for each processor."""
    files: dict[int, bytearray] = {cpu: bytearray() for cpu in range(4)}
    for time_ns, action, each in events(requests):
        cpu = each.cpus[action == COMPLETE]
        category = WRITE if each.writes else READ
        files[cpu] += struct.pack(
            "<IIQQIIIIIHH", 0x65617407, 0, time_ns, each.sector, each.sectors * SECTOR_BYTES,
            category << 16 | action, 4711, DEVICE, cpu, 0, 0,
        )  # fmt: skip
    folder.mkdir()
    for cpu, content in files.items():
        (folder / f"nvme0n1.blktrace.{cpu}").write_bytes(content)
    return folder


def text(requests: list[Request]) -> bytes:
    """As blkparse prints them."""
    lines = []
    for number, (time_ns, action, each) in enumerate(events(requests), start=1):
        seconds, nanoseconds = divmod(time_ns, 10**9)
        letter, end = {QUEUE: ("Q", "java"), ISSUE: ("D", "java"), COMPLETE: ("C", "0")}[action]
        lines.append(
            f"{259:3},{1:<3} {0:2} {number:8} {seconds:5}.{nanoseconds:09} {4711:5} {letter:>2} "
            f"{'W' if each.writes else 'R':>3} {each.sector} + {each.sectors} [{end}]\n"
        )
    return "".join(lines).encode()


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
    """1,001 distances whose median is 4,016 sectors; btt 2.09 says 0 of them."""
    distances = [4016 + 2 * (number - 500) for number in range(1001)]
    random.Random(1).shuffle(distances)
    requests, place, now_ns = [], 10**6, 1000
    for distance in (0, *distances):
        place, now_ns = place + distance, now_ns + 1000
        requests.append(Request(False, place, 8, now_ns, now_ns + 1, now_ns + 500, (0, 0)))
        place += 8
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
        size = struct.calcsize("<IIQQIIIIIHH")
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
    record = struct.pack("<IIQQIIIIIHH", 0x65617409, *[0] * 10)
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
