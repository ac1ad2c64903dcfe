"""Taking other people's results in: each row of a file a trial, or a counted refusal.

All trials of a file are stored in one transaction, so that a file that turns out to be damaged
leaves nothing. Ids are made of what the rows say, so that a second import adds nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from venturi.errors import ExitCode, VenturiError, unreadable
from venturi.record.importing.items import ALIKE, IMPORTERS, Item, Refusal, Source, Spelling
from venturi.record.repository import Repository
from venturi.record.trial import State, Trial

KEPT_REFUSALS = 1_000
_SHOWN_CHARACTERS = 200
_ITEMS_A_STEP = 500
Progress = Callable[[int, int], None]
"""Called with the bytes read and the bytes in all."""


@dataclass(frozen=True, slots=True)
class Reason:
    """How many rows were refused for one reason."""

    field: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Variant:
    """How many times `written` was taken as `taken_as`."""

    field: str
    written: str
    taken_as: str
    count: int


@dataclass(frozen=True, slots=True)
class ImportedResults:
    """What became of the rows of a file.

    A row is one of `added`, `already_present`, `repeated` (an earlier row over again) and refused.
    Of the first two, `failed` failed where they ran, and `alike` equal an earlier row in all but
    its number: they are kept and marked (VEN-IMPORT-ALIKE). `refused` holds the first 1,000
    refusals, `reasons` counts all.
    """

    added: int
    already_present: int
    repeated: int
    failed: int
    alike: int
    refused: tuple[Refusal, ...]
    reasons: tuple[Reason, ...]
    spellings: tuple[Variant, ...]

    @property
    def refused_count(self) -> int:
        """How many rows were refused."""
        return sum(reason.count for reason in self.reasons)


def import_results(
    repository: Repository, format: str, path: Path, progress: Progress | None = None
) -> ImportedResults:
    """Takes in the results in `path`, which is of `format` (a name in `IMPORTERS`).

    A file that is not of the format, is damaged or cannot be read is an error
    (VEN-IMPORT-FORMAT), and nothing of it is stored.
    """
    chosen = IMPORTERS.get(format)
    if chosen is None:
        raise VenturiError(
            "VEN-IMPORT-FORMAT",
            f"{format!r} is not a format that can be imported",
            where={"format": format},
            hint=f"one of {', '.join(IMPORTERS)}",
            exit_code=ExitCode.USAGE,
        )
    tally = _Tally()
    try:
        with path.open("rb") as file:
            source = Source(str(path), hashlib.file_digest(file, "sha256").hexdigest())
            size_bytes = file.tell()
            file.seek(0)
            items = chosen.read(file, source)
            if progress is not None:
                items = _watched(items, file.tell, size_bytes, progress)
            report = repository.add_many(tally.trials(items))
    except OSError as error:
        raise unreadable(path, error, "VEN-IMPORT-FORMAT") from error
    return tally.results(report.added, report.already_present)


def _watched(
    items: Iterator[Item], position: Callable[[], int], size_bytes: int, progress: Progress
) -> Iterator[Item]:
    for count, item in enumerate(items):
        if count % _ITEMS_A_STEP == 0:
            progress(position(), size_bytes)
        yield item
    progress(size_bytes, size_bytes)


@dataclass(slots=True)
class _Tally:
    """Counts what a reader yields, and passes on each trial once."""

    seen: set[str] = field(default_factory=set)
    repeated: int = 0
    failed: int = 0
    alike: int = 0
    refused: list[Refusal] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    spellings: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def trials(self, items: Iterator[Item]) -> Iterator[Trial]:
        for item in items:
            if isinstance(item, Refusal):
                self._refuse(item)
            elif isinstance(item, Spelling):
                self.spellings[item.field, item.written, item.taken_as] += 1
            elif item.id in self.seen:
                self.repeated += 1
            else:
                self.seen.add(item.id)
                self.failed += item.state is State.FAILED
                self.alike += any(warning.code == ALIKE for warning in item.warnings)
                yield item

    def _refuse(self, refusal: Refusal) -> None:
        self.reasons[refusal.field, refusal.reason] += 1
        if len(self.refused) < KEPT_REFUSALS:
            self.refused.append(replace(refusal, value=refusal.value[:_SHOWN_CHARACTERS]))

    def results(self, added: int, already_present: int) -> ImportedResults:
        return ImportedResults(
            added=added,
            already_present=already_present,
            repeated=self.repeated,
            failed=self.failed,
            alike=self.alike,
            refused=tuple(self.refused),
            reasons=tuple(Reason(*key, count) for key, count in self.reasons.most_common()),
            spellings=tuple(Variant(*key, count) for key, count in self.spellings.most_common()),
        )
