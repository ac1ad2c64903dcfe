"""The shapes of the results of the agent's `trace`. Names and units are the agent's."""

from __future__ import annotations

from dataclasses import field

from pydantic.dataclasses import dataclass


@dataclass(frozen=True)
class RequestTotals:
    """Requests and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True)
class RequestTimes:
    """Times of requests; a percentile is None if there are too few requests for it."""

    count: int
    mean_ns: float
    p50_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    max_ns: int
    buckets: list[tuple[int, int]]


@dataclass(frozen=True)
class Seeks:
    """Distances between requests: their number, and the number of those that are exactly 0.

    The others are in buckets, given by lowest distance and count.
    """

    count: int
    zero: int
    median_sectors: int | None
    forward: list[tuple[int, int]]
    backward: list[tuple[int, int]]


@dataclass(frozen=True)
class RequestRuns:
    """Consecutive transfers; half of the bytes are in runs of up to `median_by_bytes`."""

    count: int
    mean_bytes: float | None
    median_by_bytes: int | None


@dataclass(frozen=True)
class ReferenceRate:
    """The rate of a reference disk with an access pattern, and with one long run."""

    disk: str
    bytes_per_s: float
    most_bytes_per_s: float


@dataclass(frozen=True)
class AccessVerdict:
    """The kind of an access pattern: `sequential`, `short_runs`, `mixed`, `random` or
    `cannot_tell`; and why. `rates` decide; older traces have none.
    """

    access: str
    text: str
    hard_disk_bytes_per_s: float | None
    rates: list[ReferenceRate] = field(default_factory=list)


@dataclass(frozen=True)
class RequestPlaces:
    """Places on the device over time: column, row, count and bytes of cells that are not empty.

    `files` has, for each cell, the number in `names`, from 1, of a file with requests in it;
    negative if other files have some, too; 0, or no number at all, if none is known.
    """

    start_s: float
    column_s: float
    start_bytes: int
    row_bytes: int
    cells: list[tuple[int, int, int, int]]
    names: list[str] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class RequestTimesSeen:
    """Durations of requests over time: column, row and count of cells that are not empty.

    `rows_ns` are the least times of the rows; the last row is open-ended. `names` and `files` are
    as in RequestPlaces.
    """

    start_s: float
    column_s: float
    rows_ns: list[int]
    cells: list[tuple[int, int, int]]
    names: list[str] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class TracedRequests:
    """Figures of requests that do the same. `sizes` are pairs of bytes and count."""

    operation: str
    issued: RequestTotals
    sizes: list[tuple[int, int]]
    size_median_bytes: int | None
    issued_to_done: RequestTimes | None
    queued_to_done: RequestTimes | None
    seek_plain: Seeks
    seek_window: Seeks
    seek_streams: Seeks
    runs: RequestRuns
    verdict: AccessVerdict | None


@dataclass(frozen=True)
class TracedOperation(TracedRequests):
    """The requests of a device that do the same."""

    queued: RequestTotals
    readahead: RequestTotals
    metadata: RequestTotals
    back_merges: int
    front_merges: int
    completed: int
    failed: int
    position: RequestPlaces


@dataclass(frozen=True)
class TracedDevice:
    """A device, `8,32` by its numbers. `flush_times` are None where no flush was timed."""

    device: str
    flushes: int
    others: int
    requeues: int
    begun_before: int
    busy_s: float
    idle_s: float
    depth_mean: float | None
    depth_max: int
    operations: list[TracedOperation]
    flush_times: RequestTimes | None = None


@dataclass(frozen=True)
class TraceLosses:
    """Known gaps in a trace."""

    missing_records: int
    missing_cpus: list[str]
    damaged_bytes: int
    truncated_bytes: int
    unread_lines: int
    late_events: int
    not_done: int
    given_up: int


@dataclass(frozen=True)
class TraceThreshold:
    """A number that verdicts depend on."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class TracedDisk:
    """A traced disk, and its settings in sysfs by file name."""

    device: str
    name: str
    settings: dict[str, str]


@dataclass(frozen=True)
class TracedPattern(TracedOperation):
    """Requests for files that are for the same, on one side of a shuffle (None: it is not known).

    `file_class` is as `crates/blktrace/src/attribute/classes.rs` has it.
    """

    device: str
    file_class: str
    phase: str | None
    times: RequestTimesSeen


@dataclass(frozen=True)
class TracedInStage(TracedRequests):
    """The requests of a pattern in one stage of the job."""

    stage: str
    device: str
    file_class: str
    phase: str | None


@dataclass(frozen=True)
class TraceShare:
    """A process's requests in one stage of a pattern; `served_s` is their total time, None if none
    is known to have completed.
    """

    device: str
    operation: str
    file_class: str
    phase: str | None
    stage: str | None
    process: str | None
    requests: int
    bytes: int
    served_s: float | None


@dataclass(frozen=True)
class TracedTask:
    """The bytes that a task's own thread read and wrote; `task` is its number in the
    application.
    """

    stage: str | None
    task: int
    read: RequestTotals
    written: RequestTotals


@dataclass(frozen=True)
class StageSeen:
    """A stage of the job, in seconds since 1970."""

    name: str
    phase: str
    from_unix_s: float
    until_unix_s: float


@dataclass(frozen=True)
class TraceOwners:
    """Requests by owner; the shares sum to all of them. `staged` are the patterns in each stage, as
    far as there was room; traces of older versions have none. `tasks` are those with the most
    bytes; `task_count` tasks have known threads, with `task_bytes` in total.
    """

    patterns: list[TracedPattern]
    shares: list[TraceShare]
    ranges_refused: int
    names_left_out: int
    staged: list[TracedInStage] = field(default_factory=list)
    stages: list[StageSeen] = field(default_factory=list)
    tasks: list[TracedTask] = field(default_factory=list)
    task_count: int = 0
    task_bytes: int = 0


@dataclass(frozen=True)
class IoTrace:
    """A trace of block I/O. `started_unix_s` is None if the trace lacks it.

    The owners are None for a trace without files.
    """

    formats: list[str]
    files: int
    bytes: int
    records: int
    started_unix_s: float | None
    elapsed_s: float
    losses: TraceLosses
    thresholds: list[TraceThreshold]
    devices: list[TracedDevice]
    host: str | None
    disks: list[TracedDisk]
    whose: TraceOwners | None


@dataclass(frozen=True)
class TraceConversion:
    """The result of `trace convert`: of `records` in the trace, an analysis needs the `events`."""

    output: str
    records: int
    events: int
    bytes: int


@dataclass(frozen=True)
class TraceRecording:
    """The result of `trace record`: `events` were recorded, `lost` were not.

    Each CPU has a buffer of `buffer_kib`; `buffer_peak_kib` is the most that arrived for one CPU
    between two reads, including data that didn't fit. With perf, the buffers and the CPU time are
    unknown.
    """

    disks: list[str]
    elapsed_s: float
    bytes: int
    events: int
    lost: int
    buffer_kib: int | None
    buffer_peak_kib: int | None
    cpu_s: float | None
