"""Streaming queries that fall behind, and the time of their state stores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit, SparedResources
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import STARTING, of_causes
from venturi.jobs.stages.causes import STATE, Seconds, total
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


@rule("small-batches")
def small_batches(case: Case) -> Iterator[Hit]:
    """Find streams that are always busy, mostly with the fixed cost of batches."""
    for use in stream_uses(case.line):
        many = use.batches >= case.limit("small-batches", "batches")
        if not many or (use.busy or 0.0) < case.limit("small-batches", "busy"):
            continue
        from_s, to_s = _batches_s(case, use.stream)
        # The first batch also warms up the JVM.
        outside_s = (to_s - from_s - _in_stages_s(case, from_s, to_s))[1:]
        share = float(outside_s.sum()) / float((to_s - from_s)[1:].sum())
        if share < case.limit("small-batches", "share"):
            continue
        factor = case.limit("small-batches", "larger")
        yield Hit(
            f"{use.name or use.stream} ran {use.batches:,} batches without a pause, of "
            f"{use.rows // use.batches:,} rows on average. {share:.0%} of their time, "
            f"{format_duration(float(outside_s.sum()))}, passed in the driver: planning, logging "
            "offsets, committing",
            (FindingScope(operator=use.name or use.stream),),
            float(outside_s.sum()) * (1 - 1 / factor),
            Confidence.MEDIUM,
            values={"factor": f"{factor:.0f}"},
        )


def _batches_s(case: Case, stream: str) -> tuple[Seconds, Seconds]:
    """When the batches of a stream began and ended, in seconds since the application's start."""
    batches = case.line.account.batches
    assert batches is not None
    rows = batches.filter(stream=stream).select("began_ms", "took_ms").drop_nulls().sort("began_ms")
    from_s = (rows["began_ms"].to_numpy() - case.line.tasks.origin_ms) / 1e3
    return from_s, from_s + rows["took_ms"].to_numpy() / 1e3


def _in_stages_s(case: Case, from_s: Seconds, to_s: Seconds) -> Seconds:
    """For how long any stage ran in each of these periods."""
    edges, covered, until = [0.0], [0.0], 0.0
    for span in sorted(case.line.spans.values(), key=lambda each: each.from_s):
        start = max(span.from_s, until)
        if span.to_s > start:
            edges += [start, span.to_s]
            covered += [covered[-1], covered[-1] + span.to_s - start]
            until = span.to_s
    run_s = np.interp(to_s, edges, covered) - np.interp(from_s, edges, covered)
    return np.asarray(run_s, dtype=np.float64)


def _slowest_stage(case: Case, use: StreamUse) -> Stage | None:
    """The stage with the most task time of those that began in the slowest batch of a stream."""
    until_s = use.slowest_at_s + use.slowest_s
    there = [
        stage
        for stage in case.analysis.stages
        if stage.started_s is not None and use.slowest_at_s <= stage.started_s < until_s
    ]
    return max(there, key=lambda stage: stage.task_s, default=None)
