"""Exclusions: recorded, revocable rules that leave trials out of answers.

A rule covers all trials that meet its conditions, including those added later. Nothing is deleted:
an excluded trial is unchanged, and a revoked rule stays on record with its revoker and time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.record.access.authors import (
    SAID_CHARACTERS_MAX,
    Author,
    as_author,
    author_of,
    columns_of,
)
from venturi.record.query import selection
from venturi.record.query.conditions import conditions_of
from venturi.record.query.selection import ExclusionRule, rules_of
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import EXCLUSIONS, microseconds, moment, storable
from venturi.record.trial import new_id, now

IN_FORCE_MAX = 100
CONDITIONS_MAX = 20
CONDITION_CHARACTERS_MAX = 1_000
REASON_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A rule: trials that meet all `conditions` are left out, until it is revoked.

    `trials` counts those that it covers, or would cover if it were not revoked.
    """

    id: str
    conditions: tuple[str, ...]
    author: Author
    reason: str
    created_at: datetime
    revoked_at: datetime | None
    revoked_by: Author | None
    trials: int


def add(
    repository: TrialRepository, texts: Sequence[str], author: Author | str, reason: str
) -> Exclusion:
    """Records a rule, in force from now on; an author who is a text has only said so.

    An error is a condition that makes no sense (VEN-QUERY-VALUE), and no condition at all, two
    values of one key, a missing author or reason, or one rule too many (VEN-EXCLUSION-VALUE).
    """
    _check_conditions(texts)
    author = _author(author)
    reason = _line("reason", reason, REASON_CHARACTERS_MAX)
    id_, created_at = new_id(), now()
    in_force = sa.select(sa.func.count()).where(EXCLUSIONS.c.revoked_at_us.is_(None))
    with repository.writing(alone=True) as connection:
        if connection.execute(in_force).scalar_one() >= IN_FORCE_MAX:
            raise _refused(
                f"{IN_FORCE_MAX} exclusions are in force, which is the maximum",
                "exclusions",
                "revoke some, or cover more trials with fewer rules",
            )
        values = {
            "id": id_,
            "conditions": json.dumps(texts),
            "reason": reason,
            "created_at_us": microseconds(created_at),
            **columns_of(author),
        }
        connection.execute(sa.insert(EXCLUSIONS).values(values))
    return find(repository, [id_])[0]


def revoke(repository: TrialRepository, id: str, by: Author | str) -> Exclusion:
    """Revoke the rule `id` in the name of `by`; the trials that it covered count again.

    VEN-EXCLUSION-UNKNOWN if no such rule exists, VEN-EXCLUSION-REVOKED if it was revoked before.
    """
    by = _author(by)
    here = EXCLUSIONS.c.id == id
    with repository.writing(alone=True) as connection:
        chosen = sa.select(EXCLUSIONS).where(here)
        found = connection.execute(chosen).one_or_none() if storable(id) else None
        if found is None:
            raise VenturiError(
                "VEN-EXCLUSION-UNKNOWN",
                f"no exclusion has the id {id!r}",
                where={"id": id},
                hint="`venturi exclude ls --all` lists them",
            )
        if found.revoked_at_us is not None:
            who = author_of(found._mapping, "revoked_by").text
            raise VenturiError(
                "VEN-EXCLUSION-REVOKED",
                f"{who} already revoked it on {moment(found.revoked_at_us):%Y-%m-%d}",
                where={"id": id},
            )
        changes = {"revoked_at_us": microseconds(now()), **columns_of(by, "revoked_by")}
        connection.execute(sa.update(EXCLUSIONS).where(here).values(changes))
    return find(repository, [id])[0]


def find(repository: TrialRepository, ids: Sequence[str] | None = None) -> tuple[Exclusion, ...]:
    """All rules, revoked ones too, the oldest first; only those of `ids` if these are given."""
    statement = sa.select(EXCLUSIONS).order_by(EXCLUSIONS.c.created_at_us, EXCLUSIONS.c.id)
    if ids is not None:
        statement = statement.where(EXCLUSIONS.c.id.in_(ids))
    with repository.reading() as connection:
        return tuple(_exclusion(connection, row) for row in connection.execute(statement).all())


def covering(repository: TrialRepository, ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """For each excluded trial of `ids`, the ids of the rules that cover it, oldest first."""
    with repository.reading() as connection:
        return selection.covering(connection, rules_of(connection), ids)


def _author(author: Author | str) -> Author:
    author = as_author(author)
    if author.said is None and author.name is not None:
        return author
    return author.saying(_line("author", author.said or "", SAID_CHARACTERS_MAX))


def _line(what: str, text: str, most: int) -> str:
    text = text.strip()
    if not text:
        raise _refused(f"{what} is missing", what, f"give the {what}: it stays on record")
    if len(text) > most or not text.isprintable():
        raise _refused(f"{what} must be one line of at most {most:,} characters", what)
    return text


def _check_conditions(texts: Sequence[str]) -> None:
    if not 1 <= len(texts) <= CONDITIONS_MAX:
        message = f"{len(texts)} conditions; an exclusion has 1 to {CONDITIONS_MAX}"
        raise _refused(message, "conditions", "to exclude single trials, write id=...")
    for text in texts:
        if len(text) > CONDITION_CHARACTERS_MAX or not text.isprintable():
            message = (
                f"a condition must be one line of at most {CONDITION_CHARACTERS_MAX:,} characters"
            )
            raise _refused(message, "conditions")
    conditions_of(texts)


def _exclusion(connection: sa.Connection, row: Any) -> Exclusion:
    texts = json.loads(row.conditions)
    rule = ExclusionRule(row.id, conditions_of(texts))
    covered = sa.select(sa.func.count()).select_from(selection.covered([rule]).subquery())
    return Exclusion(
        row.id,
        tuple(texts),
        author_of(row._mapping),
        row.reason,
        moment(row.created_at_us),
        None if row.revoked_at_us is None else moment(row.revoked_at_us),
        None if row.revoked_at_us is None else author_of(row._mapping, "revoked_by"),
        int(connection.execute(covered).scalar_one()),
    )


def _refused(message: str, field: str, hint: str = "") -> VenturiError:
    return UsageError(
        "VEN-EXCLUSION-VALUE",
        message,
        where={"field": field[:100]},
        hint=hint,
    )
