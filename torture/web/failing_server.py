"""A history server that answers rightly, or fails in one of many ways."""

from __future__ import annotations

import io
import json
import random
import socket
import struct
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIST = "/api/v1/applications?status=completed"


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """A zip file with these members, compressed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _member_field(packed: bytes, offset: int, value: int) -> bytes:
    """`packed` with a field of its first member changed, in both headers."""
    changed = bytearray(packed)
    for start, at in ((b"PK\x03\x04", offset), (b"PK\x01\x02", offset + 2)):
        place = changed.index(start) + at
        changed[place : place + 2] = struct.pack("<H", value)
    return bytes(changed)


def _flipped(body: bytes) -> bytes:
    middle = len(body) // 2
    return (
        body[:middle]
        + bytes(each ^ 0xFF for each in body[middle : middle + 40])
        + body[middle + 40 :]
    )


# An answer with another body; that of a list is JSON, that of an application a zip file.
_BODIES: dict[str, Callable[[bytes], bytes]] = {
    "flipped bytes": _flipped,
    "half": lambda body: body[: len(body) // 2],
    "nothing": lambda _: b"",
    "a page": lambda _: b"<html><body>Log in, please</body></html>",
    "no UTF-8": lambda _: b'[{"id": "\xff\xfe"}]',
    "nested": lambda _: b"[" * 100_000,
    "an object": lambda _: b'{"error": "starting"}',
    "null": lambda _: b"null",
    "null entries": lambda _: b'[null, 7, "x", {"id": null}, {"id": []}]',
    "infinite time": lambda _: b'[{"id": "ghost", "attempts": [{"lastUpdatedEpoch": Infinity}]}]',
    "odd attempts": lambda _: b'[{"id": "ghost", "attempts": {"a": 1}}]',
    "a hostile id": lambda _: b'[{"id": "../../etc/passwd", "attempts": []}]',
    "a long id": lambda _: json.dumps([{"id": "x" * 5_000}]).encode(),
    "encrypted": lambda body: _member_field(body, 6, 1) if body[:2] == b"PK" else b"",
    "unknown method": lambda body: _member_field(body, 8, 77) if body[:2] == b"PK" else b"",
    "a file as folder": lambda _: zip_of({"a": b"x", "a/x": b"y"}),
    "long names": lambda _: zip_of({"ü" * 150: b"x"}),
    "an empty zip": lambda _: zip_of({}),
}
_STATUSES = (301, 403, 404, 429, 500, 502, 503, 504)
_BREAKS = ("close", "reset", "half a header", "cut body", "cut chunk", "bad chunk", "drip")
FAILURES = (*_BODIES, *map(str, _STATUSES), *_BREAKS)


class FailingServer:
    """Serves `applications`, a zip file by id, and fails with probability `rate`."""

    def __init__(self, chance: random.Random, applications: Mapping[str, bytes]) -> None:
        self.applications = applications
        self.rate = 0.5
        self.seen: Counter[str] = Counter()
        self._chance = chance
        self._lock = threading.Lock()

    def failure(self) -> str | None:
        """The failure of the next request, if it has one."""
        with self._lock:
            failure = None
            if self._chance.random() < self.rate:
                failure = self._chance.choice(FAILURES)
            self.seen[failure or "right"] += 1
            return failure

    def body(self, path: str) -> bytes | None:
        """The right answer."""
        if path == LIST:
            attempts = [{"lastUpdatedEpoch": 7, "completed": True}]
            listed = [{"id": id_, "attempts": attempts} for id_ in self.applications]
            return json.dumps(listed).encode()
        return self.applications.get(path.removesuffix("/logs").rpartition("/")[2])

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Yield the URL."""
        handler = type("Handler", (_Handler,), {"of": self})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()


class _Handler(BaseHTTPRequestHandler):
    of: FailingServer

    def do_GET(self) -> None:
        self.close_connection = True
        with suppress(ConnectionError):  # the client was killed
            self._answer()

    def _answer(self) -> None:
        body = self.of.body(self.path)
        failure = self.of.failure()
        if body is None:
            self.send_error(404)
        elif failure is None:
            self._send(body)
        elif failure in _BODIES:
            self._send(_BODIES[failure](body))
        elif failure in _BREAKS:
            self._break(failure, body)
        else:
            self.send_response(int(failure))
            self.send_header("Location", self.path)
            self.end_headers()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def _break(self, how: str, body: bytes) -> None:
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how == "half a header":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
        elif how == "cut body":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(body) + 9))
            self.wfile.write(body)
        elif how in {"cut chunk", "bad chunk"}:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            self.wfile.write(b"zz\r\n" if how == "bad chunk" else b"ffff\r\n" + body[:100])
        elif how == "drip":
            self.send_response(200)
            self.end_headers()
            for byte in body[:5]:
                self.wfile.write(bytes((byte,)))
                time.sleep(0.02)

    def log_message(self, *_: object) -> None:
        """Says nothing."""
