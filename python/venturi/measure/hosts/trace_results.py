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
    """Times of requests; a percentile that so few requests cannot tell is None."""

    count: int
    mean_ns: float
    p50_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    max_ns: int
    buckets: list[tuple[int, int]]


@dataclass(frozen=True)
class Seeks:
    """Distances between requests: how many there are, and how many of them are exactly 0.

    The others are in buckets, of which there are the lowest distance and the count.
    """

    count: int
    zero: int
    median_sectors: int | None
    forward: list[tuple[int, int]]
    backward: list[tuple[int, int]]


@dataclass(frozen=True)
class RequestRuns:
    """What was moved in one go; half of the bytes are in runs of up to `median_by_bytes`."""

    count: int
    mean_bytes: float | None
    median_by_bytes: int | None


@dataclass(frozen=True)
class AccessVerdict:
    """What a pattern is: `sequential`, `short_runs`, `random` or `cannot_tell`; and why."""

    access: str
    text: str
    hard_disk_bytes_per_s: float | None


@dataclass(frozen=True)
class RequestPlaces:
    """Where on the device over time: column, row, count and bytes of cells that are not empty.

    `files` has of each cell the number of the name, from 1, of a file whose requests are in it:
    below 0 if those of others are, too; 0, or no number at all, if none is known.
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
    """How long requests took over time: column, row and count of cells that are not empty.

    `rows_ns` are the least times of the rows, of which the last goes as far as there is anything.
    `names` and `files` are as those of places.
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
    """A device, `8,32` by its numbers."""

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


@dataclass(frozen=True)
class TraceLosses:
    """What is not in a trace, as far as it tells."""

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
    """A disk of a recording, and what sysfs says of it by the file's name."""

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
    """What requests of a pattern did in one stage of the job."""

    stage: str
    device: str
    file_class: str
    phase: str | None


@dataclass(frozen=True)
class TraceShare:
    """What a process did in one stage of a pattern; `served_s` is that of all together, None if no
    request is known to have been done."""

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
    """What the thread of a task read and wrote itself; `task` is its number in the application."""

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
    """Whose requests are: the shares sum up to all of them. `staged` are the patterns in each
    stage, as far as there was room for them; traces of older versions have none. `tasks` have the
    most bytes of the `task_count` whose threads said so, which have `task_bytes` together."""

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
    """A trace of block I/O. `started_unix_s` is None if the trace does not say.

    `whose` is None of a trace that does not tell of files.
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
    """`trace convert`. Of `records` in the trace, `events` are those that an analysis needs."""

    output: str
    records: int
    events: int
    bytes: int


@dataclass(frozen=True)
class TraceRecording:
    """`trace record`. `events` are those that were recorded, `lost` those that were not.

    Each processor has a buffer of `buffer_kib`; `buffer_peak_kib` are the most that came for one of
    them until it was emptied, with what it had no room for. Where perf recorded, these and how many
    processor seconds it took are not known.
    """

    disks: list[str]
    elapsed_s: float
    bytes: int
    events: int
    lost: int
    buffer_kib: int | None
    buffer_peak_kib: int | None
    cpu_s: float | None
