"""Deletes trials for good and records the author, time, reason, conditions and ids.

The rows are deleted in one transaction. The files follow; `record.upkeep.check` finds those that a
killed removal leaves. A removed trial isn't imported again, as an idempotent import would do, until
a user readmits it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.record.access.authors import SAID_CHARACTERS_MAX, Author, author_of, columns_of
from venturi.record.access.exclusions import REASON_CHARACTERS_MAX
from venturi.record.query.conditions import Condition
from venturi.record.query.selection import where
from venturi.record.store.answer_cache import forget_answers
from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import delete_trials
from venturi.record.store.tables import (
    RECORDS,
    REMOVALS,
    REMOVED,
    TRIALS,
    microseconds,
    moment,
    storable,
)
from venturi.record.trial import TERMINAL, State, new_id, now
from venturi.record.upkeep.locks import exclusive_files_lock, upkeep_lock

_TRIALS_A_STEP = 1_000
_REMOVABLE = TERMINAL | {State.RUNNING}


@dataclass(frozen=True, slots=True)
class RemovableTrials:
    """Trials that may be removed, and the bytes that this frees. `unfinished` ones stay, because a
    process may be measuring them; imported ones that are running may go.
    """

    ids: tuple[str, ...]
    unfinished: tuple[str, ...]
    record_bytes: int
    artifact_bytes: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal: `conditions` as written, and the ids of the `trials` that were deleted."""

    id: str
    conditions: tuple[str, ...]
    author: Author
    reason: str
    removed_at: datetime
    trials: tuple[str, ...]
    readmitted_at: datetime | None = None
    readmitted_by: Author | None = None


def removable(
    repository: TrialRepository,
    conditions: Sequence[Condition],
    chosen: Sequence[sa.ColumnElement[bool]] = (),
) -> RemovableTrials:
    """The trials that meet all `conditions` and are `chosen`; exclusions leave none of them out."""
    with repository.reading() as connection:
        return _removable(connection, repository.artifacts_dir, conditions, chosen)


def remove(
    repository: TrialRepository,
    conditions: Sequence[Condition],
    texts: Sequence[str],
    author: Author,
    reason: str,
    *,
    chosen: Sequence[sa.ColumnElement[bool]] = (),
) -> tuple[Removal | None, RemovableTrials]:
    """Deletes the trials that meet all `conditions` (written as `texts`), with their files.

    `chosen` are further conditions, on the columns of the tables. Without such trials nothing is
    recorded either.
    """
    reason = _line("reason", reason, REASON_CHARACTERS_MAX)
    if author.said is not None:
        author = author.saying(_line("author", author.said, SAID_CHARACTERS_MAX))
    home = repository.artifacts_dir.parent
    with upkeep_lock(home, "venturi remove"), exclusive_files_lock(home):
        with repository.writing(alone=True) as connection:
            found = _removable(connection, repository.artifacts_dir, conditions, chosen)
            if not found.ids:
                return None, found
            removal = Removal(new_id(), tuple(texts), author, reason, now(), found.ids)
            values = {
                "id": removal.id,
                "conditions": json.dumps(removal.conditions),
                "reason": reason,
                "removed_at_us": microseconds(removal.removed_at),
                **columns_of(author),
            }
            connection.execute(sa.insert(REMOVALS).values(values))
            if connection.dialect.name == "sqlite":  # for good: what is freed is overwritten
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            for some in _steps(found.ids):
                delete_trials(connection, some)
                rows = [{"trial": id_, "removal": removal.id} for id_ in some]
                connection.execute(sa.insert(REMOVED), rows)
        for id_ in found.ids:
            with suppress(FileNotFoundError):
                shutil.rmtree(repository.artifacts_dir / id_)
            forget_answers(repository.artifacts_dir.parent, id_)
    return removal, found


def find(repository: TrialRepository) -> tuple[Removal, ...]:
    """All removals, the oldest first."""
    chosen = sa.select(REMOVALS).order_by(REMOVALS.c.removed_at_us, REMOVALS.c.id)
    ids: dict[str, list[str]] = {}
    with repository.reading() as connection:
        for trial, removal in connection.execute(sa.select(REMOVED).order_by(REMOVED.c.trial)):
            ids.setdefault(removal, []).append(trial)
        return tuple(_removal(row, ids.get(row.id, ())) for row in connection.execute(chosen).all())


def readmit(repository: TrialRepository, id: str, by: Author) -> Removal:
    """Let the trials of the removal `id` be imported again; it stays on record.

    No such removal is an error (VEN-REMOVAL-UNKNOWN); one that was readmitted stays as it is.
    """
    here = REMOVALS.c.id == id
    with repository.writing() as connection:
        found = (
            connection.execute(sa.select(REMOVALS).where(here)).first() if storable(id) else None
        )
        if found is None:
            raise VenturiError(
                "VEN-REMOVAL-UNKNOWN",
                f"no removal has the id {id!r}",
                where={"id": id},
                hint="`venturi repository removals` lists them",
            )
        if found.readmitted_at_us is None:
            values = {"readmitted_at_us": microseconds(now()), **columns_of(by, "readmitted_by")}
            connection.execute(sa.update(REMOVALS).where(here).values(values))
            found = connection.execute(sa.select(REMOVALS).where(here)).one()
        chosen = sa.select(REMOVED.c.trial).where(REMOVED.c.removal == id)
        return _removal(found, connection.execute(chosen.order_by(REMOVED.c.trial)).scalars().all())


def _line(what: str, text: str, most: int) -> str:
    text = text.strip()
    if not text or len(text) > most or not text.isprintable():
        raise UsageError(
            "VEN-REMOVAL-VALUE",
            f"the {what} must be one line of 1 to {most:,} characters",
            where={"field": what},
        )
    return text


def _removal(row: Any, ids: Sequence[str]) -> Removal:
    back = row.readmitted_at_us
    return Removal(
        row.id,
        tuple(json.loads(row.conditions)),
        author_of(row._mapping),
        row.reason,
        moment(row.removed_at_us),
        tuple(ids),
        None if back is None else moment(back),
        None if back is None else author_of(row._mapping, "readmitted_by"),
    )


def _removable(
    connection: sa.Connection,
    artifacts_dir: Path,
    conditions: Sequence[Condition],
    chosen: Sequence[sa.ColumnElement[bool]],
) -> RemovableTrials:
    every = sa.select(TRIALS.c.id, TRIALS.c.state).where(*where(conditions, ()), *chosen)
    found = connection.execute(every.order_by(TRIALS.c.id)).all()
    ids = tuple(row.id for row in found if row.state in _REMOVABLE)
    record_bytes = 0
    size = sa.func.sum(sa.func.length(RECORDS.c.record))
    for some in _steps(ids):
        of_some = connection.execute(sa.select(size).where(RECORDS.c.id.in_(some))).scalar_one()
        record_bytes += int(of_some or 0)
    unfinished = tuple(row.id for row in found if row.state not in _REMOVABLE)
    artifact_bytes = sum(_bytes_in(artifacts_dir / id_) for id_ in ids)
    return RemovableTrials(ids, unfinished, record_bytes, artifact_bytes)


def _bytes_in(folder: Path) -> int:
    with suppress(FileNotFoundError, NotADirectoryError):
        return sum(path.lstat().st_size for path in folder.iterdir())
    return 0


def _steps(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(ids), _TRIALS_A_STEP):
        yield ids[begin : begin + _TRIALS_A_STEP]
