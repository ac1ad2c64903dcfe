"""A trial's series for a chart: aligned, and no more points than it can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from venturi.errors import VenturiError
from venturi.present.api.shapes import SeriesData, SeriesLine
from venturi.record.repository import Repository
from venturi.record.series import read_series
from venturi.record.trial import Artifact, Trial

if TYPE_CHECKING:
    import polars as pl

NO_SERIES = "no host series was recorded with this trial"


def whole_series(repository: Repository, trial: Trial) -> pl.DataFrame:
    """All values of the series of `trial`, with their `host`: see `record.series`.

    VEN-RECORD-ARTIFACT, with the reason, where there are none.
    """
    from venturi.record.frames import pl

    kept = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
    if not kept:
        raise VenturiError("VEN-RECORD-ARTIFACT", NO_SERIES, where={"trial": trial.id})
    return pl.concat(
        read_series(repository.artifact_path(artifact)).with_columns(
            pl.lit(_host(trial, artifact, kept)).alias("host")
        )
        for artifact in kept
    )


def series_of(repository: Repository, trial: Trial, points: int) -> SeriesData:
    """The series of `trial` at no more than `points` moments, the means of what lies between.

    A moment at which nothing was learnt stays null.
    """
    from venturi.record.frames import pl

    try:
        frame = whole_series(repository, trial).filter(pl.col("t_s").is_finite())
    except VenturiError as error:
        return SeriesData((), (), thinned=False, missing_reason=error.message)
    if frame.is_empty():
        return SeriesData((), (), thinned=False, missing_reason="the series holds no values")
    return _thinned(frame, points)


def _host(trial: Trial, artifact: Artifact, kept: Sequence[Artifact]) -> str:
    """The host whose series `artifact` is, by its name where there are several."""
    names = [host.name for host in trial.cluster.hosts]
    if len(kept) == 1 and len(names) == 1:
        return names[0]
    stem = artifact.name.removesuffix(".parquet")
    return next((name for name in names if name in stem.split(".")), stem)


def _thinned(frame: pl.DataFrame, points: int) -> SeriesData:
    from venturi.record.frames import pl

    moments = frame["t_s"].unique().sort()
    thinned = len(moments) > points
    if thinned:
        low, high = float(moments[0]), float(moments[-1])
        place = ((pl.col("t_s") - low) / (high - low) * points).floor().clip(0, points - 1)
    else:
        place = pl.col("t_s").rank("dense") - 1
    frame = frame.with_columns(place.cast(pl.Int64).alias("place"))
    t_s = frame.group_by("place").agg(pl.col("t_s").unique().mean()).sort("place")
    index = {place: number for number, place in enumerate(t_s["place"])}
    lines: dict[tuple[str, str, str | None, str], list[float | None]] = {}
    means = (
        frame.with_columns(pl.when(pl.col("value").is_finite()).then(pl.col("value")))
        .group_by("host", "metric", "device", "unit", "place")
        .agg(pl.col("value").mean())
        .sort("host", "metric", "device", "unit", nulls_last=False)
    )
    for host, metric, device, unit, at, value in means.select(
        "host", "metric", "device", "unit", "place", "value"
    ).iter_rows():
        line = lines.setdefault((host, metric, device, unit), [None] * len(index))
        line[index[at]] = value
    return SeriesData(
        tuple(t_s["t_s"]),
        tuple(
            SeriesLine(host, metric, device, unit, tuple(values))
            for (host, metric, device, unit), values in lines.items()
        ),
        thinned=thinned,
        missing_reason=None,
    )
