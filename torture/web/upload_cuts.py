"""Uploads that break off: after any number of bytes, or longer or shorter than they say."""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores, write_archive
from torture.verbs import VerbRunner
from torture.web.upload_kills import TOKEN, Server
from venturi.record.trial import Trial

_TRIALS = 3
_ANSWER_S = 60.0
_RESET = struct.pack("ii", 1, 0)  # l_onoff, l_linger: closing sends RST
_HOW = ("closed", "half closed", "reset", "shorter", "longer", "chunks cut", "chunk sizes wrong")


def play(round_: Play) -> None:
    """Each way to break off in turn, each at any byte of the request."""
    archive = round_.folder / "trials.zip"
    wanted = write_archive(archive, [f"sent{number}" for number in range(_TRIALS)])
    stores = Stores(round_)
    with VerbRunner(round_.folder / "work") as verbs:
        with stores.one(0) as store:
            server = Server(verbs, store, learn=True)
            server.post(archive)
            server.end(signal.SIGINT)
        for case in round_.cases():
            with stores.one(case.number) as store, case:
                _cut(case, verbs, store, archive, wanted, _HOW[case.number % len(_HOW)])


def _cut(
    case: TortureCase,
    verbs: VerbRunner,
    store: Store,
    archive: Path,
    wanted: Mapping[str, Trial],
    how: str,
) -> None:
    body = archive.read_bytes()
    sent, half = _request(how, body, case)
    case.label = f"{store.kind}, {how}, {len(sent):,} of {len(body):,} bytes"
    server = Server(verbs, store)
    try:
        answer = _send(server.url, sent, half_closed=half, reset=how == "reset")
        found = store.trials()
        assert not found, f"{len(found)} trials of a torn upload"
        assert not answer or answer[:1] == "4", f"answered {answer}"
        assert set(server.post(archive)) == wanted.keys(), "it takes no other upload"
    finally:
        server.end(signal.SIGINT)
    assert store.trials(tidy=True) == wanted
    case.saw(f"{how}, answered {answer}" if answer else f"{how}, not answered")


def _request(how: str, body: bytes, case: TortureCase) -> tuple[bytes, bool]:
    """Return the bytes to send, and whether that direction is closed after them."""
    chance = case.play.chance
    at = chance.randrange(len(body))
    if how == "shorter":
        return _head(f"Content-Length: {len(body) + chance.randint(1, 9999)}") + body, True
    if how == "longer":
        return _head(f"Content-Length: {len(body) - chance.randint(1, at + 1)}") + body, True
    if how == "chunks cut":
        whole = _head("Transfer-Encoding: chunked") + _chunk(body[:at]) + _chunk(body[at:])
        return whole[: chance.randrange(len(whole) - 1)], True
    if how == "chunk sizes wrong":
        size = b"%x\r\n" % (len(body) + chance.choice((-7, 7)))
        return _head("Transfer-Encoding: chunked") + size + body + b"\r\n0\r\n\r\n", True
    whole = _head(f"Content-Length: {len(body)}") + body
    return whole[: chance.randrange(len(whole))], how == "half closed"


def _head(framing: str) -> bytes:
    lines = (
        "POST /api/uploads HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/zip",
        framing,
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _send(url: str, sent: bytes, *, half_closed: bool, reset: bool) -> str:
    """Return the status of the answer, empty without one; only waits for it if `half_closed`."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), _ANSWER_S) as connection:
        answer = b""
        with contextlib.suppress(ConnectionError):  # it may answer and close before all is sent
            connection.sendall(sent)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            if half_closed:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while half_closed and (part := connection.recv(1 << 16)):
                answer += part
    return answer[9:12].decode("ascii", "replace")


ROUND = Round(
    name="upload-cuts",
    question="An upload breaks off after any number of bytes, or its length is wrong. Is nothing "
    "of it stored, does the server go on, and does it accept the next upload?",
    count=1000,
    few=2,
    run=play,
)
