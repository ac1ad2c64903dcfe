"""Makes `benchmarks` importable however pytest was started, and wraps the stand-in agent."""

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))


@pytest.fixture
def bench_agent(tmp_path: Path) -> Path:
    """An executable that speaks the agent's protocol."""
    path = tmp_path / "venturi-agent"
    script = Path(__file__).with_name("bench_agent.py")
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    path.chmod(0o755)
    return path
