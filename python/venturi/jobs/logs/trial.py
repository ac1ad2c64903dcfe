"""An account as a trial: stages as phases, sums as samples, settings as configuration.

New ones are stored, and so are those that a log says more about than before.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venturi.core.errors import VenturiError
from venturi.core.units import format_figure
from venturi.core.wording import count_of, joined
from venturi.jobs.failures.endings import is_wanted
from venturi.jobs.failures.meanings import meaning_of
from venturi.jobs.logs.columnar import TOO_MANY
from venturi.jobs.logs.spark_parts import started_application, with_event_first
from venturi.record.account_kind import SPARK
from venturi.record.account_tables import MOMENT
from venturi.record.gaps import gaps_of, loss_cause
from venturi.record.importing.formats import Log
from venturi.record.importing.identity import (
    StoredApplication,
    compare_logs,
    find_measured,
    find_stored,
    id_of,
    text_id_of,
)
from venturi.record.importing.items import SOFTWARE, imported_id
from venturi.record.importing.streams import LIMITS, LogText
from venturi.record.importing.tally import ArrivalKind, ImportReport, Tally
from venturi.record.job_account import (
    NOT_RECORDED,
    TIERS_SETTING,
    AccountReading,
    JobAccount,
    attach,
    has_tiers,
    load,
    stored_facts,
)
from venturi.record.limits import fitted
from venturi.record.trial import (
    EXECUTOR_LOST,
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
from venturi.record.upkeep.locks import import_lock, trial_lock

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

FAILED = "VEN-INGEST-FAILED"
UNFINISHED = "VEN-INGEST-UNFINISHED"
UNKNOWN = "VEN-INGEST-UNKNOWN"
LOST = "VEN-INGEST-LOST"

LIVE_S = 3_600
"""A log without an end that was written in this many seconds is of a running application."""
_ATTEMPTS = 5  # while other machines store the same trial
_HEAD_LINES = 1_000
_PACKAGE = Path(__file__).parents[2]
_READ_BY = (
    "jobs/logs/*.py",
    "jobs/failures/*.py",
    "record/account_*.py",
    "record/gaps.py",
    "record/job_account.py",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 1 << 47  # beyond any date that a log can mean
_PHASES = 500
_UNITS = {"ms": ("s", 1e-3), "ns": ("s", 1e-9), "B": ("B", 1.0), "1": ("1", 1.0)}


@cache
def reader_version() -> str:
    """A digest of the code that reads logs: an account of another one is read again."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _READ_BY for path in _PACKAGE.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def is_live(log: Log, now: float) -> bool:
    """Whether Spark says that it still writes `log`, and wrote it within the last hour."""
    return log.in_progress and log.written_at is not None and now - log.written_at < LIVE_S


def _is_named(account: JobAccount) -> bool:
    """Whether the log has the application's id and attempt, which its first events lack."""
    started = not account.reading.dropped.get("application start")
    return account.application.id_recorded and started


def _is_running(account: JobAccount, log: Log, now: float) -> bool:
    """Whether an application has no end and goes on.

    Names of other logs don't say so. A copy is new, too, but its events are not.
    """
    if account.application.outcome != "unfinished" or account.outcome_unknown:
        return False
    written_at, last_ms = log.written_at, account.application.ended_ms
    recent = written_at is not None and last_ms is not None
    return is_live(log, now) or (
        recent and now - min(written_at or 0, (last_ms or 0) / 1e3) < LIVE_S
    )


def take_in(
    repository: TrialRepository, accounts: Iterable[JobAccount], log: Log | None = None
) -> ImportReport:
    """Store the applications of `accounts`, each as one trial with an ID that never changes.

    A stored one is updated if its log has grown since, or this version reads more in it. By the
    names and dates of their `log`, applications without an end may be running.
    """
    tally = Tally()
    for account in accounts:
        read = replace(account, reading=replace(account.reading, reader=reader_version()))
        # A log can't be measured again: oversized parts are cut, with a warning in the trial.
        running = log is not None and _is_running(read, log, time.time())
        if running and not _is_named(account):
            tally.waiting += 1
            continue
        trial = fitted(trial_of(read, running=running), repository.limits)
        kept, kind, note = _store(repository, trial, read)
        if kind not in {ArrivalKind.ADDED, ArrivalKind.UPDATED}:
            read = _stored_account(repository, kept) or read
        tally.arrive(kept, kind, _application_facts(read, kept), note)
    return tally.done()


def unchanged(repository: TrialRepository, log: Log) -> ImportReport | None:
    """The report on a log that is stored as it is, read by this version; None if it must be read.

    This reads the text without its events, which takes a fraction of the time.
    """
    text = LogText(log.files, LIMITS)
    tally, stored = Tally(), list[Trial]()
    for number, line in enumerate(with_event_first(text.lines())):
        if (found := started_application(line)) is not None:
            trial = repository.stored(imported_id(SPARK.source, *found))
            facts = None if trial is None else stored_facts(repository, trial)
            if trial is None or trial.state is State.RUNNING or facts is None:
                return None
            if facts.reading.reader != reader_version():
                return None
            if trial not in stored:
                stored.append(trial)
        if not stored and number >= _HEAD_LINES:
            return None
    for trial in stored:
        account = _stored_account(repository, trial)
        if account is None or trial.provenance.digest != text.sha256:
            return None
        tally.arrive(trial, ArrivalKind.PRESENT, _application_facts(account, trial))
    return tally.done() if stored else None


def _stored_account(repository: TrialRepository, trial: Trial) -> JobAccount | None:
    try:
        return load(repository, trial)
    except VenturiError:
        return None


def _store(
    repository: TrialRepository, trial: Trial, account: JobAccount
) -> tuple[Trial, ArrivalKind, str]:
    """The trial as it is stored now, the outcome, and the reason."""
    home = repository.artifacts_dir.parent
    with import_lock(home), trial_lock(home, trial.id):
        for _ in range(_ATTEMPTS):
            stored = find_stored(repository, trial, account.application, account.reading)
            if stored is None:
                measured = find_measured(repository, trial, account.application)
                if measured is not None:
                    return measured, ArrivalKind.PRESENT, "measured by Venturi"
                # Its files first: a trial that is recorded has all of them.
                for id_ in (trial.id, _text_id(trial, account)):
                    repository.require_admitted(id_)
                added = attach(repository, trial, account)
                if repository.add_many([added]).added:
                    return added, ArrivalKind.ADDED, ""
                continue
            kind, note = compare_logs(stored, trial, account)
            if kind is not ArrivalKind.UPDATED:
                return stored.trial, kind, note
            if (updated := _update(repository, stored, trial, account)) is not None:
                return updated, kind, note
    raise VenturiError(
        "VEN-RECORD-STATE",
        f"trial {trial.id} is being changed by other imports",
        where={"trial": trial.id},
        hint="import it again",
    )


def _text_id(trial: Trial, account: JobAccount) -> str:
    return text_id_of(trial.provenance.source, account.application, account.reading)


def _update(
    repository: TrialRepository, stored: StoredApplication, trial: Trial, account: JobAccount
) -> Trial | None:
    """The updated trial with the id and labels that it had; None if another import was faster."""
    before = stored.trial
    trial = replace(trial, id=before.id, labels=before.labels)
    updated = attach(repository, trial, account)
    if not repository.supersede(before, updated):
        return None
    for path in {each.path for each in before.artifacts} - {
        each.path for each in updated.artifacts
    }:
        (repository.artifacts_dir / path).unlink(missing_ok=True)
    return updated


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


def trial_of(account: JobAccount, *, running: bool = False) -> Trial:
    """The trial in `account`, imported. The same application gives the same id.

    Without an end, it is interrupted, unless it is known to be `running`.
    """
    application, reading = account.application, account.reading
    source = account.kind.source
    succeeded = application.outcome == "succeeded"
    state, failure = State.SUCCEEDED, None
    if running:
        state = State.RUNNING
    elif not succeeded:
        state, failure = _failure(account)
    others = {application.engine: application.engine_version}
    if application.java_version is not None:
        others["java"] = application.java_version
    # The tasks know the hosts of executors that were added in a missing part of the log.
    named = (account.executors["host"], account.tasks["host"].unique())
    hosts = sorted({host for each in named for host in each.to_list() if host})
    started_ms = application.started_ms
    return Trial(
        id=id_of(source, application, reading),
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
    gaps = gaps_of(account)
    numbers = ((gaps.n_jobs, "job"), (gaps.n_stages, "stage"))
    if whole := [count_of(n, name) for n, name in numbers if n]:
        cause = loss_cause(account.reading).says
        yield TrialWarning(LOST, f"all events of {joined(whole)} missing: {cause}")
    ended_ms = account.application.ended_ms
    gone = [
        row
        for row in account.executors.iter_rows(named=True)
        if row["removed_ms"] is not None
        and (ended_ms is None or row["removed_ms"] < ended_ms)
        and not is_wanted(row["reason"])
    ]
    if gone:
        first = gone[0]
        meaning = meaning_of(first["reason"], account.application.engine)
        yield TrialWarning(
            EXECUTOR_LOST,
            f"{len(gone)} of {len(account.executors)} executors ended before the application did; "
            f"executor {first['executor_id']} on {first['host']}: "
            f"{first['reason'] or 'no reason is given'}" + (f": {meaning.text}" if meaning else ""),
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
        yield f"{joined(said)} missing" + (f": {loss_cause(reading).says}" if whole else "")
    for name, count in sorted(reading.unknown.items()):
        yield f"{count:,} events of the unknown type {name} were left out"
