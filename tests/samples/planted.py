"""Invalid records, planted into the tables as an older Venturi stored them."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import RECORDS, TRIALS, microseconds
from venturi.record.trial import Trial

OVERFLOWING = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")


def add_overflowing(repository: TrialRepository, trial: Trial, started_at: str) -> None:
    """Stores `trial` with an instant that no calendar has in UTC."""
    assert trial.started_at is not None
    repository.add(trial)
    moment = microseconds(datetime.fromisoformat(started_at))
    with repository.writing() as connection:
        here = sa.select(RECORDS.c.record).where(RECORDS.c.id == trial.id)
        record = connection.execute(here).scalar_one()
        stored = trial.started_at.isoformat().replace("+00:00", "Z")
        assert stored in record
        write_record(connection, trial.id, record.replace(stored, started_at))
        connection.execute(
            sa.update(TRIALS).where(TRIALS.c.id == trial.id).values(started_at_us=moment)
        )


def write_record(connection: sa.Connection, id_: str, record: str) -> None:
    """Puts `record`, whatever it is, in place of that of the trial `id_`."""
    connection.execute(sa.update(RECORDS).where(RECORDS.c.id == id_).values(record=record))
