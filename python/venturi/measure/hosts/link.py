"""A connection to a host: concurrent calls over the two pipes of a process.

The far end is `venturi-agent host` (`crates/hostlink`; its `frame.rs` defines the frames). The link
is independent of how that process was started (SSH, a namespace). If the process ends, or is silent
for too long, the link is lost: every call fails with VEN-HOST-LOST, and the far end ends the
processes it started.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar

import venturi
from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.measure.hosts import threads
from venturi.measure.hosts.far_end import FarEnd

PROTOCOL = 1
SILENCE_S = 20.0
"""After this time without a message the other end is given up; it sends four in that time."""
HELLO_S = 30.0
PIECE_BYTES = 256 << 10
WINDOW_BYTES = 4 << 20
MAX_FRAME_BYTES = 64 << 20
CLOSE_S = 30.0
"""Processes that the far end started get 10 s to end by themselves."""
UNFIT = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
"""Errors raised by reading an answer of an unexpected shape."""
_HEAD = struct.Struct("<BII")
_CREDIT = struct.Struct("<I")
_NOTES: Mapping[str, type[Any]] = {"started": int, "ended": int, "stderr": list}
"""An agent's notes about a running call."""
_ERRNOS = range(1, 1 << 12)
"""Numbers of errors that Linux may give."""
_LOOK_AGAIN_S = 0.5
_WHO: Mapping[str, type[Any]] = {
    "name": str,
    "user": str,
    "cores": int,
    "agent": str,
    "temporaries": str,
}
"""An agent's greeting about its host."""
T = TypeVar("T")


class FrameKind(IntEnum):
    """The kind of a frame."""

    HELLO = 0
    CALL = 1
    DATA = 2
    END = 3
    CREDIT = 4
    NOTE = 5
    ANSWER = 6
    PING = 7


def text_of(name: str | Path) -> str:
    """A name's bytes as characters of the same numbers: JSON has no other way for any bytes."""
    return os.fsencode(name).decode("latin-1")


def name_of(text: str) -> str:
    """Return the name that `text_of` encoded as `text`."""
    return os.fsdecode(text.encode("latin-1"))


@dataclass(frozen=True, slots=True)
class CallContext:
    """A call, with its host and the version of the agent there."""

    call: str
    host: str
    version: str

    def misunderstood(self, how: str = "has an invalid answer to") -> VenturiError:
        """Return the error of an agent that doesn't know a call, or understands it differently."""
        return other_version(
            self.host,
            f"it is of version {self.version} and {how} the call {self.call}",
            {"call": self.call, "version": self.version},
        )


class Channel:
    """A running call: the data that it is sent, those that it sends, and its end.

    `lost` is the reason why it will never end, if known.
    """

    def __init__(
        self,
        number: int,
        send: Callable[[FrameKind, int, bytes], None],
        lost: VenturiError | None,
        asked: CallContext,
    ) -> None:
        self._number = number
        self._send = send
        self._asked = asked
        self._changed = threading.Condition()
        self._credit = WINDOW_BYTES
        self._arrived: deque[bytes] = deque()
        self._arrived_bytes = 0
        self._complete = False
        self._notes: dict[str, Any] = {}
        self._answer: Mapping[str, Any] | None = None
        self._lost = lost
        self._cancelled = False
        self._on_end: Callable[[], None] | None = None

    @property
    def ended(self) -> bool:
        """Whether it was answered, or never will be."""
        return self._answer is not None or self._lost is not None

    def send(self, data: bytes) -> bool:
        """Send `data` at the far end's pace; False if it has answered and accepts no more."""
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            self._wait(lambda: self._credit >= PIECE_BYTES or self.ended)
            if self.ended:
                return False
            with self._changed:
                self._credit -= len(piece)
            self._send(FrameKind.DATA, self._number, piece)
        return True

    def end(self) -> None:
        """Mark the end of the data."""
        self._send(FrameKind.END, self._number, b"")

    def note(self, note: str | Mapping[str, Any]) -> None:
        """Send a note about the call."""
        if not self.ended:
            self._send(FrameKind.NOTE, self._number, json.dumps(note).encode())

    def receive(self) -> bytes:
        """Return the next piece of its data; empty at the end. VEN-HOST-LOST."""
        self._wait(lambda: bool(self._arrived) or self._complete or self.ended)
        with self._changed:
            piece = self._arrived.popleft() if self._arrived else b""
            self._arrived_bytes -= len(piece)
        if piece:
            self._send(FrameKind.CREDIT, self._number, _CREDIT.pack(len(piece)))
            return piece
        self._check()
        return b""

    def noted(self, name: str, *, discarding: bool = False) -> Any:
        """Wait for the note `name` and return it; None if the call ended without. With `discarding`
        its data is discarded while waiting. VEN-HOST-LOST.
        """
        while True:
            self._wait(
                lambda: name in self._notes or self.ended or (discarding and bool(self._arrived))
            )
            if name in self._notes:
                return self._notes[name]
            if self.ended:
                self._check()
                return None
            self.receive()

    def has_noted(self, name: str) -> bool:
        """Return whether the note `name` has arrived."""
        return name in self._notes

    def answer(self, timeout_s: float | None = None) -> Any:
        """How it ended. OSError as the far end had it; VEN-HOST-LOST; TimeoutError."""
        if not self._wait(lambda: self.ended, timeout_s):
            raise TimeoutError
        self._check()
        assert self._answer is not None
        if "ok" in self._answer:
            return self._answer["ok"]
        number, path = self._answer["errno"], self._answer["path"]
        if number == errno.ECANCELED and not self._cancelled:
            raise _lost(self._asked.host, "its agent was ended")
        said = os.strerror(number)
        raise OSError(number, said) if path is None else OSError(number, said, name_of(path))

    def cancel(self) -> None:
        """Stop the transfer of its data."""
        self._cancelled = True
        self.note("cancel")

    def at_end(self, tell: Callable[[], None]) -> None:
        """Register a function for the end of the call; any thread may run it."""
        with self._changed:
            if not self.ended:
                self._on_end = tell
                return
        tell()

    def take(self, kind: int, payload: bytes) -> None:
        """Handle a frame of this call, in the link's own thread. ValueError for one that no agent
        sends.
        """
        with self._changed:
            if kind == FrameKind.DATA:
                self._arrived_bytes += len(payload)
                if not payload or self._arrived_bytes > WINDOW_BYTES:
                    raise ValueError("it exceeds its credit")
                self._arrived.append(payload)
            elif kind == FrameKind.END:
                self._complete = True
            elif kind == FrameKind.CREDIT:
                if len(payload) != _CREDIT.size:
                    raise _nonsense(payload)
                self._credit += _CREDIT.unpack(payload)[0]
            elif kind == FrameKind.NOTE:
                notes = _object(payload)
                if not all(isinstance(told, _NOTES.get(name, ())) for name, told in notes.items()):
                    raise _nonsense(payload)
                self._notes |= notes
            elif kind == FrameKind.ANSWER:
                self._end_with(_object(payload))
            self._changed.notify_all()
        self._notify_end()

    def lose(self, error: VenturiError) -> None:
        """The link is lost; in its own thread."""
        with self._changed:
            if not self.ended:
                self._lost = error
            self._changed.notify_all()
        self._notify_end()

    def _end_with(self, answer: Mapping[str, Any]) -> None:
        number, path = answer.get("errno"), answer.get("path")
        if "unknown" in answer:
            self._lost = self._asked.misunderstood("doesn't know")
        elif "ok" in answer or (
            isinstance(number, int) and number in _ERRNOS and isinstance(path, str | None)
        ):
            self._answer = answer
        else:
            self._lost = self._asked.misunderstood()

    def _notify_end(self) -> None:
        with self._changed:
            tell, self._on_end = (self._on_end, None) if self.ended else (None, self._on_end)
        if tell is not None:
            tell()

    def _wait(self, ready: Callable[[], bool], timeout_s: float | None = None) -> bool:
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            # Poll twice a second: Ctrl-C just before a wait would be handled only after it.
            while not self._changed.wait_for(ready, _LOOK_AGAIN_S):
                if deadline_s is not None and time.monotonic() > deadline_s:
                    return False
        return True

    def _check(self) -> None:
        if self._lost is not None:
            raise VenturiError(
                self._lost.code, self._lost.message, where=self._lost.where, hint=self._lost.hint
            )


class AgentLink:
    """Calls to the `far` end, on the host with the display name `name`.

    Waits for the greeting: VEN-HOST-VERSION if it isn't this version's, VEN-HOST-START if the far
    end exited, VEN-HOST-TIMEOUT after `hello_s`. The caller that opened the far end ends it.
    """

    def __init__(
        self,
        far: FarEnd,
        name: str,
        *,
        hello_s: float = HELLO_S,
        silence_s: float = SILENCE_S,
    ) -> None:
        self.name = name
        self._far = far
        self._silence_s = silence_s
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._channels: dict[int, Channel] = {}
        self._count = 0
        self._lost: VenturiError | None = None
        self._closing = False
        self._buffer = bytearray()
        self.hello = self._greeted(hello_s)
        self._send(FrameKind.HELLO, 0, json.dumps({"silence_s": silence_s}).encode())
        self._threads = [
            threading.Thread(target=each, daemon=True) for each in (self._write, self._read)
        ]
        for thread in self._threads:
            threads.start(thread)

    def call(self, name: str, **given: Any) -> Channel:
        """Begin a call."""
        with self._lock:
            self._count += 1
            number = self._count
            channel = Channel(number, self._send, self._lost, self._asked(name))
            if self._lost is None:
                self._channels[number] = channel
        self._send(FrameKind.CALL, number, json.dumps({"call": name, **given}).encode())
        return channel

    @contextmanager
    def calling(self, name: str, **given: Any) -> Iterator[Channel]:
        """A call that is given up when the block is left before it has ended."""
        channel = self.call(name, **given)
        try:
            yield channel
        finally:
            channel.cancel()

    def ask(self, name: str, **given: Any) -> Any:
        """The answer to a call. OSError as the far end had it; VEN-HOST-LOST."""
        return self.call(name, **given).answer()

    def told(self, shape: Callable[[Any], T], call: str, **given: Any) -> T:
        """The answer to a call as `shape` makes it; as `ask`, and VEN-HOST-VERSION."""
        return self.fitting(shape, call, self.ask(call, **given))

    def fitting(self, shape: Callable[[Any], T], call: str, said: Any) -> T:
        """Convert the answer to a call with `shape`; VEN-HOST-VERSION if that fails."""
        try:
            return shape(said)
        except UNFIT as error:
            raise self._asked(call).misunderstood() from error

    def close(self) -> None:
        """End it; return once the far end has ended the processes that it started, or is given
        up.
        """
        self._closing = True
        self._outgoing.put(None)
        self._far.close(CLOSE_S)
        for thread in self._threads:
            thread.join()

    def _asked(self, call: str) -> CallContext:
        return CallContext(call, self.name, self.hello["identity"]["version"])

    def _send(self, kind: FrameKind, channel: int, payload: bytes) -> None:
        # By a thread of its own: Ctrl-C must not leave half a frame in the pipe.
        self._outgoing.put(_HEAD.pack(kind, channel, len(payload)) + payload)

    def _write(self) -> None:
        ping = _HEAD.pack(FrameKind.PING, 0, 0)
        with suppress(OSError, ValueError):  # it is gone, or closed from here
            while True:
                try:
                    frame = self._outgoing.get(timeout=self._silence_s / 4)
                except queue.Empty:
                    frame = ping
                if frame is None:
                    break
                self._far.write(frame)
        self._far.say_no_more()

    def _read(self) -> None:
        try:
            while (frame := self._frame(self._silence_s)) is not None:
                kind, number, payload = frame
                with self._lock:
                    channel = self._channels.get(number)
                if channel is not None:
                    channel.take(kind, payload)
                if kind == FrameKind.ANSWER:
                    with self._lock:
                        self._channels.pop(number, None)
            why = self._far.last_word() or "it ended"
        except TimeoutError:
            why = f"it was silent for {format_duration(self._silence_s)}"
        except Exception as error:  # whatever the error: callers wait for this thread
            why = str(error) or type(error).__name__
        self._lose("the connection was closed" if self._closing else why)

    def _lose(self, why: str) -> None:
        error = _lost(self.name, why)
        with self._lock:
            self._lost = error
            channels = list(self._channels.values())
            self._channels.clear()
        for channel in channels:
            channel.lose(error)
        if not self._closing:
            # Writers must not wait forever; an agent ends the processes that it started.
            self._far.terminate()
            self._outgoing.put(None)

    def _frame(self, patience_s: float) -> tuple[int, int, bytes] | None:
        """Return the next frame; None at the end. TimeoutError; ValueError for an invalid frame."""
        while True:
            if len(self._buffer) >= _HEAD.size:
                kind, channel, length = _HEAD.unpack_from(self._buffer)
                if kind > max(FrameKind) or length > MAX_FRAME_BYTES:
                    raise _nonsense(self._buffer)
                whole = _HEAD.size + length
                if len(self._buffer) >= whole:
                    payload = bytes(memoryview(self._buffer)[_HEAD.size : whole])
                    del self._buffer[:whole]
                    return kind, channel, payload
            more = self._far.read(1 << 20, patience_s)
            if not more:
                return None
            self._buffer += more

    def _greeted(self, patience_s: float) -> Mapping[str, Any]:
        try:
            frame = self._frame(patience_s)
        except TimeoutError:
            raise VenturiError(
                "VEN-HOST-TIMEOUT",
                f"the agent of {self.name} has been silent for {format_duration(patience_s)}",
                where={"host": self.name},
                hint="check the host's load and disk",
            ) from None
        except ValueError as error:
            raise other_version(self.name, str(error)) from None
        if frame is None:
            raise self._not_started()
        kind, _, payload = frame
        try:
            hello: Mapping[str, Any] = _object(payload) if kind == FrameKind.HELLO else {}
            protocol, version = hello["protocol"], hello["identity"]["version"]
        except (ValueError, KeyError, TypeError):
            raise other_version(self.name, str(_nonsense(payload))) from None
        if protocol != PROTOCOL or _plain(version) != _plain(venturi.__version__):
            raise other_version(
                self.name,
                f"it is of version {version} (protocol {protocol}), "
                f"this Venturi of {venturi.__version__} (protocol {PROTOCOL})",
            )
        if not all(isinstance(hello.get(name), kind) for name, kind in _WHO.items()):
            raise other_version(self.name, str(_nonsense(payload)))
        return hello

    def _not_started(self) -> VenturiError:
        status = self._far.status()
        why = self._far.last_word()
        if "unrecognized subcommand" in why:
            return other_version(self.name, "it cannot be a host yet")
        return VenturiError(
            "VEN-HOST-START",
            f"the agent of {self.name} did not start: {why or f'status {status}'}",
            where={"host": self.name, "status": status},
            hint="run the same command by hand for details",
        )


def _object(payload: bytes) -> dict[str, Any]:
    """Return the JSON object in a frame; ValueError if it isn't one."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        raise _nonsense(payload) from None
    if not isinstance(found, dict):
        raise _nonsense(payload)
    return found


def _nonsense(said: bytes | bytearray) -> ValueError:
    return ValueError(f"it says {bytes(said[:80])!r}")


def _plain(version: object) -> str:
    """Normalize the parts of pre-release versions that Rust and Python write differently."""
    return str(version).replace("-", "").replace(".", "")


def _lost(name: str, why: str) -> VenturiError:
    return VenturiError(
        "VEN-HOST-LOST",
        f"the connection to {name} was lost: {why}",
        where={"host": name},
        hint="all its processes there were ended. Check the host and its network, and start again",
    )


def other_version(name: str, how: str, more: Mapping[str, object] | None = None) -> VenturiError:
    """Return VEN-HOST-VERSION for the host `name`, with an agent of a different version; `how` is
    the evidence.
    """
    return VenturiError(
        "VEN-HOST-VERSION",
        f"the agent of {name} has a different version: {how}",
        where={"host": name, **(more or {})},
        hint="run `venturi cluster push CLUSTER.toml` to install the matching agent",
    )
