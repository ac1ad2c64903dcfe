"""Random requests of a block device, and blktrace's files for them."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from pathlib import Path

SECTOR_BYTES = 512
DEVICE = 259 << 20 | 1
QUEUE, ISSUE, COMPLETE = 1, 7, 8
READ, WRITE = 1 << 0, 1 << 1
RECORD = "<IIQQIIIIIHH"
MAGIC = 0x65617400
"""The first word of a record, but for the version."""


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
    """Requests of all lengths; some follow another one on the device, some overlap with it."""
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


def far_apart() -> list[Request]:
    """1,002 reads of 8 sectors, with 1,001 distances between them of median 4,016 sectors."""
    distances = [4016 + 2 * (number - 500) for number in range(1001)]
    random.Random(1).shuffle(distances)
    requests, place, now_ns = [], 10**6, 1000
    for distance in (0, *distances):
        place, now_ns = place + distance, now_ns + 1000
        requests.append(Request(False, place, 8, now_ns, now_ns + 1, now_ns + 500, (0, 0)))
        place += 8
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
            RECORD,
            MAGIC + 7,
            0,
            time_ns,
            each.sector,
            each.sectors * SECTOR_BYTES,
            category << 16 | action,
            4711,
            DEVICE,
            cpu,
            0,
            0,
        )
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
