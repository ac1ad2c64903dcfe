"""Which process works on a trial, and whether it still lives.

A process id alone means little: ids are reused, restart with the machine, and differ from one
container to the next. So an owner is named by host, boot, PID namespace, id and start time.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from venturi.record.trial import Owner

_PROC = Path("/proc")


def current_owner() -> Owner:
    """This process."""
    state, ticks = _process(os.getpid()) or ("R", 0)
    assert state not in _ENDED
    return Owner(_host(), _boot(), os.getpid(), ticks)


def is_alive(owner: Owner) -> bool:
    """False only where it is certain that `owner` has ended.

    A process of another host or container cannot be seen from here and counts as alive; so does
    one of an earlier boot if the host has no machine id that proves it is the same host.
    """
    if owner.host != _host():
        return True
    if owner.boot_id != _boot():
        rebooted = owner.boot_id.partition(":")[0] != _boot().partition(":")[0]
        return not (rebooted and "/" in owner.host)
    process = _process(owner.pid)
    if process is None:
        return False
    state, ticks = process
    return state not in _ENDED and ticks == owner.process_started_ticks


_ENDED = frozenset("ZX")  # zombie, dead: see proc(5)


def _host() -> str:
    """`name/machine-id`, or the name alone where there is no machine id (some containers)."""
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    return f"{socket.gethostname()}/{machine}" if machine else socket.gethostname()


def _boot() -> str:
    """`boot-id:namespace`, within which a process id has one meaning."""
    boot_id = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot_id}:{(_PROC / 'self/ns/pid').readlink()}"


def _process(pid: int) -> tuple[str, int] | None:
    """State letter and start time (clock ticks since boot) of `pid`; None if no such process."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything; fields 3 and 22 of proc(5) come after it.
    fields = stat.rpartition(")")[2].split()
    return fields[0], int(fields[19])
