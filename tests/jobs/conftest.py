"""Jobs' logs are read into trials that succeeded."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import Write
from model_trials import make_trial as make_trial


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes an event log of the bytes given."""

    def log(content: bytes) -> Path:
        path = tmp_path / "application_1_0001"
        path.write_bytes(content)
        return path

    return log
