"""The narrowest point of a stage and of an application in one sentence, or "cannot tell".

The time along the critical path is divided exactly: what the driver took; of each stage, the share
in which slots stood idle; and the rest by the causes of its tasks' time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from venturi.model.stages.causes import UNATTRIBUTED
from venturi.model.stages.path import Step
from venturi.model.stages.stage import CauseTime, NarrowestPoint, Skew, Stage
from venturi.units import format_duration

# Our judgement, not measured: two parts within MARGIN of the whole cannot be told apart by one
# trial, and below LEAST nothing is narrow.
MARGIN = 0.05
LEAST = 0.2
OTHERS = 0.1  # of the processor time, from where on a trial is disturbed
DRIVER = "driver"
IDLE = "idle slots"

WORDS = {
    "cpu": "the processor",
    "shuffle fetch wait": "waiting for shuffle data",
    "garbage collection": "garbage collection",
    "shuffle write": "writing shuffle data",
    "scheduler delay": "scheduling and sending tasks",
    "deserialisation": "deserialising tasks",
    "result serialisation": "serialising results",
    "getting result": "fetching results to the driver",
    DRIVER: "the driver (no stage active)",
    IDLE: "idle slots",
    UNATTRIBUTED: "time the engine gives no cause for",
}
_SILENCE = {
    "spark": "Spark records no time for reading input, writing output, spilling or Python workers",
    "mapreduce": "Hadoop records no time for reading, writing, copying or waiting",
}


def stage_verdict(
    elapsed_s: float | None,
    slot_use: float | None,
    causes: Sequence[CauseTime],
    unattributed_s: float,
    skews: Sequence[Skew],
) -> NarrowestPoint:
    """The narrowest point of one stage."""
    if not elapsed_s or slot_use is None:
        return NarrowestPoint(None, "cannot tell: no task of it has a recorded time", {}, elapsed_s)
    parts = _parts(slot_use, causes, unattributed_s)
    return _judge(parts, elapsed_s, _skewed(skews), None)


def application_verdict(
    stages: Sequence[Stage], path: Sequence[Step], elapsed_s: float | None, engine: str
) -> NarrowestPoint:
    """The narrowest point of the whole."""
    if not elapsed_s:
        return NarrowestPoint(
            None, "cannot tell: start or end of the application is not known", {}, None
        )
    by_key = {stage.key: stage for stage in stages}
    whole: dict[str, float] = {}
    where: dict[str, dict[str, float]] = {}
    for step in path:
        stage = None if step.key is None else by_key[step.key]
        shares = {DRIVER: 1.0}
        if stage is not None:
            shares = {IDLE: 1.0}
            if stage.slot_use is not None:
                shares = _parts(stage.slot_use, stage.causes, stage.unattributed_s)
        for part, share in shares.items():
            taken = share * step.elapsed_s / elapsed_s
            whole[part] = whole.get(part, 0.0) + taken
            if stage is not None:
                here = where.setdefault(part, {})
                here[stage.label] = here.get(stage.label, 0.0) + taken
    top = max(whole, key=lambda part: whole[part], default=DRIVER)
    evidence = ""
    if where.get(top):
        label = max(where[top], key=lambda each: where[top][each])
        stage = next(each for each in stages if each.label == label)
        evidence = f"most of it in stage {label} ({stage.name})"
        if top == IDLE and _skewed(stage.skews):
            evidence += f", {_skewed(stage.skews)}"
    return _judge(whole, elapsed_s, evidence, _SILENCE[engine])


def beside_others(verdict: NarrowestPoint, others: float | None) -> NarrowestPoint:
    """`verdict` as it may be read where others had the share `others` of the host's processors.

    Whatever computes, the driver too, then waited for cores, which no engine records as a cause.
    """
    if others is None or others < OTHERS:
        return verdict
    said = (
        f"others used {others:.0%} of the host's processor time meanwhile: what computes, the "
        "driver too, waited for cores, and no engine records that"
    )
    return replace(verdict, sentence=f"{verdict.sentence}; {said}")


def _parts(slot_use: float, causes: Sequence[CauseTime], unattributed_s: float) -> dict[str, float]:
    """The shares of a stage's slots x elapsed."""
    times = {each.cause: each.time_s for each in causes if each.time_s}
    times[UNATTRIBUTED] = unattributed_s
    task_s = sum(times.values())
    if task_s <= 0:
        return {IDLE: 1.0}
    return {
        IDLE: 1.0 - slot_use,
        **{cause: slot_use * time_s / task_s for cause, time_s in times.items()},
    }


def _skewed(skews: Sequence[Skew]) -> str:
    for skew in skews:
        if skew.unit == "s" and skew.ratio is not None and skew.largest is not None:
            return (
                f"where the longest task took {format_duration(skew.largest)}, "
                f"{skew.ratio:.1f} times the median"
            )
    return ""


def _judge(
    parts: Mapping[str, float], of_s: float, evidence: str, silence: str | None
) -> NarrowestPoint:
    shares = dict(sorted(parts.items(), key=lambda each: -each[1]))
    (top, share), *others = shares.items()
    said = f"{WORDS[top]} took {share:.0%} of {format_duration(of_s)}"
    if top == UNATTRIBUTED:
        why = f"cannot tell: {said}" + (f" ({silence})" if silence else "")
        return NarrowestPoint(None, why, shares, of_s)
    if share < LEAST:
        return NarrowestPoint(
            None, f"cannot tell: no part stands out; {said} at most", shares, of_s
        )
    if others and share - others[0][1] < MARGIN:
        second, next_share = others[0]
        why = f"cannot tell: {said} and {WORDS[second]} {next_share:.0%}"
        return NarrowestPoint(None, why, shares, of_s)
    sentence = said + (f", {evidence}" if evidence and (silence or top == IDLE) else "")
    if others:
        sentence += f"; next is {WORDS[others[0][0]]} with {others[0][1]:.0%}"
    return NarrowestPoint(top, sentence, shares, of_s)
