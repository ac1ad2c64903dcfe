"""Records of fixed length in and out of Spark as Arrow batches: no Python object for a record.

A task reads a range of a file, or writes its partition to a file named by it. Partitions of an
ordered frame are ordered, so are the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType

SPLIT_BYTES = 128 * 2**20  # as spark.sql.files.maxPartitionBytes
BATCH_BYTES = 4 * 2**20
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a file, whole records."""

    path: Path
    first: int
    last: int


def ranges_of(folder: Path, record_bytes: int) -> list[Range]:
    """The tasks that read the files in `folder`."""
    step = SPLIT_BYTES // record_bytes * record_bytes
    return [
        Range(path, first, min(first + step, size))
        for path in sorted(folder.iterdir())
        for size in (path.stat().st_size,)
        for first in range(0, size, step)
    ]


def read_records(spark: SparkSession, folder: Path, record_bytes: int) -> DataFrame:
    """The records in the files of `folder`, in one column `value`."""
    ranges = ranges_of(folder, record_bytes)

    def read(numbers: Batches) -> Batches:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from _batches(ranges[number], record_bytes)

    tasks = spark.range(0, len(ranges), 1, len(ranges))
    return _map_in_arrow(tasks, read, "value binary")


def _batches(part: Range, record_bytes: int) -> Batches:
    import numpy as np

    step = BATCH_BYTES // record_bytes * record_bytes
    with part.path.open("rb", buffering=0) as file:
        file.seek(part.first)
        for at in range(part.first, part.last, step):
            data = file.read(min(step, part.last - at))
            count = len(data) // record_bytes
            offsets = np.arange(0, (count + 1) * record_bytes, record_bytes, dtype=np.int32)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            values = pa.Array.from_buffers(pa.binary(), count, buffers)
            yield pa.RecordBatch.from_arrays([values], ["value"])


def write_records(frame: DataFrame, folder: Path) -> None:
    """Writes the column `value` of `frame` to new files in `folder`, durable and then named."""
    folder.mkdir()

    def write(batches: Batches) -> Batches:
        task = TaskContext.get()
        assert task is not None
        name = f"part-{task.partitionId():05d}"
        temporary = folder / f".{name}-{task.taskAttemptId()}"
        with temporary.open("wb", buffering=0) as file:
            for batch in batches:
                _write(file.fileno(), batch.column(0))
            os.fsync(file.fileno())
        temporary.rename(folder / name)  # the last attempt that succeeds
        yield pa.RecordBatch.from_pydict({"name": [name]})

    _map_in_arrow(frame, write, "name string").collect()


def _write(descriptor: int, values: pa.Array) -> None:
    import numpy as np

    if len(values) == 0:
        return
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32, values.offset + len(values) + 1)
    rest = memoryview(data)[bounds[values.offset] : bounds[-1]]
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _map_in_arrow(
    frame: DataFrame, function: Callable[[Batches], Batches], schema: str
) -> DataFrame:
    """`frame.mapInArrow(function, schema)`, which itself asks for pandas without using it."""
    from pyspark.sql.types import _parse_datatype_string
    from pyspark.sql.udf import _create_udf

    kind = _parse_datatype_string(schema)
    assert isinstance(kind, StructType)
    udf = _create_udf(function, kind, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = udf(*(frame[name] for name in frame.columns))
    mapped = frame._jdf.mapInArrow(column._jc, False, None)
    return DataFrame(mapped, frame.sparkSession)
