"""The shapes of the agent's results, subcommand by subcommand. Names and units are the agent's.

Only used fields are named here; others are ignored.
"""

from __future__ import annotations

from pydantic.dataclasses import dataclass


@dataclass(frozen=True)
class GenResult:
    """`gen`."""

    records: int
    bytes: int
    checksum: str | None
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True)
class ValidateResult:
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
    """The input of a sort."""

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
    """The output of a sort, in key order."""

    bytes: int
    records: int
    files: list[SortFile]
    manifests: list[str]


@dataclass(frozen=True)
class SortMemory:
    """The memory budget and the peak use."""

    budget_bytes: int
    peak_rss_bytes: int | None


@dataclass(frozen=True)
class CpuTime:
    """CPU time of the whole process."""

    user_s: float
    system_s: float


@dataclass(frozen=True)
class ResourceUse:
    """A command's resource use; None: the kernel doesn't report it."""

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
    """Order-independent checksums of the input and the output, in hexadecimal."""

    input: str
    output: str


@dataclass(frozen=True)
class SortResult:
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
    """`sort --plan-only`: the engine's plan, without executing it."""

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
class PiResult:
    """`pi`: how many points of the Halton sequence lie in the circle."""

    points: int
    inside: int
    threads: int
    elapsed_s: float
    used: ResourceUse


@dataclass(frozen=True)
class FileTransfer:
    """One file's task: of its bytes alone, not of opening it."""

    path: str
    bytes: int
    elapsed_s: float


@dataclass(frozen=True)
class FilesResult:
    """`files`: `operation` is `read` or `write`, `elapsed_s` from the first task to the last."""

    operation: str
    files: list[FileTransfer]
    bytes: int
    threads: int
    elapsed_s: float
    used: ResourceUse


@dataclass(frozen=True)
class MemoryResult:
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
class CoreSpeed:
    """The speed of a core at one kind of work, in `unit`."""

    kind: str
    unit: str
    per_core: Iterations


@dataclass(frozen=True)
class CpuReport:
    """`cpu`: the speed of a core with `threads` working concurrently."""

    threads: int
    speeds: list[CoreSpeed]


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
    """The device behind a directory."""

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
