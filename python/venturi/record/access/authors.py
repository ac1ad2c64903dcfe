"""Who did something: the name that Venturi verified, and the name that the user stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

KnownBy = Literal["token", "login"]
SAID_CHARACTERS_MAX = 100


@dataclass(frozen=True, slots=True)
class Author:
    """Who did something. `name` is that of the token or of the system's user, as `known_by` says.

    Without a name there is only the unverified name that they `said`. `text` is both for people: a
    name that was only said is marked as such.
    """

    name: str | None = None
    known_by: KnownBy | None = None
    said: str | None = None
    text: str = field(init=False, default="", compare=False)

    def __post_init__(self) -> None:
        if self.name is None:
            text = f"{self.said or 'unknown'} (not verified)"
        elif self.said in {None, self.name}:
            text = self.name
        else:
            text = f"{self.name} (says: {self.said})"
        object.__setattr__(self, "text", text)

    def saying(self, said: str | None) -> Author:
        """The same author with the stated name `said`."""
        return replace(self, said=said)


def as_author(author: Author | str) -> Author:
    """Return `author`; a text becomes an author with only a stated name."""
    return Author(said=author) if isinstance(author, str) else author


def columns_of(author: Author, prefix: str = "author") -> dict[str, Any]:
    """`author` as columns; the column `prefix` has the stated name, "" without one."""
    return {
        prefix: author.said or "",
        f"{prefix}_name": author.name,
        f"{prefix}_known_by": author.known_by,
    }


def author_of(row: Mapping[Any, Any], prefix: str = "author") -> Author:
    """The author in the columns of `row`; one recorded before names were known has only said it."""
    known_by = row[f"{prefix}_known_by"]
    return Author(
        row[f"{prefix}_name"],
        known_by if known_by in get_args(KnownBy) else None,
        row[prefix] or None,
    )
