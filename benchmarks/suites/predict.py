"""The model against the machine: predicted and measured time of the native sort.

Before each sort a part of its input is rehearsed, as the quickstart does, and
`venturi.machines.cost.rehearsal` has only that and the plan (`--plan-only`) to go by.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import TypeAdapter

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable
from benchmarks.figures import Figure, figure, missing, relative_error
from benchmarks.suites.sort import SortJob, need_memory
from venturi.cli.measure.measuring import rehearsal_of
from venturi.machines.cost.predict import NativeSortPlan
from venturi.machines.cost.rehearsal import predict_from_rehearsals
from venturi.measure.engines.native import rehearsal
from venturi.measure.hosts.agent_results import SortPlan, SortResult

_SIZES_GIB = (1, 2, 4, 8)
# Budget over input; between the two regimes part of the data stays in memory (hybrid).
_MEMORY_SHARE = {"two-pass": 0.25, "hybrid": 0.5, "in-memory": 1.15}
_EXTRA_BYTES = 2**28


def predicted_s(planned: SortPlan, rehearsed: list[SortResult]) -> float:
    """The model's time of the sort planned."""
    prediction = predict_from_rehearsals(
        NativeSortPlan(
            planned.input_bytes, planned.expected_spilled_bytes, memory_bytes=planned.memory_bytes
        ),
        [rehearsal_of(done) for done in rehearsed],
    )
    if prediction.elapsed_s is None:
        raise Unavailable(f"no prediction: {prediction.missing_reason}")
    return prediction.elapsed_s


def run(bench: Bench) -> list[Figure]:
    """Every size with every budget, in `--pairs` rounds."""
    bench.agent()
    largest = bench.options.size(max(_SIZES_GIB) * 2**30)
    bench.need(3 * largest)
    errors: dict[str, list[float]] = {regime: [] for regime in _MEMORY_SHARE}
    reasons: dict[str, str] = {}
    for size_gib in _SIZES_GIB:
        for regime in _MEMORY_SHARE:
            try:
                errors[regime] += _measure(bench, regime, size_gib)
            except Unavailable as reason:
                reasons[regime] = f"{size_gib} GiB: {reason}"
    figures = []
    for regime, row in rows.PREDICT.items():
        # One size that could not be measured must not quietly flatter the median.
        why = reasons.get(regime)
        figures.append(missing(row, why) if why else figure(row, errors[regime]))
    if reasons:
        return [*figures, missing(rows.PREDICT_ALL, "; ".join(reasons.values()))]
    return [*figures, figure(rows.PREDICT_ALL, [e for each in errors.values() for e in each])]


def _measure(bench: Bench, regime: str, size_gib: int) -> list[float]:
    """Return the errors of one size in one regime, in percent."""
    size_bytes = bench.options.size(size_gib * 2**30)
    extra = _EXTRA_BYTES if regime == "in-memory" else 0
    memory_bytes = round(size_bytes * _MEMORY_SHARE[regime]) + extra
    need_memory(memory_bytes)
    errors = []
    with bench.folder(f"predict-{regime}-{size_gib}") as folder:
        job = SortJob(bench, folder, size_bytes, memory_bytes)
        job.prepare()
        planned = TypeAdapter(SortPlan).validate_python(job.plan())
        case = f"predict {regime} {size_gib} GiB"
        for turn in range(bench.options.pairs):
            expected_s = predicted_s(planned, _rehearse(job, case, turn, planned))
            measured_s = job.sort(("predict", case, "venturi", turn)).data["elapsed_s"]
            bench.say(f"    predicted {expected_s:.2f} s, measured {measured_s:.2f} s")
            errors.append(100.0 * relative_error(expected_s, measured_s))
    return errors


def _rehearse(job: SortJob, case: str, turn: int, planned: SortPlan) -> list[SortResult]:
    share = rehearsal.share_of(planned)
    part = replace(job, memory_bytes=rehearsal.memory_bytes(planned, share))
    arguments = [*part.arguments(), *map(str, rehearsal.arguments(planned, share))]
    done = []
    for _ in range(rehearsal.times(planned)):
        job.clear()
        job.bench.settle_memory(min(planned.memory_bytes, planned.input_bytes * 5 // 4))
        data = job.bench.run_agent(("predict", case, "rehearsal", turn), *arguments).data
        done.append(TypeAdapter(SortResult).validate_python(data))
    return done
