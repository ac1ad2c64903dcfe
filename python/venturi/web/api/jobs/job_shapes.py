"""The interface's answers about a job; `shapes` has the other answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from venturi.jobs.diagnosis.changes import JobDifference
from venturi.jobs.diagnosis.find import Finding
from venturi.jobs.stages.caches import CacheUse
from venturi.jobs.stages.queries import QueryWork
from venturi.jobs.stages.stage import (
    Bound,
    CauseTime,
    CoreUse,
    ExecutorUse,
    LostExecutor,
    MemoryUse,
    StreamBatches,
    StreamUse,
    TaskSpread,
    WastedTime,
)
from venturi.jobs.tiers.recorded_tiers import TierLevels, TierUse
from venturi.jobs.whatif.ideal import IdealSlots
from venturi.jobs.whatif.outlook import Outlooks
from venturi.results.hosts.use import HostUse


@dataclass(frozen=True, slots=True)
class JobPart:
    """A part of the application's time: of the driver, idle slots, or a cause of tasks' time."""

    part: str
    words: str
    time_s: float
    share: float


@dataclass(frozen=True, slots=True)
class JobStage:
    """One attempt at a stage; seconds since the application began.

    `reason` explains its failure. `slots` are those that executors offered, if recorded. `task_s`,
    over all its tasks, is the sum of `causes` and `unattributed_s`. `skew` is the longest task over
    the median one, `skew_bytes` the largest such ratio of bytes. `meanwhile` has the use of the
    host for comparison with the `verdict`; null if the stage is too short for the series, or
    without a series. If it is `partial`, its counts and sums are lower bounds; `time_bound` says
    which bound its time is: "≤", "≥" or "".
    """

    label: str
    name: str
    outcome: str
    reason: str | None
    started_s: float | None
    elapsed_s: float | None
    tasks: int
    slots: int
    waves: float | None
    slot_use: float | None
    task_s: float
    causes: tuple[CauseTime, ...]
    unattributed_s: float
    skew: float | None
    skew_bytes: float | None
    stragglers: int
    spilled_bytes: int | None
    on_critical_path: bool
    verdict: str
    host: HostUse | None
    meanwhile: str | None
    partial: bool
    time_bound: str


@dataclass(frozen=True, slots=True)
class JobRunning:
    """The number of running tasks: means over equal parts of time with the midpoints `t_s`."""

    t_s: tuple[float, ...]
    tasks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TaskLane:
    """The tasks of an executor over equal parts of time. `main` is the index in `causes` of the
    cause that took most, -1 without tasks. `busy` is the mean number of concurrent tasks.
    """

    executor: str
    host: str | None
    main: tuple[int, ...]
    busy: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TaskDot:
    """Time against bytes of `n` similar tasks, and the index of their main cause."""

    bytes_read: float
    elapsed_s: float
    n: int
    cause: int


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """An attempt at a task: `index` is which task of the stage, `cause` its main cause's place."""

    task_id: str
    stage: str
    index: int | None
    executor: str | None
    host: str | None
    outcome: str | None
    started_s: float
    elapsed_s: float
    bytes_read: int | None
    cause: int


@dataclass(frozen=True, slots=True)
class JobTasks:
    """The `tasks` of a job that ran from `from_s` to `to_s` after its beginning.

    `lanes_left_out` executors with less task time have no lane. `slowest` are the longest.
    `spreads` are over all tasks of the chosen stage at any time; over several stages they would
    mean nothing. Null times have a `missing_reason`.
    """

    from_s: float | None
    to_s: float | None
    causes: tuple[str, ...]
    lanes: tuple[TaskLane, ...]
    lanes_left_out: int
    dots: tuple[TaskDot, ...]
    slowest: tuple[TaskSeen, ...]
    spreads: tuple[TaskSpread, ...]
    tasks: int
    missing_reason: str | None


@dataclass(frozen=True, slots=True)
class JobOperator:
    """An operator of a plan. `parent` is the index in its query of the operator that reads its
    `rows`; null for the last one.

    `timer` is the longest of its own timers, which includes the operators below it. Null means "not
    recorded".
    """

    parent: int | None
    name: str
    text: str
    rows: int | None
    bytes: int | None
    timer: str | None
    time_s: float | None
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobQuery:
    """An SQL query and its plan as it ran, each operator before its inputs.

    `work` is null if the log doesn't assign jobs to queries. `adaptive` is null if adaptive
    execution changed nothing of the first plan, as far as the log shows.
    """

    id: int
    name: str
    outcome: str | None
    started_s: float | None
    elapsed_s: float | None
    work: QueryWork | None
    adaptive: str | None
    operators: tuple[JobOperator, ...]
    operators_left_out: int


@dataclass(frozen=True, slots=True)
class JobSpan:
    """A job of the application; seconds since the application began, null if not recorded.

    `ideal` is the number of slots that it needs by itself. It is null for all but the longest jobs
    with tasks, and if the outlook has a `missing_reason`.
    """

    id: int
    name: str
    outcome: str | None
    started_s: float | None
    elapsed_s: float | None
    ideal: IdealSlots | None


@dataclass(frozen=True, slots=True)
class JobData:
    """The engine's own account; `stages_left_out` with less task time are not shown.

    `began_s` is the start of the application in seconds after the trial's start, which is the
    offset of the two clocks. It is null if unknown, as for imported logs. `applications` is the
    number that the trial ran concurrently; this is one that failed, else the longest. `failure`
    says how it ended if it did not succeed. `lacks_tasks` is true if the log lacks events of tasks:
    sums over tasks are lower bounds then. `tiers` is empty if the engine's own folders have the
    files. `tier_levels` has the bytes on them over time, on the application's clock.

    `findings` come largest saving first. `silence` explains their absence, `overlap` how to
    read the savings of several, and `unseen` lists the checks that were impossible. `cores` is null
    if executors were not recorded. `queries` and `jobs` are the longest, `executors` those with the
    most task time, `memory` those with the fullest heaps, `caches` those with the most bytes.
    `batches` are of the `streams` with the most batch time. `sentence` is the answer in at most
    25 words: the costliest finding, the bottleneck, or why it is unknown. `verdict` has the
    bottleneck. `dropped` says when the task tables were dropped: only the kept summary is left.
    """

    outlook: Outlooks
    began_s: float | None = None
    began_reason: str | None = None
    applications: int = 1
    failure: str | None = None
    elapsed_s: float | None = None
    lacks_tasks: bool = False
    driver_s: float | None = None
    sentence: str | None = None
    verdict: str | None = None
    findings: tuple[Finding, ...] = ()
    silence: str | None = None
    overlap: str | None = None
    unseen: tuple[str, ...] = ()
    parts: tuple[JobPart, ...] = ()
    cores: CoreUse | None = None
    losses: tuple[WastedTime, ...] = ()
    lost_executors: tuple[LostExecutor, ...] = ()
    stages: tuple[JobStage, ...] = ()
    stages_left_out: int = 0
    running: JobRunning | None = None
    bounds: tuple[Bound, ...] = ()
    queries: tuple[JobQuery, ...] = ()
    queries_left_out: int = 0
    jobs: tuple[JobSpan, ...] = ()
    jobs_left_out: int = 0
    executors: tuple[ExecutorUse, ...] = ()
    executors_left_out: int = 0
    memory: tuple[MemoryUse, ...] = ()
    caches: tuple[CacheUse, ...] = ()
    streams: tuple[StreamUse, ...] = ()
    batches: tuple[StreamBatches, ...] = ()
    tiers: tuple[TierUse, ...] = ()
    tier_levels: TierLevels | None = None
    missing_reason: str | None = None
    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One of two compared jobs: the trial's id, its workload and its findings."""

    id: str
    name: str
    started_at: datetime | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class TwoJobs:
    """Two jobs compared; `missing_reason` explains null values."""

    before: ComparedJob | None
    after: ComparedJob | None
    difference: JobDifference | None
    missing_reason: str | None
