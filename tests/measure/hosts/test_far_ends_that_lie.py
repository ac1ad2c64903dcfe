"""Far ends that greet as an agent does and then send invalid messages: they are named, and no call
waits forever.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import venturi
from venturi.core.errors import VenturiError
from venturi.measure.hosts.link import FrameKind
from venturi.measure.hosts.remote import RemoteHost, connected

_HELLO = {
    "protocol": 1,
    "identity": {"version": venturi.__version__},
    "name": "far",
    "user": "nobody",
    "cores": 1,
    "agent": "/agent",
    "temporaries": "/tmp",
}
_LIAR = """
import struct, sys
head = struct.Struct("<BII")
def say(kind, channel, payload):
    sys.stdout.buffer.write(head.pack(kind, channel, len(payload)) + payload)
    sys.stdout.buffer.flush()
say(0, 0, sys.argv[1].encode())
while len(begun := sys.stdin.buffer.read(head.size)) == head.size:
    kind, channel, length = head.unpack(begun)
    sys.stdin.buffer.read(length)
    if kind == 1:
        exec(sys.argv[2])
"""


def liar(says: str, **hello: Any) -> AbstractContextManager[RemoteHost]:
    """A host with a far end that does `says` (Python) at each call, and greets with `hello`
    changed.
    """
    greeting = json.dumps(_HELLO | hello)
    return connected([sys.executable, "-IS", "-c", _LIAR, greeting, says], "far")


def frame(kind: FrameKind, payload: bytes) -> str:
    """To say this on the call's channel."""
    return f"say({int(kind)}, channel, {payload!r})"


@pytest.mark.parametrize(
    "says",
    [
        frame(FrameKind.ANSWER, b"5"),
        frame(FrameKind.ANSWER, b"null"),
        frame(FrameKind.ANSWER, b"\xff{"),
        "say(6, channel, b'[' * 200_000)",
        frame(FrameKind.NOTE, b"5"),
        frame(FrameKind.NOTE, b'{"ended": "never"}'),
        frame(FrameKind.NOTE, b'{"hue": "red"}'),
        frame(FrameKind.CREDIT, b"\x01"),
        f"sys.stdout.buffer.write({struct.pack('<BII', 99, 1, 0)!r}); sys.stdout.buffer.flush()",
    ],
)
def test_what_no_agent_says_loses_the_link(says: str) -> None:
    with liar(says) as host:
        for _ in range(2):  # this call, and every later one
            with pytest.raises(
                VenturiError, match="connection to far was lost: it says b"
            ) as caught:
                host.unix_time_s()
            assert caught.value.code == "VEN-HOST-LOST"
            assert caught.value.where["host"] == "far"


def test_more_than_there_is_credit_for_loses_the_link() -> None:
    with liar("while True: say(2, channel, bytes(1 << 20))") as host:
        with pytest.raises(VenturiError, match="exceeds its credit") as caught:
            host.unix_time_s()
        assert caught.value.code == "VEN-HOST-LOST"


@pytest.mark.parametrize(
    ("answer", "ask"),
    [
        (b"{}", RemoteHost.unix_time_s),
        (b'{"errno": "x", "path": null}', RemoteHost.unix_time_s),
        (b'{"errno": 2, "path": 5}', RemoteHost.unix_time_s),
        (b'{"ok": "abc"}', RemoteHost.unix_time_s),
        (b'{"ok": NaN}', RemoteHost.unix_time_s),
        (b'{"ok": 5}', lambda host: host.which("java")),
        (b'{"ok": {"kind": "file"}}', lambda host: host.files.stat(Path("/"))),
        (b'{"ok": null}', lambda host: host.files.free_bytes(Path("/"))),
        (b'{"ok": null}', lambda host: host.files.entries(Path("/"))),
        (b'{"ok": []}', lambda host: host.lock("test").__enter__()),
    ],
)
def test_an_answer_of_another_shape_is_of_another_version(
    answer: bytes, ask: Callable[[RemoteHost], object]
) -> None:
    with liar(frame(FrameKind.ANSWER, answer)) as host:
        for _ in range(2):  # the link is as it was
            with pytest.raises(VenturiError, match="an invalid answer to the call") as caught:
                ask(host)
            assert caught.value.code == "VEN-HOST-VERSION"
            assert caught.value.where["host"] == "far"


@pytest.mark.parametrize(
    "hello", [{"cores": "many"}, {"agent": None}, {"identity": 5}, {"protocol": []}]
)
def test_who_greets_in_another_way_is_of_another_version(hello: dict[str, object]) -> None:
    with pytest.raises(VenturiError) as caught, liar("", **hello):
        pytest.fail("it is connected")
    assert caught.value.code == "VEN-HOST-VERSION"
