"""What can be wrong in a repository, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """What kind of thing is wrong; `MENDED_BY` says what mending does about it."""

    UNREADABLE = "unreadable"
    COPY = "copy differs"
    ORPHAN_ROW = "row without record"
    LEFTOVER = "leftover"
    FOREIGN = "files of another database"
    MISSING = "missing artifact"
    WRONG = "wrong artifact"
    OPEN = "open to others"
    DAMAGED = "damaged database"


MENDED_BY = {
    FindingKind.UNREADABLE: "quarantined",
    FindingKind.COPY: "rebuilt from the record",
    FindingKind.ORPHAN_ROW: "removed",
    FindingKind.LEFTOVER: "removed",
    FindingKind.OPEN: "closed to others",
}
"""The others need a person: a backup, or the host where the trial was recorded."""


@dataclass(frozen=True, slots=True)
class RepositoryFinding:
    """Something that is wrong with `subject`: a trial, a rule, a view, a file, the database."""

    kind: FindingKind
    subject: str
    message: str
    mended: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was looked at, and all that was wrong.

    `elsewhere` counts the trials none of whose files are here, as it is where several hosts share a
    database; `quarantined` what is set aside, now or before.
    """

    trials: int
    artifacts: int
    artifact_bytes: int
    elsewhere: int
    quarantined: int
    findings: tuple[RepositoryFinding, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong any more."""
        return all(finding.mended for finding in self.findings)
