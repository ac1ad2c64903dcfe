"""An application's tasks, stages, slots and plans on one clock: the basis of all findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from venturi.jobs.stages.path import StageSpan
from venturi.jobs.stages.plans import Plans
from venturi.jobs.stages.replay import Schedule
from venturi.jobs.stages.slots import SlotOffer, offered
from venturi.jobs.stages.tasks import Tasks
from venturi.record.gaps import Gaps, gaps_of
from venturi.record.job_account import JobAccount

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The activity of an application over time, in seconds since it began.

    If its beginning isn't recorded, counts from its first stage. `elapsed_s` is None if the end is
    unknown, `there` if the executors aren't recorded. `spans` has the stages with a recorded
    beginning, `gaps` the events that the log lacks. `schedules` covers the stages in which
    `analyse` found tasks of known time.
    """

    account: JobAccount
    elapsed_s: float | None
    tasks: Tasks
    plans: Plans
    spans: Mapping[Key, StageSpan]
    there: SlotOffer | None
    gaps: Gaps
    schedules: dict[Key, Schedule] = field(default_factory=dict)


def timeline(account: JobAccount) -> Timeline:
    """The timeline of `account`; VEN-MODEL-INPUT if it is unknown which data its engine records."""
    application = account.application
    origin_ms = _origin_ms(account)
    end_s = None
    if application.ended_ms is not None:
        end_s = (application.ended_ms - origin_ms) / 1e3
    spans = {
        (row["stage_id"], row["attempt"]): span
        for row in account.stages.rows(named=True)
        if (span := _span(row, origin_ms, end_s))
    }
    plans, gaps = Plans(account), gaps_of(account)
    there = offered(account, origin_ms)
    return Timeline(
        account,
        end_s if end_s is not None and end_s > 0 else None,
        Tasks(account, origin_ms, plans.fully_explained(), gaps.stages),
        plans,
        spans,
        there,
        gaps,
    )


def _span(row: Mapping[str, Any], origin_ms: float, end_s: float | None) -> StageSpan | None:
    """When a stage was active; one without an end, to the end of the application."""
    if row["submitted_ms"] is None:
        return None
    from_s = (row["submitted_ms"] - origin_ms) / 1e3
    to_s = end_s if row["ended_ms"] is None else (row["ended_ms"] - origin_ms) / 1e3
    if to_s is None or to_s < from_s:
        return None
    key = row["stage_id"], row["attempt"]
    return StageSpan(key, tuple(row["parent_ids"] or ()), from_s, to_s)


def _origin_ms(account: JobAccount) -> int:
    if account.application.started_ms is not None:
        return account.application.started_ms
    return min(account.stages["submitted_ms"].drop_nulls().to_list(), default=0)
