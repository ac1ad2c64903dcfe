"""An account as a trial: stages as phases, sums as samples, settings as configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from venturi.core.errors import VenturiError
from venturi.core.units import format_figure
from venturi.core.wording import count_of, joined
from venturi.jobs.logs.columnar import TOO_MANY
from venturi.record.account_tables import MOMENT
from venturi.record.gaps import gaps_of
from venturi.record.importing.items import SOFTWARE, imported_id
from venturi.record.importing.tally import ImportReport, Tally
from venturi.record.job_account import (
    NOT_RECORDED,
    TIERS_SETTING,
    AccountReading,
    JobAccount,
    attach,
    has_tiers,
)
from venturi.record.limits import fitted
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Phase,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    State,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.record.upkeep.locks import import_lock

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

FAILED = "VEN-INGEST-FAILED"
UNFINISHED = "VEN-INGEST-UNFINISHED"
UNKNOWN = "VEN-INGEST-UNKNOWN"
QUEUE_FULL = (
    "Spark's listener queue dropped events (raise spark.scheduler.listenerbus.eventqueue.capacity)"
)
LOST = "VEN-INGEST-LOST"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 1 << 47  # beyond any date that a log can mean
_PHASES = 500
_DISMISSED = "killed by driver"  # as dynamic allocation does with idle executors
_UNITS = {"ms": ("s", 1e-3), "ns": ("s", 1e-9), "B": ("B", 1.0), "1": ("1", 1.0)}


def take_in(repository: TrialRepository, accounts: Iterable[JobAccount]) -> ImportReport:
    """Takes in the applications of `accounts`; one that is here already stays as it is."""
    tally = Tally()
    for account in accounts:
        trial, added = _take(repository, account)
        tally.arrive(trial, added=added, account=_application_facts(account, trial))
    return tally.done()


def _take(repository: TrialRepository, account: JobAccount) -> tuple[Trial, bool]:
    """The trial of `account`, and whether it was not here before."""
    # A log can't be measured again: oversized parts are cut, with a warning in the trial.
    trial = fitted(trial_of(account), repository.limits)
    try:
        return repository.get(trial.id), False
    except VenturiError as error:
        if error.code != "VEN-RECORD-UNKNOWN":
            raise
    # Its files first: a trial that is recorded has all of them.
    repository.require_admitted(trial.id)
    with import_lock(repository.artifacts_dir.parent):
        trial = attach(repository, trial, account)
        return trial, repository.add_many([trial]).added == 1


def _application_facts(account: JobAccount, trial: Trial) -> dict[str, Any]:
    """The facts shown about an imported application."""
    reading = account.reading
    return {
        "application": account.application.id,
        "name": account.application.name,
        "state": trial.state.value,
        "failure": None if trial.failure is None else trial.failure.message,
        "failure_kind": None if trial.failure is None else trial.failure.kind,
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
        "wrong": list(reading.wrong),
        "truncated": reading.truncated,
        "warnings": [warning.message for warning in trial.warnings],
    }


def trial_of(account: JobAccount) -> Trial:
    """The trial in `account`, imported. The same text gives the same id."""
    application, reading = account.application, account.reading
    source = account.kind.source
    succeeded = application.outcome == "succeeded"
    state, failure = State.SUCCEEDED, None
    if not succeeded:
        state, failure = _failure(account)
    others = {application.engine: application.engine_version}
    if application.java_version is not None:
        others["java"] = application.java_version
    hosts = sorted({host for host in account.executors["host"].to_list() if host})
    started_ms = application.started_ms
    return Trial(
        id=imported_id(source, application.id, application.attempt or "", reading.sha256),
        workload=Workload(application.name[:200], source),
        engine=Engine(application.engine, application.engine_version),
        cluster=Cluster(tuple(Host(host) for host in hosts)),
        configuration={key: account.configuration[key] for key in account.chosen},
        software=Software(SOFTWARE.venturi_version, None, None, others=others),
        provenance=Provenance(ProvenanceKind.IMPORTED, source, reading.sha256),
        started_at=None
        if started_ms is None or started_ms > _LATEST_MS
        else _EPOCH + timedelta(milliseconds=started_ms),
        state=state,
        elapsed_s=application.elapsed_s if succeeded else None,
        phases=phases(account),
        samples=samples(account),
        warnings=tuple(warnings(account)),
        failure=failure,
    )


def _failure(account: JobAccount) -> tuple[State, Failure]:
    application = account.application
    if application.outcome == "failed":
        said = application.reason or "no reason is recorded"
        return State.FAILED, Failure("engine", FAILED, said)
    said = application.reason or "no reason is recorded"
    if account.outcome_unknown:
        return State.UNKNOWN, Failure("unknown", UNKNOWN, said)
    return State.INTERRUPTED, Failure("interrupted", UNFINISHED, said)


def phases(account: JobAccount) -> tuple[Phase, ...]:
    """The stages that ended, in the order of their beginning; of very many, the longest."""
    found = []
    origin_ms = account.application.started_ms
    for row in account.stages.iter_rows(named=True):
        start, end = row["submitted_ms"], row["ended_ms"]
        if origin_ms is not None and start is not None and end is not None and end >= start:
            label = f"{row['stage_id']}" + (f".{row['attempt']}" if row["attempt"] else "")
            name = f"stage {label}: {row['name'] or 'unnamed'}"[:120]
            found.append(Phase(name, (start - origin_ms) / 1e3, (end - start) / 1e3))
    longest = sorted(found, key=lambda phase: -phase.elapsed_s)[:_PHASES]
    return tuple(sorted(longest, key=lambda phase: phase.started_s))


def samples(account: JobAccount) -> tuple[Sample, ...]:
    """Sums over all attempts at tasks (of peaks, the largest), under the engine's own names."""
    return tuple(_samples(account))


def _samples(account: JobAccount) -> Iterator[Sample]:
    application, tasks = account.application, account.tasks
    if application.outcome == "failed" and application.elapsed_s is not None:
        yield Sample("time_to_failure_s", application.elapsed_s, "s")
    gaps = gaps_of(account)
    lacking = gaps.sentence if gaps.lacks else None
    for name, table in (("jobs", account.jobs), ("stages", account.stages)):
        if gaps.n_jobs or gaps.n_stages or gaps.spans:
            recorded = f"{lacking}; {len(table):,} are recorded"
            yield Sample(name, None, "1", missing_reason=recorded)
        else:
            yield Sample(name, float(len(table)), "1")
    for outcome, count in sorted(tasks["outcome"].value_counts().rows()):
        known = float(count) if lacking is None else None
        why = None if lacking is None else f"{lacking}; {count:,} are recorded"
        yield Sample("task_attempts", known, "1", labels={"outcome": outcome}, missing_reason=why)
    for column in account.kind.metrics:
        if column.unit is None or column.unit == MOMENT:
            continue
        unit, scale = _UNITS[column.unit]
        values = tasks[column.name]
        if not values.count():
            yield Sample(column.name, None, unit, missing_reason=NOT_RECORDED)
            continue
        value = values.max() if column.name in account.kind.peaks else values.cast(float).sum()
        assert isinstance(value, int | float)
        if lacking is None:
            yield Sample(column.name, value * scale, unit)
        else:
            why = f"{lacking}; the recorded part is {format_figure(value * scale)} {unit}"
            yield Sample(column.name, None, unit, missing_reason=why)


def warnings(account: JobAccount) -> Iterator[TrialWarning]:
    """Warnings for readers of the account."""
    for said in lost(account.reading):
        yield TrialWarning(LOST, said)
    ended_ms = account.application.ended_ms
    gone = [
        row
        for row in account.executors.iter_rows(named=True)
        if row["removed_ms"] is not None
        and (ended_ms is None or row["removed_ms"] < ended_ms)
        and _DISMISSED not in (row["reason"] or "")
    ]
    if gone:
        first = gone[0]
        yield TrialWarning(
            "VEN-ENGINE-EXECUTOR",
            f"{len(gone)} of {len(account.executors)} executors ended before the application did; "
            f"executor {first['executor_id']} on {first['host']}: "
            f"{first['reason'] or 'no reason is given'}",
        )
    ended_well = account.application.outcome == "succeeded"
    if has_tiers(account.configuration) and account.tiers is None and ended_well:
        tiers = account.configuration[TIERS_SETTING].strip()
        names = ("shuffleBytesWritten", "diskBytesSpilled")
        why = (
            "no local directory has such a word in its path, or the plugin was not there; the "
            "driver's own log says which"
            if account.tasks.select(names).sum_horizontal().sum()
            else "no task wrote shuffle data or spilled"
        )
        yield TrialWarning(
            "VEN-ENGINE-IGNORED",
            f"no file was placed by the tiers {tiers!r} of {TIERS_SETTING}: {why}",
        )


def lost(reading: AccountReading) -> Iterator[str]:
    """Parts of the text that could not be used though they may matter, one sentence each."""
    if reading.truncated:
        yield f"the log is not whole: {reading.truncated}"
    if reading.malformed:
        yield f"{count_of(reading.malformed, 'line')} could not be parsed"
    if reading.oversized:
        yield f"{count_of(reading.oversized, 'event')} exceeded the size limit"
    for name, count in sorted(reading.damaged.items()):
        kind = name.removesuffix(TOO_MANY)
        why = "lack required fields" if kind == name else "are too many and were left out"
        yield f"{count:,} events {kind} {why}"
    yield from reading.wrong
    if said := [
        count_of(n, name) for name, n in reading.dropped.items() if n and name != "log part"
    ]:
        whole = not (reading.truncated or reading.malformed or reading.damaged)
        yield f"{joined(said)} missing" + (f": {QUEUE_FULL}" if whole else "")
    for name, count in sorted(reading.unknown.items()):
        yield f"{count:,} events of the unknown type {name} were left out"
