"""The result of importing a file: one shape for all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from venturi.record.importing.items import ALIKE, ImportedItem, Spelling
from venturi.record.importing.text import Refusal
from venturi.record.trial import Scalar, State, Trial

KEPT_REFUSALS = 1_000
_SHOWN_CHARACTERS = 200
_VALUES_MOST = 20


@dataclass(frozen=True, slots=True)
class RefusalReason:
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


class ArrivalKind(StrEnum):
    """The outcome of importing a trial of an archive or log."""

    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "already here"
    OLDER = "older"
    """Its log has less than the stored one, which is kept."""
    CONTRADICTING = "contradicting"
    """Its log differs from the stored one of the same finished application, which is kept."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A trial of an archive or log; `account` has facts of a log, and `note` says more about
    `kind`.
    """

    trial: str
    kind: ArrivalKind
    account: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def added(self) -> bool:
        """Whether the trial is new."""
        return self.kind is ArrivalKind.ADDED


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of importing a file, by row.

    A row is counted once: `added`, `updated` in place, `already_present`, `removed` (deleted here
    for good, so not imported again), `repeated` (a copy of an earlier row) or refused. Among the
    first three, `failed` counts trials that failed where they ran, and `alike` those that equal an
    earlier row in everything but its number: they are kept and marked (VEN-IMPORT-ALIKE). `refused`
    holds the first 1,000 refusals, `reasons` counts all. Archives and logs have their `trials` by
    name.

    `workload` is the most frequent one of a file of results, `differing` has the configuration keys
    with 2 to 20 values among its trials, those of the fewest first, and `example` is the ID of one.
    `waiting` counts running applications that their logs don't name yet.
    """

    added: int
    already_present: int
    repeated: int
    failed: int
    alike: int
    refused_count: int
    refused: tuple[Refusal, ...]
    reasons: tuple[RefusalReason, ...]
    spellings: tuple[Variant, ...]
    trials: tuple[Arrival, ...] = ()
    removed: int = 0
    workload: str = ""
    differing: tuple[str, ...] = ()
    example: str = ""
    updated: int = 0
    waiting: int = 0

    @property
    def kept(self) -> int:
        """How many trials are in the repository now."""
        return self.added + self.updated + self.already_present

    @property
    def sound(self) -> bool:
        """Whether a trial was imported or already present, and none is damaged."""
        damaged = any(refusal.code for refusal in self.refused)
        contradicting = any(each.kind is ArrivalKind.CONTRADICTING for each in self.trials)
        found = self.kept + self.removed + self.waiting
        return found > 0 and not damaged and not contradicting


@dataclass(slots=True)
class Tally:
    """Count the items that a reader yields, and pass on each trial once."""

    added: int = 0
    updated: int = 0
    already_present: int = 0
    removed: int = 0
    repeated: int = 0
    waiting: int = 0
    failed: int = 0
    alike: int = 0
    refused: list[Refusal] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    spellings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    arrivals: list[Arrival] = field(default_factory=list)
    workloads: Counter[str] = field(default_factory=Counter)
    values: dict[str, dict[str, set[Scalar]]] = field(default_factory=dict)  # by workload and key
    example: str = ""

    def trials(self, items: Iterable[ImportedItem]) -> Iterator[Trial]:
        """The trials among `items`, each once; the rest is counted."""
        seen: set[str] = set()
        for item in items:
            if isinstance(item, Refusal):
                self.refuse(item)
            elif isinstance(item, Spelling):
                self.spellings[item.field, item.written, item.taken_as] += 1
            elif item.id in seen:
                self.repeated += 1
            else:
                seen.add(item.id)
                self.failed += item.state is State.FAILED
                self.alike += any(warning.code == ALIKE for warning in item.warnings)
                self._note(item)
                yield item

    def _note(self, trial: Trial) -> None:
        self.example = trial.id
        self.workloads[trial.workload.name] += 1
        keys = self.values.setdefault(trial.workload.name, {})
        for key, value in trial.configuration.items():
            known = keys.setdefault(key, set())
            if len(known) <= _VALUES_MOST:
                known.add(value)

    def refuse(self, refusal: Refusal) -> None:
        """Count a refusal, and keep it if it is among the first."""
        self.reasons[refusal.field, refusal.reason] += 1
        if len(self.refused) < KEPT_REFUSALS:
            self.refused.append(replace(refusal, value=refusal.value[:_SHOWN_CHARACTERS]))

    def arrive(
        self,
        trial: Trial,
        kind: ArrivalKind,
        account: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> None:
        """Count a trial that was stored separately, now or before."""
        self.added += kind is ArrivalKind.ADDED
        self.updated += kind is ArrivalKind.UPDATED
        self.already_present += kind not in {ArrivalKind.ADDED, ArrivalKind.UPDATED}
        self.failed += trial.state is State.FAILED
        self.arrivals.append(Arrival(trial.id, kind, account or {}, note))

    def done(self) -> ImportReport:
        """Return the counts."""
        workload = max(self.workloads, key=self.workloads.__getitem__, default="")
        keys = self.values.get(workload, {})
        return ImportReport(
            added=self.added,
            already_present=self.already_present,
            repeated=self.repeated,
            failed=self.failed,
            alike=self.alike,
            refused_count=self.reasons.total(),
            refused=tuple(self.refused),
            reasons=tuple(RefusalReason(*key, count) for key, count in self.reasons.most_common()),
            spellings=tuple(Variant(*key, count) for key, count in self.spellings.most_common()),
            trials=tuple(self.arrivals),
            removed=self.removed,
            workload=workload,
            differing=tuple(
                key
                for key in sorted(keys, key=lambda key: len(keys[key]))
                if 1 < len(keys[key]) <= _VALUES_MOST
            ),
            example=self.example,
            updated=self.updated,
            waiting=self.waiting,
        )
