"""Series: metrics over time, in Parquet.

The long format has one row a value (`t_s`, `metric`, `device`, `value`, `unit`), so that another
host's devices and metrics need no other columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from venturi.errors import VenturiError
from venturi.record.closing import Closing
from venturi.record.files import replacing
from venturi.record.growing import GrowingTable

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("t_s", "metric", "device", "value", "unit")
_ROWS_A_PIECE = 65_536
_ROWS_READ_AT_ONCE = 500_000


class SeriesWriter(Closing):
    """Writes a series to `path`, which appears when the writer is closed and not before.

    As a context manager it keeps what was appended when the block fails too: it was measured.
    """

    def __init__(self, path: Path) -> None:
        from venturi.record.frames import pl

        types = (pl.Float64, pl.String, pl.String, pl.Float64, pl.String)
        self._rows: list[tuple[float, str, str | None, float | None, str]] = []
        self._table = GrowingTable(dict(zip(_COLUMNS, types, strict=True)))
        self._stack = ExitStack()
        self._file: BinaryIO | None = self._stack.enter_context(replacing(path))

    def append(
        self, t_s: float, metric: str, device: str | None, value: float | None, unit: str
    ) -> None:
        """Adds one value at `t_s` seconds; None is a value that could not be read."""
        self._rows.append((t_s, metric, device, value, unit))
        if len(self._rows) >= _ROWS_A_PIECE:
            self._flush()

    def close(self) -> None:
        """Makes the file appear; a second call does nothing."""
        file, self._file = self._file, None
        with self._stack:
            self._flush()
            if file is not None:
                self._table.write(file)

    def _flush(self) -> None:
        if self._rows:
            self._table.append(self._rows)
            self._rows.clear()


def stacked_on_others(device: str, devices: set[str]) -> bool:
    """Whether counting `device` beside the others would count the same bytes twice.

    Partitions lie on disks (`vda1` on `vda`, `nvme0n1p2` on `nvme0n1`), and loop, device-mapper
    and RAID devices on other devices of the list.
    """
    if device.startswith(("loop", "ram", "zram", "dm-", "md")):
        return any(not other.startswith(("loop", "ram", "zram", "dm-", "md")) for other in devices)
    return any(
        other != device
        and device.startswith(other)
        and device[len(other) :].removeprefix("p").isdigit()
        for other in devices
    )


def read_series(path: Path) -> pl.DataFrame:
    """The series in `path`, in the order it was written."""
    from venturi.record.frames import pl

    with _readable(path):
        return pl.read_parquet(path, columns=list(_COLUMNS))


def rows_of(path: Path) -> int:
    """How many rows the series in `path` has, as its footer says."""
    from venturi.record.frames import pl

    with _readable(path):
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def read_parts(path: Path, columns: Sequence[str] = _COLUMNS) -> Iterator[pl.DataFrame]:
    """The series in `path` as `read_series` has it, some rows at a time.

    However many rows its file calls one group, no more than a part of them is in memory.
    """
    from venturi.record.frames import pl

    types = {"t_s": pl.Float64, "value": pl.Float64}
    columns_read = [pl.col(name).cast(types.get(name, pl.String)) for name in columns]
    rows = rows_of(path)
    for first in range(0, rows, _ROWS_READ_AT_ONCE):
        with _readable(path):
            part = pl.scan_parquet(path).slice(first, _ROWS_READ_AT_ONCE).select(columns_read)
            frame = part.collect()
        yield frame


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    from venturi.record.frames import pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT", f"not a readable series: {error}", where={"file": str(path)}
        ) from error
