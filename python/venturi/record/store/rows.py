"""Inserts trials in bulk as rows of the tables, and replaces them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from venturi.core.settings import TrialLimits
from venturi.record.account_tables import has_account
from venturi.record.limits import Seen, check, check_size
from venturi.record.store.tables import (
    CONFIGURATION,
    JOBS,
    RECORDS,
    REMOVALS,
    REMOVED,
    TRIALS,
    configuration_rows,
    record_row,
    trial_row,
)
from venturi.record.trial import Trial


def insert_new(
    connection: sa.Connection, trials: Sequence[Trial], limits: TrialLimits | None
) -> int:
    """Insert those of `trials` with free ids (among equal ids the first); return how many.

    VEN-RECORD-LIMIT if one of them is beyond `limits`; without limits, they are copies of stored
    ones.
    """
    by_id: dict[str, Trial] = {}
    for trial in trials:
        by_id.setdefault(trial.id, trial)
    seen: Seen = {}
    records = [_record(trial, limits, seen) for trial in by_id.values()]
    free = insert_rows(connection, RECORDS, records, ["id"])
    rows = [trial_row(by_id[row.id]) for row in free]
    serials = insert_rows(connection, TRIALS, rows, ["serial", "id"])
    _insert_configurations(connection, [(row.serial, by_id[row.id]) for row in serials])
    _insert_jobs(connection, [by_id[row.id] for row in free])
    return len(serials)


def insert_copies(connection: sa.Connection, trial: Trial) -> None:
    """Rebuild the searchable copies of `trial`, which is already recorded."""
    serials = sa.select(TRIALS.c.serial).where(TRIALS.c.id == trial.id)
    connection.execute(sa.delete(CONFIGURATION).where(CONFIGURATION.c.trial.in_(serials)))
    connection.execute(sa.delete(TRIALS).where(TRIALS.c.id == trial.id))
    settings = {"configuration": record_row(trial)["configuration"]}
    connection.execute(sa.update(RECORDS).where(RECORDS.c.id == trial.id).values(settings))
    inserted = insert_rows(connection, TRIALS, [trial_row(trial)], ["serial"])
    _insert_configurations(connection, [(inserted[0].serial, trial)])
    _replace_job(connection, trial)


def delete_trials(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Deletes the rows of the trials `ids`, of which there are at most 1,000, in every table."""
    chosen = list(ids)
    serials = sa.select(TRIALS.c.serial).where(TRIALS.c.id.in_(chosen))
    connection.execute(sa.delete(CONFIGURATION).where(CONFIGURATION.c.trial.in_(serials)))
    connection.execute(sa.delete(TRIALS).where(TRIALS.c.id.in_(chosen)))
    connection.execute(sa.delete(RECORDS).where(RECORDS.c.id.in_(chosen)))
    connection.execute(sa.delete(JOBS).where(JOBS.c.id.in_(chosen)))


def removals_of(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The removals of those `ids` that were removed for good and not readmitted since."""
    if connection.execute(sa.select(REMOVALS.c.id).limit(1)).first() is None:
        return {}
    statement = (
        sa.select(REMOVED.c.trial, REMOVED.c.removal)
        .join(REMOVALS, REMOVALS.c.id == REMOVED.c.removal)
        .where(REMOVED.c.trial.in_(ids), REMOVALS.c.readmitted_at_us.is_(None))
    )
    return {row.trial: row.removal for row in connection.execute(statement)}


def _record(trial: Trial, limits: TrialLimits | None, seen: Seen) -> dict[str, Any]:
    if limits is None:
        return record_row(trial)
    check(trial, limits, seen)
    row = record_row(trial)
    check_size(trial.id, row["record"], limits)
    return row


def _insert_configurations(connection: sa.Connection, trials: Iterable[tuple[int, Trial]]) -> None:
    rows = [row for serial, trial in trials for row in configuration_rows(serial, trial)]
    insert_rows(connection, CONFIGURATION, rows)


def _insert_jobs(connection: sa.Connection, trials: Iterable[Trial]) -> None:
    rows = [{"id": trial.id, "changed": None} for trial in trials if has_account(trial)]
    insert_rows(connection, JOBS, rows)


def _replace_job(connection: sa.Connection, trial: Trial) -> None:
    """Forget the summary of `trial`, which has changed."""
    connection.execute(sa.delete(JOBS).where(JOBS.c.id == trial.id))
    _insert_jobs(connection, [trial])


def insert_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: list[dict[str, Any]],
    returning: Sequence[str] = (),
) -> Sequence[sa.Row[Any]]:
    """Insert `rows` except those with an existing key; return the columns `returning` of the
    inserted.

    There may be thousands of rows; each database gets them in the way that is fastest for it.
    """
    if not rows:
        return []
    columns = ", ".join(rows[0])
    if connection.dialect.name == "postgresql":
        # The driver takes long over many parameters, so that all rows are one.
        insert = (
            f"INSERT INTO {table.name} ({columns}) SELECT {columns} "  # noqa: S608 - our own names
            f"FROM json_populate_recordset(NULL::{table.name}, %s::json) ON CONFLICT DO NOTHING"
        )
        if returning:
            insert += f" RETURNING {', '.join(returning)}"
        result = connection.exec_driver_sql(insert, (json.dumps(rows),))
        return result.all() if returning else []
    if returning:
        statement = sqlite.insert(table).on_conflict_do_nothing()
        return connection.execute(
            statement.returning(*(table.c[name] for name in returning)), rows
        ).all()
    values = ", ".join(f":{name}" for name in rows[0])
    insert = f"INSERT INTO {table.name} ({columns}) VALUES ({values})"  # noqa: S608 - our own names
    connection.exec_driver_sql(insert, rows)
    return []


def update(connection: sa.Connection, stored: Trial, trial: Trial) -> None:
    """Replace `stored` by `trial`, which has the same id."""
    connection.execute(sa.update(RECORDS).where(RECORDS.c.id == trial.id).values(record_row(trial)))
    connection.execute(sa.update(TRIALS).where(TRIALS.c.id == trial.id).values(trial_row(trial)))
    _replace_job(connection, trial)
    # Compared as rows: 1 and True are equal, but not as text.
    if configuration_rows(0, trial) != configuration_rows(0, stored):
        here = sa.select(TRIALS.c.serial).where(TRIALS.c.id == trial.id)
        serial = connection.execute(here).scalar_one()
        connection.execute(sa.delete(CONFIGURATION).where(CONFIGURATION.c.trial == serial))
        _insert_configurations(connection, [(serial, trial)])
