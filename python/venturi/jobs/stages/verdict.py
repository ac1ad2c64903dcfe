"""The narrowest point of a stage and of an application in one sentence, or "cannot tell".

The elapsed time is divided exactly (`elapsed`): the driver's part; of each stage, the slots that
stood idle; and the rest by the causes of its tasks' time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from venturi.core.units import format_duration
from venturi.jobs.stages.causes import (
    NOT_IN_LOG,
    TO_COMPUTE,
    UNATTRIBUTED,
    UNFINISHED,
)
from venturi.jobs.stages.elapsed import (
    IDLE,
    ON_DRIVER,
    ElapsedParts,
)
from venturi.jobs.stages.stage import NarrowestPoint, Skew, Stage, UnfinishedAttempt

# Chosen by us, not measured: one trial can't distinguish two parts within MARGIN of the whole, and
# a part below LEAST isn't a bottleneck.
MARGIN = 0.05
LEAST = 0.2
OTHERS = 0.1  # of the processor time, from where on a trial is disturbed
DRIVER = "driver"
_FEW_SLOTS = 0.5  # of the slots: the verdict reports fewer tasks than that
_SHOWN_PARTS = 3

_LABELS = {
    "cpu": "CPU",
    DRIVER: "the driver",
    TO_COMPUTE: "off-CPU, cause unknown",
    UNATTRIBUTED: "unattributed time",
    UNFINISHED: "unfinished tasks",
    NOT_IN_LOG: "time missing from log",
}


def in_words(part: str) -> str:
    """The label of a part of the time, the same in texts, tables and charts."""
    return _LABELS.get(part, part)


def stage_verdict(
    elapsed_s: float | None,
    shares: Mapping[str, float],
    skews: Sequence[Skew],
    unfinished: Sequence[UnfinishedAttempt],
    *,
    whole: bool = True,
) -> NarrowestPoint:
    """The bottleneck of one stage, from the `shares` of its time.

    Unless the log is `whole`, any cause may explain the time without one.
    """
    if not elapsed_s or not shares:
        return NarrowestPoint(
            None, "cannot tell: none of its tasks has a recorded time", {}, elapsed_s
        )
    return _judge(shares, elapsed_s, _skewed(skews, unfinished), None, whole=whole)


def application_verdict(
    stages: Sequence[Stage], elapsed: ElapsedParts, elapsed_s: float | None, silence: str
) -> NarrowestPoint:
    """The bottleneck of the application, from the parts of its time in `elapsed`.

    `silence` explains why time may have no recorded cause.
    """
    if not elapsed_s:
        return NarrowestPoint(
            None, "cannot tell: the start or end of the application is unknown", {}, None
        )
    shares = {part: time_s / elapsed_s for part, time_s in elapsed.parts.items()}
    hanging = _hanging(stages, elapsed_s)
    judged = {DRIVER: sum(shares.get(part, 0.0) for part in ON_DRIVER)}
    judged |= {part: share for part, share in shares.items() if part not in ON_DRIVER}
    top = max(judged, key=lambda part: judged[part])
    in_stages = {stage.key: elapsed.of_stages.get(stage.key, {}).get(top, 0.0) for stage in stages}
    evidence = _driver_parts(shares) if top == DRIVER else ""
    if any(in_stages.values()):
        stage = max(stages, key=lambda each: in_stages[each.key])
        evidence = f"most of it in {stage.title}"
        if top == IDLE:
            evidence += _few(stage)
    found = _judge(judged, elapsed_s, evidence, silence, whole=elapsed.lacking is None)
    if hanging is not None:
        sentence = f"{hanging}; {found.sentence}"
        found = replace(found, narrowest=UNFINISHED, sentence=sentence, share=None)
    if elapsed.lacking:
        found = replace(found, sentence=f"{elapsed.lacking}; {found.sentence}")
    return replace(found, shares=dict(sorted(shares.items(), key=lambda each: -each[1])))


def _driver_parts(shares: Mapping[str, float]) -> str:
    largest = sorted((part for part in ON_DRIVER if part in shares), key=lambda part: -shares[part])
    shown = [part for part in largest if shares[part] >= MARGIN / 2][:_SHOWN_PARTS] or largest[:1]
    return ", ".join(f"{in_words(part)} {shares[part]:.0%}" for part in shown)


def _few(stage: Stage) -> str:
    """Return why slots of `stage` were idle, as far as known."""
    said = ""
    slots = stage.offered_slots
    if slots is not None and stage.at_once <= slots * _FEW_SLOTS:
        tasks = "1 task" if stage.at_once == 1 else f"{stage.at_once:,} tasks"
        said = f", with at most {tasks} running on {slots:,} slots"
    skewed = _skewed(stage.skews, stage.unfinished)
    return said + (f", {skewed}" if skewed else "")


def _hanging(stages: Sequence[Stage], elapsed_s: float) -> str | None:
    """Describe an unfinished task that the application waited for."""
    hung = [(each, stage) for stage in stages for each in stage.unfinished[:1] if each.hanging]
    if not hung:
        return None
    oldest, stage = max(hung, key=lambda each: each[0].age_s)
    if oldest.age_s / elapsed_s < LEAST:
        return None
    beside = "" if oldest.ratio is None else f", {oldest.ratio:.1f} times the median of the others"
    where = f"executor {oldest.executor_id} on {oldest.host}" if oldest.host else "an unknown host"
    return (
        f"task {oldest.index} of {stage.title} didn't end: it had run for "
        f"{format_duration(oldest.age_s)}{beside}, on {where}, when {oldest.until}"
    )


def with_background_load(verdict: NarrowestPoint, others: float | None) -> NarrowestPoint:
    """Add to `verdict` that other programs used the share `others` of the host's CPUs.

    Tasks and the driver then waited for cores, which no engine records as a cause.
    """
    if others is None or others < OTHERS:
        return verdict
    said = (
        f"other programs used {others:.0%} of the host's CPU time, so tasks and the driver "
        "may have waited for a core (no engine records that)"
    )
    return replace(verdict, sentence=f"{verdict.sentence}; {said}")


def _skewed(skews: Sequence[Skew], unfinished: Sequence[UnfinishedAttempt]) -> str:
    for skew in skews:
        if skew.unit == "s" and skew.ratio is not None and skew.largest is not None:
            hangs = any(each.hanging and each.age_s >= skew.largest for each in unfinished)
            longest = "with a task running for" if hangs else "with a longest task of"
            took = format_duration(skew.largest)
            return f"{longest} {took}, {skew.ratio:.1f} times the median"
    return ""


def _judge(
    parts: Mapping[str, float],
    of_s: float,
    evidence: str,
    silence: str | None,
    *,
    whole: bool = True,
) -> NarrowestPoint:
    shares = dict(sorted(parts.items(), key=lambda each: -each[1]))
    (top, share), *others = shares.items()
    missing = shares.get(NOT_IN_LOG, 0.0)
    least = "at least " if missing and top != NOT_IN_LOG else ""
    said = f"{in_words(top)} took {least}{share:.0%} of {format_duration(of_s)}"
    if top == UNATTRIBUTED:
        why = f"cannot tell: {said}" + (f" ({silence})" if silence else "")
        return NarrowestPoint(None, why, shares, of_s)
    unsure = (NOT_IN_LOG,) if whole else (NOT_IN_LOG, UNATTRIBUTED)
    hidden = sum(shares.get(part, 0.0) for part in unsure)
    known = [each for part, each in shares.items() if part not in unsure]
    if top == NOT_IN_LOG or ((missing or not whole) and hidden >= share - sum(known[1:2]) - MARGIN):
        names = " and ".join(in_words(part) for part in unsure if shares.get(part))
        why = "" if top == NOT_IN_LOG else f" and {names} {hidden:.0%}"
        return NarrowestPoint(None, f"cannot tell: {said}{why}", shares, of_s)
    if share < LEAST:
        return NarrowestPoint(
            None, f"cannot tell: no part stands out; {said} at most", shares, of_s
        )
    if others and share - others[0][1] < MARGIN:
        second, next_share = others[0]
        why = (
            f"two are about equal: {in_words(top)} {share:.0%}, {in_words(second)} "
            f"{next_share:.0%} of {format_duration(of_s)}"
        )
        return NarrowestPoint(None, why, shares, of_s)
    joint = ": " if top == DRIVER else ", "
    sentence = said + (f"{joint}{evidence}" if evidence and (silence or top == IDLE) else "")
    if others:
        sentence += f"; next is {in_words(others[0][0])} with {others[0][1]:.0%}"
    return NarrowestPoint(top, sentence, shares, of_s, share)
