"""This machine as a host: what every kind of host does."""

from __future__ import annotations

from pathlib import Path

import pytest

from host_contract import HostContract
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import LocalHost


class TestLocalHost(HostContract):
    """This machine."""

    MADE_BY = "from venturi.measure.hosts.local import LocalHost; host = LocalHost()"

    @pytest.fixture
    def host(self) -> LiveHost:
        return LocalHost()

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder
