"""How answers are sent: security headers, strong ETags of the content, gzip."""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from http import HTTPStatus

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

_GZIP_BYTES_MIN = 1_000
_GZIP_LEVEL = 5
_IN_THREAD_BYTES_MIN = 1 << 15
_COMPRESSIBLE = ("text/", "application/json", "application/problem+json", "image/svg+xml")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Reply:
    """Sends one answer; one that comes in one piece gets an ETag, or is a 304, and is packed."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._asked = Headers(scope=scope)
        self._start: Message | None = None
        self._dropped = False
        self.started = False

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self._start = message
            self._seal(MutableHeaders(raw=message["headers"]))
            return
        if message["type"] != "http.response.body" or self._dropped:
            return
        if self._start is not None:
            message = await self._begin(self._start, message)
            self._start = None
        if not self._dropped:
            await self._send(message)

    def _seal(self, headers: MutableHeaders) -> None:
        api = self._scope["path"].startswith("/api")
        for name, value in _HEADERS.items():
            headers[name] = value
        headers["Content-Security-Policy"] = DATA_POLICY if api else PAGE_POLICY
        headers.setdefault("Cache-Control", "private, no-cache" if api else "no-cache")
        headers["Vary"] = "Accept-Encoding, Authorization, Cookie" if api else "Accept-Encoding"

    async def _begin(self, start: Message, body: Message) -> Message:
        """Send the head, which depends on the first part of the body; return that part as it is to
        be sent.
        """
        headers = MutableHeaders(raw=start["headers"])
        content = body.get("body", b"")
        whole = not body.get("more_body", False)
        if whole and start["status"] == HTTPStatus.OK and self._scope["method"] == "GET":
            if len(content) < _IN_THREAD_BYTES_MIN:
                content = self._pack(headers, content)
            else:
                content = await to_thread.run_sync(self._pack, headers, content)
        if self._known(headers.get("etag")) and start["status"] == HTTPStatus.OK:
            start["status"] = HTTPStatus.NOT_MODIFIED.value
            for name in ("content-length", "content-type", "content-encoding"):
                if name in headers:
                    del headers[name]
            self._dropped = True
        self.started = True
        await self._send(start)
        if self._dropped:
            await self._send({"type": "http.response.body", "body": b""})
        return {**body, "body": content}

    def _pack(self, headers: MutableHeaders, content: bytes) -> bytes:
        """Return `content` as sent, and set its ETag and length in `headers`."""
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        wanted = "gzip" in self._asked.get("accept-encoding", "")
        kind = headers.get("content-type", "")
        if wanted and len(content) >= _GZIP_BYTES_MIN and kind.startswith(_COMPRESSIBLE):
            content = _packed(content)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(content))
            digest += "-gzip"
        headers["ETag"] = f'"{digest}"'
        return content

    def _known(self, etag: str | None) -> bool:
        """Whether the client already has this content."""
        asked = self._asked.get("if-none-match")
        if etag is None or asked is None:
            return False
        return any(each.strip().removeprefix("W/") in {etag, "*"} for each in asked.split(","))


@lru_cache(32)
def _packed(content: bytes) -> bytes:
    """Compress; cached, because clients request the pages' programs and some answers repeatedly."""
    return gzip.compress(content, _GZIP_LEVEL, mtime=0)
