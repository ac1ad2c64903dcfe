"""`venturi ingest`: trials from the logs that engines write of their own jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.progress import progress_bars
from venturi.cli.repository import open_repository
from venturi.errors import ExitCode, VenturiError, unreadable

if TYPE_CHECKING:
    from venturi.record.accounts.find import Log
    from venturi.record.job_account import JobAccount
    from venturi.record.repository import Repository
    from venturi.record.trial import Trial

    Find = Callable[[Path], list[Log]]
    Read = Callable[[Log, Callable[[int], None] | None], JobAccount]

_SHOWN = 10
_REFUSED_SHOWN = 5
_paths = click.argument(
    "paths", nargs=-1, required=True, metavar="DIR|FILE...",
    type=click.Path(path_type=Path),
)  # fmt: skip


@click.group()
def command() -> None:
    """Read the logs that Spark and MapReduce write of their own jobs.

    Each application becomes an imported trial with its stages, its configuration, and tables of its
    jobs, stages, tasks and executors; `venturi show` tells where its time went. The same log is
    taken in once. An application that failed or never ended is kept as failed or interrupted.
    """


@command.command("spark-eventlog")
@_paths
@json_option
def spark_eventlog(paths: tuple[Path, ...], as_json: bool) -> int:
    """Read Spark event logs: files, rolling folders (eventlog_v2_*), or folders of both.

    Spark 2 to 4; plain, or compressed with lz4, zstd, snappy or gzip. Of a log that was cut off,
    what it holds is taken in. The exit status is 1 if any file is no event log.
    """
    from venturi.record.accounts import spark
    from venturi.record.accounts.find import spark_logs

    return _ingest(
        "event log",
        paths,
        spark_logs,
        lambda log, progress: spark.read(log, progress=progress),
        as_json,
    )


@command.command("mapreduce-history")
@_paths
@json_option
def mapreduce_history(paths: tuple[Path, ...], as_json: bool) -> int:
    """Read MapReduce job histories: .jhist files, or folders that hold some at any depth.

    Hadoop 2 and 3; the configuration (JOBID_conf.xml) is read where it lies beside a history. The
    exit status is 1 if any file is no history.
    """
    from venturi.record.accounts import mapreduce
    from venturi.record.accounts.find import histories

    return _ingest(
        "job history",
        paths,
        histories,
        lambda log, progress: mapreduce.read(log, progress=progress),
        as_json,
    )


def _ingest(what: str, paths: tuple[Path, ...], find: Find, read: Read, as_json: bool) -> int:
    for path in paths:
        try:
            path.stat()
        except OSError as error:
            raise unreadable(path, error, "VEN-INGEST-FORMAT") from error
    data: list[dict[str, Any]] = []
    refused = taken = 0
    with open_repository() as repository:
        for path in paths:
            try:
                logs = find(path)
            except VenturiError as error:
                refused += 1
                data.append(_refused(path, error, refused))
                continue
            for log in logs:
                try:
                    with _reading(log) as progress:
                        account = read(log, progress)
                    trial, added = _keep(repository, account)
                except VenturiError as error:
                    refused += 1
                    data.append(_refused(log.path, error, refused))
                    continue
                taken += 1
                data.append(_fields(log, account, trial, added))
                _tell(log, account, trial, added)
    if refused > _REFUSED_SHOWN:
        click.echo(f"and {refused - _REFUSED_SHOWN:,} more refused; --json has all", err=True)
    if refused and not taken:
        click.echo(f"no {what} found in {', '.join(map(str, paths))}", err=True)
    if as_json:
        print_json(data)
    return ExitCode.USER if refused else ExitCode.OK


def _refused(path: Path, error: VenturiError, number: int) -> dict[str, Any]:
    if number <= _REFUSED_SHOWN:
        click.echo(f"{path}: refused: [{error.code}] {error.message}", err=True)
    return {"file": str(path), "error": error.as_dict()}


def _keep(repository: Repository, account: JobAccount) -> tuple[Trial, bool]:
    """The trial of `account`, and whether it is new: a log that is here already stays as it is."""
    from venturi.record.accounts.trial import trial_of
    from venturi.record.job_account import attach

    trial = trial_of(account)
    try:
        return repository.get(trial.id), False
    except VenturiError as error:
        if error.code != "VEN-RECORD-UNKNOWN":
            raise
    # Its files first: a trial that is recorded has all of them.
    trial = attach(repository, trial, account)
    return trial, repository.add_many([trial]).added == 1


def _fields(log: Log, account: JobAccount, trial: Trial, added: bool) -> dict[str, Any]:
    reading = account.reading
    return {
        "file": str(log.path),
        "trial": trial.id,
        "added": added,
        "application": account.application.id,
        "state": trial.state.value,
        "failure": None if trial.failure is None else trial.failure.message,
        "elapsed_s": trial.elapsed_s,
        "jobs": len(account.jobs),
        "stages": len(account.stages),
        "task_attempts": len(account.tasks),
        "events": reading.events,
        "skipped": dict(reading.skipped),
        "unknown": dict(reading.unknown),
        "damaged": dict(reading.damaged),
        "malformed": reading.malformed,
        "oversized": reading.oversized,
        "truncated": reading.truncated,
    }


def _tell(log: Log, account: JobAccount, trial: Trial, added: bool) -> None:
    reading = account.reading
    # What a log says is shown with !r: it may hold what a terminal would obey.
    click.echo(
        f"{log.path}: {'added' if added else 'already here'}: trial {trial.id}, "
        f"{account.application.name!r}, {trial.state.value}; {len(account.stages):,} stages, "
        f"{len(account.tasks):,} attempts at tasks, {reading.events:,} events, of them "
        f"{sum(reading.skipped.values()):,} of no use, "
        f"{sum(reading.unknown.values()):,} unknown",
        err=True,
    )
    if trial.failure is not None:
        click.echo(f"  {trial.failure.kind}: {trial.failure.message!r}", err=True)
    for warning in trial.warnings[:_SHOWN]:
        click.echo(f"  {warning.message!r}", err=True)
    if len(trial.warnings) > _SHOWN:
        click.echo(f"  and {len(trial.warnings) - _SHOWN} more warnings; --json has all", err=True)


@contextmanager
def _reading(log: Log) -> Iterator[Callable[[int], None] | None]:
    """Shows how much text was read, where somebody looks."""
    with progress_bars() as show:
        if show is None:
            yield None
            return
        from venturi.measure.hosts.agent import Progress

        start_s = time.monotonic()
        yield lambda done: show(
            Progress(f"read {log.path.name}", done, None, "bytes", time.monotonic() - start_s)
        )
