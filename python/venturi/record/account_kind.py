"""Contents of engines' accounts: the metrics of their tasks and the meaning of each.

Code that reads an account asks its `AccountKind`, never the engine's name. This module has the
kinds of the logs that Venturi reads. An engine may describe its own accounts; that description is
kept with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from venturi.record.account_tables import MOMENT, TABLE_COLUMNS, AccountColumn, metric

if TYPE_CHECKING:
    import polars as pl

Capability = Literal[
    "containers",
    "driver",
    "executors",
    "local files",
    "maps",
    "numbered",
    "partitions",
    "plans",
    "spills",
    "streams",
    "thread time",
]
"""The questions that an account can answer.

    containers   each task had a container, which an application master requested
    driver       a program on a driver ran jobs and queries, and collected their results
    executors    tasks ran in executors with several slots, which came and went
    local files  the bytes of shuffle, spill and cache files that each stage left on local disks
    maps         the tasks are maps and reduces of one job
    numbered     jobs and tasks are numbered from 0 without gaps
    partitions   the program chose how many tasks a stage has
    plans        the plans of queries
    spills       the memory that each task needed, and the bytes that it spilled to disk
    streams      the batches of streaming queries
    thread time  CPU time is that of the task's own thread: it was off the CPU for the rest
"""
RecordedCause = Literal[
    "cpu",
    "shuffle fetch wait",
    "garbage collection",
    "shuffle write",
    "scheduler delay",
    "deserialization",
    "result serialization",
    "getting result",
]
"""A cause of a task's time, as engines record it."""
DELAY: RecordedCause = "scheduler delay"
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")
_TIMES = frozenset({"ms", "ns", MOMENT})
_UNITS = _TIMES | {"B", "1"}
_MOST_METRICS = 200


@dataclass(frozen=True, slots=True)
class TimedCause:
    """A cause and the metric of its time. If the metric is a timestamp, the time runs from it to
    the end of the task.

    `less` is a metric that is contained in this time and has a cause of its own.
    """

    cause: RecordedCause
    metric: str
    less: str | None = None


@dataclass(frozen=True, slots=True)
class MetricSum:
    """Metrics that are added up over the attempts of a job, as `what` in `unit`."""

    what: str
    unit: str
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccountKind:
    """The accounts of `engine`, read from logs in the format `source` (empty: from no logs).

    `metrics` are its own columns in the table of tasks. Those in `peaks` aggregate by maximum; all
    others except timestamps add up. The other fields name metrics. A task's time is its `run_time`,
    which the causes `within` divide, plus the causes `outside`; without a `run_time`, all of it is
    within. Causes are subtracted from the time in the given order. `records` counts records of the
    input and of shuffles. `silence` says why time may have no recorded cause.
    """

    engine: str
    source: str = ""
    capabilities: tuple[Capability, ...] = ()
    metrics: tuple[AccountColumn, ...] = ()
    peaks: tuple[str, ...] = ()
    run_time: str | None = None
    outside: tuple[TimedCause, ...] = ()
    within: tuple[TimedCause, ...] = ()
    input_bytes: tuple[str, ...] = ()
    shuffle_bytes: tuple[str, ...] = ()
    output_bytes: str | None = None
    spilled_bytes: str | None = None
    records: tuple[str, ...] = ()
    amounts: tuple[MetricSum, ...] = ()
    silence: str = "the engine records no causes of it"

    def __post_init__(self) -> None:
        """ValueError if it names metrics that it does not have, or has more than a table can."""
        known = {each.name: each for each in self.metrics}
        wrong = [name for name in known if not _NAME.fullmatch(name)]
        taken = known.keys() & {each.name for each in TABLE_COLUMNS["tasks"]}
        if wrong or taken or len(known) != len(self.metrics) or len(known) > _MOST_METRICS:
            raise ValueError(f"metrics of {self.engine!r} have wrong names, or are too many")
        if any(each.kind != "int" or each.unit not in _UNITS for each in self.metrics):
            raise ValueError(f"metrics of {self.engine!r} are of other units")
        if strangers := set(self._named()) - known.keys():
            raise ValueError(f"{self.engine!r} has no metric {min(strangers)!r}")
        timed = [each.metric for each in (*self.outside, *self.within)]
        if any(known[name].unit not in _TIMES for name in (*timed, *_some(self.run_time))):
            raise ValueError(f"{self.engine!r} has a cause with a metric that is not a time")
        causes = [each.cause for each in (*self.outside, *self.within)]
        if len(set(causes)) != len(causes) or DELAY in causes:
            raise ValueError(f"{self.engine!r} has a cause twice, or one that is calculated")

    def _named(self) -> list[str]:
        """Every metric that a field names."""
        causes = (*self.outside, *self.within)
        return [
            *(each.metric for each in causes),
            *(name for each in causes for name in _some(each.less)),
            *_some(self.run_time),
            *_some(self.output_bytes),
            *_some(self.spilled_bytes),
            *self.peaks,
            *self.input_bytes,
            *self.shuffle_bytes,
            *self.records,
            *(name for each in self.amounts for name in each.metrics),
        ]

    def can(self, capability: Capability) -> bool:
        """Whether such an account has this capability."""
        return capability in self.capabilities

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that it records, in the order in which they are shown."""
        own = {each.cause for each in (*self.outside, *self.within)}
        own |= {DELAY} if self.run_time is not None else set()
        return tuple(cause for cause in get_args(RecordedCause) if cause in own)

    @property
    def measured_by(self) -> str | None:
        """The metric that every task with metrics has, None if there is no such."""
        cpu = (each.metric for each in self.within if each.cause == "cpu")
        return self.run_time or next(cpu, None)

    def columns(self, table: str) -> tuple[AccountColumn, ...]:
        """The columns of a table of `account_tables`."""
        own = self.metrics if table == "tasks" else ()
        return TABLE_COLUMNS[table] + own

    def schema(self, table: str) -> dict[str, Any]:
        """The Polars types of a table's columns."""
        from venturi.record.store.frames import pl

        types = {
            "int": pl.Int64(),
            "text": pl.String(),
            "truth": pl.Boolean(),
            "ints": pl.List(pl.Int64()),
        }
        return {column.name: types[column.kind] for column in self.columns(table)}

    def table(self, name: str, rows: Sequence[Mapping[str, Any]] = ()) -> pl.DataFrame:
        """A table with these rows; columns that a row lacks are null."""
        from venturi.record.store.frames import pl

        schema = self.schema(name)
        if strangers := {key for row in rows for key in row} - schema.keys():
            raise ValueError(f"{name} has no column {min(strangers)!r}")
        whole = [tuple(row.get(key) for key in schema) for row in rows]
        return pl.DataFrame(whole, schema=schema, orient="row")


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


# Meanings: Spark's monitoring page, "Executor Task Metrics", and core/.../util/JsonProtocol.scala.
_SPARK_METRICS = (
    AccountColumn("gettingResultTime", "int", MOMENT, "when fetching of a large result began"),
    metric("executorDeserializeTime", "ms", "time to deserialize the task"),
    metric("executorDeserializeCpuTime", "ns", "CPU time of that"),
    metric("executorRunTime", "ms", "time the executor ran the task, fetching data included"),
    metric("executorCpuTime", "ns", "CPU time of the task's thread while it ran"),
    metric("peakExecutionMemory", "B", "peak memory of shuffles, joins and aggregations"),
    metric("resultSize", "B", "serialized result sent to the driver"),
    metric("jvmGCTime", "ms", "garbage collection of the executor's JVM while the task ran"),
    metric("resultSerializationTime", "ms", "time to serialize the result"),
    metric("memoryBytesSpilled", "B", "size of spilled data in memory"),
    metric("diskBytesSpilled", "B", "size of spilled data on disk"),
    metric("shuffleRemoteBytesRead", "B", "shuffle data fetched from other hosts"),
    metric("shuffleLocalBytesRead", "B", "shuffle data read from local disk"),
    metric("shuffleRemoteBytesReadToDisk", "B", "remote bytes that were put on disk first"),
    metric("shuffleFetchWaitTime", "ms", "time blocked waiting for remote shuffle blocks"),
    metric("shuffleRecordsRead", "1", "records read from shuffles"),
    metric("shuffleBytesWritten", "B", "bytes written for shuffles"),
    metric("shuffleWriteTime", "ns", "time blocked writing to disk or buffer cache for a shuffle"),
    metric("shuffleRecordsWritten", "1", "records written for shuffles"),
    metric("inputBytesRead", "B", "bytes read from storage or cache"),
    metric("inputRecordsRead", "1", "records read from storage or cache"),
    metric("outputBytesWritten", "B", "bytes written to storage"),
    metric("outputRecordsWritten", "1", "records written to storage"),
)
# Meanings: TaskCounter and FileSystemCounter of Hadoop, and the history's own attempt events.
_MAPREDUCE_METRICS = (
    metric("mapFinishTime", MOMENT, "when the map function was done"),
    metric("shuffleFinishTime", MOMENT, "when all map outputs had been copied"),
    metric("sortFinishTime", MOMENT, "when they had been merged"),
    metric("CPU_MILLISECONDS", "ms", "CPU time of the attempt's processes, all threads"),
    metric("GC_TIME_MILLIS", "ms", "garbage collection of the attempt's JVM"),
    metric("PHYSICAL_MEMORY_BYTES", "B", "resident memory at the end"),
    metric("SPILLED_RECORDS", "1", "records written to disk while sorting and merging"),
    metric("MAP_INPUT_RECORDS", "1", "records given to the map function"),
    metric("MAP_OUTPUT_RECORDS", "1", "records it emitted"),
    metric("MAP_OUTPUT_BYTES", "B", "bytes it emitted"),
    metric("MAP_OUTPUT_MATERIALIZED_BYTES", "B", "bytes of map output written to disk"),
    metric("COMBINE_INPUT_RECORDS", "1", "records given to the combiner"),
    metric("COMBINE_OUTPUT_RECORDS", "1", "records that it left"),
    metric("SPLIT_RAW_BYTES", "B", "size of the split's description, not of its data"),
    metric("REDUCE_SHUFFLE_BYTES", "B", "map output copied to the reducer"),
    metric("REDUCE_INPUT_GROUPS", "1", "different keys among the records of the reducer"),
    metric("REDUCE_INPUT_RECORDS", "1", "records given to the reduce function"),
    metric("REDUCE_OUTPUT_RECORDS", "1", "records it emitted"),
    metric("FILE_BYTES_READ", "B", "bytes read from local file systems"),
    metric("FILE_BYTES_WRITTEN", "B", "bytes written to local file systems"),
    metric("HDFS_BYTES_READ", "B", "bytes read from HDFS"),
    metric("HDFS_BYTES_WRITTEN", "B", "bytes written to HDFS"),
    metric("BYTES_READ", "B", "bytes read by the input format"),
    metric("BYTES_WRITTEN", "B", "bytes written by the output format"),
)
SPARK = AccountKind(
    "spark",
    "spark-eventlog",
    (
        "driver",
        "executors",
        "local files",
        "numbered",
        "partitions",
        "plans",
        "spills",
        "streams",
        "thread time",
    ),
    _SPARK_METRICS,
    peaks=("peakExecutionMemory",),
    run_time="executorRunTime",
    outside=(
        TimedCause("getting result", "gettingResultTime"),
        TimedCause("deserialization", "executorDeserializeTime"),
        TimedCause("result serialization", "resultSerializationTime"),
    ),
    within=(
        TimedCause("cpu", "executorCpuTime"),
        TimedCause("shuffle fetch wait", "shuffleFetchWaitTime"),
        TimedCause("garbage collection", "jvmGCTime"),
        TimedCause("shuffle write", "shuffleWriteTime"),  # partly on the processor, so taken last
    ),
    input_bytes=("inputBytesRead",),
    shuffle_bytes=("shuffleRemoteBytesRead", "shuffleLocalBytesRead"),
    output_bytes="outputBytesWritten",
    spilled_bytes="diskBytesSpilled",
    records=("inputRecordsRead", "shuffleRecordsRead"),
    amounts=(
        MetricSum("input", "B", ("inputBytesRead",)),
        MetricSum("input records", "1", ("inputRecordsRead",)),
        MetricSum("shuffle data read", "B", ("shuffleRemoteBytesRead", "shuffleLocalBytesRead")),
        MetricSum("shuffle data written", "B", ("shuffleBytesWritten",)),
        MetricSum("spilled to disk", "B", ("diskBytesSpilled",)),
        MetricSum("output", "B", ("outputBytesWritten",)),
    ),
    silence="tasks were off-CPU without reading, writing or spilling: they may have waited for a "
    "core or memory",
)
MAPREDUCE = AccountKind(
    "mapreduce",
    "mapreduce-history",
    ("containers", "maps"),
    _MAPREDUCE_METRICS,
    peaks=("PHYSICAL_MEMORY_BYTES",),
    within=(
        TimedCause("garbage collection", "GC_TIME_MILLIS"),
        # The CPU time of the process contains that of its collector.
        TimedCause("cpu", "CPU_MILLISECONDS", less="GC_TIME_MILLIS"),
    ),
    input_bytes=("BYTES_READ",),
    shuffle_bytes=("REDUCE_SHUFFLE_BYTES",),
    output_bytes="BYTES_WRITTEN",
    records=("MAP_INPUT_RECORDS", "REDUCE_INPUT_RECORDS"),
    amounts=(
        MetricSum("input", "B", ("BYTES_READ", "HDFS_BYTES_READ")),
        MetricSum("input records", "1", ("MAP_INPUT_RECORDS",)),
        MetricSum("shuffle data read", "B", ("REDUCE_SHUFFLE_BYTES",)),
        MetricSum("spilled records", "1", ("SPILLED_RECORDS",)),
        MetricSum("output", "B", ("BYTES_WRITTEN", "HDFS_BYTES_WRITTEN")),
    ),
    silence="Hadoop records no time spent reading, copying, merging or writing",
)
ACCOUNT_KINDS: Mapping[str, AccountKind] = MappingProxyType(
    {kind.engine: kind for kind in (SPARK, MAPREDUCE)}
)
"""The accounts that are read from logs, by the engine's name in records."""
