"""The answer about a job in one sentence: verdict, number, place and fix, in at most 25 words.

The terminal, the pages and the JSON show the same texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.calibration import Saving
from venturi.jobs.diagnosis.case import FindingScope, SparedResources
from venturi.jobs.stages.causes import (
    MAP,
    NOT_IN_LOG,
    READING,
    REDUCE,
    SPILLING,
    TO_COMPUTE,
    UNATTRIBUTED,
    WRITING,
)
from venturi.jobs.stages.elapsed import BEFORE, IDLE, ON_DRIVER
from venturi.jobs.stages.stage import Analysis, label_of
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.stages.verdict import LEAST, in_words
from venturi.record.account_kind import AccountKind
from venturi.record.gaps import loss_cause

_UNITS = ((3600, "h"), (60, "min"), (1, "s"))
_MISSING_LEAST = 0.005  # of the time: less rounds to 0 %
_LARGE = 1.67  # units: 100 s and more are minutes
DRIVER = "driver"
_OWN_CODE = "your program's own code, which the log doesn't show"
_NO_CAUSE = (UNATTRIBUTED, TO_COMPUTE)
_DISKS = (READING, WRITING, SPILLING, "shuffle write")
_PHASES = {label_of((MAP, 0)): "its maps", label_of((REDUCE, 0)): "its reduces"}
_NETWORK = ("shuffle fetch wait", "getting result")
_OF_TASKS = ("cpu", *_DISKS, *_NETWORK)
# Chosen by us, as shares of the time: with so much known and so little missing, we name the part.
_MOST, _LITTLE = 0.5, 0.1


def saving_words(
    saving: Saving, elapsed_s: float, spares: SparedResources | None, *, bound: bool
) -> str:
    """The saving of a fix: "saves about 45 s (30–80 s) of 146 s", or of a bound "at most 45 s"."""
    (about, low, high), unit = rounded(saving.expected_s, saving.low_s, saving.high_s)
    said = []
    if saving.expected_s > 0:
        time = f"at most {high} {unit}" if bound else f"about {about} {unit} ({low}–{high} {unit})"
        said.append(f"{time} of {_in_unit(elapsed_s, unit)}")
    if spares is not None:
        said.append(f"{spares.what} ({spares.share:.0%})")
    return f"saves {' and '.join(said)}"


def _in_unit(value_s: float, unit: str) -> str:
    """A time in `unit`, so that it compares with a saving at a glance."""
    value = value_s / next(per for per, name in _UNITS if name == unit)
    return f"{value:,.{1 if value < 100 else 0}f} {unit}"


def rounded(*values_s: float) -> tuple[list[str], str]:
    """Times in two digits, because savings are estimates, in the unit of the longest, and that."""
    longest_s = max(values_s)
    per, unit = next(each for each in _UNITS if longest_s >= each[0] * _LARGE or each[0] == 1)
    return [f"{float(f'{value / per:.2g}'):g}" for value in values_s], unit


def place_words(where: Sequence[FindingScope], kind: AccountKind) -> str:
    """The query or stage of a finding: " in query 0", " in stage 4", of MapReduce " in its maps".

    It is empty for hosts and programs.
    """
    for place in where[:1]:
        if place.query is not None:
            return f" in query {place.query}"
        if place.stage is not None and (place.host is None or place.task is not None):
            phase = _PHASES.get(place.stage) if kind.can("maps") else None
            return f" in {phase or f'stage {place.stage}'}"
    return ""


def first_sentence(line: Timeline, analysis: Analysis, costliest: str | None) -> str:
    """The answer about a job: its `costliest` finding, its bottleneck, or why it is unknown."""
    if not line.elapsed_s:
        return "Can't tell: the start or end of the application is unknown."
    hanging = [each for stage in analysis.stages for each in stage.unfinished if each.hanging]
    oldest = max(hanging, key=lambda each: each.age_s, default=None)
    if oldest is not None and oldest.age_s >= LEAST * line.elapsed_s:
        return (
            f"Task {oldest.task_id} didn't end: it had run for {format_duration(oldest.age_s)} "
            f"of {format_duration(line.elapsed_s)} when {oldest.until}."
        )
    if costliest is not None:
        return costliest
    return _without_finding(line, analysis.verdict.shares, line.elapsed_s)


def largest_part(shares: Mapping[str, float]) -> tuple[str, float]:
    """Return the largest part with a known cause and its share; the driver's parts are one."""
    parts: dict[str, float] = {}
    for part, share in shares.items():
        name = DRIVER if part in ON_DRIVER else part
        parts[name] = parts.get(name, 0.0) + share
    for each in _NO_CAUSE:
        parts.pop(each, None)
    top = max(parts, key=lambda part: parts[part], default=UNATTRIBUTED)
    return top, parts.get(top, 0.0)


def largest_on_driver(shares: Mapping[str, float]) -> str:
    """Return the largest part of the time in the driver."""
    return max((part for part in ON_DRIVER if part in shares), key=lambda each: shares[each])


def _without_finding(line: Timeline, shares: Mapping[str, float], elapsed_s: float) -> str:
    took = format_duration(elapsed_s)
    top, share = largest_part(shares)
    missing = shares.get(NOT_IN_LOG, 0.0)
    lacks_little = line.gaps.lacks and missing <= _LITTLE and _ended(line)
    if lacks_little and top in _OF_TASKS and share > _MOST:
        return f"{_bound(top, f'at least {share:.0%} of {took}', shares, line.account.kind)}."
    if cut := _cut(line, shares, took):
        return f"Can't tell: {cut}."
    if not shares:
        return "Can't tell: no task has a recorded time."
    hidden = sum(shares.get(each, 0.0) for each in _NO_CAUSE)
    if hidden >= max(share, LEAST):
        return (
            f"Can't tell: {hidden:.0%} of {took} has no recorded cause; host metrics would show "
            "it (venturi run)."
        )
    if share < LEAST:
        return f"No part of {took} stands out; the largest is {in_words(top)} with {share:.0%}."
    return f"{_bound(top, f'{share:.0%} of {took}', shares, line.account.kind)}."


def _ended(line: Timeline) -> bool:
    return line.account.application.outcome not in {"unfinished", "unknown"}


def _cut(line: Timeline, shares: Mapping[str, float], took: str) -> str | None:
    """The missing part of the log, if some of the time is unknown because of it."""
    missing = shares.get(NOT_IN_LOG, 0.0)
    application = line.account.application
    if line.gaps.lacks:
        lost = line.gaps.sentence or "the log lacks events of some tasks"
        if missing >= _MISSING_LEAST:
            lost = f"the log lacks events for {missing:.0%} of {took}"
        return f"{lost}; {loss_cause(line.account.reading).remedy}"
    if application.outcome in {"unfinished", "unknown"} and application.end_recorded:
        return application.reason or "the end of a job is missing"
    if application.outcome == "unfinished":
        return f"the log ends before the application; its first {took} show no problem"
    return None


def _bound(top: str, share: str, shares: Mapping[str, float], kind: AccountKind) -> str:
    """The bottleneck of a job without a finding, and the remedy."""
    if top == "cpu":
        return f"CPU-bound: tasks compute for {share}; more cores would help"
    if top == DRIVER:
        most = largest_on_driver(shares)
        bound = "Driver-bound: " if kind.can("driver") else ""
        so = f": {_OWN_CODE}" if most == BEFORE else "; more slots wouldn't help"
        return f"{bound}{share} passes without a task, mostly {in_words(most)}{so}"
    if top == IDLE:
        return f"Bound by its longest tasks: slots are idle for {share}; more slots wouldn't help"
    if top in _DISKS:
        return f"Disk-bound: {share} went to {in_words(top)}; faster disks would help"
    if top in _NETWORK:
        return f"Network-bound: {share} went to {in_words(top)}; a faster network would help"
    return f"{share} went to {in_words(top)}, without a known problem"
