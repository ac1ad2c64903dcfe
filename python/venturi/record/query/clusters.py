"""The clusters on which there are trials, by their names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from venturi.record.query.conditions import Condition, Op
from venturi.record.query.paging import TrialRow, rows
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import TRIALS, shown_moment

_NEWEST = (TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())


@dataclass(frozen=True, slots=True)
class NamedCluster:
    """A cluster by its name, with the number of its trials and when the newest began."""

    name: str
    trials: int
    newest_at: datetime | None


def clusters(repository: TrialRepository) -> tuple[NamedCluster, ...]:
    """All of them, that of the newest trial first."""
    name, newest = TRIALS.c.cluster_name, sa.func.max(TRIALS.c.started_at_us)
    statement = (
        sa.select(name, sa.func.count(), newest)
        .where(name.is_not(None))
        .group_by(name)
        .order_by(newest.desc().nulls_last(), name)
    )
    with repository.reading() as connection:
        found = connection.execute(statement).all()
    return tuple(NamedCluster(name, n, shown_moment(newest_us)) for name, n, newest_us in found)


def newest_of(
    repository: TrialRepository, cluster: str, *, workload: str | None = None
) -> str | None:
    """The id of the newest trial on the cluster, or of the newest of a workload on it."""
    asked = [] if workload is None else [TRIALS.c.workload == workload]
    found = _ids(repository, cluster, 1, *asked)
    return found[0] if found else None


def trials_on(repository: TrialRepository, cluster: str, most: int) -> tuple[TrialRow, ...]:
    """The newest trials on the cluster, at most this many, including excluded ones."""
    ids = _ids(repository, cluster, most)
    if not ids:
        return ()
    of_these = (Condition("id", Op.ONE_OF, tuple(ids)),)
    found = rows(repository, Query(of_these, limit=most, with_excluded=True)).rows
    by_id = {row.id: row for row in found}
    return tuple(by_id[id_] for id_ in ids if id_ in by_id)


def _ids(
    repository: TrialRepository, cluster: str, most: int, *conditions: sa.ColumnElement[bool]
) -> list[str]:
    statement = (
        sa.select(TRIALS.c.id)
        .where(TRIALS.c.cluster_name == cluster, *conditions)
        .order_by(*_NEWEST)
        .limit(most)
    )
    with repository.reading() as connection:
        return list(connection.execute(statement).scalars())
