"""The repository's one table.

The record itself is a column of JSON text; the others are copies of what is searched for. Samples
have no table: a trial is always read whole, and a migration can derive one from the records when
something filters on them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, String, Table, Text

from venturi.record.trial import Trial, encode

# The newest migration; a test holds it to the files in migrations/versions.
REVISION = "0001"
METADATA = MetaData()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Ids are compared byte by byte, so that those with a common beginning lie together.
_ID = String(64).with_variant(String(64, collation="C"), "postgresql")

TRIALS = Table(
    "trials",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("workload", Text, nullable=False),
    Column("workload_version", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("experiment", Text),
    Column("group_key", String(16), nullable=False),
    Column("started_at_us", BigInteger, nullable=False),
    Column("elapsed_s", Double),
    Column("provenance", String(16), nullable=False),
    Column("record", Text, nullable=False),
    Index("trials_by_workload", "workload", "engine"),
    Index("trials_by_state", "state"),
    Index("trials_by_experiment", "experiment"),
    Index("trials_by_group", "group_key"),
    Index("trials_by_start", "started_at_us"),
)


def microseconds(moment: datetime) -> int:
    """`moment` in microseconds since 1970, which every database sorts alike."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def row(trial: Trial) -> dict[str, Any]:
    """`trial` as a row of `TRIALS`."""
    return {
        "id": trial.id,
        "workload": trial.workload.name,
        "workload_version": trial.workload.version,
        "engine": trial.engine.name,
        "state": trial.state.value,
        "experiment": trial.experiment,
        "group_key": trial.group_key,
        "started_at_us": microseconds(trial.started_at),
        "elapsed_s": trial.elapsed_s,
        "provenance": trial.provenance.kind.value,
        "record": encode(trial),
    }
