"""The shapes of the agent's results, subcommand by subcommand. Names and units are the agent's.

Only what is read here is named; what else a result says is left alone.
"""

from __future__ import annotations

from dataclasses import field

from pydantic.dataclasses import dataclass


@dataclass(frozen=True)
class Generated:
    """`gen`."""

    records: int
    bytes: int
    checksum: str | None
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True)
class Validated:
    """`validate`. `checksum` is the sum of the records' CRC32 in hexadecimal."""

    records: int
    checksum: str
    duplicate_keys: int
    unordered_records: int
    first_unordered: int | None
    ordered: bool
    bytes: int
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True)
class SortInput:
    """What a sort read."""

    bytes: int
    records: int
    files: int


@dataclass(frozen=True)
class SortFile:
    """One output file."""

    path: str
    bytes: int
    records: int


@dataclass(frozen=True)
class SortOutput:
    """What a sort wrote, in key order."""

    bytes: int
    records: int
    files: list[SortFile]
    manifests: list[str]


@dataclass(frozen=True)
class SortMemory:
    """The budget and what was used of it."""

    budget_bytes: int
    peak_rss_bytes: int | None


@dataclass(frozen=True)
class CpuTime:
    """CPU time of the whole process."""

    user_s: float
    system_s: float


@dataclass(frozen=True)
class Used:
    """What a command used of the machine; None: the kernel does not say."""

    cpu: CpuTime | None
    peak_rss_bytes: int | None


@dataclass(frozen=True)
class SortIo:
    """How a directory was read or written."""

    role: str
    dir: str
    method: str


@dataclass(frozen=True)
class SortPhase:
    """A phase, relative to the start of the sort."""

    name: str
    started_s: float
    elapsed_s: float


@dataclass(frozen=True)
class SortStage:
    """A stage of a phase; its times are summed over its workers. None: the kernel does not say."""

    phase: str
    stage: str
    device: str | None
    workers: int
    bytes: int
    records: int
    useful_s: float
    idle_s: float
    waiting_for_memory_s: float
    blocked_s: float
    started_s: float
    ended_s: float
    cpu_s: float | None = None
    system_s: float | None = None
    core_wait_s: float | None = None
    page_faults: int | None = None
    major_faults: int | None = None


@dataclass(frozen=True)
class SortChecksum:
    """Order-independent checksums of what went in and what came out, in hexadecimal."""

    input: str
    output: str


@dataclass(frozen=True)
class Sorted:
    """`sort`."""

    input: SortInput
    output: SortOutput
    regime: str
    spilled_bytes: int
    retained_bytes: int
    bytes_read: int
    bytes_written: int
    memory: SortMemory
    threads: int
    partitions: int
    oversized_partitions: int
    cpu: CpuTime | None
    elapsed_s: float
    io: list[SortIo]
    phases: list[SortPhase]
    stages: list[SortStage]
    checksum: SortChecksum | None


@dataclass(frozen=True)
class SortPlan:
    """`sort --plan-only`: what the engine would do, without doing it."""

    regime: str
    partitions: int
    block_bytes: int
    expected_spilled_bytes: int
    expected_retained_bytes: int
    scratch_bytes_needed: int
    output_bytes_needed: int
    minimum_memory_bytes: int
    memory_bytes: int
    threads: int
    input_bytes: int
    input_records: int | None


@dataclass(frozen=True)
class PiCounted:
    """`pi`: how many points of the Halton sequence lie in the circle."""

    points: int
    inside: int
    threads: int
    elapsed_s: float
    used: Used


@dataclass(frozen=True)
class FileMoved:
    """One file's task: of its bytes alone, not of opening it."""

    path: str
    bytes: int
    elapsed_s: float


@dataclass(frozen=True)
class FilesMoved:
    """`files`: `operation` is `read` or `write`, `elapsed_s` from the first task to the last."""

    operation: str
    files: list[FileMoved]
    bytes: int
    threads: int
    elapsed_s: float
    used: Used


@dataclass(frozen=True)
class MemoryTouched:
    """`memory`: how fast as much memory can be touched, fresh and again."""

    bytes: int
    first_touch_bytes_per_s: float
    second_touch_bytes_per_s: float
    threads: int


@dataclass(frozen=True)
class Iterations:
    """A quantity over iterations; `iterations` has every raw value."""

    mean: float
    min: float
    max: float
    stdev: float | None
    iterations: list[float]


@dataclass(frozen=True)
class Latency:
    """Latency quantiles of single requests, in seconds."""

    p50: float
    p90: float
    p99: float
    p99_9: float
    max: float


@dataclass(frozen=True)
class DiskDevice:
    """What is behind a directory."""

    dir: str
    mount_point: str | None
    file_system: str | None
    device: str | None
    io_method: str


@dataclass(frozen=True)
class DiskMeasurement:
    """One mode, role, directory (None: all together), block size and depth."""

    mode: str
    role: str
    dir: str | None
    block_bytes: int
    queue_depth: int
    bytes: int
    bytes_per_s: Iterations
    iops: Iterations | None
    latency_s: Latency | None
    steady: bool
    unsteady_reason: str | None


@dataclass(frozen=True)
class SlowDisk:
    """A directory that is slower than its peers."""

    dir: str
    role: str
    mode: str
    bytes_per_s: float
    median_bytes_per_s: float


@dataclass(frozen=True)
class DiskReport:
    """`disk`."""

    devices: list[DiskDevice]
    measurements: list[DiskMeasurement]
    slow: list[SlowDisk]


@dataclass(frozen=True)
class SlowPeer:
    """The slowest peer: the figure of a shuffle."""

    name: str
    bytes_per_s: float


@dataclass(frozen=True)
class NetMeasurement:
    """One pattern at one number of peers."""

    pattern: str
    peers: int
    sockets_per_peer: int
    bytes_per_s: Iterations
    slowest_peer: SlowPeer
    matrix: list[list[float | None]]
    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int
    invalid_reason: str | None = None
    unsteady: list[str] | None = None


@dataclass(frozen=True)
class SocketFacts:
    """How a peer's connections were set up; None: the kernel does not say."""

    congestion: str
    nodelay: bool
    send_limit_bytes: int | None
    receive_limit_bytes: int | None


@dataclass(frozen=True)
class NetReport:
    """`net`."""

    label: str
    measurements: list[NetMeasurement]
    sockets: list[SocketFacts | None] | None = None


@dataclass(frozen=True)
class Amount:
    """Requests and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True)
class RequestTimes:
    """Times of requests; a percentile that so few requests cannot tell is None."""

    count: int
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
class TracedOperation:
    """The requests of a device that do the same. `sizes` are pairs of bytes and count."""

    operation: str
    queued: Amount
    issued: Amount
    readahead: Amount
    metadata: Amount
    back_merges: int
    front_merges: int
    completed: int
    failed: int
    sizes: list[tuple[int, int]]
    size_median_bytes: int | None
    issued_to_done: RequestTimes | None
    queued_to_done: RequestTimes | None
    seek_plain: Seeks
    seek_window: Seeks
    seek_streams: Seeks
    runs: RequestRuns
    position: RequestPlaces
    verdict: AccessVerdict | None


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

    `file_class` is as `crates/blktrace/src/classes.rs` has it.
    """

    device: str
    file_class: str
    phase: str | None
    times: RequestTimesSeen


@dataclass(frozen=True)
class TraceShare:
    """What a process did in one stage of a pattern; `served_s` is that of all together."""

    device: str
    operation: str
    file_class: str
    phase: str | None
    stage: str | None
    process: str | None
    requests: int
    bytes: int
    served_s: float


@dataclass(frozen=True)
class TracedTask:
    """What the thread of a task read and wrote itself; `task` is its number in the application."""

    stage: str | None
    task: int
    read: Amount
    written: Amount


@dataclass(frozen=True)
class StageSeen:
    """A stage of the job, in seconds since 1970."""

    name: str
    phase: str
    from_unix_s: float
    until_unix_s: float


@dataclass(frozen=True)
class TraceOwners:
    """Whose requests are: the shares sum up to all of them. `tasks` have the most bytes of the
    `task_count` whose threads said so, which have `task_bytes` together."""

    patterns: list[TracedPattern]
    shares: list[TraceShare]
    ranges_refused: int
    names_left_out: int
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
class TraceConverted:
    """`trace convert`. Of `records` in the trace, `events` are those that an analysis needs."""

    output: str
    records: int
    events: int
    bytes: int


@dataclass(frozen=True)
class TraceRecorded:
    """`trace record`. `events` are those that were recorded, `lost` those that were not."""

    disks: list[str]
    elapsed_s: float
    bytes: int
    events: int
    lost: int
    cpu_s: float
