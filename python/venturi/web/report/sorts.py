"""One sort trial as the report shows it: stages, narrowest points, predicted and measured times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from venturi.core.statistics.stats import Missing
from venturi.core.units import format_bytes_decimal
from venturi.machines.cost.predict import DiskRates, Prediction
from venturi.record.trial import State, Trial
from venturi.results.bottleneck import FLOW, PhaseFinding, narrowest_points
from venturi.terminal.measurements import regime
from venturi.terminal.table import UNKNOWN
from venturi.web.report.data import (
    Number,
    PhaseBottleneck,
    PhaseUse,
    PredictedTime,
    ReportStage,
    SortTrial,
    StageShare,
    number,
)
from venturi.web.report.timeline import timeline

if TYPE_CHECKING:
    import polars as pl

SORT_WORKLOADS = frozenset({"terasort", "sort"})
# Phases inside the timed region; generating and validating are not.
TIMED_PHASES = ("sample", "map+shuffle", "sort+reduce")
READING = frozenset({"sample", "read", "read_partition"})
WRITING = frozenset({"write_partitions", "write_output", "write_replica"})
WHOLE = "whole sort"


def is_sort(trial: Trial) -> bool:
    """Whether `trial` sorted something."""
    return trial.workload.name in SORT_WORKLOADS


def one(trial: Trial, metric: str, phase: str | None = None) -> Number:
    """The only value of `metric` (of `phase`, or of the whole trial), or why it is missing."""
    found = [s for s in trial.samples if s.metric == metric and s.phase == phase]
    values = [s.value for s in found if s.value is not None]
    if values:
        return number(values[0], "not reported")
    return Missing(next((s.missing_reason for s in found if s.missing_reason), "not recorded"))


def added(*values: Number) -> Number:
    """The sum, or the first reason why a value is missing."""
    total = 0.0
    for value in values:
        if isinstance(value, Missing):
            return value
        total += value
    return total


def divided(value: Number, by: Number) -> Number:
    """`value / by`, or why there is no quotient."""
    if isinstance(value, Missing):
        return value
    if isinstance(by, Missing):
        return by
    return value / by if by > 0 else Missing("the time is zero")


def label(trial: Trial) -> str:
    """Distinguishes this trial from the others in a few words: `2.0 GB in two passes`."""
    size = format_bytes_decimal(trial.workload.input_bytes)
    parts = [trial.workload.name if size == UNKNOWN else size, regime(trial)]
    if trial.workload.name not in SORT_WORKLOADS:
        parts = [trial.workload.name]
    if trial.repetition:
        parts.append(f"(repetition {trial.repetition})")
    if trial.warm_up:
        parts.append("(warm-up)")
    return " ".join(part for part in parts if part != UNKNOWN)


def labels(trials: Sequence[Trial]) -> dict[str, str]:
    """A different label for every trial, by its id; equal ones get the end of their id."""
    texts = {trial.id: label(trial) for trial in trials}
    taken = list(texts.values())
    return {
        key: f"{text} · {key[-6:]}" if taken.count(text) > 1 else text
        for key, text in texts.items()
    }


def _stages(
    trial: Trial, narrowest: frozenset[tuple[str, str | None, str | None]]
) -> tuple[ReportStage, ...]:
    keys: dict[tuple[str, str, str | None], dict[str, Number]] = {}
    for sample in trial.samples:
        stage = sample.labels.get("stage")
        if not sample.metric.startswith("stage_") or stage is None or sample.phase is None:
            continue
        device = sample.labels.get("device")
        key = (sample.phase, str(stage), None if device is None else str(device))
        value = number(sample.value, sample.missing_reason or "not reported")
        keys.setdefault(key, {})[sample.metric] = value
    gone = Missing("the engine didn't report it")
    stages = []
    for (phase, name, device), values in keys.items():

        def of(what: str, values: dict[str, Number] = values) -> Number:
            return values.get(f"stage_{what}", gone)

        stages.append(
            ReportStage(
                phase=phase,
                name=name,
                device=device,
                workers=of("workers"),
                bytes=of("bytes"),
                useful_s=of("useful_s"),
                idle_s=of("idle_s"),
                waiting_for_memory_s=of("waiting_for_memory_s"),
                blocked_s=of("blocked_s"),
                cpu_s=of("cpu_s"),
                core_wait_s=of("core_wait_s"),
                page_faults=of("page_faults"),
                started_s=of("started_s"),
                ended_s=of("ended_s"),
                narrowest=(phase, name, device) in narrowest,
            )
        )
    order = {name: place for place, name in enumerate(TIMED_PHASES)}
    return tuple(sorted(stages, key=lambda stage: order.get(stage.phase, len(order))))


def _limit(read: Number, write: Number, rates: DiskRates | Missing) -> tuple[Number, str]:
    """Bytes per second that the disk allows for this mix, and how that was calculated.

    Bytes that are read and written concurrently go at the total rate of both (`m`), the rest at the
    single rate (`R`, `W`): the mix of `venturi.machines.cost.predict`.
    """
    if isinstance(read, Missing) or isinstance(write, Missing):
        return (read if isinstance(read, Missing) else write), ""
    both = min(read, write)
    parts = [
        (2 * both, "mixed_total", "reading and writing concurrently"),
        (read - both, "read", "reading alone"),
        (write - both, "write", "writing alone"),
    ]
    needed = [(size, name, words) for size, name, words in parts if size > 0]
    if isinstance(rates, Missing):
        return rates, ""
    time_s = 0.0
    for size, name, _ in needed:
        rate = getattr(rates, name)
        if rate is None:
            return Missing(rates.missing.get(name, "not measured")), ""
        time_s += size / rate.bytes_per_s
    if time_s == 0:
        return Missing("the phase moved nothing"), ""
    total = read + write
    told = ", ".join(f"{size / total:.0%} {words}" for size, _, words in needed)
    return total / time_s, told


def phase_uses(
    trial: Trial, name: str, stages: Sequence[ReportStage], rates: DiskRates | Missing
) -> tuple[PhaseUse, ...]:
    """Bytes that each phase read and wrote per second, and the disk's limit for that mix."""
    uses = []
    for phase in trial.phases:
        of_phase = [stage for stage in stages if stage.phase == phase.name]
        if phase.name not in TIMED_PHASES or not of_phase:
            continue
        read = added(*(s.bytes for s in of_phase if s.name in READING))
        write = added(*(s.bytes for s in of_phase if s.name in WRITING))
        limit, told = _limit(read, write, rates)
        uses.append(
            PhaseUse(
                name,
                phase.name,
                divided(read, phase.elapsed_s),
                divided(write, phase.elapsed_s),
                limit,
                divided(divided(added(read, write), phase.elapsed_s), limit),
                told,
            )
        )
    return tuple(uses)


def _comparisons(trial: Trial, prediction: Prediction | None) -> tuple[PredictedTime, ...]:
    """Predicted and measured times: from `prediction`, or from its samples in the trial."""
    measured = {phase.name: phase.elapsed_s for phase in trial.phases}
    untimed = trial.failure.message if trial.failure else f"the trial is {trial.state}"
    by_phase = {phase.phase: phase for phase in prediction.phases} if prediction else {}
    rows = []
    for name in TIMED_PHASES:
        told, found = by_phase.get(name), measured.get(name)
        sampled = one(trial, "predicted_phase_s", name)
        if found is None and told is None and isinstance(sampled, Missing):
            continue
        reason = "this phase isn't modeled"
        if told is not None:
            reason = told.missing_reason or "no interval was calculated"
            predicted = number(told.elapsed_s, reason)
        else:
            predicted = Missing(reason) if isinstance(sampled, Missing) else sampled
        rows.append(
            _comparison(
                name,
                predicted,
                number(told.low_s if told else None, reason),
                number(told.high_s if told else None, reason),
                measured=number(found, untimed),
                formula=told.formula if told else "",
            )
        )
    whole = [one(trial, f"predicted_{name}_s") for name in ("elapsed", "low", "high")]
    if prediction is not None:
        reason = prediction.missing_reason or "the prediction gave no interval"
        times_s = (prediction.elapsed_s, prediction.low_s, prediction.high_s)
        whole = [number(time_s, reason) for time_s in times_s]
    rows.append(
        _comparison(
            WHOLE,
            *whole,
            measured=number(trial.elapsed_s, untimed),
            formula="sum of the phases",
        )
    )
    return tuple(rows)


def _comparison(
    phase: str, predicted: Number, low: Number, high: Number, *, measured: Number, formula: str
) -> PredictedTime:
    gone = isinstance(predicted, Missing)
    ratio = Missing("not predicted") if gone else divided(measured, predicted)
    return PredictedTime(phase, predicted, low, high, measured, ratio, formula)


def _narrowest(finding: PhaseFinding) -> PhaseBottleneck:
    flow = FLOW.get(finding.phase, ())
    place = {stage: number_ for number_, stage in enumerate(flow)}
    is_it = (finding.stage, finding.device)
    return PhaseBottleneck(
        finding.phase,
        Missing(finding.reason) if finding.reason else finding.sentence,
        finding.evidence,
        tuple(
            StageShare(use.name, use.utilisation, (use.stage, use.device) == is_it)
            for use in sorted(finding.stages, key=lambda u: (place.get(u.stage, 99), u.name))
        ),
    )


def sort_view(
    trial: Trial, name: str, series: pl.DataFrame | None, prediction: Prediction | None
) -> SortTrial:
    """`trial` as the report shows it."""
    findings = narrowest_points(trial)
    # A stage alone in its phase is not the narrowest of anything.
    narrowest = frozenset((f.phase, f.stage, f.device) for f in findings if len(f.stages) > 1)
    failed = trial.failure
    why_not = failed.message if failed else f"the trial is {trial.state}"
    memory = trial.configuration.get("memory_bytes")
    return SortTrial(
        id=trial.id,
        anchor=f"sort-{trial.id.lower()}",
        label=name,
        state=str(trial.state),
        failure=f"{failed.kind} ({failed.code}): {failed.message}" if failed else None,
        input_bytes=number(trial.workload.input_bytes, "the input size was not recorded"),
        elapsed_s=number(trial.elapsed_s, why_not),
        spilled_bytes=one(trial, "spilled_bytes"),
        cpu_s=added(one(trial, "cpu_user_s"), one(trial, "cpu_system_s")),
        peak_rss_bytes=one(trial, "peak_rss_bytes"),
        memory_bytes=number(
            memory if isinstance(memory, int | float) else None, "the budget was not recorded"
        ),
        timeline=timeline(trial, series),
        stages=_stages(trial, narrowest),
        narrowest=tuple(_narrowest(finding) for finding in findings),
        comparisons=_comparisons(trial, prediction),
    )


def succeeded(trial: Trial) -> bool:
    """Whether the numbers of `trial` count."""
    return trial.state is State.SUCCEEDED and not trial.warm_up
