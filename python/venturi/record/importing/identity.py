"""Which stored trial an imported log is of, and whether the log has more than that trial.

The identity of a trial from an engine's log is its application and the engine's attempt at it. Its
log grows while it runs, is copied, cut, compressed and compacted, and later versions of a reader
find more in it. The best reading is kept, under the id of the first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.wording import joined
from venturi.record.dropped_tables import RESTORED, tables_dropped
from venturi.record.importing.items import SOFTWARE, imported_id, since_1970
from venturi.record.importing.tally import ArrivalKind
from venturi.record.job_account import (
    AccountFacts,
    AccountReading,
    Application,
    JobAccount,
    stored_facts,
)
from venturi.record.trial import State

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial


_NEAREST = 20  # of the measured trials that began before an application, to be looked at


@dataclass(frozen=True, slots=True)
class StoredApplication:
    """A stored trial and the facts of its account, None if they can't be read."""

    trial: Trial
    facts: AccountFacts | None


def id_of(source: str, application: Application, reading: AccountReading) -> str:
    """The id of the trial of an application; without an application's own id, of the text."""
    if not application.id_recorded:
        return text_id_of(source, application, reading)
    return imported_id(source, application.id, application.attempt or "")


def text_id_of(source: str, application: Application, reading: AccountReading) -> str:
    """The id that also depends on the log's text, as all had up to 0.1.0."""
    return imported_id(source, application.id, application.attempt or "", reading.sha256)


def find_stored(
    repository: TrialRepository, trial: Trial, application: Application, reading: AccountReading
) -> StoredApplication | None:
    """The stored trial of the application of `trial`; None if it is new.

    Up to 0.1.0 each version of a log became a trial. Among several the most complete one counts.
    """
    source = trial.provenance.source
    if (stored := repository.stored(trial.id)) is not None:
        return StoredApplication(stored, stored_facts(repository, stored))
    stored = repository.stored(text_id_of(source, application, reading))
    same_text = (
        None if stored is None else StoredApplication(stored, stored_facts(repository, stored))
    )
    if trial.started_at is None or not application.id_recorded:
        return same_text
    found = []
    for each in repository.imported_at(source, trial.started_at):
        facts = stored_facts(repository, each)
        if facts is not None and _identity(facts.application) == _identity(application):
            found.append(StoredApplication(each, facts))
    return max(found, key=_completeness, default=same_text)


def find_measured(
    repository: TrialRepository, trial: Trial, application: Application
) -> Trial | None:
    """The trial that Venturi itself measured by running the application; None if it didn't."""
    if trial.started_at is None or not application.id_recorded:
        return None
    measured = repository.measured_before(trial.engine.name, trial.started_at, most=_NEAREST)
    for each in measured:
        facts = stored_facts(repository, each)
        if facts is not None and _identity(facts.application) == _identity(application):
            return each
    return None


def _identity(application: Application) -> tuple[str, str]:
    return application.id, application.attempt or ""


def _completeness(log: StoredApplication) -> tuple[int, ...]:
    assert log.facts is not None
    return _progress(log.facts.application, log.facts.reading)


def compare_logs(
    stored: StoredApplication, trial: Trial, account: JobAccount
) -> tuple[ArrivalKind, str]:
    """Whether `account`, as the trial `trial`, has more than the stored one, and why.

    The same log has more if the task tables of the stored one were dropped.
    """
    kind, why = _compare(stored, trial, account)
    if kind is ArrivalKind.PRESENT and tables_dropped(stored.trial) is not None:
        return ArrivalKind.UPDATED, RESTORED
    return kind, why


def _compare(
    stored: StoredApplication, trial: Trial, account: JobAccount
) -> tuple[ArrivalKind, str]:
    if stored.facts is None:
        return ArrivalKind.UPDATED, "its stored tables were missing or damaged"
    before, reading = stored.facts.reading, account.reading
    better = before.reader != reading.reader and not _is_newer(stored.trial)
    why = "read again by this version of Venturi" if better else ""
    if before.sha256 == reading.sha256:
        if account.configuration and not stored.facts.configured:
            why = why or "its configuration was missing"
        if stored.trial.state is State.RUNNING and trial.state is not State.RUNNING:
            why = why or "its log is no longer written"
        return (ArrivalKind.UPDATED if why else ArrivalKind.PRESENT), why
    old, new = _progress(stored.facts.application, before), _progress(account.application, reading)
    if old[0] and new[0]:
        whole = not before.lost and not reading.lost
        differences = _differences(stored.facts.application, account.application)
        if whole and before.reader == reading.reader:
            differences += other_values(stored.trial, trial)
        if differences:
            return ArrivalKind.CONTRADICTING, joined(differences[:3])
        if whole:
            return (ArrivalKind.UPDATED if better else ArrivalKind.PRESENT), why
    counts = f"{reading.events:,} events, {before.events:,} are stored"
    return (ArrivalKind.UPDATED if new >= old else ArrivalKind.OLDER), counts


def _progress(application: Application, reading: AccountReading) -> tuple[int, ...]:
    """How far a log goes; a compacted one goes further with fewer events."""
    ended = application.end_recorded or application.outcome != "unfinished"
    last_ms = -1 if application.ended_ms is None else application.ended_ms
    whole = ended and not reading.lost
    return ended, whole, last_ms, not reading.lost, reading.events, reading.text_bytes


def _is_newer(stored: Trial) -> bool:
    """Whether a later version of Venturi than this one has read the stored trial."""
    versions = (stored.software.venturi_version, SOFTWARE.venturi_version)
    theirs, ours = ([int(part) for part in re.findall(r"\d+", each)[:3]] for each in versions)
    return theirs > ours


def _differences(before: Application, now: Application) -> list[str]:
    """Facts that differ between two logs of a finished application."""
    pairs = [("start", before.started_ms, now.started_ms)]
    if before.end_recorded and now.end_recorded:
        pairs.append(("end", before.ended_ms, now.ended_ms))
    return [
        f"{name} {_time(new)} instead of {_time(old)}"
        for name, old, new in pairs
        if old is not None and new is not None and new != old
    ]


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1_000)
    date = since_1970(seconds)
    return str(milliseconds) if date is None else f"{date:%Y-%m-%d %H:%M:%S}.{rest:03} UTC"


def other_values(stored: Trial, trial: Trial) -> list[str]:
    """Stored samples with another value in `trial`."""
    before, now = _values(stored), _values(trial)
    return [
        f"{key[0]} {new:,g} instead of {old:,g}"
        for key, values in before.items()
        for old, new in zip(values - now[key], now[key] - values, strict=False)
    ]


def _values(trial: Trial) -> defaultdict[tuple[object, ...], Counter[float]]:
    """The values of each metric with the same labels, and how often each occurs."""
    values: defaultdict[tuple[object, ...], Counter[float]] = defaultdict(Counter)
    for sample in trial.samples:
        if sample.value is not None:
            values[sample.metric, *sorted(sample.labels.items())][sample.value] += 1
    return values
