"""The types of the block I/O part of a trial's page; `io_charts` makes the values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IoBin:
    """Requests with a value from `low` up to `high`, which is left out. `bytes` is of sizes."""

    low: float
    high: float
    requests: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class IoSeek:
    """Requests that begin at a distance after (or, below 0, before) the end of the last one.

    `octave` is the power of two of the distance in sectors of 512 bytes, 0 for no distance; its
    sign is the direction.
    """

    octave: int
    requests: int


@dataclass(frozen=True, slots=True)
class IoHeat:
    """Cells of time and another quantity: column, row, and the number of requests.

    Row `n` goes from `rows[n]` to `rows[n + 1]`. `bytes` are those of each cell, None if not
    counted. `files` has for each cell the number of one of `names`, from 1, of a file with requests
    in it. It is negative if other files have requests in it, too, and 0 if no file is known. It is
    empty if no file is known in any cell.
    """

    start_s: float
    column_s: float
    rows: tuple[float, ...]
    cells: tuple[tuple[int, int, int], ...]
    bytes: tuple[int, ...] | None
    names: tuple[str, ...] = ()
    files: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IoStage:
    """A stage of the job, from the beginning of the trace on; `phase` is map or reduce."""

    name: str
    phase: str
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class IoAmount:
    """Bytes that the engine reports to have read or written, and the disks' share of them."""

    what: str
    engine_bytes: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class IoPattern:
    """Requests for one class of files, on one side of a shuffle, on one disk.

    `ccdf` has times in seconds and the share of requests that took longer. `places` is in bytes of
    the disk, `times_over` in seconds. A value is None if the pattern is not drawn, and `times_over`
    also if the trace doesn't record files.
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
class IoCells:
    """The `places` or the `times` of a pattern over the whole time, in one width."""

    pattern: str
    device: str
    chart: str
    heat: IoHeat


@dataclass(frozen=True, slots=True)
class IoPage:
    """The block I/O of a trial; `missing_reason` explains its absence.

    `limits` are the disks' limits on the size of requests; `not_in_it` lists lost data. `flushes`
    has a line for each disk with timed cache flushes. `amounts` are known for engines that record
    them. `no_closer_look` explains why finer cells are missing and how to get some; otherwise None.
    """

    missing_reason: str | None
    not_attributed: str | None
    not_in_it: str | None
    elapsed_s: float
    limits: tuple[str, ...]
    patterns: tuple[IoPattern, ...]
    no_closer_look: str | None
    stages: tuple[IoStage, ...] = ()
    amounts: tuple[IoAmount, ...] = ()
    flushes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracePage:
    """A trace by itself, in a file, with the cells of its charts in as many widths as fit."""

    title: str
    io: IoPage
    cells: tuple[IoCells, ...]
    warnings: tuple[str, ...]
