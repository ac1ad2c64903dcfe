"""The offset of a host's clock from this machine's, with its maximum error.

A request goes to the host, and its time comes back: its clock was read at some instant in between.
Taken in the middle, the offset is wrong by at most half the round trip, so the shortest of several
counts (F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989, 146-158;
NTP's clock filter, RFC 5905, section 10, is of this kind).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from venturi.measure.hosts.host import LiveHost

ROUNDS = 8


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """One exchange with a host: send and receive times by the local clock, and the host's clock
    between them, in seconds since 1970.
    """

    left_s: float
    there_s: float
    came_s: float


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """A host's clock less this machine's; the true value is within `error_s` of `offset_s`."""

    offset_s: float
    error_s: float


def offset_of(rounds: Sequence[RoundTrip]) -> ClockOffset:
    """The offset by the shortest of `rounds`, which are at least one."""
    best = min(rounds, key=lambda each: each.came_s - each.left_s)
    middle_s = best.left_s + (best.came_s - best.left_s) / 2
    return ClockOffset(best.there_s - middle_s, (best.came_s - best.left_s) / 2)


def measure(host: LiveHost, rounds: int = ROUNDS) -> ClockOffset:
    """Measure the offset of the clock of `host`."""
    # Measure intervals with the monotonic clock: the wall clock may be adjusted between the
    # readings.
    began_s, began = time.time(), time.monotonic()

    def now_s() -> float:
        return began_s + (time.monotonic() - began)

    return offset_of([RoundTrip(now_s(), host.unix_time_s(), now_s()) for _ in range(rounds)])
