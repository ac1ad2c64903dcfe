"""Saved views: pages with their whole state, by a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.record.access.actions import VIEW_DELETED, record_action
from venturi.record.access.authors import (
    SAID_CHARACTERS_MAX,
    Author,
    as_author,
    author_of,
    columns_of,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import VIEWS, microseconds, moment, storable
from venturi.record.trial import now

VIEWS_MAX = 1_000
NAME_CHARACTERS_MAX = 100
URL_CHARACTERS_MAX = 8_000


@dataclass(frozen=True, slots=True)
class View:
    """A page of this repository: `url` begins with / and holds all of its state."""

    name: str
    url: str
    author: Author
    created_at: datetime


def save(repository: TrialRepository, name: str, url: str, author: Author | str) -> View:
    """Save a view. A duplicate name is an error (VEN-VIEW-DUPLICATE).

    An invalid name, author or url is VEN-VIEW-VALUE: a url of another site would pass for a page of
    the repository.
    """
    name = _line("name", name, NAME_CHARACTERS_MAX)
    author = as_author(author)
    if author.said is not None or author.name is None:
        author = author.saying(_line("author", author.said or "", SAID_CHARACTERS_MAX))
    url = _line("url", url, URL_CHARACTERS_MAX)
    if not url.startswith("/") or url.startswith("//") or "\\" in url or " " in url:
        raise _refused("url is not a path of this server, such as /trials?where=...", "url")
    view = View(name, url, author, now())
    with repository.writing(alone=True) as connection:
        if connection.execute(sa.select(VIEWS.c.name).where(VIEWS.c.name == name)).first():
            raise VenturiError(
                "VEN-VIEW-DUPLICATE",
                f"a view named {name!r} already exists",
                where={"name": name},
                hint="choose another name, or delete that view first",
            )
        count = sa.select(sa.func.count()).select_from(VIEWS)
        if connection.execute(count).scalar_one() >= VIEWS_MAX:
            raise _refused(
                f"the limit of {VIEWS_MAX:,} views is reached; delete some first", "views"
            )
        values = {
            "name": name,
            "url": url,
            "created_at_us": microseconds(view.created_at),
            **columns_of(author),
        }
        connection.execute(sa.insert(VIEWS).values(values))
    return view


def find(repository: TrialRepository) -> tuple[View, ...]:
    """All views, by name."""
    with repository.reading() as connection:
        found = connection.execute(sa.select(VIEWS).order_by(VIEWS.c.name)).all()
    return tuple(
        View(row.name, row.url, author_of(row._mapping), moment(row.created_at_us)) for row in found
    )


def delete(repository: TrialRepository, name: str, by: Author) -> None:
    """Delete a view in the name of `by`, which stays on record. VEN-VIEW-UNKNOWN if it doesn't
    exist.
    """
    chosen = sa.delete(VIEWS).where(VIEWS.c.name == name)
    with repository.writing() as connection:
        if not storable(name) or connection.execute(chosen).rowcount == 0:
            raise VenturiError(
                "VEN-VIEW-UNKNOWN",
                f"no view is named {name!r}",
                where={"name": name},
                hint="/api/views lists them",
            )
        record_action(connection, VIEW_DELETED, name, by)


def _line(what: str, text: str, most: int) -> str:
    text = text.strip()
    if not text or len(text) > most or not text.isprintable():
        raise _refused(f"{what} must be one line of 1 to {most:,} characters", what)
    return text


def _refused(message: str, field: str) -> VenturiError:
    return UsageError("VEN-VIEW-VALUE", message, where={"field": field})
