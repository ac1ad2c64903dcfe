"""Imports the logs of a folder in several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

from venturi.cli.results.import_messages import FileOutcome, application_lines
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.record.importing.formats import Format, Log

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from venturi.record.store.repository import TrialRepository

_LOGS_PER_WORKER = 10
"""A worker takes as long to start as it takes to import about this many small logs."""
_WORKERS_MOST = 8  # the database has one writer at a time
_FRUITLESS_MOST = 3
"""After so many rounds in which each process was killed, the import gives up."""


def workers_for(logs: int) -> int:
    """The number of processes that import `logs` logs; 1: don't start any."""
    return min(len(os.sched_getaffinity(0)), logs // _LOGS_PER_WORKER, _WORKERS_MOST)


def import_logs(
    format_: Format,
    logs: Sequence[Log],
    workers: int,
    labels: Mapping[str, str],
    *,
    first_screen: bool,
) -> Iterator[list[FileOutcome]]:
    """Import each of `logs`, which lie in one folder; yield the outcomes of each, in their order.

    The trials get `labels`. If a process is killed, each log that it may have had is imported by a
    process of its own. If that is killed too, the log has the error VEN-IMPORT-WORKER.
    """
    begin = partial(_pool, format_, labels, first_screen)
    found: dict[int, list[FileOutcome]] = {}
    waiting, yielded, fruitless = list(range(len(logs))), 0, 0
    while waiting:
        fruitless += 1
        left = []
        with begin(workers) as pool:
            for place, outcomes in _imported(pool, logs, waiting):
                if outcomes is None:
                    left.append(place)
                    continue
                found[place], fruitless = outcomes, 0
                while yielded in found:
                    yield found.pop(yielded)
                    yielded += 1
        # A log may kill its process: those that were begun are tried on their own.
        begun, waiting = left[:workers], left[workers:]
        for place in begun:
            with begin(1) as pool:
                ((_, outcomes),) = _imported(pool, logs, [place])
            found[place] = outcomes or [_killed_twice(logs[place])]
            fruitless = fruitless if outcomes is None else 0
        if fruitless >= _FRUITLESS_MOST and waiting:
            raise _killed("processes that read the logs are killed again and again")
    yield from (found[place] for place in range(yielded, len(logs)))


def _imported(
    pool: ProcessPoolExecutor, logs: Sequence[Log], places: Sequence[int]
) -> Iterator[tuple[int, list[FileOutcome] | None]]:
    """Yield the outcomes of each log; None for those that a pool with a killed process left."""
    from concurrent.futures import BrokenExecutor

    futures = []
    with _without_interrupts(), suppress(BrokenExecutor):
        for place in places:
            futures.append(pool.submit(_import_log, logs[place]))
    for place, future in zip_longest(places, futures):
        try:
            yield place, None if future is None else future.result()
        except BrokenExecutor:
            yield place, None


def _killed_twice(log: Log) -> FileOutcome:
    message = "its process was killed while it read this log, and a fresh one was killed again"
    return FileOutcome(log.path, None, error=_killed(message))


def _killed(message: str) -> VenturiError:
    hint = "free memory and import again: what is imported stays"
    return VenturiError("VEN-IMPORT-WORKER", message, hint=hint)


@contextmanager
def _pool(
    format_: Format, labels: Mapping[str, str], first_screen: bool, workers: int
) -> Iterator[ProcessPoolExecutor]:
    """Start processes that import logs; end them without waiting for logs that aren't begun."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fork would take over locks of threads that don't exist in the new process.
    context, options = get_context("spawn"), (format_, dict(labels), first_screen)
    pool = ProcessPoolExecutor(workers, context, _begin, options)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C until they are ready for it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True)
class _ImportProcess:
    """The state of a process between logs."""

    format: Format
    repository: TrialRepository
    first_screen: bool


_worker: _ImportProcess | None = None


def _begin(format_: Format, labels: Mapping[str, str], first_screen: bool) -> None:
    global _worker  # noqa: PLW0603 - a pool has no other place for it
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent answers
    Thread(target=_end_with_parent, daemon=True).start()
    from venturi.record.store.repository import TrialRepository

    repository = TrialRepository.open(settings.load(), labels=labels)
    _worker = _ImportProcess(format_, repository, first_screen)


def _end_with_parent() -> NoReturn:
    """End this process once its parent was killed; it would wait for more logs forever."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _import_log(log: Log) -> list[FileOutcome]:
    from venturi.record.importing.importer import found_in_log

    worker = _worker
    assert worker is not None
    outcomes = []
    for file, take in found_in_log(worker.format, log):
        if take is None:
            outcomes.append(FileOutcome(file, None, skipped=True))
            continue
        try:
            imported = take(worker.repository, lambda done, total: None)
        except VenturiError as error:
            outcomes.append(FileOutcome(file, worker.format.name, error=error))
            continue
        found = FileOutcome(file, worker.format.name, imported)
        lines = application_lines(worker.repository, found, first_screen=worker.first_screen)
        outcomes.append(replace(found, lines=lines))
    return outcomes
