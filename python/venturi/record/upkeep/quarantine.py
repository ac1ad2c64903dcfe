"""Quarantine of unreadable records: kept as they were stored, and hidden from readers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import delete_trials
from venturi.record.store.tables import EXCLUSIONS, QUARANTINE, RECORDS, VIEWS, microseconds, moment
from venturi.record.trial import new_id, now

_TABLES = {"exclusion": (EXCLUSIONS, EXCLUSIONS.c.id), "view": (VIEWS, VIEWS.c.name)}


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """`content` is the record as it was stored; for a rule or a view, its row as JSON."""

    kind: str
    subject: str
    content: str
    reason: str
    quarantined_at: datetime


def find(repository: TrialRepository) -> tuple[QuarantinedRecord, ...]:
    """All quarantined records, the oldest first."""
    statement = sa.select(QUARANTINE).order_by(QUARANTINE.c.quarantined_at_us, QUARANTINE.c.id)
    with repository.reading() as connection:
        return tuple(
            QuarantinedRecord(
                row.kind, row.subject, row.content, row.reason, moment(row.quarantined_at_us)
            )
            for row in connection.execute(statement)
        )


def set_aside(
    connection: sa.Connection, kind: str, subject: str, reason: str, *, content: str | None = None
) -> bool:
    """Quarantine the stored `subject` in this transaction; return whether it (still) existed.

    For a record that was never stored, as in a backup, `content` is given.
    """
    if content is None:
        content = _content(connection, kind, subject)
        if content is None:
            return False
        _delete(connection, kind, subject)
    connection.execute(
        sa.insert(QUARANTINE).values(
            id=new_id(),
            kind=kind,
            subject=subject,
            content=content,
            reason=reason,
            quarantined_at_us=microseconds(now()),
        )
    )
    return True


def _content(connection: sa.Connection, kind: str, subject: str) -> str | None:
    if kind == "trial":
        here = sa.select(RECORDS.c.record).where(RECORDS.c.id == subject)
        return connection.execute(here.with_for_update()).scalar_one_or_none()
    table, key = _TABLES[kind]
    row = connection.execute(sa.select(table).where(key == subject)).mappings().one_or_none()
    return None if row is None else json.dumps(dict(row))


def _delete(connection: sa.Connection, kind: str, subject: str) -> None:
    if kind == "trial":
        delete_trials(connection, [subject])
    else:
        table, key = _TABLES[kind]
        connection.execute(sa.delete(table).where(key == subject))
