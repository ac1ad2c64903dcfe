"""`venturi-agent trace analyze` against blkparse and btt, and on a trace by the kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from block_requests import drawn, far_apart, write

FIXTURE = Path(__file__).parents[1] / "data" / "blktrace" / "6.18" / "loop-ext4.bin"
NO_BLKTRACE = "blkparse and btt are not installed (Debian's package blktrace)"
with_blktrace = pytest.mark.skipif(
    shutil.which("blkparse") is None or shutil.which("btt") is None, reason=NO_BLKTRACE
)


def said(*command: str | Path, given: Path | None = None, cwd: Path | None = None) -> str:
    """Return a program's output when it reads `given`."""
    with Path(given or os.devnull).open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, check=True, cwd=cwd)
    return done.stdout.decode("ascii")


def by_blkparse(text: str) -> Counter[str]:
    """Issues and completions that blkparse counts at the end; to it flushes are reads."""
    total = text[text.rindex("\nTotal") if "\nTotal" in text else text.rindex("\nCPU") :]
    counts: Counter[str] = Counter()
    for name, count in re.findall(r"(Dispatches|Completed): +(\d+),", total):
        counts["issue" if name == "Dispatches" else "complete"] += int(count)
    return counts


def by_us(agent: Any, trace: Path) -> Counter[str]:
    actions = agent.run("trace", "analyze", trace).result["trace"]["actions"]
    return Counter({action: actions[action] for action in ("issue", "complete")})


@with_blktrace
def test_issues_and_completions_are_as_many_as_blkparse_counts(agent: Any, tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", drawn(3000, 5))
    assert by_us(agent, trace) == by_blkparse(said("blkparse", "-i", "nvme0n1", "-D", trace))


@with_blktrace
def test_btt_says_of_distances_around_4016_that_their_median_is_0(tmp_path: Path) -> None:
    """Our figures for these requests are in `test_trace.py`."""
    trace, joined = write(tmp_path / "trace", far_apart()), tmp_path / "joined"
    said("blkparse", "-i", "nvme0n1", "-D", trace, "-O", "-d", joined)
    summary = said("btt", "-i", joined, cwd=tmp_path)
    seeks = re.findall(r"^ \(259, *1\) \| +(\d+) +([\d.]+) +(\d+) \|", summary, re.MULTILINE)
    assert seeks, summary
    count, mean, median = seeks[-1]
    assert int(count) == 1002  # from sector 0 to the first one is a seek, too
    assert float(mean) > 4016
    assert int(median) == 0


def test_a_trace_by_the_kernel_is_counted_as_blkparse_counts_it(agent: Any) -> None:
    result = agent.run("trace", "analyze", FIXTURE).result["trace"]
    assert result["actions"]["issue"] == 35
    assert result["actions"]["complete"] == 37
    (device,) = result["devices"]
    assert device["flushes"] == 4
    read, written, discarded = device["operations"]
    assert [each["operation"] for each in device["operations"]] == ["read", "write", "discard"]
    assert (read["issued"]["count"], read["readahead"]["count"]) == (5, 4)
    assert (written["issued"]["count"], written["queued"]["count"]) == (17, 33)
    assert written["back_merges"] == 16
    assert (discarded["issued"]["count"], discarded["queued"]["count"]) == (9, 18)
    # All of them were done, and everything that was queued is in one of them.
    for each in device["operations"]:
        assert each["completed"] == each["issued"]["count"]
        assert each["queued"]["bytes"] == each["issued"]["bytes"]
    assert result["losses"]["not_done"] == 0


@with_blktrace
def test_blkparse_reads_the_same_in_it(agent: Any) -> None:
    assert by_us(agent, FIXTURE) == by_blkparse(said("blkparse", "-i", "-", given=FIXTURE))
