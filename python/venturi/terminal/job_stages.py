"""Tables of a job's stages: outcome, time by cause, skew, stragglers, critical path, bottleneck."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.stages.stage import Analysis, Skew, Stage
from venturi.terminal.table import (
    UNKNOWN,
    Table,
    at_least,
    at_most,
    format_count,
    format_share,
    pairs,
    shorten,
    table,
    table_of,
)

SHOWN_STAGES = 30


def longest_stages(stages: Sequence[Stage]) -> tuple[list[Stage], str]:
    """The stages with the most task time, in their own order, and a note for their title."""
    longest = {each.key for each in sorted(stages, key=lambda each: -each.task_s)[:SHOWN_STAGES]}
    kept = [stage for stage in stages if stage.key in longest]
    said = f" (the {SHOWN_STAGES} of {len(stages)} with the most task time)"
    return kept, said if len(kept) < len(stages) else ""


def unfinished_tasks(stages: Sequence[Stage]) -> Table:
    """Tasks without a recorded end."""
    return table_of(
        (
            {
                "stage": stage.label,
                "task": format_count(each.index),
                "host": each.host or UNKNOWN,
                "executor": each.executor_id or UNKNOWN,
                "had run for": at_most(format_duration(each.age_s), not each.hanging),
                "medians": UNKNOWN
                if each.ratio is None
                else at_most(f"{each.ratio:.1f}", not each.hanging),
                "when": each.until,
            }
            for stage in stages
            for each in stage.unfinished
        ),
        left=4,
        prose=("host", "when"),
        spare=("medians",),
    )


def critical_path(analysis: Analysis) -> Table:
    """The steps of the critical path, the driver's among them."""
    labels = {stage.key: stage for stage in analysis.stages}
    if analysis.driver_s is None or any(stage.end_by is not None for stage in analysis.stages):
        return table("step")  # it is unknown which stages ran, or when they ended
    made = table("step", "name", "from", "took", left=2, prose=("name",))
    steps = [step for step in analysis.path if step.elapsed_s >= 0.001]
    for step in steps[:SHOWN_STAGES]:
        stage = None if step.key is None else labels[step.key]
        step_name = "driver" if stage is None else f"stage {stage.label}"
        name = "" if stage is None else shorten(stage.name)
        made.add(step_name, name, format_duration(step.from_s), format_duration(step.elapsed_s))
    if len(steps) > SHOWN_STAGES:
        made.add(f"and {len(steps) - SHOWN_STAGES} more steps", "", "", "")
    return made


def stage_rows(stages: Sequence[Stage]) -> Table:
    """A row for each stage: its outcome, times, tasks, slots and spills."""
    return table_of(
        (
            {
                "stage": stage.label,
                "name": shorten(stage.name),
                "outcome": stage.outcome,
                "started": format_duration(stage.started_s),
                "took": _took(stage),
                "tasks": format_count(stage.n_tasks),
                "attempts": at_least(_attempts(stage), stage.partial),
                # The driver learns of ends late: without known slots, tasks only seem to overlap.
                "concurrent": UNKNOWN
                if stage.waves is None and (stage.offered_slots is None or not stage.partial)
                else at_least(f"{stage.at_once:,}", stage.partial),
                "slots": format_count(stage.offered_slots),
                "waves": UNKNOWN if stage.waves is None else f"{stage.waves:.1f}",
                "slot use": format_share(stage.slot_use),
                "task time": at_least(format_duration(stage.task_s), stage.partial),
                "spilled": at_least(format_bytes(stage.spilled_bytes), stage.partial),
            }
            for stage in stages
        ),
        left=3,
        prose=("name", "attempts"),
        spare=("concurrent", "slots", "waves", "slot use", "started", "attempts"),
    )


def _took(stage: Stage) -> str:
    took = format_duration(stage.elapsed_s)
    return took if took == UNKNOWN else f"{stage.time_bound} {took}".strip()


def _attempts(stage: Stage) -> str:
    counts = stage.attempts_by_outcome.items()
    bad = [
        f"{n} {'without an end' if name == 'unfinished' else name}"
        for name, n in counts
        if name != "succeeded"
    ]
    return str(stage.n_attempts) + (f" ({', '.join(bad)})" if bad else "")


def time_by_cause(stages: Sequence[Stage]) -> Table:
    """The share of each cause in a stage's task time."""
    names = [each.cause for each in stages[0].causes] if stages else []
    made = table("stage", *names, "unattributed", "without metrics")
    for stage in stages:
        if stage.task_s > 0 and not stage.partial and stage.end_by is None:
            shares = [
                UNKNOWN if each.time_s is None else f"{each.time_s / stage.task_s:.1%}"
                for each in stage.causes
            ]
            rest = f"{stage.unattributed_s / stage.task_s:.1%}"
            made.add(stage.label, *shares, rest, f"{stage.n_without_metrics} tasks")
    return made


def skews(stages: Sequence[Stage]) -> Table:
    """The largest task of each stage by its median one."""
    made = table("stage", "of", "median", "largest", "largest / median", left=2, prose=("of",))
    for stage in stages:
        for skew in stage.skews:
            if skew.ratio is not None:
                values = (_amount(skew, skew.median), _amount(skew, skew.largest))
                made.add(stage.label, skew.what, *values, f"{skew.ratio:.1f}")
    return made


def _amount(skew: Skew, value: float | None) -> str:
    return format_duration(value) if skew.unit == "s" else format_bytes(value)


def stragglers(stages: Sequence[Stage]) -> Table:
    """The tasks that took far longer than the median of their stage."""
    rows = []
    for stage in stages:
        for each in stage.stragglers:
            rows.append(
                {
                    "stage": stage.label,
                    "task": each.task_id,
                    "host": each.host or UNKNOWN,
                    "executor": each.executor_id or UNKNOWN,
                    "took": format_duration(each.elapsed_s),
                    "medians": UNKNOWN if each.ratio is None else f"{each.ratio:.1f}",
                    "bytes / median": UNKNOWN
                    if each.bytes_ratio is None
                    else f"{each.bytes_ratio:.1f}",
                }
            )
        if stage.n_stragglers > len(stage.stragglers):
            more = f"and {stage.n_stragglers - len(stage.stragglers)} more"
            rows.append(
                {
                    "stage": stage.label,
                    "task": more,
                }
            )
    return table_of(rows, left=4, prose=("task", "host"), spare=("executor", "bytes / median"))


def bottlenecks(stages: Sequence[Stage]) -> Table:
    """The narrowest point of each stage, in a sentence."""
    return pairs((stage.label, stage.verdict.sentence) for stage in stages)
