"""`venturi version` answers even on a broken installation, when it is needed most."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import FAKE_AGENT, venturi
from venturi import __version__
from venturi.record.trial import SCHEMA_VERSION


def test_versions(tmp_path: Path) -> None:
    done = venturi("version", "--json", home=tmp_path)
    data = json.loads(done.stdout)["data"]
    assert data["venturi"] == __version__
    assert data["trial_schema"] == SCHEMA_VERSION
    assert data["agent"]["path"] == str(FAKE_AGENT)
    assert data["agent"]["build_profile"] == "release"
    assert "9.9.9" in venturi("version", home=tmp_path).stdout


def test_a_missing_agent_is_a_warning_here(tmp_path: Path) -> None:
    done = venturi("version", "--json", home=tmp_path, VENTURI_AGENT=str(tmp_path / "no"))
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert answer["data"]["agent"] is None
    assert answer["warnings"][0].startswith("VEN-AGENT-MISSING")
