"""Limits of connections: their number, the time of each phase, and which one to close first.

uvicorn bounds none of this: its own timeout is for the time between requests, and any byte ends it.
A connection is in one of four phases. In three of them the server waits for the client, with a
deadline. If one phase has too many connections, the server closes the one that loses least, so
clients that hold connections open don't block others.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from venturi.core.settings import ServerLimits

LOG = logging.getLogger("venturi.connections")
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)
_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class ConnectionState(StrEnum):
    """A connection's phase; `waiting` is for a request, whole or the rest of its header."""

    WAITING = "waiting"
    RECEIVING = "receiving"
    WORKING = "working"
    SENDING = "sending"


class Connections(ServerState):
    """All connections of a server, by phase and in the order in which they came into it.

    `refused` counts the refused or aborted ones, by reason. A proxy, of `proxies`, has as many as
    there are in all.
    """

    def __init__(self, limits: ServerLimits, proxies: Sequence[str]) -> None:
        super().__init__()
        self._proxies = [ipaddress.ip_network(each) for each in proxies]
        self.limits = limits
        self.phases: dict[ConnectionState, dict[Connection, None]] = {
            phase: {} for phase in ConnectionState
        }
        self.refused: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()

    def admit(self, new: Connection) -> None:
        """Make room for `new`; it is refused if all others are active."""
        limits, waiting = self.limits, self.phases[ConnectionState.WAITING]
        self._of_address[new.address] += 1
        self._enter(new, ConnectionState.WAITING, limits.header_timeout_s)
        others: Iterable[Connection]
        most = limits.connections_by_address_max
        if self._of_address[new.address] > most and not self._is_proxy(new):
            reason = "connections of one address"
            others = (each for each in waiting if each.address == new.address)
        elif sum(map(len, self.phases.values())) > limits.connections_max:
            reason, others = "connections", iter(waiting)
        else:
            return
        longest = next(iter(others))  # the last of them is `new`
        longest.break_off(reason, _BUSY if longest is new else b"")

    def settle(self, one: Connection) -> None:
        """Record the present phase of `one`."""
        phase, limits = one.seen_phase(), self.limits
        if one.phase in (None, phase):
            return
        timeout_s = {
            ConnectionState.WAITING: limits.idle_timeout_s,
            ConnectionState.RECEIVING: limits.body_timeout_s,
            ConnectionState.WORKING: None,
            ConnectionState.SENDING: self._transfer_s(limits.send_timeout_s, one.unsent_bytes()),
        }[phase]
        self._enter(one, phase, timeout_s)
        if phase is ConnectionState.RECEIVING and len(self.phases[phase]) > limits.bodies_max:
            others = [each for each in self.phases[phase] if each is not one]
            min(others, key=Connection.received_bytes_per_s).break_off("bodies", _BUSY)
        if phase is ConnectionState.SENDING:
            sending = self.phases[phase]
            while sum(each.unsent_bytes() for each in sending) > limits.unsent_bytes_max:
                next(iter(sending)).break_off("unsent bytes")

    def counts(self) -> dict[str, int]:
        """How many connections there are in each phase."""
        return {phase.value: len(those) for phase, those in self.phases.items()}

    def header_begins(self, one: Connection) -> None:
        """The first byte of a request has come: the rest has to follow soon."""
        one.deadline_s = time.monotonic() + self.limits.header_timeout_s

    def body_grows(self, one: Connection) -> None:
        """More of a body has come, which gives the rest more time."""
        allowed_s = self._transfer_s(self.limits.body_timeout_s, one.received_bytes)
        one.deadline_s = one.since_s + allowed_s

    def leave(self, one: Connection) -> None:
        """Forget `one`, a connection that ends; a second call does nothing."""
        if one.phase is None:
            return
        del self.phases[one.phase][one]
        one.phase = None
        self._of_address[one.address] -= 1
        if not self._of_address[one.address]:
            del self._of_address[one.address]

    def sweep(self) -> None:
        """Breaks off those that are too late."""
        now_s = time.monotonic()
        for one in list(self.phases[ConnectionState.SENDING]):
            self.settle(one)  # nothing says when the last byte has gone
        for phase in (ConnectionState.WAITING, ConnectionState.RECEIVING, ConnectionState.SENDING):
            for one in [each for each in self.phases[phase] if each.deadline_s < now_s]:
                if phase is ConnectionState.WAITING and not one.begun:
                    one.close()
                else:
                    late = b"" if phase is ConnectionState.SENDING else _LATE
                    one.break_off(f"{phase} too slow", late)

    def _is_proxy(self, one: Connection) -> bool:
        try:
            address = ipaddress.ip_address(one.client[0] if one.client else "")
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _enter(self, one: Connection, phase: ConnectionState, timeout_s: float | None) -> None:
        if one.phase is not None:
            del self.phases[one.phase][one]
        self.phases[phase][one] = None
        one.phase, one.begun, one.received_bytes = phase, False, 0
        one.since_s = time.monotonic()
        one.deadline_s = float("inf") if timeout_s is None else one.since_s + timeout_s

    def _transfer_s(self, timeout_s: float, bytes_: int) -> float:
        return timeout_s + bytes_ / self.limits.transfer_bytes_per_s_min


class Connection(H11Protocol):
    """uvicorn's connection, which reports its phases to `Connections`."""

    server_state: Connections
    address = ""
    phase: ConnectionState | None = None
    begun = False
    since_s = deadline_s = 0.0
    received_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, or refuse it."""
        super().connection_made(transport)
        self.address = _address(self.client)
        self.server_state.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister the connection."""
        self.server_state.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self.phase is None:
            return
        if self.phase is ConnectionState.WAITING and not self.begun:
            self.begun = True
            self.server_state.header_begins(self)
        super().data_received(data)
        if self.phase is ConnectionState.RECEIVING:
            self.received_bytes += len(data)
            self.server_state.body_grows(self)
        self.server_state.settle(self)

    def on_response_complete(self) -> None:
        """The answer is written, though perhaps not taken."""
        super().on_response_complete()
        self.server_state.settle(self)

    def pause_writing(self) -> None:
        """The client takes the answer more slowly than it is made."""
        super().pause_writing()
        self.server_state.settle(self)

    def resume_writing(self) -> None:
        """The client has taken most of the answer."""
        super().resume_writing()
        self.server_state.settle(self)

    def seen_phase(self) -> ConnectionState:
        """The phase, by the state of request and answer."""
        if self.cycle is None or self.cycle.response_complete:
            return ConnectionState.SENDING if self.unsent_bytes() else ConnectionState.WAITING
        if self.flow.write_paused:
            return ConnectionState.SENDING
        return ConnectionState.RECEIVING if self.cycle.more_body else ConnectionState.WORKING

    def unsent_bytes(self) -> int:
        """Bytes of the answer that the client hasn't taken, without those in the
        kernel's buffers.
        """
        return self.transport.get_write_buffer_size()

    def received_bytes_per_s(self) -> float:
        """How fast the body comes; of one that has just begun nothing is known."""
        elapsed_s = time.monotonic() - self.since_s
        return self.received_bytes / elapsed_s if elapsed_s > 1 else float("inf")

    def close(self) -> None:
        """End the connection once the client has taken the answer."""
        self.server_state.leave(self)
        self.transport.close()

    def break_off(self, reason: str, said: bytes = b"") -> None:
        """End the connection now, with an error if no answer has begun."""
        self.server_state.leave(self)
        self.server_state.refused[reason] += 1
        LOG.warning("broken off: %s", reason)
        if said and (self.cycle is None or not self.cycle.response_started):
            self.transport.write(said)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()


def _address(client: tuple[str, int] | None) -> str:
    """Return the unit that counts as one address: for IPv6 the /64 network, because each host has
    many addresses in it.
    """
    if client is None:
        return ""
    try:
        address = ipaddress.ip_address(client[0].partition("%")[0])
    except ValueError:
        return client[0]
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
