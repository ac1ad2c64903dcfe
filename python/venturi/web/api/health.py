"""Whether the server lives (`/healthz`), whether it can answer (`/readyz`), and its metrics.

Both are for process managers and load balancers: they need no token, answer under any load, and
reveal nothing from the record.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from venturi.core.errors import VenturiError
from venturi.record.store.repository import TrialRepository

LIVES, READY, METRICS = "/healthz", "/readyz", "/metrics"
BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(slots=True)
class ServerState:
    """The state of a running server; `overdue` are threads with an abandoned answer.

    `answers` counts answers by route and status, `buckets` by route and the first of BUCKETS_S that
    their seconds do not exceed. `elapsed_s` adds up seconds by route. `refused` counts refusals by
    reason.
    """

    repository: TrialRepository
    metrics: bool = False
    draining: Callable[[], bool] = bool
    connections: Callable[[], dict[str, int]] = dict
    in_flight: int = 0
    overdue: set[Future[Any]] = field(default_factory=set)
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    elapsed_s: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def answered(self, route: str, status: int, elapsed_s: float) -> None:
        """Count an answer."""
        self.answers[route, status] += 1
        self.elapsed_s[route] += elapsed_s  # type: ignore[assignment] # seconds add up too
        bucket = next((each for each in BUCKETS_S if elapsed_s <= each), float("inf"))
        self.buckets[route, bucket] += 1

    def unready(self) -> str | None:
        """Why no requests should be sent here; None if they may be. Asks the database."""
        if self.draining():
            return "the server is ending"
        try:
            self.repository.require_ready()
        except VenturiError as error:
            told = "revision" in error.message
            return error.message if told else "the repository does not answer"
        return None


class Health:
    """Answers for the server itself, and watches all other answers."""

    def __init__(self, app: ASGIApp, watch: ServerState) -> None:
        self._app, self._watch = app, watch
        self._one = CapacityLimiter(1)  # its own thread: all others may be busy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == LIVES:
            await _said("ok")(scope, receive, send)
        elif scope["path"] == READY:
            reason = await to_thread.run_sync(self._watch.unready, limiter=self._one)
            await _said(reason or "ok", 503 if reason else 200)(scope, receive, send)
        else:
            await self._watched(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun_s = time.perf_counter()
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            if status:  # else its asker has gone
                route = getattr(scope.get("route"), "path", "other")
                self._watch.answered(route, status, time.perf_counter() - begun_s)


def _said(text: str, status: int = 200) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status, {"Cache-Control": "no-store"})
