"""An engine's own account of one application: tables of its jobs, stages, tasks and executors.

The parsers of `jobs.logs` fill them and `jobs.stages` reads them; they are kept as Parquet with
the trial. Columns in snake case mean the same for every engine. Columns in the engine's own
spelling (`executorRunTime`, `GC_TIME_MILLIS`) are its metrics, unchanged, in the unit stated here.
An absent value is null, never 0. Moments are milliseconds since 1970 (UTC) on the clock of the
driver or application master, so their differences need no synchronised clocks. The account of a job
that Venturi ran itself also has `origin_ms`: when, on that clock, the trial began.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from venturi.core.errors import VenturiError
from venturi.record.plan_texts import COMPARED_TEXT

if TYPE_CHECKING:
    import polars as pl
    from pydantic import TypeAdapter

    from venturi.record.store.keeping import Keeper
    from venturi.record.store.repository import Repository
    from venturi.record.trial import Trial

Kind = Literal["int", "text", "truth", "ints"]
Outcome = Literal["succeeded", "failed", "unfinished"]
OUTPUT_LOST = "what it wrote was lost with its executor"
"""The reason of a task that succeeded, and in vain."""
NOT_RECORDED = "no task recorded it"
"""Why a metric has no value that an engine's tasks could have recorded."""
MOMENT = "ms since 1970"
"""The unit of moments: they can be compared and subtracted, never added up."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its type, its unit (None: none) and what it means."""

    name: str
    kind: Kind
    unit: str | None
    meaning: str


def _metric(name: str, unit: str, meaning: str) -> Column:
    return Column(name, "int", unit, meaning)


JOBS = (
    Column("job_id", "int", None, "the engine's number of the job"),
    Column("name", "text", None, "its description or call site"),
    Column("submitted_ms", "int", MOMENT, "when it was submitted"),
    Column("ended_ms", "int", MOMENT, "when it ended"),
    Column("outcome", "text", None, "succeeded, failed, cancelled or unfinished"),
    Column("reason", "text", None, "why it did not succeed"),
    Column("stage_ids", "ints", None, "its stages, skipped ones too"),
    Column("query_id", "int", None, "the query that it is of; null: of none, or not recorded"),
)
STAGES = (
    Column("stage_id", "int", None, "the engine's number of the stage; MapReduce: 0 map, 1 reduce"),
    Column("attempt", "int", None, "which attempt at the stage, from 0"),
    Column("name", "text", None, "its call site, or map and reduce"),
    Column("job_id", "int", None, "the first job that contains it"),
    Column("parent_ids", "ints", None, "stages whose output it reads"),
    Column("n_tasks", "int", None, "tasks it consists of"),
    Column("submitted_ms", "int", MOMENT, "when it was submitted"),
    Column("ended_ms", "int", MOMENT, "when it completed or failed"),
    Column("outcome", "text", None, "succeeded, failed or unfinished"),
    Column("reason", "text", None, "why it failed"),
)
TASKS = (
    Column("stage_id", "int", None, "the stage it belongs to"),
    Column("stage_attempt", "int", None, "and the attempt at it"),
    Column("task_id", "text", None, "the engine's name of this attempt at the task"),
    Column("index", "int", None, "which task of the stage; attempts and copies share it"),
    Column("attempt", "int", None, "which attempt at the task, from 0"),
    Column("executor_id", "text", None, "where it ran"),
    Column("host", "text", None, "the host of that"),
    Column("locality", "text", None, "how near its data was, in the engine's words"),
    Column("speculative", "truth", None, "a copy started because another was slow"),
    Column("outcome", "text", None, "succeeded, failed, killed or unfinished"),
    Column("reason", "text", None, "why it did not succeed, or did so in vain"),
    Column("launched_ms", "int", MOMENT, "when it was launched"),
    Column("finished_ms", "int", MOMENT, "when it was over"),
)
EXECUTORS = (
    Column("executor_id", "text", None, "its name; MapReduce has one for each node"),
    Column("host", "text", None, "where it ran"),
    Column("cores", "int", None, "task slots it offers"),
    Column("added_ms", "int", MOMENT, "when it was there"),
    Column("removed_ms", "int", MOMENT, "when it was gone"),
    Column("reason", "text", None, "why it was removed"),
)
QUERIES = (
    Column("query_id", "int", None, "the engine's number of the execution of a query"),
    Column("name", "text", None, "its description or call site"),
    Column("submitted_ms", "int", MOMENT, "when it began"),
    Column("ended_ms", "int", MOMENT, "when it ended"),
    Column("outcome", "text", None, "succeeded, failed or unfinished; null: not recorded"),
    Column("reason", "text", None, "why it failed"),
    Column("commit_ms", "int", "ms", "the driver's time to commit what its jobs wrote"),
    Column("listing_ms", "int", "ms", "the driver's time to list the files that it reads"),
    Column("broadcast_ms", "int", "ms", "the driver's time to build and send its broadcasts"),
)
TIMERS = (
    Column("stage_id", "int", None, "the stage of the task"),
    Column("stage_attempt", "int", None, "and the attempt at it"),
    Column("task_id", "text", None, "the attempt at the task; null: each of the stage"),
    Column("python", "truth", None, "Python workers ran for it"),
    Column("python_ms", "int", "ms", "time in which these ran; null: not recorded"),
    Column("scan_ms", "int", "ms", "time to read and decode files; null: not recorded"),
)
OPERATOR_TEXT = 300
"""How many characters of an operator's text are kept."""
OPERATORS = (
    Column("query_id", "int", None, "the query that it is of"),
    Column("node", "int", None, "its place in the plan that ran, from 0, each before its children"),
    Column("parent", "int", None, "the operator that takes its rows"),
    Column("name", "text", None, "what it is, in the engine's words"),
    Column("text", "text", None, f"the same with its arguments, cut to {OPERATOR_TEXT}"),
)
OPERATOR_METRICS = (
    Column("query_id", "int", None, "the query"),
    Column("node", "int", None, "the operator"),
    Column("stage_id", "int", None, "the stage that brought it in; null: the driver did"),
    Column("stage_attempt", "int", None, "and the attempt at it"),
    Column("metric", "text", None, "the engine's name of what was counted"),
    Column("unit", "text", None, "its unit: 1, B, ms or ns"),
    Column("value", "int", None, "the sum over all tasks of the stage"),
)
PLAN_CHANGES = (
    Column("query_id", "int", None, "the query whose plan was changed as it ran"),
    Column("came", "truth", None, "only the last plan has it; else only the first one has"),
    Column("operator", "text", None, f"its text without numbers, cut to {COMPARED_TEXT}"),
    Column("n", "int", "1", "how many more of them there are"),
)
MEMORY = (
    Column("executor_id", "text", None, "whose it is"),
    Column("metric", "text", None, "the engine's name of the memory; Maximum...: what it may use"),
    Column("value", "int", "B", "the most of it that a sample saw, or the limit"),
)
MEMORY_OVER_TIME = (
    Column("executor_id", "text", None, "whose it is"),
    Column("at_ms", "int", MOMENT, "until when; from the row before on"),
    _metric("JVMHeapMemory", "B", "the most of the heap that a sample saw"),
    _metric("JVMOffHeapMemory", "B", "the same of what the JVM has beside it"),
    _metric("OnHeapExecutionMemory", "B", "of the heap, for shuffles, joins, sorts, aggregations"),
    _metric("OnHeapStorageMemory", "B", "of the heap, for what is cached and broadcast"),
    _metric("OffHeapExecutionMemory", "B", "the same off the heap"),
    _metric("OffHeapStorageMemory", "B", "the same off the heap"),
    _metric("ProcessTreePythonRSSMemory", "B", "resident memory of Python's processes"),
)
BATCHES = (
    Column("stream", "text", None, "the streaming query that it is of, by its id"),
    Column("name", "text", None, "its name, if it has one"),
    Column("batch_id", "int", None, "the engine's number of the batch"),
    Column("began_ms", "int", MOMENT, "when it was triggered"),
    Column("took_ms", "int", "ms", "from there until it was committed"),
    Column("add_ms", "int", "ms", "of that, running its jobs"),
    Column("planning_ms", "int", "ms", "planning its query"),
    Column("offsets_ms", "int", "ms", "asking the sources what there is"),
    Column("commit_ms", "int", "ms", "writing down what was done"),
    Column("input_rows", "int", "1", "rows that came in"),
    Column("state_rows", "int", "1", "rows of state after it"),
    Column("state_bytes", "int", "B", "memory of the state"),
    Column("state_commit_ms", "int", "ms", "committing the state, all tasks"),
    Column("watermark_ms", "int", MOMENT, "what happened before it is no longer waited for"),
    Column("left_rows", "int", "1", "records beyond its own that its sources had, as Kafka tells"),
)
CACHES = (
    Column("rdd_id", "int", None, "the engine's number of what is to be stored"),
    Column("name", "text", None, "its name, or kind and call site"),
    Column("level", "text", None, "where and how, in the engine's words"),
    Column("partitions", "int", "1", "into how many it is divided"),
    Column("cached_partitions", "int", "1", "of these stored at once at most; null: not recorded"),
    Column("memory_bytes", "int", "B", "the most of it in memory at once"),
    Column("disk_bytes", "int", "B", "the most of it on disk at once"),
)
TIERS_SETTING = "spark.storage.hierarchyStore"
"""Spark's setting, of the plugin for tiered storage, that says which tiers a job has."""
NO_TIERS = "none"
"""What a plan writes there for stock Spark."""
# Of the event `venturi.spark.tiers.TieredStorageAccount`, a row for each of its tiers and kinds.
TIERS = (
    Column("at_ms", "int", MOMENT, "when it was so; all that is counted is counted from the start"),
    Column("executor_id", "text", None, "the process whose files they are"),
    Column("host", "text", None, "where it ran"),
    Column("tier", "text", None, "the tier's keyword; last: directories without one"),
    Column("order", "int", None, "which tier it is, from 0, in the order in which they are filled"),
    Column("leave_free_bytes", "int", "B", "the space to leave free there"),
    Column("use_at_most_bytes", "int", "B", "the space to use there at most"),
    Column("kind", "text", None, "what files are: shuffle, shuffle_index, spill, cached, other"),
    Column("placements", "int", "1", "names that got a place there, asked for or written"),
    Column("seen_bytes", "int", "B", "of all files so far; of one that lived under 50 ms, nothing"),
    Column("present_bytes", "int", "B", "of the files that were there"),
    Column("peak_bytes", "int", "B", "the most of these until then"),
    Column("overflows", "int", "1", "placements that an earlier tier had no room for"),
    Column("first_overflow_ms", "int", MOMENT, "the first of these"),
    Column("errors", "int", "1", "times that something could not be written on the tier"),
)
# Meanings: Spark's monitoring page, "Executor Task Metrics", and core/.../util/JsonProtocol.scala.
SPARK_TASK_METRICS = (
    Column("gettingResultTime", "int", MOMENT, "when fetching of a large result began"),
    _metric("executorDeserializeTime", "ms", "time to deserialise the task"),
    _metric("executorDeserializeCpuTime", "ns", "processor time of that"),
    _metric("executorRunTime", "ms", "time the executor ran the task, fetching data included"),
    _metric("executorCpuTime", "ns", "processor time of the task's thread while it ran"),
    _metric("peakExecutionMemory", "B", "peak memory of shuffles, joins and aggregations"),
    _metric("resultSize", "B", "serialised result sent to the driver"),
    _metric("jvmGCTime", "ms", "garbage collection of the executor's JVM while the task ran"),
    _metric("resultSerializationTime", "ms", "time to serialise the result"),
    _metric("memoryBytesSpilled", "B", "size in memory of what was spilled"),
    _metric("diskBytesSpilled", "B", "size on disk of what was spilled"),
    _metric("shuffleRemoteBytesRead", "B", "shuffle data fetched from other hosts"),
    _metric("shuffleLocalBytesRead", "B", "shuffle data read from local disk"),
    _metric("shuffleRemoteBytesReadToDisk", "B", "of the remote bytes, those put on disk first"),
    _metric("shuffleFetchWaitTime", "ms", "time blocked waiting for remote shuffle blocks"),
    _metric("shuffleRecordsRead", "1", "records read from shuffles"),
    _metric("shuffleBytesWritten", "B", "bytes written for shuffles"),
    _metric("shuffleWriteTime", "ns", "time blocked writing to disk or buffer cache for a shuffle"),
    _metric("shuffleRecordsWritten", "1", "records written for shuffles"),
    _metric("inputBytesRead", "B", "bytes read from storage or cache"),
    _metric("inputRecordsRead", "1", "records read from storage or cache"),
    _metric("outputBytesWritten", "B", "bytes written to storage"),
    _metric("outputRecordsWritten", "1", "records written to storage"),
)
# Meanings: TaskCounter and FileSystemCounter of Hadoop, and the history's own attempt events.
MAPREDUCE_TASK_METRICS = (
    _metric("mapFinishTime", MOMENT, "when the map function was done"),
    _metric("shuffleFinishTime", MOMENT, "when all map outputs had been copied"),
    _metric("sortFinishTime", MOMENT, "when they had been merged"),
    _metric("CPU_MILLISECONDS", "ms", "processor time of the attempt's processes, all threads"),
    _metric("GC_TIME_MILLIS", "ms", "garbage collection of the attempt's JVM"),
    _metric("PHYSICAL_MEMORY_BYTES", "B", "resident memory at the end"),
    _metric("SPILLED_RECORDS", "1", "records written to disk while sorting and merging"),
    _metric("MAP_INPUT_RECORDS", "1", "records given to the map function"),
    _metric("MAP_OUTPUT_RECORDS", "1", "records it emitted"),
    _metric("MAP_OUTPUT_BYTES", "B", "bytes it emitted"),
    _metric("MAP_OUTPUT_MATERIALIZED_BYTES", "B", "bytes of map output written to disk"),
    _metric("COMBINE_INPUT_RECORDS", "1", "records given to the combiner"),
    _metric("COMBINE_OUTPUT_RECORDS", "1", "records that it left"),
    _metric("SPLIT_RAW_BYTES", "B", "size of the split's description, not of its data"),
    _metric("REDUCE_SHUFFLE_BYTES", "B", "map output copied to the reducer"),
    _metric("REDUCE_INPUT_GROUPS", "1", "different keys among the records of the reducer"),
    _metric("REDUCE_INPUT_RECORDS", "1", "records given to the reduce function"),
    _metric("REDUCE_OUTPUT_RECORDS", "1", "records it emitted"),
    _metric("FILE_BYTES_READ", "B", "bytes read from local file systems"),
    _metric("FILE_BYTES_WRITTEN", "B", "bytes written to local file systems"),
    _metric("HDFS_BYTES_READ", "B", "bytes read from HDFS"),
    _metric("HDFS_BYTES_WRITTEN", "B", "bytes written to HDFS"),
    _metric("BYTES_READ", "B", "bytes read by the input format"),
    _metric("BYTES_WRITTEN", "B", "bytes written by the output format"),
)
TASK_METRICS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {"spark": SPARK_TASK_METRICS, "mapreduce": MAPREDUCE_TASK_METRICS}
)
TABLES = ("jobs", "stages", "tasks", "executors")
OPTIONAL_TABLES = (
    "queries",
    "operators",
    "operator_metrics",
    "plan_changes",
    "timers",
    "tiers",
    "memory",
    "memory_over_time",
    "caches",
    "batches",
)
"""Tables that only accounts with SQL queries, Python or scans, tiered storage, samples of memory,
caches or streams have."""
ACCOUNT_NAME = "job-account.json"
"""The artifact with the application's own facts; its tables lie beside it."""
ACCOUNT_TABLES = frozenset(f"{name}.parquet" for name in (*TABLES, *OPTIONAL_TABLES))
"""The names of the artifacts that are an account's tables."""


PEAKS = frozenset({"peakExecutionMemory", "PHYSICAL_MEMORY_BYTES"})
"""Metrics of which the largest counts; all others that are no moment add up."""


def columns(table: str, engine: str) -> tuple[Column, ...]:
    """The columns of a table in `TABLES` or `OPTIONAL_TABLES`, for an engine in `TASK_METRICS`."""
    if table == "tasks":
        return TASKS + TASK_METRICS[engine]
    return {
        "jobs": JOBS,
        "stages": STAGES,
        "executors": EXECUTORS,
        "queries": QUERIES,
        "operators": OPERATORS,
        "operator_metrics": OPERATOR_METRICS,
        "plan_changes": PLAN_CHANGES,
        "timers": TIMERS,
        "tiers": TIERS,
        "memory": MEMORY,
        "memory_over_time": MEMORY_OVER_TIME,
        "caches": CACHES,
        "batches": BATCHES,
    }[table]


def polars_schema(table: str, engine: str) -> dict[str, Any]:
    """The Polars types of a table's columns."""
    from venturi.record.store.frames import pl

    types = {
        "int": pl.Int64(),
        "text": pl.String(),
        "truth": pl.Boolean(),
        "ints": pl.List(pl.Int64()),
    }
    return {column.name: types[column.kind] for column in columns(table, engine)}


@dataclass(frozen=True, slots=True)
class Application:
    """What an account says about the application as a whole.

    `attempt` is the engine's, where it made several. Times are on the driver's clock in
    milliseconds since 1970, None where the account does not say. `exit_code` is None where the
    engine does not record it.
    """

    id: str
    name: str
    engine: str
    engine_version: str
    attempt: str | None = None
    user: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    outcome: Outcome = "unfinished"
    reason: str | None = None
    exit_code: int | None = None
    java_version: str | None = None

    @property
    def elapsed_s(self) -> float | None:
        """Seconds from its start to its end, None if either is unknown."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return (self.ended_ms - self.started_ms) / 1e3


@dataclass(frozen=True, slots=True)
class Reading:
    """How an account was read: nothing is left out silently.

    `sha256` is that of the uncompressed text, so that it does not depend on the compression.
    `skipped` counts the events that are of no use here, by type; `unknown`, those whose type no
    version up to 4.x has; `malformed`, lines that are no event; `oversized`, lines beyond the
    limit; `damaged`, events known by name that lack what they need. `wrong` says which values were
    of a wrong type, and so left out. `truncated` says how the text ended too early, None if it did
    not.
    """

    files: tuple[str, ...]
    sha256: str
    text_bytes: int
    compression: str | None
    events: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    damaged: Mapping[str, int] = field(default_factory=dict)
    malformed: int = 0
    oversized: int = 0
    wrong: tuple[str, ...] = ()
    truncated: str | None = None

    @property
    def lost(self) -> bool:
        """Whether something that may matter was not read."""
        return bool(
            self.damaged or self.malformed or self.oversized or self.wrong or self.truncated
        )


@dataclass(frozen=True, slots=True)
class JobAccount:
    """The account of one application: its facts, its tables (see `columns`), its configuration.

    `configuration` is what was in effect, with secrets masked; `chosen` are the keys among it that
    somebody chose, as opposed to the engine's defaults and the ids of this one execution.

    `origin_ms` is when the trial began, on the account's clock: phases and series count from there.
    None, with a reason, where that is not known; an ingested account has no other beginning than
    its own. `applications` is how many the trial ran at once, of which this is one. `queries`, with
    the operators of their plans, the metrics of these and what changed of the first plans,
    `timers`, `memory`, also over time, `caches` and `batches` are None where the engine records
    none, `tiers` where files were where the engine itself has them.
    """

    application: Application
    reading: Reading
    jobs: pl.DataFrame
    stages: pl.DataFrame
    tasks: pl.DataFrame
    executors: pl.DataFrame
    configuration: Mapping[str, str]
    chosen: tuple[str, ...]
    origin_ms: float | None = None
    origin_reason: str | None = None
    applications: int = 1
    queries: pl.DataFrame | None = None
    operators: pl.DataFrame | None = None
    operator_metrics: pl.DataFrame | None = None
    plan_changes: pl.DataFrame | None = None
    timers: pl.DataFrame | None = None
    tiers: pl.DataFrame | None = None
    memory: pl.DataFrame | None = None
    memory_over_time: pl.DataFrame | None = None
    caches: pl.DataFrame | None = None
    batches: pl.DataFrame | None = None

    @property
    def began_s(self) -> float | None:
        """Seconds from the beginning of the trial to that of the application, None: not known."""
        if self.origin_ms is None or self.application.started_ms is None:
            return None
        return (self.application.started_ms - self.origin_ms) / 1e3

    def table(self, name: str) -> pl.DataFrame:
        """The table called `name`, one of those that are `there`."""
        found: pl.DataFrame = getattr(self, name)
        return found

    @property
    def there(self) -> tuple[str, ...]:
        """The names of the tables that it has."""
        return (*TABLES, *(name for name in OPTIONAL_TABLES if getattr(self, name) is not None))


def files(account: JobAccount) -> Iterator[tuple[str, bytes]]:
    """The artifacts that `account` is kept as: their names and contents."""
    facts = {
        "application": asdict(account.application),
        "reading": asdict(account.reading),
        "configuration": dict(account.configuration),
        "chosen": account.chosen,
        "origin_ms": account.origin_ms,
        "origin_reason": account.origin_reason,
        "applications": account.applications,
    }
    yield ACCOUNT_NAME, json.dumps(facts).encode()
    for name in account.there:
        parquet = BytesIO()
        account.table(name).write_parquet(parquet, compression="zstd")
        yield f"{name}.parquet", parquet.getvalue()


def attach(repository: Repository, trial: Trial, account: JobAccount) -> Trial:
    """Keeps `account` among the artifacts of `trial`, which the caller saves next."""
    for name, content in files(account):
        trial = repository.attach(trial, "other", name, content)
    return trial


def has_tiers(settings: Mapping[str, str]) -> bool:
    """Whether the settings of a job ask for tiers."""
    return settings.get(TIERS_SETTING, NO_TIERS).strip() not in {NO_TIERS, ""}


def has_account(trial: Trial) -> bool:
    """Whether `trial` has an account among its artifacts."""
    return any(artifact.name == ACCOUNT_NAME for artifact in trial.artifacts)


# By these the rows of one table refer to another's: none is without.
_KEYS = {
    "jobs": ("job_id",),
    "stages": ("stage_id", "attempt"),
    "tasks": ("stage_id", "stage_attempt", "task_id"),
    "executors": ("executor_id",),
    "queries": ("query_id",),
    "operators": ("query_id", "node", "name"),
    "operator_metrics": ("query_id", "node", "metric", "value"),
    "plan_changes": ("query_id", "came", "operator", "n"),
    "timers": ("stage_id", "stage_attempt"),
    "tiers": ("at_ms", "executor_id", "tier", "order", "kind"),
    "memory": ("executor_id", "metric", "value"),
    "memory_over_time": ("executor_id", "at_ms"),
    "caches": ("rdd_id",),
    "batches": ("stream", "batch_id", "began_ms"),
}


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def load(repository: Keeper, trial: Trial) -> JobAccount:
    """The account kept with `trial`; VEN-RECORD-ARTIFACT if there is none or it is damaged.

    What an earlier version did not read, so that a column is not there, is not known.
    """
    from venturi.record.store.frames import pl, read_table

    paths = {each.name: each for each in trial.artifacts}
    try:
        facts = json.loads(repository.artifact_path(paths[ACCOUNT_NAME]).read_bytes())
        application = _checker(Application).validate_python(facts["application"])
        tables = {
            name: read_table(
                repository.artifact_path(paths[f"{name}.parquet"]),
                polars_schema(name, application.engine),
            )
            for name in (*TABLES, *OPTIONAL_TABLES)
            if name in TABLES or f"{name}.parquet" in paths
        }
        for name, table in tables.items():
            if table.schema != polars_schema(name, application.engine):
                raise ValueError(f"{name} has columns of other types")
            if nameless := [key for key in _KEYS[name] if table[key].null_count()]:
                raise ValueError(f"{name} has rows without {nameless[0]}")
        if application.ended_ms is None and len(tables["tasks"]):
            raise ValueError("there are tasks, and no end of the application")
        return JobAccount(
            application=application,
            reading=_checker(Reading).validate_python(facts["reading"]),
            configuration=facts["configuration"],
            chosen=tuple(facts["chosen"]),
            origin_ms=_checker(float | None).validate_python(facts.get("origin_ms")),
            origin_reason=facts.get("origin_reason"),
            applications=facts.get("applications", 1),
            **tables,
        )
    except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"the engine's account kept with trial {trial.id} cannot be read: {error}",
            where={"trial": trial.id},
            hint="ingest it again",
        ) from error
