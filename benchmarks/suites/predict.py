"""The model against the machine: predicted and measured time of the native sort.

Before each sort DiskBench measures the same directory, `--plan-only` says what would be spilled,
and `venturi.model.cost.predict` has only these to go by.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable
from benchmarks.figures import Figure, figure, missing, relative_error
from benchmarks.suites.disk import BLOCK_BYTES
from benchmarks.suites.sort import Job, need_memory
from venturi.model.cost.predict import DiskRate, DiskRates, NativeSortPlan, predict_native_sort

_SIZES_GIB = (1, 2, 4, 8)
# Budget over input; between the two regimes part of the data stays in memory (hybrid).
_MEMORY_SHARE = {"two-pass": 0.25, "hybrid": 0.6, "in-memory": 1.5}
_EXTRA_BYTES = 2**28


def predicted_s(
    plan: NativeSortPlan, rates: Mapping[str, float], memory_bytes_per_s: float
) -> float:
    """The model's time; `rates` as `Job.disk` names them."""
    prediction = predict_native_sort(
        plan,
        DiskRates(
            read=_rate(rates["read/read"]),
            write=_rate(rates["write/write"]),
            mixed_total=_rate(rates["read_write/read"] + rates["read_write/write"]),
        ),
        memory_bytes_per_s=memory_bytes_per_s,
    )
    if prediction.elapsed_s is None:
        raise Unavailable(f"no prediction: {prediction.missing_reason}")
    return prediction.elapsed_s


def _rate(bytes_per_s: float) -> DiskRate:
    return DiskRate(bytes_per_s, bytes_per_s, bytes_per_s)


def run(bench: Bench) -> list[Figure]:
    """Every size with every budget, in `--pairs` rounds."""
    bench.agent()
    largest = bench.options.size(max(_SIZES_GIB) * 2**30)
    bench.need(3 * largest + 2 * bench.options.size(2 * 2**30, BLOCK_BYTES))
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
    """Errors in percent of one size in one regime."""
    size_bytes = bench.options.size(size_gib * 2**30)
    extra = _EXTRA_BYTES if regime == "in-memory" else 0
    memory_bytes = round(size_bytes * _MEMORY_SHARE[regime]) + extra
    need_memory(memory_bytes)
    errors = []
    with bench.folder(f"predict-{regime}-{size_gib}") as folder:
        job = Job(bench, folder, size_bytes, memory_bytes)
        job.prepare()
        plan = job.plan()
        case = f"predict {regime} {size_gib} GiB"
        for turn in range(bench.options.pairs):
            rates = job.disk(turn, case, "read,write,read_write", plan["io_bytes"])
            memory_bytes_per_s = bench.settle_memory(memory_bytes)
            done = job.sort(("predict", case, "venturi", turn))
            moved = NativeSortPlan(
                plan["input_bytes"], plan["expected_spilled_bytes"], memory_bytes=memory_bytes
            )
            expected_s = predicted_s(moved, rates, memory_bytes_per_s)
            measured_s = done.data["elapsed_s"]
            bench.say(f"    predicted {expected_s:.2f} s, measured {measured_s:.2f} s")
            errors.append(100.0 * relative_error(expected_s, measured_s))
    return errors
