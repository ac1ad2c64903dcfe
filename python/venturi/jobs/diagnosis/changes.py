"""Results of the comparison of two jobs by `difference`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartChange:
    """A part of the elapsed time in words, its seconds before and after."""

    part: str
    before_s: float
    after_s: float


@dataclass(frozen=True, slots=True)
class AmountChange:
    """An amount in both jobs, in `unit` (B, s or 1); None is "not recorded"."""

    what: str
    unit: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that differs; None is "not set"."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class PlanChange:
    """The operators that only one of two queries has; None is a query that only one job has."""

    before_query: int | None
    after_query: int | None
    name: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageChange:
    """A stage of both jobs, or of only one: its labels, its work, its seconds."""

    before: str | None
    after: str | None
    name: str
    before_s: float | None
    after_s: float | None


@dataclass(frozen=True, slots=True)
class JobDifference:
    """The differences between two jobs, largest first; `sentence` is the verdict.

    `amounts` has all that both recorded, `settings` and `plans` only differences. `comparable` is
    False if a job failed or was interrupted; `caution` warns of different programs or engines.
    `promise` compares the saving that the first job's first finding promised with the measured one,
    if the second job no longer has that finding. `promise_held` says whether it is within the
    promised range, None without a promise. `start_up` says what to do if most of the difference is
    before the first query.
    """

    sentence: str
    before_s: float | None
    after_s: float | None
    parts: tuple[PartChange, ...]
    amounts: tuple[AmountChange, ...]
    settings: tuple[SettingChange, ...]
    plans: tuple[PlanChange, ...]
    stages: tuple[StageChange, ...]
    comparable: bool
    caution: str | None
    promise: str | None
    start_up: str | None
    promise_held: bool | None
