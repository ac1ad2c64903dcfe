"""Limits of concurrent requests and of the size of answers."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from venturi.core.errors import VenturiError
from venturi.core.settings import ServerLimits
from venturi.web.api import problems
from venturi.web.api.health import ServerState

UPLOADS = "/api/uploads"


class RequestLimiter:
    """Admits a limited number of requests; runs after the guard, so only authorized clients count.

    A body is read before its request counts, and a streamed answer no longer counts once its
    sending begins: a slow client holds a connection, not a place. Uploads don't count either: they
    are written to a file as they arrive, and their clients have the write token.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits, watch: ServerState) -> None:
        self._app, self._limits, self._watch = app, limits, watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == UPLOADS:
            await self._app(scope, receive, send)
            return
        try:
            received = await _whole(receive)
        except HTTPException as error:
            told = VenturiError("VEN-API-SIZE", str(error.detail))
            await problems.response(told)(scope, receive, send)
            return
        if received is None:
            return  # the client disconnected
        if self._watch.in_flight >= self._limits.requests_max:
            self._watch.refused["requests"] += 1
            refused = busy("requests", self._watch.in_flight)
            await problems.response(refused)(scope, receive, send)
            return
        place = _ActiveRequest(self._watch, self._limits.answer_bytes_max, scope, send)
        self._watch.in_flight += 1
        try:
            await self._app(scope, _again(received, receive), place.send)
        finally:
            place.leave()


class _ActiveRequest:
    """One request at work, and its answer."""

    def __init__(self, watch: ServerState, answer_bytes_max: int, scope: Scope, send: Send) -> None:
        self._watch, self._most, self._scope, self._send = watch, answer_bytes_max, scope, send
        self._start: Message | None = None
        self._refused = self._left = False

    def leave(self) -> None:
        """Free the place; a second call does nothing."""
        if not self._left:
            self._left = True
            self._watch.in_flight -= 1

    async def send(self, message: Message) -> None:
        """Send the answer, unless it is too big."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._refused:
            return
        if self._start is not None:
            start, self._start = self._start, None
            size_bytes = len(message.get("body", b""))
            self.leave()
            if size_bytes > self._most:
                self._refused = True
                self._watch.refused["answer bytes"] += 1
                await problems.response(_too_big(size_bytes, self._most))(
                    self._scope, _nothing, self._send
                )
                return
            await self._send(start)
        await self._send(message)


def busy(what: str, n: int) -> VenturiError:
    """The error for too many concurrent requests."""
    return VenturiError(
        "VEN-API-BUSY",
        f"the server has {n} {what} at work and takes no more",
        hint="try again later",
    )


def _too_big(size_bytes: int, most: int) -> VenturiError:
    return VenturiError(
        "VEN-API-ANSWER",
        f"the answer has {size_bytes:,} bytes; at most {most:,} are sent",
        hint="ask for less: add conditions, group by fewer keys, or take /api/download",
    )


async def _whole(receive: Receive) -> bytes | None:
    """The request's body, bounded by the guard; None if the client disconnected."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """`receive` for a request after its `body` was read."""
    told = False

    async def received() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
