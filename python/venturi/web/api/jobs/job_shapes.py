"""What the interface answers about a job, as `shapes` has the other answers."""

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

    `reason` says why it failed. `slots` are those that executors offered, where that is recorded.
    `task_s`, of all its tasks, is the sum of `causes` and `unattributed_s`. `skew` is the longest
    task by the median one, `skew_bytes` the most of what tasks moved of a kind. `meanwhile` puts
    what the host did beside the `verdict`; null where the stage is too short for the series, or
    there is none.
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


@dataclass(frozen=True, slots=True)
class JobRunning:
    """How many tasks ran: means over the equal times that the moments `t_s` are the middles of."""

    t_s: tuple[float, ...]
    tasks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TaskLane:
    """What an executor's tasks did in equal pieces of time: `main` is the place of the cause that
    took the most in `causes`, -1 where none ran; `busy` is how many ran at once, a mean."""

    executor: str
    host: str | None
    main: tuple[int, ...]
    busy: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TaskDot:
    """How long `n` tasks that are much alike took for how many bytes; their main cause's place."""

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
    `spreads` are of all tasks of the stage that was chosen, whenever they ran; of several stages
    together they would say nothing. Null moments have a `missing_reason`.
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
    """An operator of a plan: `parent` is the place, among those of its query, of the one that takes
    the `rows` that come out of it; null: none does.

    `timer` is the longest of its own timers, which also counts what is below it. Null is "not
    told".
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
    """An SQL query, its plan as it ran, each operator before those that it takes rows from.

    `work` is null where the log does not say which jobs are whose, `adaptive` where adaptive
    execution changed nothing of the first plan, as far as the log tells.
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
    """A job that the application ran; seconds since it began, null where not recorded.

    `ideal` is the slots that it needs by itself; null where that was not looked for, which only the
    longest jobs with tasks are, or the outlook has a `missing_reason`.
    """

    id: int
    name: str
    outcome: str | None
    started_s: float | None
    elapsed_s: float | None
    ideal: IdealSlots | None


@dataclass(frozen=True, slots=True)
class JobData:
    """What the engine's own account tells; `stages_left_out` with less task time are not shown.

    `began_s` is when the application began, in seconds since the trial did: what stands between the
    two clocks. Null where that is not known, as for what was ingested. `applications` is how many
    the trial ran at once; this is one that failed, else the longest. `failure` says how it ended if
    it did not succeed. `tiers` is empty where files were where the engine itself has them;
    `tier_levels` has the bytes on them over time, on the application's clock. `findings` are in the
    order of what they save; `silence` says why there is none, `overlap` how what several of them
    cost is to be read, `unseen` what could not be looked at. `cores` is null where it is not
    recorded which executors were there. `queries` and `jobs` are the longest, `executors` those
    with the most task time, `memory` that of those whose heaps were the fullest, `caches` those
    with the most bytes, `batches` those of the `streams` whose batches took the most time.
    `verdict` is where the time went, and the finding that costs the most.
    """

    outlook: Outlooks
    began_s: float | None = None
    began_reason: str | None = None
    applications: int = 1
    failure: str | None = None
    elapsed_s: float | None = None
    driver_s: float | None = None
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


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """One of two jobs that are compared: the trial's id, its workload, what to do about it."""

    id: str
    name: str
    started_at: datetime | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class TwoJobs:
    """Two jobs beside one another; null, with `missing_reason`, what cannot be compared."""

    before: ComparedJob | None
    after: ComparedJob | None
    difference: JobDifference | None
    missing_reason: str | None
