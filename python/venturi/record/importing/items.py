"""Items that readers of results yield: trials, rejected rows and interpreted spellings.

A reader is a stream. For each row of its file it yields a trial or the reason why there isn't one,
and the spellings that it had to interpret. Absent values stay None; nothing is looked up elsewhere
or guessed. A file that is malformed as a whole (wrong header, cut off, not text, beyond the limits)
raises VEN-IMPORT-FORMAT, and then none of it may be kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from venturi import __version__
from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.importing.tables import TableRow, UnreadableError
from venturi.record.importing.text import Refusal
from venturi.record.limits import check
from venturi.record.trial import Host, Provenance, ProvenanceKind, Software, Trial

FAILED = "VEN-IMPORT-FAILED"
"""The code of the failure of a trial that its source says has failed."""
ALIKE = "VEN-IMPORT-ALIKE"
"""The code of the warning that a row equals an earlier one of its file in all but its number."""
CLOCK = "VEN-IMPORT-CLOCK"
"""The code of the warning for a timestamp for which the source names no time zone."""
UNSTATED = "VEN-IMPORT-UNSTATED"
"""The code of the warning for a fact that the source doesn't state."""
CUT = "VEN-IMPORT-CUT"
_YEAR_10000_S = 253_402_300_800


def since_1970(seconds: float) -> datetime | None:
    """The time at `seconds` since 1970 in UTC; None if it isn't from 1970 to 9999."""
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _YEAR_10000_S else None


@dataclass(frozen=True, slots=True)
class Spelling:
    """A text that was taken as another: `written` stands in the file, `taken_as` in the trial."""

    line: int
    field: str
    written: str
    taken_as: str


ImportedItem = Trial | Refusal | Spelling


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The file that is read: its name, and the SHA-256 of its whole content.

    With `limits`, the reader rejects a trial that exceeds them, with its line (`admitted`). `code`
    is the error's code if the file can't be read as a whole.
    """

    file: str
    sha256: str
    limits: TrialLimits | None = None
    code: str = "VEN-IMPORT-FORMAT"

    def provenance(self, dataset: str) -> Provenance:
        """Where a trial of `dataset` comes from: its name, and the digest of this file."""
        return Provenance(ProvenanceKind.IMPORTED, dataset, self.sha256)

    def malformed(
        self,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> VenturiError:
        """The error of a file that cannot be read as a whole; to be raised by a reader."""
        where = {"file": self.file, "line": line, "field": field, "value": value}
        return VenturiError(
            self.code,
            message,
            where={key: value for key, value in where.items() if value is not None},
            hint="nothing of this file was imported; fetch it again, or name its real format",
        )


def imported_id(format: str, *parts: str) -> str:
    """Return an id derived from a row: equal `parts` give equal ids, whenever they are read.

    `<format>-<40 hexadecimal digits of the SHA-256 of the parts>`; at most 64 plain characters.
    """
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return f"{format}-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def unnamed_hosts(cluster: str, count: int, facts: Mapping[str, Any]) -> tuple[Host, ...]:
    """Return `count` equal hosts that the source doesn't name: `<cluster>/1` and so on."""
    return tuple(Host(f"{cluster}/{number}", facts) for number in range(1, count + 1))


def admitted(
    items: Iterable[ImportedItem], line: int, source: ImportSource
) -> Iterator[ImportedItem]:
    """`items`, which `line` gave; in place of a trial beyond the limits of `source`, a refusal."""
    for item in items:
        try:
            if source.limits is not None and isinstance(item, Trial):
                check(item, source.limits)
        except VenturiError as error:
            field, value, limit = (str(error.where[key]) for key in ("field", "value", "limit"))
            yield Refusal(line, field, value, limit)
        else:
            yield item


def of_rows(
    rows: Iterable[TableRow | Refusal],
    of_row: Callable[[TableRow], Iterable[ImportedItem]],
    source: ImportSource,
) -> Iterator[ImportedItem]:
    """Yield the items that `of_row` makes of each row; an unusable row becomes a refusal."""
    for row in rows:
        if isinstance(row, Refusal):
            yield row
            continue
        try:
            made = tuple(admitted(of_row(row), row.line, source))
        except UnreadableError as error:
            yield error.refusal
        else:
            yield from made


# The software that produced the numbers is unknown; the software that read them is this. There is
# no build profile: nothing was built.
SOFTWARE = Software(venturi_version=__version__, git_sha=None, build_profile=None)
