"""The server in this process, and as a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from api_client import Server, client_of
from fork_server import ForkServer
from venturi.record.store.repository import TrialRepository


@pytest.fixture
def client(repository: TrialRepository) -> Iterator[httpx.Client]:
    """A client of a server on loopback without tokens, on SQLite and on PostgreSQL."""
    with client_of(repository) as made:
        yield made


@pytest.fixture
def start_server(tmp_path: Path, fork_server: ForkServer) -> Iterator[Callable[..., Server]]:
    """Starts servers on the repository in `tmp_path / "server"`; they end with the test."""
    started: list[Server] = []

    def start(*arguments: str, files_max: int | None = None, **environment: str) -> Server:
        server = Server(
            tmp_path / "server", "--port", "0", *arguments, forking=fork_server, **environment
        )
        started.append(server)
        return server.start(files_max)

    yield start
    for server in started:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
            server.process.communicate()
