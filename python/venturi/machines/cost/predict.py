"""Predicted time of the native sort on one machine, from the disk rates measured there.

Equations (1) to (11), as in `dataflow`, let reading and writing overlap freely. On one device they
share its capacity: while both go on, only the total rate counts (2-IO on a shared-capacity device,
docs/method/native-sort.md). With D = input bytes, S = spilled bytes, R and W the rates alone, m the
total of both rates while reading and writing at once:

    map+shuffle   A/t + (D - S)/R + 2 S/m
    sort+reduce   2 S/m + (D - S)/W

In memory S = 0: A/t + D/R + D/W. A is the memory that the sort fills for the first time, min(D,
budget), and t the rate at which the kernel hands out cleared pages: no read can end before its
buffer exists. Neither phase is faster than its computing, c * D / cores.
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
    """What DiskBench measured on one device or one set of directories.

    `read` and `write` alone; `mixed_read` and `mixed_write` while both go on; `mixed_total` their
    sum, iteration by iteration. What is None has its reason in `missing`.
    """

    read: DiskRate | None = None
    write: DiskRate | None = None
    mixed_read: DiskRate | None = None
    mixed_write: DiskRate | None = None
    mixed_total: DiskRate | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NativeSortPlan:
    """What the native sort will move. `shared_device`: all roles lie on one device.

    `memory_bytes` is its budget; without it the filling of memory is not predicted.
    """

    input_bytes: int
    spilled_bytes: int
    shared_device: bool = True
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
class CpuCost:
    """Processor time of each phase, in core-seconds per input byte, and the cores there are."""

    cpu_s_per_byte: float
    cores: float

    def __post_init__(self) -> None:
        need_size("cpu_s_per_byte", self.cpu_s_per_byte)
        need_rate("cores", self.cores)


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
    """The whole sort: the sum of its phases, and what was assumed. None if a phase is."""

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
        """Why there is no prediction, if there is none."""
        reasons = dict.fromkeys(p.missing_reason for p in self.phases if p.missing_reason)
        return "; ".join(reasons) or None


@dataclass(frozen=True, slots=True)
class _Transfer:
    """So many bytes at a rate, which is None with a reason."""

    size_bytes: int
    rate: DiskRate | None
    missing: str


def _transfer(size_bytes: int, rates: DiskRates, name: str) -> _Transfer:
    reason = rates.missing.get(name, f"no {name.replace('_', ' ')} rate given")
    return _Transfer(size_bytes, getattr(rates, name), reason)


def _phase(
    phase: str,
    formula: str,
    combine: Callable[[list[float]], float],
    transfers: tuple[_Transfer, ...],
    cpu_s: float,
    *,
    memory_s: float = 0.0,
) -> PhasePrediction:
    needed = [transfer for transfer in transfers if transfer.size_bytes]
    rates = [transfer.rate for transfer in needed if transfer.rate is not None]
    if len(rates) < len(needed):
        reason = "; ".join(t.missing for t in needed if t.rate is None)
        return PhasePrediction(phase, formula, None, None, None, None, reason)
    sizes = [transfer.size_bytes for transfer in needed]

    def io_s(speed: Callable[[DiskRate], float]) -> float:
        return combine([s / speed(r) for s, r in zip(sizes, rates, strict=True)] or [0.0])

    storage_s = io_s(lambda rate: rate.bytes_per_s)
    return PhasePrediction(
        phase=phase,
        formula=formula,
        binding="cpu" if cpu_s > storage_s else "storage",
        elapsed_s=memory_s + max(storage_s, cpu_s),
        low_s=memory_s + max(io_s(lambda rate: rate.high_bytes_per_s), cpu_s),
        high_s=memory_s + max(io_s(lambda rate: rate.low_bytes_per_s), cpu_s),
    )


def predict_native_sort(
    plan: NativeSortPlan,
    rates: DiskRates,
    *,
    scratch: DiskRates | None = None,
    output: DiskRates | None = None,
    cpu: CpuCost | None = None,
    memory_bytes_per_s: float | None = None,
) -> Prediction:
    """Predicted seconds of the native sort, phase by phase.

    `memory_bytes_per_s` is the rate at which memory can be put to use (`venturi-agent memory`).

    `rates` are those of the one shared device; with `plan.shared_device` False they are the input
    device's, and `scratch` and `output` are their own devices (like the input's if not given).
    Then the phases are A/t + max(D/R_input, S/W_scratch) and max(S/R_scratch, D/W_output).
    """
    if memory_bytes_per_s is not None:
        need_rate("memory_bytes_per_s", memory_bytes_per_s)
    memory_s = plan.filled_bytes / memory_bytes_per_s if memory_bytes_per_s else 0.0
    size, spilled, retained = plan.input_bytes, plan.spilled_bytes, plan.retained_bytes
    cpu_s = cpu.cpu_s_per_byte * size / cpu.cores if cpu else 0.0
    assumptions = [
        "sampling, start-up and the final flush are not modelled",
        "low and high come from the fastest and slowest iterations of the disk rates",
        f"computing overlaps I/O and bounds each phase at {cpu_s:.3g} s"
        if cpu
        else "computing is hidden behind I/O (no processor cost given)",
        f"filling memory takes {memory_s:.3g} s before reading"
        if memory_s
        else "memory costs no time (its rate or the budget is not given)",
    ]
    if plan.shared_device:
        if scratch or output:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                "one shared device, yet scratch or output has rates of its own",
                where={"field": "shared_device"},
                hint="give rates for scratch and output only with shared_device=False",
            )
        assumptions.insert(0, "reading and writing share one device: the total mixed rate counts")
        map_shuffle = _phase(
            "map+shuffle",
            "A/t + (D-S)/R + 2S/m",
            sum,
            (_transfer(retained, rates, "read"), _transfer(2 * spilled, rates, "mixed_total")),
            cpu_s,
            memory_s=memory_s,
        )
        sort_reduce = _phase(
            "sort+reduce",
            "2S/m + (D-S)/W",
            sum,
            (_transfer(2 * spilled, rates, "mixed_total"), _transfer(retained, rates, "write")),
            cpu_s,
        )
        return Prediction((map_shuffle, sort_reduce), tuple(assumptions))
    if scratch is None or output is None:
        assumptions.insert(0, "a device without rates of its own is like the input's")
    scratch, output = scratch or rates, output or rates
    map_shuffle = _phase(
        "map+shuffle",
        "A/t + max(D/R_input, S/W_scratch)",
        max,
        (_transfer(size, rates, "read"), _transfer(spilled, scratch, "write")),
        cpu_s,
        memory_s=memory_s,
    )
    sort_reduce = _phase(
        "sort+reduce",
        "max(S/R_scratch, D/W_output)",
        max,
        (_transfer(spilled, scratch, "read"), _transfer(size, output, "write")),
        cpu_s,
    )
    return Prediction((map_shuffle, sort_reduce), tuple(assumptions))


_METRICS = {
    "read": "disk_read_bytes_per_s",
    "write": "disk_write_bytes_per_s",
    "mixed_read": "disk_mixed_read_bytes_per_s",
    "mixed_write": "disk_mixed_write_bytes_per_s",
}


def disk_rates_from_trial(trial: Trial, directory: str | None = None) -> DiskRates:
    """The rates of a succeeded diskbench trial, of `directory` or of all directories together.

    Where several block sizes or queue depths were measured, the largest block and then the deepest
    queue count: that is how the sort reads and writes.
    """
    if trial.state is not State.SUCCEEDED:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"trial {trial.id} is {trial.state}: its rates are not to be used",
            where={"trial": trial.id},
            hint="repeat `venturi probe disk`",
        )
    found: dict[str, DiskRate] = {}
    missing: dict[str, str] = {}
    values: dict[str, dict[object, float]] = {}
    for name, metric in _METRICS.items():
        values[name] = _iterations(trial, metric, directory)
        if values[name]:
            found[name] = _rate(list(values[name].values()))
        else:
            missing[name] = _why_missing(trial, metric, directory)
    both = values["mixed_read"].keys() & values["mixed_write"].keys()
    if both:
        found["mixed_total"] = _rate(
            [values["mixed_read"][key] + values["mixed_write"][key] for key in both]
        )
    else:
        missing["mixed_total"] = "no iteration measured reading and writing at once"
    return DiskRates(**found, missing=missing)


def _rate(values: list[float]) -> DiskRate:
    return DiskRate(statistics.median(values), min(values), max(values))


def _iterations(trial: Trial, metric: str, directory: str | None) -> dict[object, float]:
    """Iteration -> value of `metric`, for the directories together or for the only one."""
    samples = [s for s in trial.samples if s.metric == metric and s.value is not None]
    if directory is None:
        directories = {sample.labels.get("dir") for sample in samples}
        if None not in directories and len(directories) == 1:
            directory = str(directories.pop())
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


def _why_missing(trial: Trial, metric: str, directory: str | None) -> str:
    reasons = {s.missing_reason for s in trial.samples if s.metric == metric and s.missing_reason}
    place = f" for {directory}" if directory else ""
    return "; ".join(sorted(reasons)) or f"trial {trial.id} has no {metric}{place}"
