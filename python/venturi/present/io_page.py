"""The shape of what the page of a trial shows of its block I/O; `io_charts` makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IoBin:
    """Requests with a value from `low` up to `high`, which is left out. `bytes` is of sizes."""

    low: float
    high: float
    requests: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class IoSeek:
    """Requests that begin so many bytes behind (or, below 0, before) the end of the last one.

    `octave` is the power of two of the distance in sectors of 512 bytes, 0 where there is none; its
    sign is the direction.
    """

    octave: int
    requests: int


@dataclass(frozen=True, slots=True)
class IoHeat:
    """Cells of time and of something else: column, row, and how much is in them.

    Row `n` goes from `rows[n]` to `rows[n + 1]`.
    """

    start_s: float
    column_s: float
    columns: int
    rows: tuple[float, ...]
    cells: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class IoPattern:
    """Requests for files that are for the same, on one side of a shuffle, on one disk.

    `ccdf` has times in seconds and the share of requests that took longer. `places` is in bytes of
    the disk, and counts bytes; `times_over` is in seconds, and counts requests. None: it is not
    among those that are drawn.
    """

    name: str
    device: str
    requests: int
    bytes: int
    access: str | None
    verdict: str
    size_median_bytes: int | None
    zero_seeks: float | None
    p50_s: float | None
    p99_s: float | None
    run_mean_bytes: float | None
    sizes: tuple[IoBin, ...] | None
    times: tuple[IoBin, ...] | None
    seeks: tuple[IoSeek, ...] | None
    ccdf: tuple[tuple[float, float], ...] | None
    places: IoHeat | None
    times_over: IoHeat | None


@dataclass(frozen=True, slots=True)
class IoPage:
    """The block I/O of a trial; `missing_reason` where there is none.

    `limits` are what of each disk shapes the sizes of requests; `not_in_it` is what was lost.
    """

    missing_reason: str | None
    not_attributed: str | None
    not_in_it: str | None
    elapsed_s: float
    limits: tuple[str, ...]
    patterns: tuple[IoPattern, ...]
