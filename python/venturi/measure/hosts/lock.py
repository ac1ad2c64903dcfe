"""One measurement at a time: a lock on each host, held while a command measures there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import locked
from venturi.record.access.owner import current_owner, is_alive
from venturi.record.store import file_lock
from venturi.record.trial import Owner, now

_LOOK_AGAIN_S = 0.5
_ENDING_S = 5.0
_HERE = "this host"
OnWait = Callable[[str], None]


@contextmanager
def alone(
    path: Path, what: str, *, wait: bool = False, on_wait: OnWait | None = None
) -> Iterator[None]:
    """Hold this machine's lock, in the file `path`, while `what` measures; the kernel releases it
    with the process.

    If another process holds it: raise VEN-MEASURE-BUSY, which names the holder, or with `wait` wait
    for it, after calling `on_wait` once with the holder.
    """
    try:
        with _alone({_HERE: partial(locked, path)}, what, wait, on_wait, shared=False):
            yield
    except _NoLockError as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"the lock file of measurements cannot be opened: {error.why.strerror}",
            where={"file": str(path)},
            hint="set VENTURI_LOCK to a file that you can write to",
        ) from error


@contextmanager
def alone_on(
    hosts: Mapping[str, LiveHost], what: str, *, wait: bool = False, on_wait: OnWait | None = None
) -> Iterator[None]:
    """Hold the lock of each of `hosts`, as `alone` does for this machine: all of them or, while
    waiting, none. Hosts on one machine have the same lock, and holding it once is enough.

    Each lock ends with this process, with the link, and with that host's agent. Take it after this
    machine's.
    """
    try:
        locks = {name: host.lock for name, host in hosts.items()}
        with _alone(locks, what, wait, on_wait, shared=True):
            yield
    except _NoLockError as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"on {error.name} the lock file of measurements cannot be opened: {error.why.strerror}",
            where={"host": error.name, "file": error.why.filename},
            hint="ask its owner to make it readable and writable for others, or to remove it",
        ) from error


def measuring(path: Path) -> str | None:
    """Return the current holder of the lock in the file `path`; None if this host isn't being
    measured.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # no measurement so far
        return None
    try:
        return _holder_text(file_lock.holder(file)) if file_lock.is_taken(file) else None
    finally:
        os.close(file)


class _NoLockError(Exception):
    def __init__(self, name: str, why: OSError) -> None:
        super().__init__(name)
        self.name, self.why = name, why


@contextmanager
def _alone(
    locks: Mapping[str, Callable[[str], AbstractContextManager[str | None]]],
    what: str,
    wait: bool,
    on_wait: OnWait | None,
    *,
    shared: bool,
) -> Iterator[None]:
    """Hold all `locks`; with `shared` a lock that this process already holds is enough."""
    owner = asdict(current_owner())
    about = json.dumps({"what": what, "since": now().isoformat(timespec="seconds")} | owner)
    told = False
    begun_s = time.monotonic()
    while True:
        with ExitStack() as stack:
            busy = _first_busy(locks, about, owner if shared else None, stack)
            if busy is None:
                yield
                return
        name, held = busy
        holder = _holder_text(held)
        if _has_ended(held) and time.monotonic() - begun_s < _ENDING_S:
            time.sleep(_LOOK_AGAIN_S / 10)
            continue
        if not wait:
            raise VenturiError(
                "VEN-MEASURE-BUSY",
                f"another command is measuring on {name}: {holder}",
                where={} if name == _HERE else {"host": name},
                hint="wait until it has ended, or add --wait",
            )
        if not told and on_wait is not None:
            on_wait(holder if name == _HERE else f"{holder}, on {name}")
        told = True
        time.sleep(_LOOK_AGAIN_S)


def _first_busy(
    locks: Mapping[str, Callable[[str], AbstractContextManager[str | None]]],
    about: str,
    owner: Mapping[str, object] | None,
    stack: ExitStack,
) -> tuple[str, str] | None:
    """Take the locks in turn. Return the name of the first lock that anyone but `owner` holds, and
    its content; None if all are taken.
    """
    for name, lock in locks.items():
        try:
            held = stack.enter_context(lock(about))
        except OSError as error:
            raise _NoLockError(name, error) from error
        ours = held is not None and owner is not None and owner.items() <= _known(held).items()
        if held is not None and not ours:
            return name, held
    return None


def _known(held: str) -> Mapping[str, object]:
    try:
        known = json.loads(held)
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _has_ended(held: str) -> bool:
    """Return whether its holder was killed: a child that it was starting keeps the lock for an
    instant.
    """
    known = _known(held)
    try:
        owner = Owner(**{field.name: known[field.name] for field in fields(Owner)})  # type: ignore[arg-type]
    except KeyError:
        return False
    return not is_alive(owner)


def _holder_text(held: str) -> str:
    known = _known(held)
    try:
        process = f"process {known['pid']}"
        name = str(known["host"]).partition("/")[0]
        if known["host"] != current_owner().host:
            process += f" on {name}"
        return f"{known['what']} ({process}, since {known['since']})"
    except KeyError:
        return "another command"
