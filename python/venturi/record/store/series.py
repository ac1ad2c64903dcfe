"""Series: metrics over time, in Parquet.

The long format has one row a value (`t_s`, `metric`, `device`, `value`, `unit`), so that another
host's devices and metrics need no other columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.limits import Excess, refused
from venturi.record.store.closing import Closing
from venturi.record.store.files import replacing
from venturi.record.store.growing_table import GrowingTable

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("t_s", "metric", "device", "value", "unit")
_LINE = ("metric", "device", "unit")
ACCOUNT_CHARACTERS_MAX = 4_000
"""Limit for a text in a table of an engine's account; the readers of logs cut texts to fewer."""
_USUAL = TrialLimits()
_ROWS_A_PIECE = 65_536
_ROWS_READ_AT_ONCE = 500_000
_CHARACTERS_READ = 1_000
_MOMENTS_EACH_MAX = 1 << 16


class SeriesWriter(Closing):
    """Writes a series to `path`; the file appears only when the writer is closed.

    If a `with` block fails, the appended values are still kept, because they were measured. Beyond
    the `limits` of values, neighboring timestamps merge into one with their means; `moments_each`
    is how many merge in the end. Beyond the limit of lines (metrics of devices), only the first are
    kept; `lines_left_out` counts the others.
    """

    def __init__(self, path: Path, limits: TrialLimits = _USUAL) -> None:
        self._rows: list[tuple[float, str, str | None, float | None, str]] = []
        self._table = GrowingTable(_types())
        self.moments_each = 1
        self.lines_left_out = 0
        self._limits, self._kept = limits, 0
        self._lines: dict[tuple[str, str | None, str], bool] = {}
        self._stack = ExitStack()
        self._file: BinaryIO | None = self._stack.enter_context(replacing(path))

    def append(
        self, t_s: float, metric: str, device: str | None, value: float | None, unit: str
    ) -> None:
        """Add one value at `t_s` seconds; None is a value that could not be read."""
        line = (metric, device, unit)
        kept = self._lines.get(line)
        if kept is None:
            kept = self._lines[line] = len(self._lines) < self._limits.series_lines
            self.lines_left_out += not kept
        if kept:
            self._rows.append((t_s, metric, device, value, unit))
        if len(self._rows) >= _ROWS_A_PIECE:
            self._flush()

    def close(self) -> None:
        """Put the file in its place; a second call does nothing."""
        file, self._file = self._file, None
        with self._stack:
            self._flush()
            if file is not None:
                self._table.write(file)

    def _flush(self) -> None:
        from venturi.record.store.frames import pl

        if not self._rows:
            return
        frame = pl.DataFrame(self._rows, schema=_types(), orient="row")
        self._rows.clear()
        if self.moments_each > 1:
            frame = _thinned(frame, self.moments_each)
        self._table.append_frame(frame)
        self._kept += frame.height
        # Each timestamp keeps at least one value per metric, so merging may not suffice.
        while self._kept > self._limits.series_rows and self.moments_each < _MOMENTS_EACH_MAX:
            self.moments_each *= 2
            self._kept = self._table.replace(lambda piece: _thinned(piece, 2))


def series_name(host: str | None) -> str:
    """The file of a host's series; None: the trial has only one host."""
    return "series.parquet" if host is None else f"series.{host}.parquet"


def host_of(name: str, hosts: Sequence[str]) -> str:
    """Return the host among `hosts` that a series file's name contains; without one, part of the
    name.
    """
    stem = name.removesuffix(".parquet")
    if (exact := stem.removeprefix("series.")) in hosts:
        return exact
    return next((host for host in hosts if host in stem.split(".")), stem)


def stacked_on_others(device: str, devices: set[str]) -> bool:
    """Whether counting `device` in addition to the others would count the same bytes twice.

    Partitions lie on disks (`vda1` on `vda`, `nvme0n1p2` on `nvme0n1`), and loop, device-mapper and
    RAID devices on other devices of the list.
    """
    if device.startswith(("loop", "ram", "zram", "dm-", "md")):
        return any(not other.startswith(("loop", "ram", "zram", "dm-", "md")) for other in devices)
    return any(
        other != device
        and device.startswith(other)
        and device[len(other) :].removeprefix("p").isdigit()
        for other in devices
    )


def _thinned(frame: pl.DataFrame, moments: int) -> pl.DataFrame:
    """Return `frame` with groups of neighboring timestamps merged into one, by their means."""
    from venturi.record.store.frames import pl

    place = (pl.col("t_s").rle_id() // moments).alias("place")
    grouped = frame.with_columns(place).group_by("place", *_LINE, maintain_order=True)
    return grouped.agg(pl.col("t_s").mean(), pl.col("value").mean()).select(*_COLUMNS)


def check_rows(
    path: Path, trial: str, limits: TrialLimits, characters_max: int = ACCOUNT_CHARACTERS_MAX
) -> pl.Schema:
    """Check the table in `path` by its footer, which has its number of rows; return its columns.

    VEN-RECORD-ARTIFACT if it is no table. VEN-RECORD-LIMIT if it has too many rows, or a text of
    more than `characters_max`: the file stores equal texts once, but grouping by them copies one
    per row.
    """
    from venturi.record.store.frames import pl

    try:
        scanned = pl.scan_parquet(path)
        schema = scanned.collect_schema()
        rows = scanned.select(pl.len()).collect().item()
        if rows > limits.series_rows:
            most = f"more than {limits.series_rows:,}"
            raise refused(trial, Excess(path.name, f"{rows:,} rows", most, "series_rows"))
        texts = [name for name, type_ in schema.items() if type_ == pl.String]
        lengths = pl.scan_parquet(path, n_rows=rows).select(pl.col(texts).str.len_chars().max())
        longest = lengths.collect(engine="streaming").to_dicts() if texts else []
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"{path.name} is not a readable table: {error}",
            where={"trial": trial},
        ) from error
    for name, length in (each for lengths_of in longest for each in lengths_of.items()):
        if (length or 0) > characters_max:
            most = f"more than {characters_max:,}"
            raise refused(trial, Excess(f"{path.name}: {name}", f"{length:,} characters", most))
    return schema


def check_series(path: Path, trial: str, limits: TrialLimits) -> None:
    """As `check_rows`; VEN-RECORD-ARTIFACT if `path` lacks the columns of a series,
    VEN-RECORD-LIMIT if it has too many metrics and devices.
    """
    schema = check_rows(path, trial, limits, limits.name_characters)
    wrong = [name for name, type_ in _types().items() if schema.get(name) != type_]
    if wrong:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"{path.name} is not a series: column {wrong[0]} is missing or has a wrong type",
            where={"trial": trial, "field": wrong[0]},
        )
    lines: set[tuple[Any, ...]] = set()
    for part in read_parts(path, _LINE):
        lines.update(part.unique().iter_rows())
        if len(lines) > limits.series_lines:
            what = f"{len(lines):,} metrics of devices or more"
            most = f"more than {limits.series_lines:,}"
            raise refused(trial, Excess(path.name, what, most, "series_lines"))


def _types() -> dict[str, type[pl.DataType]]:
    """The columns of a series, and their types."""
    from venturi.record.store.frames import pl

    types = (pl.Float64, pl.String, pl.String, pl.Float64, pl.String)
    return dict(zip(_COLUMNS, types, strict=True))


def read_series(path: Path) -> pl.DataFrame:
    """The series in `path`, in the order it was written."""
    from venturi.record.store.frames import read_rows

    with _readable(path):
        return read_rows(path, _COLUMNS)


def rows_of(path: Path) -> int:
    """How many rows the series in `path` has, as its footer says."""
    from venturi.record.store.frames import pl

    with _readable(path):
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def read_parts(path: Path, columns: Sequence[str] = _COLUMNS) -> Iterator[pl.DataFrame]:
    """The series in `path` as in `read_series`, in parts.

    Memory stays bounded even if the file has one huge row group.
    """
    from venturi.record.store.frames import pl

    def read(name: str) -> pl.Expr:
        if name in {"t_s", "value"}:
            return pl.col(name).cast(pl.Float64)
        # Grouping holds a text once a row; the series of older versions may have long ones.
        return pl.col(name).cast(pl.String).str.head(_CHARACTERS_READ)

    columns_read = [read(name) for name in columns]
    rows = rows_of(path)
    for first in range(0, rows, _ROWS_READ_AT_ONCE):
        with _readable(path):
            part = pl.scan_parquet(path).slice(first, _ROWS_READ_AT_ONCE).select(columns_read)
            frame = part.collect()
        yield frame


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    from venturi.record.store.frames import pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT", f"not a readable series: {error}", where={"file": str(path)}
        ) from error
