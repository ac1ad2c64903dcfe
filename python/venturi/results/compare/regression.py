"""Whether a group is slower than the first one by more than is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from venturi.core.errors import UsageError, VenturiError
from venturi.results.compare.repeat_groups import Comparison, GroupResult, is_rate


class Slowdown(StrEnum):
    """Whether a group is slower by more than the limit."""

    SLOWER = "slower"
    NOT_SLOWER = "not slower"
    CANNOT_TELL = "cannot tell"
    NO_RESULT = "no result"


@dataclass(frozen=True, slots=True)
class Decision:
    """One group against the first. `factor` is its time in multiples of the first one's; `low` and
    `high` are the ends of that factor's interval, None without one. `sentence` says why.
    """

    group_key: str
    outcome: Slowdown
    factor: float
    low: float | None
    high: float | None
    sentence: str


def decide(comparison: Comparison, limit: float) -> tuple[Decision, ...]:
    """Each group but the first: is its time more than `limit` (such as 1.05) times the first's?

    By the interval that `comparison` has already: slower if all of it is beyond the limit, not
    slower if none of it is and no trial of the group failed, for the slowest may be those that did.
    A rate's factor is turned round. VEN-COMPARE-GROUPS of a metric that is neither time nor rate,
    and of a group without values: a trial that did not run must not pass for fast.
    """
    require_speed(comparison.metric, comparison.unit)
    for group in comparison.groups:
        if not group.values:
            raise VenturiError(
                "VEN-COMPARE-GROUPS",
                f"group {group.group_key} has no counted trial, so its speed is unknown",
                where={"group": group.group_key, "not_counted": dict(group.left_out)},
                hint="`venturi ls` lists its trials; `venturi show ID` says why one failed",
            )
    return tuple(_decision(comparison, group, limit) for group in comparison.groups[1:])


def _decision(comparison: Comparison, group: GroupResult, limit: float) -> Decision:
    first, verdict = comparison.groups[0].group_key, group.against_first
    if verdict is None or verdict.ratio is None:
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"{group.group_key} compared with {first}: "
            f"{verdict.reason if verdict else 'not compared'}",
            where={"group": first},
            hint="choose another metric",
        )
    factor, interval = verdict.ratio, verdict.interval
    ends = None if interval is None else (interval.low, interval.high)
    if comparison.higher_is_better:  # a rate: its time is the inverse
        factor = 1 / factor
        ends = None if ends is None else (1 / ends[1], 1 / ends[0])
    outcome = outcome_within(ends, limit)
    why = verdict.reason or ""
    failed = {kind: count for kind, count in group.left_out.items() if kind != "warm-up"}
    if outcome is Slowdown.NOT_SLOWER and failed:
        # The slowest trials may be the ones that failed.
        outcome = Slowdown.CANNOT_TELL
        why = not_counted(failed)
    elif (
        interval is not None
        and ends is not None
        and (outcome is not Slowdown.CANNOT_TELL or not why)
    ):
        why = f"its time differs by {change(ends[0])} to {change(ends[1])} ({interval.percent})"
    said = {
        Slowdown.SLOWER: f"{group.group_key} is slower than {first}",
        Slowdown.NOT_SLOWER: f"{group.group_key} is not slower than {first}",
        Slowdown.CANNOT_TELL: f"cannot tell whether {group.group_key} is slower than {first}",
    }
    sentence = f"{said[outcome]} by more than {change(limit)[1:]}: {why}"
    low, high = ends or (None, None)
    return Decision(group.group_key, outcome, factor, low, high, sentence)


def outcome_within(ends: tuple[float, float] | None, limit: float) -> Slowdown:
    """Whether a factor with an interval between `ends` (None: without one) is beyond `limit`."""
    if ends is None:
        return Slowdown.CANNOT_TELL
    if ends[0] > limit:
        return Slowdown.SLOWER
    return Slowdown.NOT_SLOWER if ends[1] <= limit else Slowdown.CANNOT_TELL


def change(factor: float) -> str:
    """`factor` as a signed change: 1.052 is +5.2%."""
    return f"{100 * (factor - 1):+.3g}%"


def require_speed(metric: str, unit: str) -> None:
    """VEN-COMPARE-GROUPS for a metric that is neither a time nor a rate."""
    if unit != "s" and not is_rate(unit):
        raise UsageError(
            "VEN-COMPARE-GROUPS",
            f"{metric} is neither a time nor a rate, so it can't show a slowdown",
            where={"metric": metric, "unit": unit},
            hint="choose a metric in s or in a unit per second",
        )


def not_counted(failed: Mapping[str, int]) -> str:
    """Why a group that isn't slower can't be called so: its trials that `failed`, by kind."""
    return f"{', '.join(f'{count} {kind}' for kind, count in failed.items())} do not count"
