"""Ways to ask a server: in this process, or one with a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import wait
from pathlib import Path

import httpx
from fastapi import FastAPI

from fork_server import Forked, ForkServer
from venturi.cli.share.changes import RepositoryChanges
from venturi.core.settings import ServerLimits
from venturi.record.store.repository import TrialRepository
from venturi.web.api.app import create_app
from venturi.web.api.context import Services
from venturi.web.api.security import Access

UPLOAD_BYTES_MAX = 1 << 20
WRITE_TOKEN, READ_TOKEN = "write-0123456789abcdef", "read-0123456789abcdef"


class InProcess(httpx.BaseTransport):
    """Asks an application without a network, in one event loop until it is closed."""

    def __init__(self, app: FastAPI) -> None:
        self._watch = app.state.watch
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._loop = asyncio.Runner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def ask() -> httpx.Response:
            response = await self._app.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            sent = httpx.ByteStream(b"".join([part async for part in response.stream]))
            return httpx.Response(response.status_code, headers=response.headers, stream=sent)

        request.read()
        return self._loop.run(ask())

    def close(self) -> None:
        # Abandoned calls go on, and read the repository.
        wait(tuple(self._watch.overdue), 30)
        self._loop.close()


def client_of(
    repository: TrialRepository,
    access: Access | None = None,
    assets: Path | None = None,
    limits: ServerLimits | None = None,
) -> httpx.Client:
    """A client of a server for `repository`; nothing listens anywhere."""
    access = access or Access(upload_bytes_max=UPLOAD_BYTES_MAX)
    services = Services(repository, RepositoryChanges(repository, access.upload_bytes_max))
    more = {} if assets is None else {"assets": assets}
    app = create_app(services, access=access, limits=limits or ServerLimits(), **more)
    return httpx.Client(transport=InProcess(app), base_url="http://localhost")


class Server:
    """A `venturi serve` of our own, with a home of its own; forked off where it may be."""

    def __init__(
        self, home: Path, *arguments: str, forking: ForkServer | None = None, **environment: str
    ) -> None:
        self.home = home
        self._forking = forking
        self._arguments = ["serve", *arguments]
        self._environment = {**os.environ, "VENTURI_HOME": str(home), **environment}
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self, files_max: int | None = None) -> Server:
        """Starts it, and waits until it listens; it may have `files_max` files open."""
        self.process = self._started(files_max)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            assert self.process.stderr is not None
            raise RuntimeError(self.process.stderr.read())
        return self

    def _started(self, files_max: int | None) -> subprocess.Popen[str]:
        if self._forking is not None:
            return Forked(self._forking, self._arguments, files_max, self._environment)
        limited = ["prlimit", f"--nofile={files_max}"] if files_max else []
        return subprocess.Popen(
            [*limited, sys.executable, "-m", "venturi", *self._arguments],
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        url = httpx.URL(self.url)
        assert url.port is not None
        return url.host, url.port

    def end(self, by: int = signal.SIGINT) -> tuple[int, str]:
        """Its exit status and its stderr."""
        assert self.process is not None
        self.process.send_signal(by)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """The same of one that ends by itself."""
        assert self.process is not None
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said
