"""Results of the analysis of a stage and of its application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from venturi.jobs.stages.path import PathStep
from venturi.record.account_tables import BY_TASKS


def label_of(key: tuple[int, int]) -> str:
    """A stage's label: `3`, or `3.1` for attempts after the first."""
    return str(key[0]) if key[1] == 0 else f"{key[0]}.{key[1]}"


@dataclass(frozen=True, slots=True)
class NarrowestPoint:
    """The bottleneck of a stage or application; `narrowest` is None if undecided.

    `sentence` explains the verdict. `shares` divides the whole (`of_s` seconds) by part, the
    largest first, and adds up to 1. `share` is that of `narrowest`, possibly several parts
    together; None if the verdict doesn't rest on a share.
    """

    narrowest: str | None
    sentence: str
    shares: Mapping[str, float]
    of_s: float | None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class CauseTime:
    """Task time of one cause; None with a reason where the engine did not record it."""

    cause: str
    time_s: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Skew:
    """How uneven the tasks that succeeded are: the largest, the median, and their ratio.

    `ratio` is None with a reason where there are too few tasks or the median is 0.
    """

    what: str
    unit: str
    median: float | None
    largest: float | None
    ratio: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TaskSpread:
    """Spread of a metric over the tasks of a stage that succeeded: minimum, quartiles, maximum.

    `n` is the number of tasks that recorded it, in `unit` (s or B). If it is 0, `reason` explains
    why, and the other fields are empty.
    """

    what: str
    unit: str
    n: int
    least: float | None = None
    quarter: float | None = None
    median: float | None = None
    three_quarters: float | None = None
    most: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Straggler:
    """A task that took far longer than the others.

    `ratio` is its time by the median, `bytes_ratio` its input by the median's.
    """

    task_id: str
    host: str | None
    executor_id: str | None
    elapsed_s: float
    ratio: float | None
    bytes_ratio: float | None


@dataclass(frozen=True, slots=True)
class UnfinishedAttempt:
    """An attempt at a task of which no end is recorded.

    `age_s` is for how long it had run at the event that `until` names, `ratio` that by the median
    of those that succeeded. `hanging`: its stage still waited for it.
    """

    task_id: str
    index: int | None
    host: str | None
    executor_id: str | None
    age_s: float
    ratio: float | None
    until: str
    hanging: bool


@dataclass(frozen=True, slots=True)
class WastedTime:
    """Wasted task time of attempts with the same message.

    `where` is a place that they have in common, `disks` describes local disks that were full.
    """

    what: str
    n: int
    time_s: float
    where: str | None
    disks: str | None
    said: str | None
    meaning: str | None


@dataclass(frozen=True, slots=True)
class LostExecutor:
    """An executor that was removed unexpectedly, `at_s` after the start."""

    executor_id: str
    host: str | None
    at_s: float
    reason: str
    meaning: str | None


@dataclass(frozen=True, slots=True)
class ExecutorUse:
    """An executor; seconds since the application began, None where not recorded.

    `busy` is the share of its slots' time that tasks took while it existed, `collecting` the share
    of its tasks' time spent in garbage collection. `heap_bytes` is the sampled peak of its heap,
    `region_bytes` the limit for execution and storage, `python_bytes` the peak of its Python
    processes.
    """

    executor_id: str
    host: str | None
    cores: int | None
    added_s: float | None
    removed_s: float | None
    reason: str | None
    tasks: int
    failed: int
    task_s: float
    busy: float | None
    collecting: float | None
    spilled_bytes: int | None
    heap_bytes: int | None
    region_bytes: int | None
    python_bytes: int | None


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """Running peak of one kind of memory, in bytes, at each time of its `MemoryUse`."""

    what: str
    bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of an executor, sampled at `t_s` after the application began.

    `heap_bytes` is the size of its heap, `region_bytes` the limit for execution and storage, on and
    off the heap; None where not recorded.
    """

    executor_id: str
    heap_bytes: int | None
    region_bytes: int | None
    t_s: tuple[float, ...]
    lines: tuple[MemoryLine, ...]

    @property
    def fullest(self) -> float:
        """The most of the heap that was used, as a share of it where its size is known."""
        heap = next((max(line.bytes) for line in self.lines if line.what == "heap"), 0)
        return heap / (self.heap_bytes or 1)


@dataclass(frozen=True, slots=True)
class StreamUse:
    """A streaming query: its batches and input rows.

    In the last third of the batches, `input_rows_per_s` is the input rate and `rows_per_s` the rate
    while a batch is processed. `first_s` and `last_s` are the median batch times of the first and
    last third. `slowest_part` took most of the slowest batch, which began `slowest_at_s` after the
    application. `busy` is the share of time spent in batches. `behind` means that the query was
    always busy, and each batch took longer or left more rows at its sources. `left_rows` is the
    backlog after the last batch, None where not recorded; its growth counts as input. State is as
    of the last batch, `first_state_rows` as of the first third.
    """

    stream: str
    name: str | None
    batches: int
    rows: int
    rows_per_s: float | None
    input_rows_per_s: float | None
    median_s: float
    first_s: float
    last_s: float
    slowest_s: float
    slowest_batch: int
    slowest_at_s: float
    slowest_part: str
    busy: float | None
    behind: bool
    left_rows: int | None
    first_state_rows: int | None
    state_rows: int | None
    state_bytes: int | None


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One kind of driver work for batches, with its seconds in each; None: not recorded."""

    what: str
    time_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class StreamBatches:
    """Batches of a streaming query over time.

    If there are too many, keeps the slowest of each group of consecutive batches, with the group's
    rates and its last state. A batch began `t_s` after the application and took `took_s`, which
    `parts` divide. Input rows are those since the batch before began; the processing rate is per
    second of batch time. `late_s` is the watermark's delay behind the start of a batch: later rows
    are dropped. None is "not recorded".
    """

    stream: str
    batch: tuple[int, ...]
    t_s: tuple[float, ...]
    took_s: tuple[float, ...]
    parts: tuple[StreamPart, ...]
    rows: tuple[int | None, ...]
    input_rows_per_s: tuple[float | None, ...]
    rows_per_s: tuple[float | None, ...]
    state_rows: tuple[int | None, ...]
    state_bytes: tuple[int | None, ...]
    late_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class CoreTime:
    """Core-seconds by use or reason."""

    what: str
    time_s: float


@dataclass(frozen=True, slots=True)
class CoreUse:
    """Use of the cores that executors offered, in core-seconds.

    `used` adds up to `used_s`, and `used_s` and `unused` to `offered_s`: every core-second is in
    exactly one of them.
    """

    offered_s: float
    used_s: float
    used: tuple[CoreTime, ...]
    unused: tuple[CoreTime, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound of the time saved without one kind of waiting.

    `recorded_s` removes only the waiting that the engine recorded (None: it records none).
    `at_most_s` also removes all time that may be this waiting, so the true saving is never larger.
    """

    without: str
    recorded_s: float | None
    at_most_s: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SpeculationSummary:
    """Copies started because another was slow: how many, how many of them won, the time wasted.

    `wasted_s` is the time of the attempts that lost, originals too; `unended` of them have no
    recorded end, because the application was over before.
    """

    launched: int
    won: int
    wasted_s: float
    unended: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One attempt at a stage.

    `task_s` is the time of all its task attempts, and equals the sum of `causes` and
    `unattributed_s`. `overlap_s` was recorded under two causes and counts once. `at_once` is the
    peak number of concurrent tasks, `offered_slots` the peak number of offered slots while it ran
    (None: not recorded). `waves` is attempts divided by slots. `slot_use` is the share of the
    offered slots' time in which its tasks ran. If it is `partial`, the log lacks events of its
    tasks, or may: counts and sums are lower bounds. `end_by` says how its end is known, None if it
    was recorded.
    """

    key: tuple[int, int]
    name: str
    outcome: str
    reason: str | None
    started_s: float | None
    elapsed_s: float | None
    n_tasks: int | None
    n_attempts: int
    attempts_by_outcome: Mapping[str, int]
    task_s: float
    causes: tuple[CauseTime, ...]
    unattributed_s: float
    overlap_s: float
    n_without_metrics: int
    skews: tuple[Skew, ...]
    spreads: tuple[TaskSpread, ...]
    n_stragglers: int
    stragglers: tuple[Straggler, ...]
    unfinished: tuple[UnfinishedAttempt, ...]
    at_once: int
    offered_slots: int | None
    waves: float | None
    slot_use: float | None
    speculation: SpeculationSummary
    spilled_bytes: int | None
    bounds: tuple[Bound, ...]
    verdict: NarrowestPoint
    partial: bool = False
    end_by: str | None = None

    @property
    def slots(self) -> int:
        """Offered slots; if not recorded, the peak number of concurrent tasks."""
        return self.at_once if self.offered_slots is None else self.offered_slots

    @property
    def time_bound(self) -> str:
        """Which bound its time is: "≤", "≥", or "" if its end was recorded."""
        return "" if self.end_by is None else "≥" if self.end_by == BY_TASKS else "≤"

    @property
    def is_retry(self) -> bool:
        """Whether it ran again, with only the tasks of lost partitions."""
        return self.key[1] > 0

    @property
    def label(self) -> str:
        """The stage's label, by its number."""
        return label_of(self.key)

    @property
    def title(self) -> str:
        """The stage as it is called in a sentence: "stage 3 (join on k)"."""
        return f"stage {self.label} ({self.name})"


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of an application.

    The steps of `path` add up to `elapsed_s`; `driver_s` is the time without any stage, None if
    stages are missing. `cores` is None if the account doesn't record its executors. `bounds` are
    sums over the stages on the path: improving any other stage can't shorten the job. `lacking`
    says which events are missing from the log, None if none is known to be.
    """

    elapsed_s: float | None
    stages: tuple[Stage, ...]
    path: tuple[PathStep, ...]
    driver_s: float | None
    cores: CoreUse | None
    losses: tuple[WastedTime, ...]
    lost_executors: tuple[LostExecutor, ...]
    bounds: tuple[Bound, ...]
    speculation: SpeculationSummary
    verdict: NarrowestPoint
    lacking: str | None = None
