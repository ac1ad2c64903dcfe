"""The problems that a repository can have, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Kinds of problems; `MENDED_BY` says how each is repaired."""

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
    """The scope of a check, and all problems that it found.

    `elsewhere` counts the trials without any file here, as when several hosts share a database;
    `quarantined` counts quarantined records, old and new.
    """

    trials: int
    artifacts: int
    artifact_bytes: int
    elsewhere: int
    quarantined: int
    findings: tuple[RepositoryFinding, ...]

    @property
    def whole(self) -> bool:
        """Whether all problems are solved."""
        return all(finding.mended for finding in self.findings)
