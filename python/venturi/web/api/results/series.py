"""A trial's series for a chart: aligned, and no more points than it can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.core.wording import did_you_mean
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import host_of, read_parts, read_series, rows_of
from venturi.record.trial import Artifact, Trial
from venturi.results.hosts.watched import disks_reported
from venturi.web.api.shapes import SeriesData, SeriesLine

if TYPE_CHECKING:
    import polars as pl

ROWS_MAX = 200_000_000  # a minute of reading
VALUES_MAX = 500_000  # of an answer
_MOMENTS_MAX = 20_000  # more than any answer has
_LINE = ["metric", "device", "unit"]
NO_SERIES = "no host series was recorded with this trial"


def whole_series(repository: TrialRepository, trial: Trial) -> pl.DataFrame:
    """All values of the series of `trial`, with their `host`: see `record.series`.

    VEN-RECORD-ARTIFACT, with the reason, where no series was recorded.
    """
    from venturi.record.store.frames import pl

    kept = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
    if not kept:
        raise VenturiError("VEN-RECORD-ARTIFACT", NO_SERIES, where={"trial": trial.id})
    return pl.concat(
        read_series(repository.artifact_path(artifact)).with_columns(
            pl.lit(_host(trial, artifact, kept)).alias("host")
        )
        for artifact in kept
    )


def series_of(
    repository: TrialRepository, trial: Trial, points: int, host: str | None = None
) -> SeriesData:
    """The series of one `host` of `trial` (default: the first with a series), at no more than
    `points` timestamps; see `SeriesData`. VEN-RECORD-UNKNOWN if that host has no series. A host of
    a lab sees the disks of all hosts: it has the lines of its own.

    An answer does not grow with the number of hosts. A timestamp without values stays null. Files
    are read in parts, twice, so the memory depends on the shown points, not on the stored ones.
    """
    kept = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
    if not kept:
        return SeriesData((), None, *_none(NO_SERIES))
    order = {each.name: place for place, each in enumerate(trial.cluster.hosts)}
    whose = [_host(trial, artifact, kept) for artifact in kept]
    hosts = tuple(sorted(dict.fromkeys(whose), key=lambda name: order.get(name, len(order))))
    chosen = hosts[0] if host is None else host
    if chosen not in hosts:
        raise VenturiError(
            "VEN-RECORD-UNKNOWN",
            f"no series of a host {chosen!r} was recorded with this trial",
            where={"host": chosen, "trial": trial.id},
            hint=did_you_mean(chosen, hosts, "hosts are"),
        )
    own = [artifact for artifact, name in zip(kept, whose, strict=True) if name == chosen]
    return SeriesData(hosts, chosen, *_read(repository, own, points, disks_reported(trial, chosen)))


DiskNames = frozenset[str] | None
"""The disks of the host; None: all in its series."""
_Found = tuple[tuple[float, ...], tuple[SeriesLine, ...], bool, str | None]
"""Times, lines, whether they are thinned, the reason if missing: the rest of a `SeriesData`."""


def _read(
    repository: TrialRepository, kept: Sequence[Artifact], points: int, disks: DiskNames
) -> _Found:
    try:
        paths = [repository.artifact_path(artifact) for artifact in kept]
        rows = sum(map(rows_of, paths))
        if rows > ROWS_MAX:
            return _none(f"the series has {rows:,} rows; at most {ROWS_MAX:,} are looked through")
        return _thinned(paths, points, disks)
    except VenturiError as error:
        return _none(error.message)


def _none(reason: str) -> _Found:
    return (), (), False, reason


def _host(trial: Trial, artifact: Artifact, kept: Sequence[Artifact]) -> str:
    """The host of the series `artifact`, by the file's name if there are several hosts."""
    names = [host.name for host in trial.cluster.hosts]
    if len(kept) == 1 and len(names) == 1:
        return names[0]
    return host_of(artifact.name, names)


def _thinned(paths: Sequence[Path], points: int, disks: DiskNames) -> _Found:
    from venturi.record.store.frames import pl

    seen = _seen(paths, disks)
    if seen.moments.is_empty():
        return _none("the series holds no values")
    if seen.lines * 2 > VALUES_MAX:
        return _none(f"the series has more than {VALUES_MAX // 2:,} lines")
    points = min(points, VALUES_MAX // seen.lines)
    moments = seen.moments.sort()
    thinned = len(moments) > points
    if thinned:
        low, high = float(moments[0]), float(moments[-1])
        place = ((pl.col("t_s") - low) / (high - low) * points).floor().clip(0, points - 1)
    else:
        place = pl.col("t_s").replace_strict(moments, range(len(moments)))
    at = place.cast(pl.Int32).alias("place")
    begins_s: dict[int, float] = {}
    ends_s: dict[int, float] = {}
    found: list[pl.DataFrame] = []
    for part in _parts(paths, disks):
        placed = part.with_columns(at)
        limits = placed.group_by("place").agg(pl.col("t_s").min(), pl.col("t_s").max().alias("to"))
        for number, from_s, to_s in limits.select("place", "t_s", "to").iter_rows():
            begins_s[number] = min(from_s, begins_s.get(number, from_s))
            ends_s[number] = max(to_s, ends_s.get(number, to_s))
        known = pl.when(pl.col("value").is_finite()).then(pl.col("value"))
        found.append(
            placed.group_by(*_LINE, "place").agg(
                known.sum().alias("sum"),
                known.count().alias("n"),
                known.min().alias("lowest"),
                known.max().alias("highest"),
            )
        )
        if sum(map(len, found)) > VALUES_MAX:
            found = [_merged(found)]
    order = sorted(begins_s)
    index = {number: row for row, number in enumerate(order)}
    t_s = tuple((begins_s[number] + ends_s[number]) / 2 for number in order)
    return t_s, tuple(_lines(_merged(found), index, thinned=thinned)), thinned, None


def _lines(found: pl.DataFrame, index: Mapping[int, int], *, thinned: bool) -> Iterator[SeriesLine]:
    for (metric, device, unit), rows in found.sort(*_LINE, nulls_last=False).group_by(
        _LINE, maintain_order=True
    ):
        means: list[float | None] = [None] * len(index)
        lowest, highest = list(means), list(means)
        for number, total, n, least, most in rows.select(
            "place", "sum", "n", "lowest", "highest"
        ).iter_rows():
            if n:
                row, mean = index[number], total / n
                means[row] = mean if math.isfinite(mean) else least / 2 + most / 2
                lowest[row], highest[row] = least, most
        none: tuple[float | None, ...] = ()
        yield SeriesLine(
            str(metric),
            None if device is None else str(device),
            str(unit),
            tuple(means),
            tuple(lowest) if thinned else none,
            tuple(highest) if thinned else none,
        )


def _merged(found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    from venturi.record.store.frames import pl

    return (
        pl.concat(found)
        .group_by(*_LINE, "place")
        .agg(pl.sum("sum", "n"), pl.min("lowest"), pl.max("highest"))
    )


@dataclass(frozen=True, slots=True)
class _SeriesSize:
    """The number of `lines`, and the timestamps: all if they are few, else some and the ends.

    Neither is counted beyond VALUES_MAX.
    """

    lines: int
    moments: pl.Series


def _seen(paths: Sequence[Path], disks: DiskNames) -> _SeriesSize:
    from venturi.record.store.frames import pl

    lines = pl.DataFrame(schema=dict.fromkeys(_LINE, pl.String))
    moments = pl.Series("t_s", [], pl.Float64)
    for part in _parts(paths, disks):
        if len(lines) <= VALUES_MAX:
            lines = pl.concat([lines, part.select(_LINE).unique()]).unique()
        moments = pl.concat([moments, part["t_s"]]).unique()
        if len(moments) > _MOMENTS_MAX:
            ends = moments.min(), moments.max()
            some = moments.head(_MOMENTS_MAX // 2)
            moments = pl.concat([some, pl.Series("t_s", ends, pl.Float64)]).unique()
    return _SeriesSize(len(lines), moments)


def _parts(paths: Sequence[Path], disks: DiskNames) -> Iterator[pl.DataFrame]:
    """The rows of all files with a finite timestamp, and of no other disks than `disks`."""
    from venturi.record.store.frames import pl

    wanted = pl.col("t_s").is_finite()
    if disks is not None:
        of_disk = pl.col("metric").str.starts_with("disk_")
        wanted &= ~of_disk | pl.col("device").is_in(list(disks)).fill_null(value=True)
    for path in paths:
        for part in read_parts(path):
            yield part.filter(wanted)
