"""Predicted time of the native sort on one machine, from disk rates measured on it.

Equations (1) to (11), as in `dataflow`, let reading and writing overlap freely. On one device they
share its capacity: during both, only the total rate counts (2-IO on a shared-capacity device,
docs/method/native-sort.md). With D = input bytes, S = spilled bytes, R and W the separate rates, m
the total rate of concurrent reading and writing:

    map+shuffle   A/t + (D - S)/R + 2 S/m
    sort+reduce   2 S/m + (D - S)/W

In memory S = 0: A/t + D/R + D/W. A is the memory that the sort touches for the first time, min(D,
budget), and t the rate at which the kernel provides cleared pages: no read can end before its
buffer exists. I/O hides compute time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from venturi.core.domain import invalid, need_rate, need_size
from venturi.core.errors import VenturiError
from venturi.record.trial import Sample, State, Trial


@dataclass(frozen=True, slots=True)
class DiskRate:
    """Bytes per second: the median of the iterations, and their smallest and largest."""

    bytes_per_s: float
    low_bytes_per_s: float
    high_bytes_per_s: float

    def __post_init__(self) -> None:
        need_rate("low_bytes_per_s", self.low_bytes_per_s)
        if not self.low_bytes_per_s <= self.bytes_per_s <= self.high_bytes_per_s:
            raise invalid("bytes_per_s", self.bytes_per_s, "between its low and its high")


@dataclass(frozen=True, slots=True)
class DiskRates:
    """DiskBench rates of one device or one set of directories.

    `read` and `write` are separate rates; `mixed_read` and `mixed_write` are concurrent ones,
    `mixed_total` their sum, iteration by iteration. Each None has its reason in `missing`.
    """

    read: DiskRate | None = None
    write: DiskRate | None = None
    mixed_read: DiskRate | None = None
    mixed_write: DiskRate | None = None
    mixed_total: DiskRate | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NativeSortPlan:
    """The bytes that the native sort will transfer on one device.

    `memory_bytes` is its budget; without it, the time to touch memory isn't predicted.
    """

    input_bytes: int
    spilled_bytes: int
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        need_size("input_bytes", self.input_bytes)
        if not 0 <= self.spilled_bytes <= self.input_bytes:
            raise invalid("spilled_bytes", self.spilled_bytes, "from 0 to input_bytes")
        if self.memory_bytes is not None:
            need_rate("memory_bytes", self.memory_bytes)

    @property
    def retained_bytes(self) -> int:
        """Bytes that stay in memory between the phases."""
        return self.input_bytes - self.spilled_bytes

    @property
    def filled_bytes(self) -> int:
        """Bytes of memory that the sort touches for the first time."""
        return 0 if self.memory_bytes is None else min(self.memory_bytes, self.input_bytes)


@dataclass(frozen=True, slots=True)
class PhasePrediction:
    """One phase. `low_s` and `high_s` come from the fastest and slowest iterations of the rates:
    a spread, not a confidence interval. `elapsed_s` is None with a `missing_reason`."""

    phase: str
    formula: str
    binding: str | None  # "storage" or "cpu"
    elapsed_s: float | None
    low_s: float | None
    high_s: float | None
    missing_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """The whole sort: the sum of its phases, and the assumptions. None if a phase has no time."""

    phases: tuple[PhasePrediction, ...]
    assumptions: tuple[str, ...]

    def _sum(self, of: Callable[[PhasePrediction], float | None]) -> float | None:
        times = [of(phase) for phase in self.phases]
        return None if None in times else sum(time for time in times if time is not None)

    @property
    def elapsed_s(self) -> float | None:
        """Seconds of the sort."""
        return self._sum(lambda phase: phase.elapsed_s)

    @property
    def low_s(self) -> float | None:
        """Seconds at the fastest rates measured."""
        return self._sum(lambda phase: phase.low_s)

    @property
    def high_s(self) -> float | None:
        """Seconds at the slowest rates measured."""
        return self._sum(lambda phase: phase.high_s)

    @property
    def missing_reason(self) -> str | None:
        """The reason if there is no prediction."""
        reasons = dict.fromkeys(p.missing_reason for p in self.phases if p.missing_reason)
        return "; ".join(reasons) or None


def predict_native_sort(
    plan: NativeSortPlan, rates: DiskRates, *, memory_bytes_per_s: float | None = None
) -> Prediction:
    """Predicted seconds of the native sort, phase by phase, on a device with `rates`.

    `memory_bytes_per_s` is the rate at which memory can be put to use (`venturi-agent memory`).
    """
    if memory_bytes_per_s is not None:
        need_rate("memory_bytes_per_s", memory_bytes_per_s)
    memory_s = plan.filled_bytes / memory_bytes_per_s if memory_bytes_per_s else 0.0
    both_ways, retained = 2 * plan.spilled_bytes, plan.retained_bytes
    phases = (
        _phase(
            "map+shuffle",
            "A/t + (D-S)/R + 2S/m",
            {"read": retained, "mixed_total": both_ways},
            rates,
            memory_s,
        ),
        _phase(
            "sort+reduce", "2S/m + (D-S)/W", {"mixed_total": both_ways, "write": retained}, rates
        ),
    )
    return Prediction(
        phases,
        (
            "reading and writing share one device, so the total mixed rate counts",
            "sampling, start-up and the final flush are not modeled",
            "low and high come from the fastest and slowest iterations of the disk rates",
            "computing is hidden behind I/O",
            f"filling memory takes {memory_s:.3g} s before reading"
            if memory_s
            else "memory costs no time (its rate or the budget is not given)",
        ),
    )


def _phase(
    phase: str, formula: str, moved: Mapping[str, int], rates: DiskRates, memory_s: float = 0.0
) -> PhasePrediction:
    """A phase that moves so many bytes at each rate, one after the other."""
    needed = {name: size for name, size in moved.items() if size}
    known = {name: getattr(rates, name) for name in needed}
    lacking = [name for name, rate in known.items() if rate is None]
    if lacking:
        reasons = (rates.missing.get(n, f"no {n.replace('_', ' ')} rate given") for n in lacking)
        return PhasePrediction(phase, formula, None, None, None, None, "; ".join(reasons))

    def seconds(end: str) -> float:
        taken = (size / float(getattr(known[name], end)) for name, size in needed.items())
        return memory_s + sum(taken)

    return PhasePrediction(
        phase,
        formula,
        binding="storage",
        elapsed_s=seconds("bytes_per_s"),
        low_s=seconds("high_bytes_per_s"),
        high_s=seconds("low_bytes_per_s"),
    )


_METRICS = {
    "read": "disk_read_bytes_per_s",
    "write": "disk_write_bytes_per_s",
    "mixed_read": "disk_mixed_read_bytes_per_s",
    "mixed_write": "disk_mixed_write_bytes_per_s",
}


def disk_rates_from_trial(trial: Trial) -> DiskRates:
    """The rates of a succeeded diskbench trial, of all its directories together.

    Where several block sizes or queue depths were measured, the largest block and then the deepest
    queue count: that is how the sort reads and writes.
    """
    if trial.state is not State.SUCCEEDED:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"trial {trial.id} is {trial.state}: its rates cannot be used",
            where={"trial": trial.id},
            hint="repeat `venturi probe disk`",
        )
    found: dict[str, DiskRate] = {}
    missing: dict[str, str] = {}
    values: dict[str, dict[object, float]] = {}
    for name, metric in _METRICS.items():
        values[name] = _iterations(trial, metric)
        if values[name]:
            found[name] = _rate(list(values[name].values()))
        else:
            missing[name] = _why_missing(trial, metric)
    both = values["mixed_read"].keys() & values["mixed_write"].keys()
    if both:
        found["mixed_total"] = _rate(
            [values["mixed_read"][key] + values["mixed_write"][key] for key in both]
        )
    else:
        missing["mixed_total"] = "no iteration measured concurrent reading and writing"
    return DiskRates(**found, missing=missing)


def _rate(values: list[float]) -> DiskRate:
    return DiskRate(statistics.median(values), min(values), max(values))


def _iterations(trial: Trial, metric: str) -> dict[object, float]:
    """Iteration -> value of `metric`, for the directories together or for the only one."""
    samples = [s for s in trial.samples if s.metric == metric and s.value is not None]
    directories = {sample.labels.get("dir") for sample in samples}
    directory = directories.pop() if len(directories) == 1 else None
    samples = [sample for sample in samples if sample.labels.get("dir") == directory]
    best = max((_setting(sample) for sample in samples), default=None)
    return {
        sample.labels.get("iteration", position): sample.value
        for position, sample in enumerate(samples)
        if _setting(sample) == best and sample.value is not None
    }


def _setting(sample: Sample) -> tuple[float, float]:
    block, depth = sample.labels.get("block_bytes"), sample.labels.get("queue_depth")
    return (
        block if isinstance(block, int | float) else 0.0,
        depth if isinstance(depth, int | float) else 0.0,
    )


def _why_missing(trial: Trial, metric: str) -> str:
    reasons = {s.missing_reason for s in trial.samples if s.metric == metric and s.missing_reason}
    return "; ".join(sorted(reasons)) or f"trial {trial.id} has no {metric}"
