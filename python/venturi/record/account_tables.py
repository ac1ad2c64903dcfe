"""The tables of an account: their columns, with types and units.

Columns in snake case mean the same for every engine. `tasks` also has the engine's own metrics,
which its `AccountKind` lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from venturi.record.plan_texts import COMPARED_TEXT

if TYPE_CHECKING:
    from venturi.record.trial import Trial

ACCOUNT_NAME = "job-account.json"
"""The artifact with an account's facts; each table is a Parquet file next to it."""
ColumnType = Literal["int", "text", "truth", "ints"]
MOMENT = "ms since 1970"
"""The unit of timestamps, which can be compared and subtracted but not added up."""
BY_TASKS, AT_MOST = "tasks", "at most"
"""How the end of a stage is known if it was not recorded: by its last task, or only a bound."""


@dataclass(frozen=True, slots=True)
class AccountColumn:
    """A column of a table: its name, type, unit (None if it has none) and meaning."""

    name: str
    kind: ColumnType
    unit: str | None
    meaning: str


def metric(name: str, unit: str, meaning: str) -> AccountColumn:
    """A column with whole numbers in `unit`."""
    return AccountColumn(name, "int", unit, meaning)


JOBS = (
    AccountColumn("job_id", "int", None, "the engine's number of the job"),
    AccountColumn("name", "text", None, "its description or call site"),
    AccountColumn("submitted_ms", "int", MOMENT, "when it was submitted"),
    AccountColumn("ended_ms", "int", MOMENT, "when it ended"),
    AccountColumn(
        "outcome", "text", None, "succeeded, failed, canceled or unfinished; null: unknown"
    ),
    AccountColumn("reason", "text", None, "why it did not succeed"),
    AccountColumn("stage_ids", "ints", None, "its stages, skipped ones too"),
    AccountColumn("query_id", "int", None, "its query; null: it has none, or it was not recorded"),
)
STAGES = (
    AccountColumn("stage_id", "int", None, "the engine's number; MapReduce: 0 map, 1 reduce"),
    AccountColumn("attempt", "int", None, "which attempt at the stage, from 0"),
    AccountColumn("name", "text", None, "its call site, or map and reduce"),
    AccountColumn("job_id", "int", None, "the first job that contains it"),
    AccountColumn("parent_ids", "ints", None, "stages that produce its input"),
    AccountColumn("n_tasks", "int", None, "tasks it consists of"),
    AccountColumn("submitted_ms", "int", MOMENT, "when it was submitted"),
    AccountColumn("ended_ms", "int", MOMENT, "when it completed or failed"),
    AccountColumn("outcome", "text", None, "succeeded, failed or unfinished; null: unknown"),
    AccountColumn("reason", "text", None, "why it failed"),
    AccountColumn(
        "end_by",
        "text",
        None,
        "null: its end was recorded; tasks: its last task's end; at most: a bound",
    ),
    AccountColumn(
        "source_ids", "ints", None, "RDDs at its beginning, if none of its RDDs is cached"
    ),
)
TASKS = (
    AccountColumn("stage_id", "int", None, "the stage it belongs to"),
    AccountColumn("stage_attempt", "int", None, "and the attempt at it"),
    AccountColumn("task_id", "text", None, "the engine's name of this attempt at the task"),
    AccountColumn("index", "int", None, "which task of the stage; attempts and copies share it"),
    AccountColumn("attempt", "int", None, "which attempt at the task, from 0"),
    AccountColumn("executor_id", "text", None, "where it ran"),
    AccountColumn("host", "text", None, "the host of that"),
    AccountColumn("locality", "text", None, "how near its data was, in the engine's words"),
    AccountColumn("speculative", "truth", None, "a copy started because another was slow"),
    AccountColumn("outcome", "text", None, "succeeded, failed, killed or unfinished"),
    AccountColumn("reason", "text", None, "why it did not succeed, or was wasted"),
    AccountColumn("launched_ms", "int", MOMENT, "when it was launched"),
    AccountColumn("finished_ms", "int", MOMENT, "when it was over"),
)
EXECUTORS = (
    AccountColumn("executor_id", "text", None, "its name; MapReduce has one for each node"),
    AccountColumn("host", "text", None, "where it ran"),
    AccountColumn("cores", "int", None, "task slots it offers"),
    AccountColumn("added_ms", "int", MOMENT, "when it was added"),
    AccountColumn("removed_ms", "int", MOMENT, "when it was removed"),
    AccountColumn("reason", "text", None, "why it was removed"),
)
QUERIES = (
    AccountColumn("query_id", "int", None, "the engine's number of the execution of a query"),
    AccountColumn("name", "text", None, "its description or call site"),
    AccountColumn("submitted_ms", "int", MOMENT, "when it began"),
    AccountColumn("ended_ms", "int", MOMENT, "when it ended"),
    AccountColumn(
        "outcome", "text", None, "succeeded, failed, canceled or unfinished; null: not recorded"
    ),
    AccountColumn("reason", "text", None, "why it failed"),
    AccountColumn("commit_ms", "int", "ms", "driver time to commit the output of its jobs"),
    AccountColumn("listing_ms", "int", "ms", "driver time to list the files that it reads"),
    AccountColumn("broadcast_ms", "int", "ms", "driver time to build and send its broadcasts"),
)
TIMERS = (
    AccountColumn("stage_id", "int", None, "the stage of the task"),
    AccountColumn("stage_attempt", "int", None, "and the attempt at it"),
    AccountColumn("task_id", "text", None, "the attempt at the task; null: each of the stage"),
    AccountColumn("python", "truth", None, "Python workers ran for it"),
    AccountColumn("python_ms", "int", "ms", "time in which these ran; null: not recorded"),
    AccountColumn("scan_ms", "int", "ms", "time to read and decode files; null: not recorded"),
    AccountColumn("state_ms", "int", "ms", "time in stores of streaming state; null: no record"),
)
OPERATOR_TEXT = 300
"""Limit for the stored text of an operator, in characters."""
OPERATORS = (
    AccountColumn("query_id", "int", None, "the query it belongs to"),
    AccountColumn("node", "int", None, "its place in the final plan, from 0, parents first"),
    AccountColumn("parent", "int", None, "the operator that takes its rows"),
    AccountColumn("name", "text", None, "its kind, in the engine's words"),
    AccountColumn("text", "text", None, f"the same with its arguments, cut to {OPERATOR_TEXT}"),
)
OPERATOR_METRICS = (
    AccountColumn("query_id", "int", None, "the query"),
    AccountColumn("node", "int", None, "the operator"),
    AccountColumn("stage_id", "int", None, "the stage that brought it in; null: the driver did"),
    AccountColumn("stage_attempt", "int", None, "and the attempt at it"),
    AccountColumn("metric", "text", None, "the engine's name of the metric"),
    AccountColumn("unit", "text", None, "its unit: 1, B, ms or ns"),
    AccountColumn("value", "int", None, "the sum over all tasks of the stage"),
)
PLAN_CHANGES = (
    AccountColumn("query_id", "int", None, "the query with a plan that changed as it ran"),
    AccountColumn("came", "truth", None, "only the last plan has it; else only the first one has"),
    AccountColumn("operator", "text", None, f"its text without numbers, cut to {COMPARED_TEXT}"),
    AccountColumn("n", "int", "1", "how many more of them there are"),
)
MEMORY = (
    AccountColumn("executor_id", "text", None, "the process it belongs to"),
    AccountColumn("metric", "text", None, "the engine's name of the memory; Maximum...: its limit"),
    AccountColumn("value", "int", "B", "the largest sample of it, or the limit"),
)
MEMORY_OVER_TIME = (
    AccountColumn("executor_id", "text", None, "the process it belongs to"),
    AccountColumn("at_ms", "int", MOMENT, "end of the period; it starts with the row before"),
    metric("JVMHeapMemory", "B", "the largest sample of the heap"),
    metric("JVMOffHeapMemory", "B", "the same, of the JVM's memory outside the heap"),
    metric("OnHeapExecutionMemory", "B", "heap memory for shuffles, joins, sorts, aggregations"),
    metric("OnHeapStorageMemory", "B", "heap memory for cached and broadcast data"),
    metric("OffHeapExecutionMemory", "B", "the same off the heap"),
    metric("OffHeapStorageMemory", "B", "the same off the heap"),
    metric("ProcessTreePythonRSSMemory", "B", "resident memory of Python's processes"),
)
BATCHES = (
    AccountColumn("stream", "text", None, "the ID of the streaming query it belongs to"),
    AccountColumn("name", "text", None, "its name, if it has one"),
    AccountColumn("batch_id", "int", None, "the engine's number of the batch"),
    AccountColumn("began_ms", "int", MOMENT, "when it was triggered"),
    AccountColumn("took_ms", "int", "ms", "from there until it was committed"),
    AccountColumn("add_ms", "int", "ms", "of that, running its jobs"),
    AccountColumn("planning_ms", "int", "ms", "planning its query"),
    AccountColumn("offsets_ms", "int", "ms", "asking the sources for new data"),
    AccountColumn("commit_ms", "int", "ms", "writing the commit log"),
    AccountColumn("input_rows", "int", "1", "rows that came in"),
    AccountColumn("state_rows", "int", "1", "rows of state after it"),
    AccountColumn("state_bytes", "int", "B", "memory of the state"),
    AccountColumn("state_commit_ms", "int", "ms", "committing the state, all tasks"),
    AccountColumn(
        "watermark_ms", "int", MOMENT, "watermark: earlier events are no longer expected"
    ),
    AccountColumn("left_rows", "int", "1", "records that its sources still had (Kafka)"),
)
CACHES = (
    AccountColumn("rdd_id", "int", None, "the engine's number of the stored data"),
    AccountColumn("name", "text", None, "its name, or kind and call site"),
    AccountColumn("level", "text", None, "where and how, in the engine's words"),
    AccountColumn("partitions", "int", "1", "into how many it is divided"),
    AccountColumn(
        "cached_partitions", "int", "1", "the most of them stored concurrently; null: not recorded"
    ),
    AccountColumn("memory_bytes", "int", "B", "peak of it in memory"),
    AccountColumn("disk_bytes", "int", "B", "peak of it on disk"),
)
# Fields of the event `venturi.spark.tiers.TieredStorageAccount`, a row per tier and kind.
TIERS = (
    AccountColumn("at_ms", "int", MOMENT, "time of the snapshot; counts are from the start"),
    AccountColumn("executor_id", "text", None, "the process that owns the files"),
    AccountColumn("host", "text", None, "where it ran"),
    AccountColumn("tier", "text", None, "the tier's keyword; last: directories without one"),
    AccountColumn("order", "int", None, "its place in the order of filling, from 0"),
    AccountColumn("leave_free_bytes", "int", "B", "the space to leave free there"),
    AccountColumn("use_at_most_bytes", "int", "B", "the space to use there at most"),
    AccountColumn("kind", "text", None, "shuffle, shuffle_index, spill, cached or other"),
    AccountColumn("placements", "int", "1", "names that got a place there, requested or written"),
    AccountColumn(
        "seen_bytes", "int", "B", "bytes of all files so far, except those removed within 50 ms"
    ),
    AccountColumn("present_bytes", "int", "B", "bytes of the existing files"),
    AccountColumn("peak_bytes", "int", "B", "the most of these until then"),
    AccountColumn("overflows", "int", "1", "placements that an earlier tier had no room for"),
    AccountColumn("first_overflow_ms", "int", MOMENT, "the first of these"),
    AccountColumn("errors", "int", "1", "times that something could not be written on the tier"),
)
TABLE_COLUMNS: Mapping[str, tuple[AccountColumn, ...]] = MappingProxyType(
    {
        "jobs": JOBS,
        "stages": STAGES,
        "tasks": TASKS,
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
    }
)
"""The columns that a table has for every engine."""
TABLES = ("jobs", "stages", "tasks", "executors")
OPTIONAL_TABLES = tuple(name for name in TABLE_COLUMNS if name not in TABLES)
"""Tables that only accounts with SQL queries, Python or scans, tiered storage, samples of memory,
caches or streams have."""
ACCOUNT_TABLES = frozenset(f"{name}.parquet" for name in TABLE_COLUMNS)
"""The names of the artifacts that are an account's tables."""


def has_account(trial: Trial) -> bool:
    """Whether `trial` has an account among its artifacts, perhaps without its tables."""
    return any(artifact.name == ACCOUNT_NAME for artifact in trial.artifacts)
