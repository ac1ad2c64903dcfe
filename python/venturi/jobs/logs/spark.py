"""Spark event logs, versions 2.x to 4.x, read into the tables of `record.job_account`.

Source of every name: core/src/main/scala/org/apache/spark/util/JsonProtocol.scala. A log is read in
one pass; only relevant kinds of events are decoded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venturi.core.errors import VenturiError
from venturi.jobs.failures.messages import condensed
from venturi.jobs.logs.columnar import (
    TOO_MANY,
    TableBuilder,
    TooManyError,
    amount,
    moment,
    number,
    row_of,
    whole,
    word,
)
from venturi.jobs.logs.configuration import masked, spark_chosen
from venturi.jobs.logs.find import SPARK_HINT, spark_logs
from venturi.jobs.logs.spark_batches import PROGRESS, Batches
from venturi.jobs.logs.spark_caches import Caches, source_ids
from venturi.jobs.logs.spark_ends import (
    add_ends,
    missing_events,
    most_failures,
    outcome_of,
    repeated,
)
from venturi.jobs.logs.spark_evidence import (
    application_outcome,
    missing_of_queries,
    missing_parts,
    missing_starts,
)
from venturi.jobs.logs.spark_fields import (
    NAME_CHARACTERS,
    NO_METRICS,
    OUTCOMES,
    NumberSet,
    WrongTypes,
    call_site,
    identity_of,
    metrics_of,
    reason_of,
    tier_rows,
)
from venturi.jobs.logs.spark_memory import Memory
from venturi.jobs.logs.spark_parts import by_application, with_event_first
from venturi.jobs.logs.spark_plans import LoggedPlans, decoded, operators_of
from venturi.jobs.logs.spark_queries import (
    DRIVER_VALUES,
    ENDED,
    PLAN_CHANGED,
    STARTED,
    Queries,
    query_of,
)
from venturi.jobs.logs.spark_timers import Timers
from venturi.jobs.logs.trial import take_in, unchanged  # noqa: F401 - of a reader
from venturi.record.account_kind import SPARK
from venturi.record.account_tables import STAGES
from venturi.record.gaps import hole
from venturi.record.importing.formats import Format, Log
from venturi.record.importing.streams import LIMITS, LogLimits, LogText, OversizedLine
from venturi.record.job_account import (
    OUTPUT_LOST,
    AccountReading,
    Application,
    JobAccount,
)

if TYPE_CHECKING:
    import polars as pl

FORMAT = Format(
    "spark-eventlog",
    "Spark event logs, 2 to 4: files, folders, rolling logs, zip and tar; also compressed",
    pattern="(\ufeff)?([^\n]{0,4096}\n){0,3}?\\s{0,64}"
    '\\{[^\n]{0,65536}?"Event"\\s*:\\s*"(SparkListener|org\\.apache\\.)',
)

Event = Mapping[str, Any]
Progress = Callable[[int], None]
"""Called with the bytes of text read so far."""

find = spark_logs
_NAME = re.compile(rb'\{\s*"Event"\s*:\s*"([^"\\]{1,200})"')
_PREFIX = "SparkListener"
_SUBMITTED = f"{_PREFIX}StageSubmitted"
# Events of Spark's own that say nothing about times of jobs, stages, tasks and executors.
_KNOWN = re.compile(
    r"SparkListener(TaskGettingResult|SpeculativeTaskSubmitted|BlockManagerRemoved"
    r"|ExecutorMetricsUpdate|ResourceProfileAdded"
    r"|(Executor|Node)(Blacklisted|Unblacklisted|Excluded|Unexcluded)(ForStage)?"
    r"|UnschedulableTaskSet(Added|Removed)|MiscellaneousProcessAdded)|org\.apache\.spark\..+"
)
TIERED_STORAGE = "venturi.spark.tiers.TieredStorageAccount"
"""Venturi's own event, of its plugin for tiered storage: jvm/tiered-storage."""
_KINDS = 200  # of event types that are counted by name
_RUNNING = 200_000  # tasks that may run concurrently
# A table of a log has no more rows. What is beyond is counted, see `TooManyError`.
_JOBS = _STAGES = 100_000
_EXECUTORS, _TIERS = 20_000, 500_000
_IDS = 2_000_000  # of stages that jobs and stages name, in all
_DAMAGED = 4  # lines at the beginning without an event: it is no event log
_STEP = 2_000  # lines between two calls of progress
_MILLISECOND_DIGITS = 13  # of a time from 2001 to 2286
_COMPACTED = "it was compacted: events of jobs that had ended may be left out"


def accounts(
    log: Log, limits: LogLimits = LIMITS, progress: Progress | None = None
) -> list[JobAccount]:
    """The accounts of the applications in the event log `log`, usually one.

    VEN-INGEST-FORMAT if it isn't an event log, VEN-INGEST-LIMIT if it exceeds `limits`. A truncated
    log, or one of an application without an end, gives its content, and an outcome that is not
    success.
    """
    text = LogText(log.files, limits)
    told, begun = list[_LogState](), False
    for application, count, line in by_application(with_event_first(text.lines())):
        begun = begun or _NAME.match(line) is not None
        if count == _DAMAGED and not begun:
            raise VenturiError(
                "VEN-INGEST-FORMAT",
                f"{log.path} is not a Spark event log: it does not begin with an event",
                where={"file": str(log.path)},
                hint=SPARK_HINT,
            )
        while application >= len(told):
            told.append(_LogState())
        told[application].file = text.reading
        told[application].take(line, count)
        if progress is not None and count % _STEP == 1:
            progress(text.text_bytes)
    if not any(each.events for each in told):
        raise VenturiError(
            "VEN-INGEST-FORMAT",
            f"{log.path} is not a Spark event log: it holds no event"
            + (f": {text.truncated}" if text.truncated else ""),
            where={"file": str(log.path)},
            hint=SPARK_HINT,
        )
    return [each.account(text, log) for each in told]


def read(log: Log, limits: LogLimits = LIMITS, progress: Progress | None = None) -> JobAccount:
    """The account of the first application in `log`, as `accounts` has it."""
    return accounts(log, limits, progress)[0]


@dataclass(slots=True)
class _LogState:
    """The content of a log, read so far."""

    events: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    damaged: Counter[str] = field(default_factory=Counter)
    malformed: int = 0
    oversized: int = 0
    wrong: WrongTypes = field(default_factory=WrongTypes)
    version: str | None = None
    start: Event = field(default_factory=dict)
    end: Event | None = None
    environment: Event = field(default_factory=dict)
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    stages: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    job_of_stage: dict[int, int] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: int = 0
    jobs_left_out: bool = False
    running: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    ended: NumberSet = field(default_factory=NumberSet)
    resubmitted: set[str] = field(default_factory=set)
    tasks: TableBuilder = field(default_factory=lambda: TableBuilder("tasks", SPARK))
    timers: Timers = field(default_factory=Timers)
    queries: Queries = field(default_factory=Queries)
    plans: LoggedPlans = field(default_factory=LoggedPlans)
    tiers: TableBuilder = field(default_factory=lambda: TableBuilder("tiers", SPARK))
    tier_rows: int = 0
    memory: Memory = field(default_factory=Memory)
    caches: Caches = field(default_factory=Caches)
    batches: Batches = field(default_factory=Batches)
    last_ms: int | None = None
    startless: set[int] = field(default_factory=set)
    file: Path | None = None
    """The one that the events are from."""
    last_of_jobs: Path | None = None
    """The one with the last events of jobs."""

    def take(self, line: bytes, count: int) -> None:
        """Takes in the event that `line` is, the `count`th of the log."""
        match = _NAME.match(line)
        if match is None:
            self.malformed += 1
            return
        self.events += 1
        name = word(match[1].decode("utf-8", "replace"), 100) or ""
        handle = _HANDLERS.get(name)
        if handle is None:
            of_spark = _KNOWN.fullmatch(name) is not None
            _count(self.skipped if of_spark else self.unknown, name)
            return
        if type(line) is OversizedLine:
            self.oversized += 1
            return
        try:
            event = decoded(self.timers.without_accumulables(line))
        except ValueError:
            self.malformed += 1
            return
        try:
            self.wrong.look(name, event, count)
            if name in {STARTED, PLAN_CHANGED} and not self._plan(event, first=name == STARTED):
                _count(self.skipped, f"{name} (the plan in it)")
            handle(self, event)
        except (KeyError, TypeError, AttributeError):
            self.damaged[name] += 1
        except TooManyError:
            self.damaged[name + TOO_MANY] += 1

    def _plan(self, event: Event, *, first: bool) -> bool:
        """Takes in the plan of a query's event; False if it can't be read."""
        if "sparkPlanInfo" not in event:
            return True
        query, operators = number(event["executionId"]), operators_of(event["sparkPlanInfo"])
        self.queries.note_timers(operators or ())
        return self.plans.take(query, operators, first=first)

    def log_start(self, event: Event) -> None:
        self.version = word(event["Spark Version"])

    def application_start(self, event: Event) -> None:
        self.start = event
        self._saw(event.get("Timestamp"))

    def application_end(self, event: Event) -> None:
        self.end = event
        self._saw(event["Timestamp"])

    def environment_update(self, event: Event) -> None:
        self.environment = event

    def job_start(self, event: Event) -> None:
        job_id = number(event["Job ID"])
        stage_ids = [number(each) for each in event["Stage IDs"]]
        properties = event.get("Properties") or {}
        infos = sorted(event.get("Stage Infos") or (), key=lambda each: -number(each["Stage ID"]))
        called = call_site(infos[0].get("Stage Name")) if infos else None
        name = properties.get("spark.job.description") or called
        self._saw(event.get("Submission Time"))
        job = self._job(job_id)
        job["name"] = word(name and name.replace("<br/>", " "))  # written for Spark's pages
        job["of_stream"] = not properties or "sql.streaming.queryId" in properties
        job["submitted_ms"] = moment(event.get("Submission Time"))
        job["query_id"] = query_of(properties)
        self._keep_ids(job, "stage_ids", stage_ids)
        for stage_id in stage_ids:
            row_of(self.job_of_stage, stage_id, _IDS, job_id)

    def job_end(self, event: Event) -> None:
        self._saw(event.get("Completion Time"))
        job = self._job(number(event["Job ID"]))
        job["ended_ms"] = moment(event.get("Completion Time"))
        result = event["Job Result"]
        if result["Result"] == "JobSucceeded":
            job["outcome"] = "succeeded"
            return
        said = condensed((result.get("Exception") or {}).get("Message"))
        reason = word(said) or "no reason is recorded"
        job["outcome"] = outcome_of(reason)
        job["reason"] = reason

    def stage(self, event: Event) -> None:
        info = event["Stage Info"]
        key = number(info["Stage ID"]), number(info["Stage Attempt ID"])
        failure = word(condensed(info.get("Failure Reason")))
        ended_ms = moment(info.get("Completion Time"))
        outcome = "failed" if failure else "unfinished" if ended_ms is None else "succeeded"
        parent_ids = [number(each) for each in info.get("Parent IDs") or ()]
        self._saw(ended_ms or info.get("Submission Time"))
        stage = row_of(self.stages, key, _STAGES, {})
        if event["Event"] == _SUBMITTED:
            stage["began"] = True
        if ended_ms is None and stage.get("ended_ms") is not None:
            return  # out of order: its end came first
        if "name" not in stage:
            self.timers.of_stage(key, info)
        stage |= {
            "name": call_site(info.get("Stage Name")),
            "n_tasks": amount(info.get("Number of Tasks")),
            "submitted_ms": moment(info.get("Submission Time")),
            "ended_ms": ended_ms,
            "outcome": outcome,
            "reason": failure,
        }
        self._keep_ids(stage, "parent_ids", parent_ids)
        self._keep_ids(stage, "source_ids", source_ids(info))
        if ended_ms is not None:
            self.plans.of_stage(key, info)
        self.caches.of_stage(info)

    def task_start(self, event: Event) -> None:
        info = event["Task Info"]
        task_id = number(info["Task ID"])
        if self.ended.has(task_id):  # out of order
            self.startless.discard(task_id)
            return
        row = (*identity_of(event, info), "unfinished", None, moment(info.get("Launch Time")), None)
        self.running[task_id] = (*row, None, *NO_METRICS)
        self._saw(info.get("Launch Time"))
        if len(self.running) > _RUNNING:  # their ends were lost
            self.tasks.append(self.running.pop(next(iter(self.running))))

    def task_end(self, event: Event) -> None:
        info = event["Task Info"]
        reason = event["Task End Reason"]
        if reason["Reason"] == "Resubmitted":  # repeated, for a task that had succeeded
            if len(self.resubmitted) >= _RUNNING:
                raise TooManyError
            self.resubmitted.add(str(number(info["Task ID"])))
            return
        if self.ended.has(task_id := number(info["Task ID"])):
            _count(self.skipped, "SparkListenerTaskEnd (duplicate)")
            return
        outcome = OUTCOMES.get(reason["Reason"], "failed")
        finished_ms = moment(info.get("Finish Time"))
        row = (
            *identity_of(event, info),
            outcome,
            reason_of(reason),
            moment(info.get("Launch Time")),
            finished_ms,
            moment(info.get("Getting Result Time")),
            *metrics_of(event.get("Task Metrics"), outcome),
        )
        self.tasks.append(row)
        self.timers.of_task((row[0], row[1]), str(task_id), info)
        self.ended.add(task_id)
        if self.running.pop(task_id, None) is None and len(self.startless) < _RUNNING:
            self.startless.add(task_id)
        self.memory.sampled(
            info.get("Executor ID"), event.get("Task Executor Metrics"), finished_ms
        )
        self._saw(finished_ms)

    def executor_added(self, event: Event) -> None:
        info = event["Executor Info"]
        executor = row_of(
            self.executors, str(event["Executor ID"])[:NAME_CHARACTERS], _EXECUTORS, {}
        )
        executor |= {
            "host": word(info.get("Host")),
            "cores": amount(info.get("Total Cores")),
            "added_ms": moment(event.get("Timestamp")),
        }

    def executor_removed(self, event: Event) -> None:
        self._saw(event.get("Timestamp"))
        executor = row_of(
            self.executors, str(event["Executor ID"])[:NAME_CHARACTERS], _EXECUTORS, {}
        )
        # A lost connection may be followed by the exit code, which says more, but comes later.
        executor.setdefault("removed_ms", moment(event.get("Timestamp")))
        executor["reason"] = word(condensed(event.get("Removed Reason")))
        self.caches.removed(event["Executor ID"])

    def stage_memory(self, event: Event) -> None:
        # It has no time: it is logged when a stage ends, after the last of its tasks.
        self.memory.sampled(event.get("Executor ID"), event.get("Executor Metrics"), self.last_ms)

    def block_manager(self, event: Event) -> None:
        self.memory.limited(event["Block Manager ID"].get("Executor ID"), event)

    def query_start(self, event: Event) -> None:
        self._saw(event.get("time"))
        self.queries.begin(event, call_site(event.get("description")))

    def query_end(self, event: Event) -> None:
        self._saw(event.get("time"))
        self.queries.end(event)

    def driver_values(self, event: Event) -> None:
        query = number(event["executionId"])
        self.queries.mention(event)
        for id_, value in event["accumUpdates"]:
            if (known := amount(value)) is not None:
                self.queries.driver_value(query, id_, known)
                self.plans.of_driver(id_, known)

    def tiered_storage(self, event: Event) -> None:
        account = event["account"]
        rows = list(tier_rows(account))
        if self.tier_rows + len(rows) > _TIERS:
            raise TooManyError
        self.tier_rows += len(rows)
        for row in rows:
            self.tiers.append(row)

    def _job(self, job_id: int) -> dict[str, Any]:
        try:
            job = row_of(self.jobs, job_id, _JOBS, {})
        except TooManyError:
            self.jobs_left_out = True
            raise
        job.setdefault("outcome", "unfinished")
        self.last_of_jobs = self.file
        return job

    def _keep_ids(self, row: dict[str, Any], name: str, stage_ids: list[int]) -> None:
        more = len(stage_ids) - len(row.get(name, ()))
        if self.ids + more > _IDS:
            row.setdefault(name, [])
            raise TooManyError
        self.ids += more
        row[name] = stage_ids

    def _saw(self, value: object) -> None:
        if (seen := moment(value)) is not None and (self.last_ms is None or seen > self.last_ms):
            self.last_ms = seen

    def account(self, text: LogText, log: Log) -> JobAccount:
        """The account, as tables."""
        for row in self.running.values():
            self.tasks.append(row)
        tasks, ended = self._tasks(), self.end is not None or log.after is not None
        configuration = masked(self.environment.get("Spark Properties"))
        dropped = add_ends(
            self.jobs,
            self.stages,
            tasks,
            self.queries.rows,
            n_failures=most_failures(configuration),
            ended=ended,
            dropped=self.end is None or bool(self.startless) or hole(tasks) > 0,
        )
        jobs = TableBuilder("jobs", SPARK)
        for job_id, job in self.jobs.items():
            jobs.append((job_id, *map(job.get, _JOB_FIELDS)))
        stages = TableBuilder("stages", SPARK)
        for (stage_id, attempt), stage in sorted(self.stages.items()):
            job_id_ = self.job_of_stage.get(stage_id)
            row = (stage_id, attempt, stage["name"], job_id_, *map(stage.get, _STAGE_FIELDS))
            stages.append(row)
        stage_table = stages.finish()
        dropped |= missing_events(stage_table, tasks, len(self.startless))
        dropped |= self._missing(log, tasks)
        executors = TableBuilder("executors", SPARK)
        for executor_id, executor in self.executors.items():
            executors.append((word(executor_id), *map(executor.get, _EXECUTOR_FIELDS)))
        return JobAccount(
            application=self._application(text, log),
            reading=AccountReading(
                files=tuple(path.name for path in text.files),
                sha256=text.sha256,
                text_bytes=text.text_bytes,
                compression=text.compression,
                events=self.events,
                skipped=dict(self.skipped),
                unknown=dict(self.unknown),
                damaged=dict(self.damaged),
                malformed=self.malformed,
                oversized=self.oversized,
                wrong=self.wrong.told(),
                dropped=dropped,
                truncated=missing_parts(log, self.end)
                or text.truncated
                or (_COMPACTED if log.compacted else None),
            ),
            jobs=jobs.finish(),
            stages=stage_table,
            tasks=tasks,
            executors=executors.finish(),
            configuration=configuration,
            chosen=spark_chosen(configuration),
            queries=self.queries.table(),
            operators=self.plans.operators(),
            operator_metrics=self.plans.metrics(),
            plan_changes=self.plans.changes.table(),
            timers=self.timers.table(),
            tiers=self.tiers.finish() if self.tier_rows else None,
            memory=self.memory.table(),
            memory_over_time=self.memory.over_time(),
            caches=self.caches.table(),
            batches=self.batches.table(),
        )

    def _missing(self, log: Log, tasks: pl.DataFrame) -> dict[str, int]:
        """The number of missing events by kind, but for ends of jobs and stages and tasks."""
        ended = self.end is not None or log.after is not None
        found = {
            "log part": log.n_missing,
            "log start": int(self.version is None),
            "application start": int(not self.start),
            "environment update": int(not self.environment and bool(self.jobs)),
            "application end": int(ended and self.end is None),
        }
        if log.compacted:
            return found
        gone = tasks.filter(tasks["reason"].str.starts_with("ExecutorLostFailure"))
        used, lost = (
            each["executor_id"].drop_nulls().unique().to_list()
            for each in (tasks, gone if ended else gone.clear())
        )
        found |= missing_starts(self.jobs, self.stages, self.executors, used, lost)
        return found | missing_of_queries(
            self.queries.rows, self.jobs, ended=ended, streams=self.batches.some
        )

    def _tasks(self) -> pl.DataFrame:
        """Return the tasks; mark the lost output of resubmitted ones."""
        from venturi.record.store.frames import pl

        tasks = self.tasks.finish()
        lost = {*self.resubmitted, *repeated(tasks)}
        if not lost:
            return tasks
        in_vain = pl.col("task_id").is_in(list(lost)) & (pl.col("outcome") == "succeeded")
        reason = pl.when(in_vain).then(pl.lit(OUTPUT_LOST)).otherwise("reason")
        return tasks.with_columns(reason=reason)

    def _application(self, text: LogText, log: Log) -> Application:
        outcome, reason = application_outcome(
            self.end, self.jobs, self.stages, log, self.last_of_jobs
        )
        if outcome != "failed" and self.jobs_left_out:
            outcome, reason = "unfinished", f"it has more than the {_JOBS:,} jobs that are read"
        properties = self.environment.get("Spark Properties")
        named = properties if isinstance(properties, dict) else {}
        jvm = self.environment.get("JVM Information")
        began = str(named.get("spark.app.startTime"))  # from 3.0 on
        return Application(
            id=(id_ := word(self.start.get("App ID") or named.get("spark.app.id")))
            or text.files[0].name,
            id_recorded=bool(id_),
            name=word(self.start.get("App Name") or named.get("spark.app.name")) or "unnamed",
            engine=SPARK.engine,
            engine_version=self.version or "unknown",
            attempt=word(self.start.get("App Attempt ID")),
            user=word(self.start.get("User")),
            started_ms=moment(self.start.get("Timestamp"))
            or (int(began) if began.isdecimal() and len(began) == _MILLISECOND_DIGITS else None),
            ended_ms=self.last_ms if self.end is None else moment(self.end.get("Timestamp")),
            outcome=outcome,
            reason=reason,
            end_recorded=self.end is not None,
            exit_code=None if self.end is None else whole(self.end.get("ExitCode")),
            java_version=word(jvm.get("Java Version")) if isinstance(jvm, dict) else None,
        )


_JOB_FIELDS = ("name", "submitted_ms", "ended_ms", "outcome", "reason", "stage_ids", "query_id")
_STAGE_FIELDS = tuple(column.name for column in STAGES[4:])
_EXECUTOR_FIELDS = ("host", "cores", "added_ms", "removed_ms", "reason")
_HANDLERS: Mapping[str, Callable[[_LogState, Event], None]] = {
    _PREFIX + name: handler
    for name, handler in (
        ("LogStart", _LogState.log_start),
        ("ApplicationStart", _LogState.application_start),
        ("ApplicationEnd", _LogState.application_end),
        ("EnvironmentUpdate", _LogState.environment_update),
        ("JobStart", _LogState.job_start),
        ("JobEnd", _LogState.job_end),
        ("StageSubmitted", _LogState.stage),
        ("StageCompleted", _LogState.stage),
        ("TaskStart", _LogState.task_start),
        ("TaskEnd", _LogState.task_end),
        ("ExecutorAdded", _LogState.executor_added),
        ("ExecutorRemoved", _LogState.executor_removed),
        ("StageExecutorMetrics", _LogState.stage_memory),
        ("BlockManagerAdded", _LogState.block_manager),
    )
} | {
    STARTED: _LogState.query_start,
    ENDED: _LogState.query_end,
    PLAN_CHANGED: lambda told, event: told.queries.mention(event),
    DRIVER_VALUES: _LogState.driver_values,
    _PREFIX + "BlockUpdated": lambda told, event: told.caches.updated(event["Block Updated Info"]),
    _PREFIX + "UnpersistRDD": lambda told, event: told.caches.unpersisted(event["RDD ID"]),
    PROGRESS: lambda told, event: told.batches.take(event),
    TIERED_STORAGE: _LogState.tiered_storage,
}


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _KINDS else "others"] += 1
