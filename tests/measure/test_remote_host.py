"""A host at the far end of a link, over the pipes of a process and through namespaces: what every
kind of host does, and what happens when the link breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_contract import HostContract

from venturi.measure.hosts.host import Host
from venturi.measure.hosts.remote import connected

OVER_PIPES = (
    "from venturi.measure.hosts.remote import connected; "
    "context = connected([{agent!r}, 'host'], 'far'); host = context.__enter__()"
)


class TestOverPipes(HostContract):
    """The agent as our child."""

    @pytest.fixture(autouse=True)
    def _made_by(self, agent_binary: Path) -> None:
        type(self).MADE_BY = OVER_PIPES.format(agent=str(agent_binary))

    @pytest.fixture
    def host(self, agent_binary: Path) -> Iterator[Host]:
        with connected([agent_binary, "host"], "far") as host:
            yield host

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder
