"""`python -m benchmarks.measure.traces` says what it measured, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(
    shutil.which("blkparse") is None or shutil.which("btt") is None,
    reason="blkparse and btt are not installed (Debian's package blktrace)",
)
def test_ours_and_its_peers_count_alike(tmp_path: Path, agent_binary: Path) -> None:
    chosen = ["--requests", "3000", "--rounds", "1", "--large", "--dir", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure.traces", *chosen],
        env={**os.environ, "VENTURI_AGENT": str(agent_binary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "D and C counted alike: 3,000 and 3,000" in run.stdout
    assert "0.15 M records: memory, MB" in run.stdout
    assert "0.03 M I/Os, a part of a chart: p95, ms" in run.stdout
    assert list(tmp_path.iterdir()) == []
