"""Streaming queries that fall behind, and the time of their state stores."""

from __future__ import annotations

import math
from collections.abc import Iterator

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit, SparedResources
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import STARTING, of_causes
from venturi.jobs.stages.causes import STATE, total
from venturi.jobs.stages.stage import Stage, StreamUse
from venturi.jobs.stages.streaming import COMMIT, JOBS, OFFSETS, PLANNING, stream_uses

_STATE_ROWS = "number of total state rows"
_VARIANTS = {JOBS: "jobs", PLANNING: "planning", OFFSETS: "offsets", COMMIT: "commit"}


@rule("stream-behind")
def stream_behind(case: Case) -> Iterator[Hit]:
    """Streams that are always busy, with longer and longer batches as input accumulates."""
    for use in stream_uses(case.line):
        if not use.behind or use.input_rows_per_s is None or not use.rows_per_s:
            continue
        rates = use.input_rows_per_s / use.rows_per_s
        growth = max(use.last_s / use.first_s, rates) if use.first_s else rates
        left = (
            "" if not use.left_rows else f", and {use.left_rows:,} records are still at its sources"
        )
        stage = _slowest_stage(case, use)
        told = "" if stage is None else f", with most task time in {stage.title}"
        grown = (use.state_rows or 0) >= case.limit("stream-behind", "state_growth") * (
            use.first_state_rows or math.inf
        )
        variant = _VARIANTS[use.slowest_part]
        yield Hit(
            f"{use.name or use.stream} received {use.input_rows_per_s:,.0f} rows a second "
            f"and processed {use.rows_per_s:,.0f}. Its {use.batches:,} batches ran without a "
            f"pause, the first in {format_duration(use.first_s)}, the last in "
            f"{format_duration(use.last_s)}{left}. The slowest, batch {use.slowest_batch} "
            f"({format_duration(use.slowest_s)}), spent most of its time on "
            f"{use.slowest_part}{told}",
            (
                FindingScope(
                    None if stage is None else stage.label, operator=use.name or use.stream
                ),
            ),
            0.0,
            Confidence.MEDIUM,
            "state" if grown and variant == "jobs" else variant,
            {
                "growth": f"{growth:.1f}",
                "rows": f"{max(int(use.rows_per_s * use.first_s), 1):,}",
                "trigger": f"{math.ceil(use.last_s)} seconds",
            },
            # The growth of a batch over the first ones, or the excess of its input over its output.
            SparedResources(
                f"{format_duration(use.last_s * (1 - 1 / growth))} a batch", 1 - 1 / growth
            ),
        )


@rule("state-store")
def state_store(case: Case) -> Iterator[Hit]:
    """Find stages with tasks that spend much of their time in stores of streaming state."""
    for stage in case.stages:
        _, times = case.ran(stage.key)
        state_s = times.causes.get(STATE)
        there = [each for each in case.plans.of_stage(stage.key) if "StateStore" in each.name]
        if state_s is None or not there or stage.task_s <= 0:
            continue
        share = total(state_s) / stage.task_s
        if share < case.limit("state-store", "share"):
            continue
        rows = max((each.counted.get(_STATE_ROWS, 0) for each in there), default=0)
        n, wanted = stage.n_tasks or 1, max(stage.slots, 1)
        wanted = max(wanted, math.ceil(rows / case.limit("state-store", "partition_rows")))
        fixed = wanted < n
        if not fixed and rows < n * case.limit("state-store", "partition_rows"):
            continue  # little state in few partitions: nothing to gain
        each_s = state_s + of_causes(times, STARTING)
        commit_s = sum(
            case.plans.timed_in(each, stage.key).get("time to commit changes", 0.0)
            for each in there
        )
        yield Hit(
            f"in {stage.title}, the state store took {share:.0%} of the task time, "
            f"{format_duration(total(state_s))} ({format_duration(commit_s)} of it to commit), in "
            f"{n:,} partitions for {rows:,} rows of state",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, each_s * (1 - wanted / n)) if fixed else 0.0,
            Confidence.MEDIUM,
            "partitions" if fixed else "rocksdb",
            {"partitions": f"{wanted}"},
            None if fixed else SparedResources(f"{format_duration(total(state_s))} a batch", share),
        )


def _slowest_stage(case: Case, use: StreamUse) -> Stage | None:
    """The stage with the most task time of those that began in the slowest batch of a stream."""
    until_s = use.slowest_at_s + use.slowest_s
    there = [
        stage
        for stage in case.analysis.stages
        if stage.started_s is not None and use.slowest_at_s <= stage.started_s < until_s
    ]
    return max(there, key=lambda stage: stage.task_s, default=None)
