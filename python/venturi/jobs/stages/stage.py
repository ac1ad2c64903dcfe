"""What is found out about a stage, and about the application that it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from venturi.jobs.stages.path import PathStep


def label_of(key: tuple[int, int]) -> str:
    """What a stage is called by its number: `3`, or `3.1` for another attempt than the first."""
    return str(key[0]) if key[1] == 0 else f"{key[0]}.{key[1]}"


@dataclass(frozen=True, slots=True)
class NarrowestPoint:
    """`narrowest` is None if it cannot be told; `sentence` says it either way.

    `shares` divides the whole (`of_s` seconds) by part, the largest first, and adds up to 1.
    `share` is that of `narrowest`, which may be several parts together; None where it is named for
    something else than its share.
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
    """How the tasks of a stage that succeeded differ: the least, quarters, the median and the most.

    `n` is how many of them told it, in `unit` (s or B). Without any, `reason` says why, and the
    others are None.
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

    `age_s` is for how long it had run when what `until` says happened, `ratio` that by the median
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
    """Task time in vain: of how many attempts, what they said and what that means, if known."""

    what: str
    n: int
    time_s: float
    said: str | None
    meaning: str | None


@dataclass(frozen=True, slots=True)
class LostExecutor:
    """An executor that was removed though nobody wanted it gone, `at_s` after the start."""

    executor_id: str
    host: str | None
    at_s: float
    reason: str
    meaning: str | None


@dataclass(frozen=True, slots=True)
class ExecutorUse:
    """An executor; seconds since the application began, None where not recorded.

    `busy` is the share of its slots' time that tasks took, from when it was there to when it was
    gone, `collecting` that of its tasks' time in which memory was collected. `heap_bytes` is the
    most of its heap that a sample saw, `region_bytes` what execution and storage may have of it,
    `python_bytes` the most of Python's processes beside it.
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
    """The most bytes of a kind until each moment of its `MemoryUse`."""

    what: str
    bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of an executor at the moments `t_s` after the application began.

    `heap_bytes` is how large its heap is, `region_bytes` what execution and storage may have, on
    and off the heap; None where that is not told.
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
    """A streaming query: its batches, and the rows that came in.

    Of the last third of the batches `input_rows_per_s` came in a second, and `rows_per_s` were
    worked off in a second of work; `first_s` and `last_s` are the medians of the first third and
    the last. `slowest_part` took the most of the slowest batch, which began `slowest_at_s` after
    the application. `busy` is the share of the time in which a batch was worked on; `behind`: it
    always was, and each took longer or left more at its sources. `left_rows` is what the last one
    left there, None where that is not told; it is in `input_rows_per_s` as far as it grew. State is
    after the last one, `first_state_rows` after the first third.
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
    """What the driver did for batches, and the seconds of it in each; None: not told."""

    what: str
    time_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class StreamBatches:
    """Batches of a streaming query over time; of very many, of some that follow one another the
    slowest, with the rates of all of these and the state after the last.

    A batch began `t_s` after the application, and took `took_s`, which `parts` divide. Rows came in
    since the batch before began; they were worked off in the time that batches took. `late_s` is
    how long before a batch began the watermark is: what is later is dropped. None is "not told".
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
    """Core-seconds, and what for or why."""

    what: str
    time_s: float


@dataclass(frozen=True, slots=True)
class CoreUse:
    """What became of the cores that executors offered, in core-seconds.

    `used` adds up to `used_s`, and that and `unused` to `offered_s`: every core at every moment
    is in one of them.
    """

    offered_s: float
    used_s: float
    used: tuple[CoreTime, ...]
    unused: tuple[CoreTime, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """How much sooner it could have ended at most without one kind of waiting.

    `recorded_s` takes away only what the engine recorded as this waiting (None: it records none);
    `at_most_s` also takes away all that could be it, so that it is never less than the truth.
    """

    without: str
    recorded_s: float | None
    at_most_s: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SpeculationSummary:
    """Copies started because another was slow: how many, how many of them won, what was wasted.

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

    `task_s` is the time of all its attempts at tasks, and equals the sum of `causes` and
    `unattributed_s`. `overlap_s` was recorded under two causes at once and is counted once.
    `at_once` is how many tasks ran at once at most, `offered_slots` how many the executors offered
    at most while it ran (None: not recorded). `waves` is attempts by slots, `slot_use` the share of
    the slots offered, at each moment, in which one of its tasks ran.
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

    @property
    def slots(self) -> int:
        """Those that were offered; where that is not recorded, what ran at once at most."""
        return self.at_once if self.offered_slots is None else self.offered_slots

    @property
    def label(self) -> str:
        """What it is called, by its number."""
        return label_of(self.key)

    @property
    def title(self) -> str:
        """The stage as it is called in a sentence: "stage 3 (join on k)"."""
        return f"stage {self.label} ({self.name})"


@dataclass(frozen=True, slots=True)
class Analysis:
    """An application. The steps of `path` add up to `elapsed_s`; `driver_s` is without any stage.

    `cores` is None where the account does not say which executors were there. `bounds` are sums
    over the stages on the path: no other part can make the end come sooner.
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
