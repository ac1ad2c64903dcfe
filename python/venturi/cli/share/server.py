"""The process of `venturi serve`: its sockets, its log, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import uvicorn

from venturi.core.errors import ExitCode
from venturi.core.settings import ServerLimits
from venturi.web.api.connections import Connection, Connections, ConnectionState
from venturi.web.api.health import ServerState
from venturi.web.api.log import SeldomHandler

_TAKEN_IN_AT_ONCE = 64  # connections, between two looks at how many there are
_BACKLOG = 4_096
_TICKS_A_SECOND = 10  # uvicorn's


def server_of(
    app: Any,
    limits: ServerLimits,
    watch: ServerState,
    *,
    proxies: Sequence[str] = (),
    listening: Callable[[], None],
) -> uvicorn.Server:
    """A server of `app`, which calls `listening` when it does; `run` it once.

    Of `proxies`, addresses and networks, it believes for whom they ask. The first SIGINT or SIGTERM
    drains it, the second ends the process.
    """
    log = SeldomHandler(sys.stderr, limits.log_lines_per_s_max)
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        backlog=_TAKEN_IN_AT_ONCE,
        timeout_keep_alive=limits.idle_timeout_s,
    )
    connections = Connections(limits, proxies)
    return _UvicornServer(config, connections, watch, log, listening)


class _UvicornServer(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        watch: ServerState,
        log: SeldomHandler,
        listening: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self.server_state: Connections = connections
        self._log, self._listening, self._watch = log, listening, watch
        watch.draining = lambda: self.should_exit
        watch.connections = self.server_state.counts
        self.server_state.refused = watch.refused

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio accepts as many connections together as the backlog holds, each with a file before
        # it is counted.
        for each in sockets or ():
            each.listen(_BACKLOG)
        self._listening()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_A_SECOND == 0:
            self.server_state.sweep()
            self._log.turn()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Not uvicorn's own limit: it leaves threads behind, for which the interpreter then waits.
        try:
            async with asyncio.timeout(self.server_state.limits.drain_timeout_s):
                await super().shutdown(sockets)
        except TimeoutError:
            self._log.close()
            _end(
                f"{len(self.server_state.tasks)} requests took longer and were broken off; "
                "the server has ended",
                ExitCode.OK,
            )
        if overdue := len(self._watch.overdue):
            self._log.close()
            _end(
                f"{overdue} requests that were given up were still at work; the server has ended",
                ExitCode.OK,
            )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            at_work = len(self.server_state.phases[ConnectionState.WORKING])
            name = signal.Signals(sig).name
            _end(
                f"{name} again: the server stops immediately and cancels {at_work} requests",
                ExitCode.INTERRUPTED,
            )
        super().handle_exit(sig, frame)


def _end(said: str, status: int) -> None:
    """End the process: its threads can't be ended in any other way.

    Uncommitted transactions are undone, and unfinished files have no names.
    """
    os.write(2, f"{said}\n".encode())
    os._exit(status)
