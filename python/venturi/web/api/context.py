"""The context of a request, and the parameters that most requests share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from venturi.core.errors import VenturiError
from venturi.record.query.checks import conditions_for
from venturi.record.query.conditions import Condition
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial
from venturi.web.api.request_arguments import Dependency, Parameter

if TYPE_CHECKING:
    from venturi.record.access.authors import Author
    from venturi.record.access.exclusions import Exclusion
    from venturi.record.access.tokens import Token
    from venturi.record.access.views import View
    from venturi.record.importing.tally import ImportReport

TRIAL_ID = Parameter(
    pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$",
    description="A trial's full ID.",
    examples=["01JZX3J8V0W4Q6N7T2B5C9D1EF"],
)
Id = Annotated[str, TRIAL_ID]


class RepositoryWriter(Protocol):
    """Writes to the repository. The command line wires it in, because this package only reads.

    Errors are those of the record: unknown, duplicate or malformed.
    """

    def take_in(self, archive: Path, by: Author) -> ImportReport:
        """Stores the trials of an archive for good; a damaged trial is refused by itself."""

    def exclude(self, conditions: Sequence[str], author: Author, reason: str) -> Exclusion:
        """Records a rule that leaves trials out."""

    def revoke(self, id_: str, by: Author) -> Exclusion:
        """Revokes an exclusion rule; its trials count again."""

    def save_view(self, name: str, url: str, author: Author) -> View:
        """Saves a page's address under `name`."""

    def delete_view(self, name: str, by: Author) -> None:
        """Deletes a view."""

    def open_session(self, token: Token) -> str:
        """The secret of a new session of a named token."""

    def close_session(self, secret: str) -> None:
        """Ends a session."""

    def note_use(self, token: Token) -> None:
        """Records that a named token is in use."""

    def import_starter(self) -> ImportReport:
        """Imports the published tables that come with Venturi."""


@dataclass(frozen=True, slots=True)
class Services:
    """The routes' shared services: the repository, and its writer (None: read-only)."""

    repository: TrialRepository
    changes: RepositoryWriter | None = None


def trial_of(services: Services, id_: str) -> Trial:
    """Return the trial with exactly this id (VEN-RECORD-UNKNOWN)."""
    found = services.repository.get(id_)
    if found.id != id_:
        raise VenturiError(
            "VEN-RECORD-UNKNOWN",
            f"no trial has the id {id_!r}",
            where={"id": id_},
            hint="/api/trials lists the trials",
        )
    return found


@dataclass(frozen=True, slots=True)
class Requester:
    """The client of a request: its role, and whether the server accepts `uploads` from all clients.

    `token` is the name of the client's token, if it sent one.
    """

    role: Literal["read", "write"]
    uploads: bool
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The trials that are looked at: those that meet `conditions` and are not left out."""

    conditions: tuple[Condition, ...] = ()
    with_excluded: bool = False

    def query(self, **more: Any) -> Query:
        """The query for them, with its order and its page."""
        return Query(self.conditions, with_excluded=self.with_excluded, **more)


def selection(
    services: Services,
    where: Annotated[
        list[str] | None,
        Parameter(
            description="KEY=VALUE, KEY!=VALUE, KEY<N, KEY<=N, KEY>N, KEY>=N, KEY= (missing) or "
            "KEY!= (present). All must hold; several values of one key are alternatives.",
            max_length=50,
            examples=[["workload=terasort", "elapsed_s<5000"]],
        ),
    ] = None,
    excluded: Annotated[bool, Parameter(description="Include excluded trials.")] = False,
) -> Selection:
    """The parameters that choose trials."""
    return Selection(conditions_for(services.repository, where or ()), excluded)


SelectionDep = Annotated[Selection, Dependency(selection)]
