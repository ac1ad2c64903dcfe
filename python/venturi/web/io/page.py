"""The shape of what the page of a trial shows of its block I/O; `io_charts` makes it."""

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
    """Requests that begin so many bytes behind (or, below 0, before) the end of the last one.

    `octave` is the power of two of the distance in sectors of 512 bytes, 0 where there is none; its
    sign is the direction.
    """

    octave: int
    requests: int


@dataclass(frozen=True, slots=True)
class IoHeat:
    """Cells of time and of something else: column, row, and how many requests are in them.

    Row `n` goes from `rows[n]` to `rows[n + 1]`. `bytes` are those of each cell; None where they
    are not counted. `files` has of each cell the number of one of `names`, from 1, of a file whose
    requests are in it: below 0 if those of others are, too, 0 if none is known. It is empty where
    no file is known at all.
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
    """What the engine says that it read or wrote, beside what the disks did of it."""

    what: str
    engine_bytes: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class IoPattern:
    """Requests for files that are for the same, on one side of a shuffle, on one disk.

    `ccdf` has times in seconds and the share of requests that took longer. `places` is in bytes of
    the disk, `times_over` in seconds. None: it is not among those that are drawn, or, of a trace
    that does not tell of files, `times_over` is not known.
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
    """The block I/O of a trial; `missing_reason` where there is none.

    `limits` are what of each disk shapes the sizes of requests; `not_in_it` is what was lost.
    `amounts` are known of trials of engines that tell. `no_closer_look` says why there are no finer
    cells, and how to get some; None where there are.
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


@dataclass(frozen=True, slots=True)
class TracePage:
    """A trace by itself, in a file, with the cells of its charts in as many widths as fit."""

    title: str
    io: IoPage
    cells: tuple[IoCells, ...]
    warnings: tuple[str, ...]
