"""Full local disks: the directory, the hosts, and the bytes that tasks wrote there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from venturi.core.units import format_bytes

if TYPE_CHECKING:
    import polars as pl

DISK_FULL = ("no-space", "local-dirs")
"""The meanings of failures that are full local disks."""
_SHOWN_HOSTS = 3
# Folders that Spark and Hadoop create in a local directory.
_OWN_FOLDER = re.compile(r"(?P<directory>/[^\s:'\"()]*?)/(?:blockmgr-|spark-[0-9a-f]|usercache/)")
_WRITTEN = (("shuffled", "shuffleBytesWritten"), ("spilled", "diskBytesSpilled"))
# Source: Spark's configuration page, spark.local.dir: which setting decides for which master.
_DECIDED_BY = (
    ("yarn", "yarn.nodemanager.local-dirs"),
    ("k8s://", "the pod's spark-local-dir volumes"),
    ("spark://", "SPARK_LOCAL_DIRS of its worker, else {local}"),
    ("", "{local}"),
)


def full_disks(
    rows: pl.DataFrame,
    places: npt.NDArray[np.intp],
    message: str,
    configuration: Mapping[str, str],
) -> str:
    """Describe the full disks of the failed attempts at `places` of `rows`, the tasks of a job.

    The directory is the one in `message`, else the one that the `configuration` names. The bytes
    are those of all attempts on these hosts that ended before the last failure; Spark may have
    deleted some of them by then.
    """
    hosts = sorted(set(rows["host"][places].drop_nulls().to_list()))
    on = ", ".join(hosts[:_SHOWN_HOSTS])
    if len(hosts) > _SHOWN_HOSTS:
        on += f" and {len(hosts) - _SHOWN_HOSTS:,} more hosts"
    said = f"full: {_directory(message, configuration)}" + (f" on {on}" if on else "")
    counts = [
        f"{verb} {format_bytes(count)}"
        for (verb, _), count in zip(_WRITTEN, _written_bytes(rows, places, hosts), strict=True)
        if count
    ]
    if not counts:  # Spark resets the bytes of a failed attempt
        return f"{said}; no task recorded bytes that it had shuffled or spilled there"
    return f"{said}; tasks {' and '.join(counts)} there"


def _directory(message: str, configuration: Mapping[str, str]) -> str:
    if (found := _OWN_FOLDER.search(message)) is not None:
        return found["directory"]
    master = configuration.get("spark.master", "yarn")
    local = configuration.get("spark.local.dir") or "spark.local.dir (/tmp if not set)"
    return next(where for prefix, where in _DECIDED_BY if master.startswith(prefix)).format(
        local=local
    )


def _written_bytes(
    rows: pl.DataFrame, places: npt.NDArray[np.intp], hosts: list[str]
) -> tuple[int | None, ...]:
    """The bytes shuffled and spilled on `hosts` until the last of the failures at `places`."""
    from venturi.record.store.frames import pl

    there = pl.col("host").is_in(hosts)
    if (last_ms := rows["finished_ms"][places].max()) is not None:
        there &= pl.col("finished_ms") <= last_ms
    before = rows.filter(there)
    return tuple(
        int(before[name].sum()) if name in rows.columns and before[name].count() else None
        for _, name in _WRITTEN
    )
