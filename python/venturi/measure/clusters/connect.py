"""Work on all hosts of a cluster concurrently. Name the hosts that fail, and keep the results of
the others.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from venturi.core.errors import VenturiError, refused
from venturi.core.units import format_duration
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.hosts import threads
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.link import UNFIT, other_version

T = TypeVar("T")
Open = Callable[[HostSpec], AbstractContextManager[LiveHost]]
"""How a host is connected; only the command line knows all ways."""

CONNECT_S = 30.0
CLOSE_S = 40.0
"""A link gives the processes that it started on the host 30 s to end."""


@dataclass(frozen=True, slots=True)
class HostResults(Generic[T]):
    """The results and failures by host, both in the order of the request."""

    results: Mapping[str, T]
    failures: Mapping[str, VenturiError]

    def all(self) -> Mapping[str, T]:
        """The results; the first failure is raised, with the names of all."""
        for error in self.failures.values():
            error.where = {**error.where, "hosts that failed": ", ".join(self.failures)}
            raise error
        return self.results


def on_each(
    names: Iterable[str],
    work: Callable[[str], T],
    *,
    timeout_s: float,
    on_done: Callable[[int], None] = lambda done: None,
) -> HostResults[T]:
    """Call `work` for all hosts' names concurrently, and return the results. Hosts that raise a
    VenturiError, an OSError or one of UNFIT (an answer of the wrong shape), or that exceed
    `timeout_s`, are among the failures; any other error is raised.

    `on_done` receives the number of finished hosts. A late call continues, and its result is
    dropped.
    """
    wanted = tuple(names)
    answers: queue.SimpleQueue[tuple[str, T | None, BaseException | None]] = queue.SimpleQueue()

    def one(name: str) -> None:
        try:
            answers.put((name, work(name), None))
        except BaseException as error:
            answers.put((name, None, error))

    for name in wanted:
        thread = threading.Thread(target=one, args=(name,), name=f"host {name}", daemon=True)
        try:
            threads.start(thread)
        except OSError as refusal:
            answers.put((name, None, refusal))
    deadline_s = time.monotonic() + timeout_s
    results: dict[str, T] = {}
    failures: dict[str, VenturiError] = {}
    while (done := len(results) + len(failures)) < len(wanted):
        on_done(done)
        try:
            name, result, error = answers.get(timeout=max(deadline_s - time.monotonic(), 0))
        except queue.Empty:
            break
        if error is None:
            results[name] = result  # type: ignore[assignment]
        else:
            failures[name] = _host_error(error, name)
    on_done(done)
    for name in wanted:
        if name not in results and name not in failures:
            failures[name] = _late(name, timeout_s)
    return HostResults(
        {name: results[name] for name in wanted if name in results},
        {name: failures[name] for name in wanted if name in failures},
    )


@contextmanager
def connected(
    spec: ClusterSpec,
    open_host: Open,
    *,
    timeout_s: float = CONNECT_S,
    on_done: Callable[[int], None] = lambda done: None,
) -> Iterator[HostResults[LiveHost]]:
    """Connect to all hosts of a cluster concurrently, and yield them by name until the block is
    left.
    """
    specs = {each.name: each for each in spec.hosts}
    opened: dict[str, AbstractContextManager[LiveHost]] = {}
    over = False
    lock = threading.Lock()

    def open_one(name: str) -> LiveHost:
        manager = open_host(specs[name])
        host = manager.__enter__()
        with lock:
            if not over:
                opened[name] = manager
                return host
        manager.__exit__(None, None, None)  # too late: the caller has stopped waiting
        raise _late(name, timeout_s)

    def close_one(name: str) -> None:
        opened[name].__exit__(None, None, None)

    try:
        try:
            outcome = on_each(specs, open_one, timeout_s=timeout_s, on_done=on_done)
        finally:
            with lock:
                over = True
        yield outcome
    finally:
        on_each(tuple(opened), close_one, timeout_s=CLOSE_S)


def _host_error(error: BaseException, name: str) -> VenturiError:
    if isinstance(error, OSError):
        return refused(error, f"on {name}", where={"host": name})
    if isinstance(error, UNFIT):
        what = f"its answer cannot be read ({type(error).__name__}: {error})"
        told = other_version(name, what)
        told.__cause__ = error
        return told
    if not isinstance(error, VenturiError):
        raise error
    error.where = {"host": name, **error.where}
    return error


def _late(name: str, timeout_s: float) -> VenturiError:
    return VenturiError(
        "VEN-HOST-TIMEOUT",
        f"{name} did not finish within {format_duration(timeout_s)}",
        where={"host": name},
        hint="check the host's load, network and disks",
    )
