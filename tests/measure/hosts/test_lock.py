"""One measurement at a time on a host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.measure.hosts.lock import alone, measuring


def test_only_one_measures(tmp_path: Path) -> None:
    with (
        alone(tmp_path / "lock", "one"),
        pytest.raises(VenturiError, match="measuring on this host: one") as refused,
        alone(tmp_path / "lock", "two"),
    ):
        pytest.fail("both measured")
    assert refused.value.code == "VEN-MEASURE-BUSY"
    with alone(tmp_path / "lock", "two"):
        pass


def test_what_a_killed_one_was_about_to_start_is_waited_for(tmp_path: Path) -> None:
    program = (
        "import os, sys, time; from pathlib import Path\n"
        "from venturi.measure.hosts.lock import alone\n"
        "with alone(Path(sys.argv[1]), 'killed'):\n"
        "    if os.fork(): os._exit(1)\n"
        "    time.sleep(1); os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "lock"], check=False)
    assert measuring(tmp_path / "lock") is not None
    with alone(tmp_path / "lock", "next"):
        pass
