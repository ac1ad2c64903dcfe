"""Authors of actions that leave no other trace: importing a trial, deleting a view."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from venturi.record.access.authors import Author, author_of, columns_of
from venturi.record.store.tables import ACTIONS, microseconds, moment
from venturi.record.trial import new_id, now

ADDED = "trial added"
VIEW_DELETED = "view deleted"


@dataclass(frozen=True, slots=True)
class Action:
    """An action on `subject` (a trial's id or a view's name), with its time and author."""

    action: str
    subject: str
    author: Author
    at: datetime


def record_action(connection: sa.Connection, action: str, subject: str, author: Author) -> None:
    """Record the author of an action in the action's transaction."""
    values = {"id": new_id(), "at_us": microseconds(now()), "action": action, "subject": subject}
    connection.execute(sa.insert(ACTIONS).values(values | columns_of(author)))


def added_by(connection: sa.Connection, id_: str) -> Author | None:
    """Who has uploaded the trial `id_`; None for one that was measured or imported here."""
    found = find_actions(connection, ADDED, id_)
    return found[-1].author if found else None


def find_actions(
    connection: sa.Connection, action: str, subject: str | None = None
) -> tuple[Action, ...]:
    """All such actions (on `subject`, if given), the oldest first."""
    chosen = sa.select(ACTIONS).where(ACTIONS.c.action == action)
    if subject is not None:
        chosen = chosen.where(ACTIONS.c.subject == subject)
    rows = connection.execute(chosen.order_by(ACTIONS.c.at_us, ACTIONS.c.id)).mappings()
    return tuple(
        Action(row["action"], row["subject"], author_of(row), moment(row["at_us"])) for row in rows
    )
