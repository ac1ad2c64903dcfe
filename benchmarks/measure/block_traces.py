"""Traces of generated requests in blktrace's format: any length, deterministic for a seed.

Eight concurrent tasks read and write files, some long, some a few KiB at a time, which gives a
variety of sizes, latencies and distances. Each request has the five events of one that passes a
scheduler: queued (Q), a request got (G), inserted (I), issued (D), completed (C).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

EVENTS = 5
"""Records of a request."""
CPUS = 4
_CHUNK = 1 << 18
_TASKS = 8
PACE_NS = 20_000
"""From one request to the next: each begins in the first half of such a time."""
_RECORD = np.dtype(
    [
        ("magic", "<u4"),
        ("sequence", "<u4"),
        ("time_ns", "<u8"),
        ("sector", "<u8"),
        ("bytes", "<u4"),
        ("action", "<u4"),
        ("pid", "<u4"),
        ("device", "<u4"),
        ("cpu", "<u4"),
        ("error", "<u2"),
        ("behind", "<u2"),
    ]
)
_MAGIC = 0x65617407
_DEVICE = 8 << 20 | 16
_READ, _WRITE = 1 << 16, 1 << 17
_ACTIONS = (1 | 1 << 20, 4, 12, 7 | 1 << 22, 8 | 1 << 23)
"""Q, G, I, D and C with their categories."""
_BETWEEN_NS = (0, 300, 500, 900)
"""From Q to each of Q, G, I and D."""
_SECTORS = np.array([8, 16, 64, 256, 256, 256, 1024, 2560], dtype=np.uint32)


def write_trace(folder: Path, requests: int, seed: int = 1) -> Path:
    """`requests` x `EVENTS` records below `folder`, a file for each of `CPUS`; the folder."""
    folder.mkdir()
    sequences = [0] * CPUS
    with ExitStack() as stack:
        paths = [folder / f"sdb.blktrace.{cpu}" for cpu in range(CPUS)]
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for records in _in_order(requests, np.random.default_rng(seed)):
            for cpu, file in enumerate(files):
                mine = records[records["cpu"] == cpu]
                mine["sequence"] = sequences[cpu] + 1 + np.arange(len(mine), dtype=np.uint32)
                sequences[cpu] += len(mine)
                file.write(mine.tobytes())
    return folder


def _in_order(requests: int, draw: np.random.Generator) -> Iterator[npt.NDArray[Any]]:
    """Yield all records in order of time, in chunks."""
    places = np.arange(_TASKS, dtype=np.uint64) * np.uint64(1 << 32)
    open_records = np.empty(0, dtype=_RECORD)
    for first in range(0, requests, _CHUNK):
        count = min(_CHUNK, requests - first)
        made = _records(first, count, places, draw)
        records = np.concatenate([open_records, made])
        records = records[np.argsort(records["time_ns"], kind="stable")]
        # Before the next request is made, nothing comes between these.
        done = np.searchsorted(records["time_ns"], (first + count + 1) * PACE_NS)
        yield records[:done]
        open_records = records[done:]
    yield open_records


def _records(
    first: int, count: int, places: npt.NDArray[np.uint64], draw: np.random.Generator
) -> npt.NDArray[Any]:
    """Return the records of `count` requests; `places` are the positions at which the tasks
    continue.
    """
    task = draw.integers(0, _TASKS, count)
    sectors = np.where(task < _TASKS // 2, np.uint32(256), draw.choice(_SECTORS, count))
    # A few requests of each task begin somewhere else.
    jumps = np.where(draw.random(count) < 0.05, draw.integers(0, 1 << 14, count) * 8, 0)
    sector = np.empty(count, dtype=np.uint64)
    for each in range(_TASKS):
        mine = task == each
        moved = np.cumsum(sectors[mine].astype(np.uint64) + jumps[mine].astype(np.uint64))
        sector[mine] = places[each] + moved - sectors[mine]
        places[each] += moved[-1] if moved.size else 0
    queued_ns = (first + 1 + np.arange(count)) * PACE_NS + draw.integers(0, PACE_NS // 2, count)
    served_ns = np.minimum(draw.lognormal(11.5, 0.8, count), 5e7).astype(np.uint64)
    direction = np.where(task % 2 == 0, _READ, _WRITE)
    records = np.zeros((EVENTS, count), dtype=_RECORD)
    records["magic"], records["device"] = _MAGIC, _DEVICE
    records["sector"], records["bytes"], records["pid"] = sector, sectors * 512, 1000 + task
    records["cpu"] = task % CPUS
    for event, between_ns in enumerate(_BETWEEN_NS):
        records["time_ns"][event] = queued_ns + between_ns
    records["time_ns"][-1] = records["time_ns"][-2] + served_ns
    records["cpu"][-1] = draw.integers(0, CPUS, count)
    records["action"] = np.array(_ACTIONS)[:, None] | direction
    return records.ravel()
