"""The bytes that an engine says it read and wrote, next to the disk I/O of its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from venturi.record.job_account import has_tables, load
from venturi.web.io.page import IoAmount

if TYPE_CHECKING:
    from venturi.measure.hosts.trace_results import TraceOwners
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

_SHUFFLE = ("shuffle_data", "shuffle_index", "shuffle_checksum")
# A name, what the disks do, for which files, and the tasks' metrics of the engine's bytes.
_AMOUNTS = (
    ("input read", "read", ("input",), ("inputBytesRead",)),
    ("shuffle data written", "write", _SHUFFLE, ("shuffleBytesWritten",)),
    ("shuffle data read", "read", _SHUFFLE, ("shuffleLocalBytesRead", "shuffleRemoteBytesRead")),
    ("spilled", "write", ("spill",), ("diskBytesSpilled",)),
    ("output written", "write", ("output",), ("outputBytesWritten",)),
)


def amounts_of(
    repository: TrialRepository, trial: Trial, owners: TraceOwners
) -> Iterator[IoAmount]:
    """The amounts in the account of `trial`; none without an account."""
    if not has_tables(trial):
        return
    tasks = load(repository, trial).tasks
    for what, operation, classes, metrics in _AMOUNTS:
        if not set(metrics) <= set(tasks.columns):
            continue
        engine = sum(int(tasks[metric].sum() or 0) for metric in metrics)
        disk = sum(
            each.bytes
            for each in owners.shares
            if each.operation == operation and each.file_class in classes
        )
        if engine > 0:
            yield IoAmount(what, engine, disk)
