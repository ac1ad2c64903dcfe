"""Imports the logs of a folder in several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

from venturi.cli.results.import_messages import FileOutcome, application_lines
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.record.importing.formats import Format, Log

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

_LOGS_PER_WORKER = 10
"""A worker takes as long to start as it takes to import about this many small logs."""
_WORKERS_MOST = 8  # the database has one writer at a time


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

    The trials get `labels`. If a process is killed, VEN-IMPORT-WORKER is raised; what it has
    stored remains.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        workers,
        # A fork would take over locks of threads that don't exist in the new process.
        get_context("spawn"),
        _begin,
        (format_, dict(labels), first_screen),
    )
    try:
        with _without_interrupts():
            outcomes = pool.map(_import_log, logs)
        yield from outcomes
    except BrokenProcessPool as error:
        raise VenturiError(
            "VEN-IMPORT-WORKER",
            f"one of {workers} processes that read the logs was killed",
            hint="import again: it goes on where it stopped. If memory was short, import a part of "
            "the files",
        ) from error
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
