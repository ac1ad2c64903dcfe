"""Series: metrics over time, in Parquet.

The long format has one row a value (`t_s`, `metric`, `device`, `value`, `unit`), so that another
host's devices and metrics need no other columns.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.parquet as pq

from venturi.errors import VenturiError
from venturi.record.files import replacing

if TYPE_CHECKING:
    import polars as pl

SCHEMA = pa.schema(
    [
        pa.field("t_s", pa.float64(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("device", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("unit", pa.string(), nullable=False),
    ]
)
_ROWS_A_GROUP = 65_536


class SeriesWriter:
    """Writes a series to `path`, which appears when the writer is closed and not before.

    As a context manager it keeps what was appended when the block fails too: it was measured.
    """

    def __init__(self, path: Path) -> None:
        self._rows: list[tuple[float, str, str | None, float | None, str]] = []
        with ExitStack() as stack:
            file = stack.enter_context(replacing(path))
            self._parquet = stack.enter_context(pq.ParquetWriter(file, SCHEMA, compression="zstd"))
            self._stack = stack.pop_all()

    def append(
        self, t_s: float, metric: str, device: str | None, value: float | None, unit: str
    ) -> None:
        """Adds one value at `t_s` seconds; None is a value that could not be read."""
        self._rows.append((t_s, metric, device, value, unit))
        if len(self._rows) >= _ROWS_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Makes the file appear; a second call does nothing."""
        with self._stack:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            self._parquet.write_table(pa.table(columns, schema=SCHEMA))
            self._rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_series(path: Path) -> pl.DataFrame:
    """The series in `path`, in the order it was written."""
    import polars as pl

    try:
        return pl.read_parquet(path, columns=SCHEMA.names)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT", f"not a readable series: {error}", where={"file": str(path)}
        ) from error
