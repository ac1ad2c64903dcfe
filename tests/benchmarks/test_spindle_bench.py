"""`python -m benchmarks.measure.spindle` says what it measured, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounts need root")
@pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="there is no /dev/fuse")
@pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="there are no loop devices")
def test_every_figure_stands_beside_what_it_should_be(tmp_path: Path, agent_binary: Path) -> None:
    chosen = ["--kinds", "ssd", "--rates", "200", "--seconds", "0.1", "--dir", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure.spindle", *chosen],
        env={**os.environ, "VENTURI_AGENT": str(agent_binary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    rows = [line for line in run.stdout.splitlines() if line.startswith("ssd")]
    rates = [row.split() for row in rows if "s/GB" not in row]
    assert len(rates) == 8
    for *_, measured, expected, ratio in rates:
        assert float(ratio) == pytest.approx(float(measured) / float(expected), abs=0.01)
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text("utf-8")
