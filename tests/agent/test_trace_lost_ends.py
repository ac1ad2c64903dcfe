"""`venturi trace show`: lost events cost the requests that they belong to, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

Block = tuple[float, str, str, int]
"""Seconds, D or C, the operation, and the sector."""


def device_of(agent: Any, folder: Path, events: Iterable[Block]) -> tuple[Any, Any]:
    """The device of a trace in blkparse's text, and the losses."""
    path = folder / "trace.txt"
    lines = [
        f"  8,0    0 {number:8d} {at:14.9f}   100  {kind}   {operation} {sector} + 8 [fio]\n"
        for number, (at, kind, operation, sector) in enumerate(sorted(events), 1)
    ]
    path.write_text("".join(lines))
    result = agent.run("trace", "analyze", path).result["trace"]
    (device,) = result["devices"]
    return device, result["losses"]


def rewritten(lost: set[tuple[str, int]], n: int = 20) -> list[Block]:
    """A sector that is written once per second within 1 ms, and reads of others in 0.4 ms."""
    events = [(k + 0.1, "D", "W", 1000) for k in range(n) if ("D", k) not in lost]
    events += [(k + 0.101, "C", "W", 1000) for k in range(n) if ("C", k) not in lost]
    for k in range(30):
        events += [(k / 2, "D", "R", 5000 + 64 * k), (k / 2 + 0.0004, "C", "R", 5000 + 64 * k)]
    return events


@pytest.mark.parametrize(
    ("lost", "ends", "beginnings"),
    [
        (set(), 0, 0),
        ({("C", 0)}, 1, 0),
        ({("C", 3)}, 1, 0),
        ({("C", 3), ("D", 9)}, 1, 1),
        ({("C", 3), ("C", 4), ("C", 12)}, 3, 0),
    ],
)
def test_a_lost_event_costs_one_request(
    agent: Any, tmp_path: Path, lost: set[tuple[str, int]], ends: int, beginnings: int
) -> None:
    device, losses = device_of(agent, tmp_path, rewritten(lost))
    (write,) = (each for each in device["operations"] if each["operation"] == "write")
    times = write["issued_to_done"]
    assert times["count"] == write["completed"] == 20 - ends - beginnings
    assert (times["min_ns"], times["max_ns"]) == pytest.approx((1e6, 1e6), rel=1e-3)
    assert (losses["given_up"] + losses["not_done"], device["begun_before"]) == (ends, beginnings)
    assert device["busy_s"] == pytest.approx(
        30 * 0.0004 + (20 - ends - beginnings) * 1e-3, abs=2e-3
    )


@pytest.mark.parametrize("depth", [2, 4])
def test_requests_of_one_sector_that_overlap_keep_their_times(
    agent: Any, tmp_path: Path, depth: int
) -> None:
    events: list[Block] = []
    for k in range(200):
        events += [
            (0.1 + k * 0.004, "D", "R", 1000),
            (0.0999 + (k + depth) * 0.004, "C", "R", 1000),
        ]
    device, losses = device_of(agent, tmp_path, events)
    (read,) = device["operations"]
    assert read["issued_to_done"]["max_ns"] == pytest.approx(depth * 4e6, rel=0.03)
    assert read["completed"] == 200
    assert (losses["given_up"], losses["not_done"], device["begun_before"]) == (0, 0, 0)
    assert device["depth_max"] == depth


def test_no_write_takes_longer_than_the_kernel_allows(agent: Any, tmp_path: Path) -> None:
    events = [*rewritten({("C", 0)}, n=1), (90.2, "C", "W", 1000)]
    device, losses = device_of(agent, tmp_path, events)
    (write,) = (each for each in device["operations"] if each["operation"] == "write")
    assert write["issued_to_done"] is None
    assert (losses["given_up"], device["begun_before"]) == (1, 1)
    assert device["busy_s"] < 0.1
