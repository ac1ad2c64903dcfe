"""Records of fixed length in and out of Spark as Arrow batches: no Python object for a record.

A task reads a range of a file, or writes its partition to a file named by it. Partitions of an
ordered frame are ordered, so are the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from venturi.measure.workloads.shared.spark_names import named
from venturi.measure.workloads.shared.spark_storage import Storage, Write, storage_of

SPLIT_BYTES = 128 * 2**20  # Spark's default
_SPLIT_SETTING = "spark.sql.files.maxPartitionBytes"
BATCH_BYTES = 4 * 2**20
RecordBatches = Iterator[pa.RecordBatch]
_MAP_IN_ARROW = 207  # PythonEvalType.SQL_MAP_ARROW_ITER_UDF, which Spark 3 and 4 have elsewhere


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file, whole records."""

    file: str
    first: int
    last: int


def ranges_of(
    spark: SparkSession, storage: Storage, folder: str, record_bytes: int
) -> list[ByteRange]:
    """The tasks that read the files in `folder`, as large as Spark makes its own."""
    jvm: Any = spark._jvm
    setting = spark.conf.get(_SPLIT_SETTING)
    split_bytes = jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(setting)
    step = max(split_bytes // record_bytes, 1) * record_bytes
    return [
        ByteRange(file, first, min(first + step, size))
        for file, size in storage.files(folder)
        if "/part-" in file  # kept input has a manifest, too
        for first in range(0, size, step)
    ]


def read_records(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    """The records of the input of `task`, in one column `value`."""
    schema = StructType([StructField("value", BinaryType())])
    return read_as(spark, task, task["record_bytes"], _values, schema)


def read_as(
    spark: SparkSession,
    task: dict[str, Any],
    record_bytes: int,
    convert: Callable[[bytes, int], pa.RecordBatch],
    schema: StructType,
) -> DataFrame:
    """The records of the input of `task`, as `convert(data, record_bytes)` makes batches of
    `schema` of some of them.
    """
    storage = storage_of(task)
    ranges = ranges_of(spark, storage, task["input"], record_bytes)
    step = BATCH_BYTES // record_bytes * record_bytes

    def read(numbers: RecordBatches) -> RecordBatches:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                part = ranges[number]
                for data in storage.read(part.file, part.first, part.last, step):
                    yield convert(data, record_bytes)

    return _map_in_arrow(spark.range(0, len(ranges), 1, len(ranges)), read, schema)


def _values(data: bytes, record_bytes: int) -> pa.RecordBatch:
    import numpy as np  # noqa: PLC0415 - only executors

    count = len(data) // record_bytes
    offsets = np.arange(0, (count + 1) * record_bytes, record_bytes, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    values = pa.Array.from_buffers(pa.binary(), count, buffers)
    return pa.RecordBatch.from_arrays([values], ["value"])


def write_records(frame: DataFrame, task: dict[str, Any]) -> None:
    """The column `value` of `frame` as the output of `task`: files durable, and then named."""
    storage, folder = storage_of(task), task["output"]
    storage.make(folder)

    def write(batches: RecordBatches) -> RecordBatches:
        context = TaskContext.get()
        assert context is not None
        name = f"part-{context.partitionId():05d}"
        temporary = f"{folder}/.{name}-{context.taskAttemptId()}"
        # The last attempt that succeeds stays.
        with storage.written(f"{folder}/{name}", temporary) as target:
            for batch in batches:
                _write(target, batch.column(0))
        yield pa.RecordBatch.from_pydict({"name": [name]})

    _map_in_arrow(frame, write, StructType([StructField("name", StringType())])).collect()


def _write(target: Write, values: pa.Array) -> None:
    import numpy as np  # noqa: PLC0415 - only executors

    if len(values) == 0:
        return
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32, values.offset + len(values) + 1)
    target(memoryview(data)[bounds[values.offset] : bounds[-1]])


def _map_in_arrow(
    frame: DataFrame, function: Callable[[RecordBatches], RecordBatches], schema: StructType
) -> DataFrame:
    """`frame.mapInArrow(function, schema)`, which itself asks for pandas without using it."""
    from pyspark.sql.udf import _create_udf  # noqa: PLC0415 - only the driver

    udf: Any = _create_udf(named(frame.sparkSession, function), schema, _MAP_IN_ARROW)
    column = udf(*(frame[name] for name in frame.columns))
    if frame.sparkSession.version.startswith("3."):
        mapped = frame._jdf.pythonMapInArrow(column._jc.expr(), False)
    else:
        mapped = frame._jdf.mapInArrow(column._jc, False, None)
    return DataFrame(mapped, frame.sparkSession)
