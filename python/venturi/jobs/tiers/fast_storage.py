"""Predicts a job's time with a given amount of fast local storage: formulas only, no files, no
clocks.

Files fill the fast disks in the order in which they are made, then the slow ones. Files that stay
take room from later ones; spills free theirs. Times are anchored at the trial: its own time is
reproduced exactly, and only the time of its local files on other disks is modeled.
docs/method/fast-storage.md has the formulas and their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from venturi.core.domain import need_size
from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity
from venturi.jobs.tiers.local_bytes import JobLoad, Key, StageLoad, TransferredBytes
from venturi.machines.cost.dataflow import Bounds

READ_AHEAD_BYTES = 128 * 1024  # Linux's default
# However much of a disk Linux may read ahead, of a reader that has just begun it is no more.
BEGUN_AHEAD_BYTES = 512 * 1024
KNEE_LEAST = 0.1  # of the whole saving: what a knee saves beyond what even returns would have
_POINTS = 50  # at which the knee is searched

RateChoice = Callable[[Quantity], float]
Rates = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Requests:
    """Random reads of one size: requests per second, from one at a time (low) to many in
    parallel (high).
    """

    size_bytes: float
    per_s: Quantity


@dataclass(frozen=True, slots=True)
class DiskClassRates:
    """All disks of a class in a host: sequential bytes/s, and random reads of some sizes.

    `shuffle` is a measured rate of shuffle reads and takes precedence over `requests`. None, or
    empty: unknown. `read_ahead_bytes` is the most that the kernel fetches beyond a request.
    """

    read: Quantity | None = None
    write: Quantity | None = None
    requests: tuple[Requests, ...] = ()
    shuffle: Quantity | None = None
    read_ahead_bytes: float = READ_AHEAD_BYTES

    def shuffle_read(self, segment_bytes: float | None) -> Rates | None:
        """Bytes/s of shuffle reads, middle, low and high; None if that is not known.

        The low one fetches a segment at a time, the middle one the data read ahead as well: the
        next task's segment lies behind this one's. Where a disk has few map outputs its head stays
        in one of them, so the high one is reading in sequence.
        """
        if self.shuffle is not None:
            return self.shuffle.value, self.shuffle.low, self.shuffle.high
        if self.read is None or not self.requests:
            return None
        ahead = (segment_bytes or 0.0) + min(self.read_ahead_bytes, BEGUN_AHEAD_BYTES)
        return (
            self._random(ahead, lambda quantity: quantity.value),
            self._random(segment_bytes or ahead, lambda quantity: quantity.low),
            max(self._random(ahead, lambda quantity: quantity.high), self.read.high),
        )

    def _random(self, size_bytes: float, of: RateChoice) -> float:
        """Bytes/s of reads of one size; their time is interpolated between the nearest sizes."""
        assert self.read is not None
        per_byte_s = 1 / of(self.read)
        known = sorted((each.size_bytes, 1 / of(each.per_s)) for each in self.requests)
        size, took_s = known[0]
        for next_size, next_s in known[1:]:
            if size_bytes <= next_size:
                per_byte_s = (next_s - took_s) / (next_size - size)
                break
            size, took_s = next_size, next_s
        # A request smaller than all known takes no less than half of the smallest's time.
        return size_bytes / max(took_s + (size_bytes - size) * per_byte_s, took_s / 2)


def missing_rates(load: JobLoad, rates: DiskClassRates) -> tuple[str, ...]:
    """The rates that this job needs but `rates` lacks: write, read, random reads."""
    stages = load.stages
    written = any(_kinds(each, lambda kind: kind.written_bytes) for each in stages)
    shuffled = any(each.shuffle.read_bytes for each in stages)
    read = any(each.spill.read_bytes or each.cached.read_bytes for each in stages)
    needed = (
        ("write", written and rates.write is None),
        ("read", read and rates.read is None),
        ("random reads", shuffled and rates.shuffle_read(None) is None),
    )
    return tuple(name for name, missing in needed if missing)


class FastStorage:
    """Times of one job by the fast storage of each of its hosts.

    Of both classes nothing may be missing (`missing_rates`). VEN-MODEL-INPUT if the fast disks are
    slower than the slow ones in a way that this job uses.
    """

    def __init__(self, load: JobLoad, fast: DiskClassRates, slow: DiskClassRates) -> None:
        if slower := _slower(load, fast, slow):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"cannot tell: the fast disks are slower than the slow ones at {slower}",
                where={"field": "fast"},
                hint="swap them, or measure both with venturi probe disk",
            )
        self.load = load
        self._measured = [_as_measured(stage) for stage in load.stages]
        self._corners = [
            _corners(stage, before, fast, slow)
            for stage, before in zip(load.stages, self._measured, strict=True)
        ]

    def time_s(self, fast_bytes: float) -> Bounds:
        """The time with so many bytes of fast storage in each host."""
        return _bounds(self._times_s(fast_bytes))

    def saved_s(self, from_bytes: float, to_bytes: float) -> Bounds:
        """How much sooner it would end with `to_bytes` than with `from_bytes`."""
        pairs = zip(self._times_s(from_bytes), self._times_s(to_bytes), strict=True)
        return _bounds([max(before - after, 0.0) for before, after in pairs])

    def knee_bytes(self) -> float | None:
        """The amount of fast storage beyond which more saves much less; None if savings are linear.

        It is the point of the curve that lies furthest below the line between its ends [SAT11].
        """
        whole_bytes = self.load.all_bytes
        sizes = [whole_bytes * step / _POINTS for step in range(_POINTS + 1)]
        times_s = [self._times_s(size)[0] for size in sizes]
        whole_s = times_s[0] - times_s[-1]
        if whole_s <= 0:
            return None
        even_s = [times_s[0] - whole_s * step / _POINTS for step in range(_POINTS + 1)]
        below = [even - time for even, time in zip(even_s, times_s, strict=True)]
        most = max(below)
        return sizes[below.index(most)] if most >= KNEE_LEAST * whole_s else None

    def _times_s(self, fast_bytes: float) -> list[float]:
        """The job's time in each corner of the uncertain inputs, the middle first."""
        need_size("fast storage", fast_bytes)
        placed = _placed(self.load, fast_bytes)
        totals: list[float] = []
        for stage, before, after, corners in zip(
            self.load.stages, self._measured, placed, self._corners, strict=True
        ):
            changes = [_change_s(stage, before, after, corner) for corner in corners]
            totals = [a + b for a, b in zip(totals, changes, strict=True)] if totals else changes
        return [self.load.elapsed_s + change for change in totals or [0.0]]


@dataclass(frozen=True, slots=True)
class _FastShares:
    """The share of a stage's files on fast disks, by kind."""

    shuffle_written: float
    shuffle_read: float
    spill: float
    cached_written: float
    cached_read: float


@dataclass(frozen=True, slots=True)
class _DiskSpeeds:
    read: float
    write: float
    random: float


@dataclass(frozen=True, slots=True)
class _Corner:
    """One combination of the uncertain inputs.

    `unknown` is the share of reads with unknown origin that come from disks, `written` the share of
    writes that the stage waits for.
    """

    fast: _DiskSpeeds
    slow: _DiskSpeeds
    unknown: float
    written: float
    overlapped: bool


def _as_measured(stage: StageLoad) -> _FastShares:
    return _FastShares(
        stage.shuffle.written_fast,
        stage.shuffle.read_fast,
        stage.spill.written_fast,
        stage.cached.written_fast,
        stage.cached.read_fast,
    )


def _placed(load: JobLoad, fast_bytes: float) -> list[_FastShares]:
    """Where files would be: never less of them on fast disks where there are more of these."""
    free = fast_bytes
    shuffled: dict[Key, tuple[float, float]] = {}
    cached = cached_fast = 0.0
    every = min(fast_bytes / load.all_bytes, 1.0) if load.all_bytes else float(fast_bytes > 0)
    found = []
    for stage in load.stages:
        here = stage.spill_at_once_bytes
        stay = stage.shuffle.written_bytes + stage.cached.written_bytes
        kept = min(max(free - here, 0.0), stay)
        share = kept / stay if stay else 1.0
        parents = [shuffled[key] for key in stage.parents] or list(shuffled.values())
        found.append(
            _FastShares(
                shuffle_written=share,
                shuffle_read=_share(parents, every),
                spill=min(free / here, 1.0) if here else every,
                cached_written=share,
                cached_read=_share([(cached, cached_fast)], every),
            )
        )
        shuffled[stage.key] = stage.shuffle.written_bytes, share * stage.shuffle.written_bytes
        cached += stage.cached.written_bytes
        cached_fast += share * stage.cached.written_bytes
        free -= kept
    return found


def _share(files: Sequence[tuple[float, float]], unknown: float) -> float:
    whole = sum(size for size, _ in files)
    return min(sum(fast for _, fast in files) / whole, 1.0) if whole else unknown


def _change_s(stage: StageLoad, before: _FastShares, after: _FastShares, corner: _Corner) -> float:
    """The change of the job's time if this stage's files move to other disks."""
    if not stage.path_s or stage.elapsed_s <= 0:
        return 0.0
    measured_s, there_s = _disk_s(stage, before, corner), _disk_s(stage, after, corner)
    took_s = _stage_s(stage, measured_s, there_s, overlapped=corner.overlapped)
    return (took_s - stage.elapsed_s) * stage.path_s / stage.elapsed_s


def _stage_s(stage: StageLoad, measured_s: float, there_s: float, *, overlapped: bool) -> float:
    """The stage's time if its disks take `there_s` instead of `measured_s`, which is an upper
    bound.

    `overlapped`: compute and disk time that together exceed the trial's time ran in parallel, and
    keep doing so in the same proportion. Otherwise the rest of the time stays the same.
    """
    elapsed_s, compute_s = stage.elapsed_s, min(stage.compute_s, stage.elapsed_s)
    seen = min(elapsed_s / measured_s, 1.0) if measured_s else 1.0
    before_s, after_s = seen * measured_s, seen * there_s
    if not overlapped:
        return max(elapsed_s - before_s + after_s, compute_s)
    rest_s = max(elapsed_s - compute_s - before_s, 0.0)
    least_s = min(compute_s, before_s)
    at_once = max(compute_s + before_s - elapsed_s, 0.0) / least_s if least_s else 0.0
    return rest_s + max(compute_s, after_s) + (1 - at_once) * min(compute_s, after_s)


def _disk_s(stage: StageLoad, placed: _FastShares, corner: _Corner) -> float:
    """Seconds of the disks of a host with this stage's files."""
    fast, slow = corner.fast, corner.slow
    from_disk = corner.unknown if stage.from_disk is None else stage.from_disk
    written_s = sum(
        _in_turn(of.written_bytes, share, fast.write, slow.write)
        for of, share in (
            (stage.shuffle, placed.shuffle_written),
            (stage.spill, placed.spill),
            (stage.cached, placed.cached_written),
        )
    )
    read_s = (
        _at_once(stage.shuffle.read_bytes, placed.shuffle_read, fast.random, slow.random)
        + _in_turn(stage.spill.read_bytes, placed.spill, fast.read, slow.read)
        + corner.unknown
        * _at_once(stage.cached.read_bytes, placed.cached_read, fast.read, slow.read)
    )
    return corner.written * written_s + from_disk * read_s


def _in_turn(size: float, share: float, fast: float, slow: float) -> float:
    """Files use the fast disks, then the slow ones: in order of creation, or a task's own
    spills.
    """
    return size * share / fast + size * (1 - share) / slow


def _at_once(size: float, share: float, fast: float, slow: float) -> float:
    """Every task reads from both; the slow disks decide unless they hold nothing."""
    return max(size / fast, size * (1 - share) / slow)


def _corners(
    stage: StageLoad, before: _FastShares, fast: DiskClassRates, slow: DiskClassRates
) -> list[_Corner]:
    disks = [_disks(rates, stage.segment_bytes) for rates in (fast, slow)]
    middle, low, high = range(3)
    found = []
    for of_fast, of_slow, unknown in (
        (middle, middle, 1.0),
        (middle, middle, 0.0),
        (low, low, 1.0),
        (low, high, 1.0),
        (high, low, 1.0),
        (high, high, 1.0),
    ):
        quick, slower = disks[0][of_fast], disks[1][of_slow]
        # Within their ranges, slow disks are never faster than fast ones.
        slower = _DiskSpeeds(
            min(slower.read, quick.read),
            min(slower.write, quick.write),
            min(slower.random, quick.random),
        )
        shares = _written(stage, before, quick, slower)
        found += [
            _Corner(quick, slower, unknown, written, overlapped)
            for written in shares
            for overlapped in (True, False)
        ]
    return found


def _written(
    stage: StageLoad, before: _FastShares, fast: _DiskSpeeds, slow: _DiskSpeeds
) -> tuple[float, float, float]:
    """The share of the stage's writes that it waited for: middle, least and most.

    The kernel writes back in the background while memory lasts. The stage may have waited for any
    data written to disk while it ran; it did wait while its tasks only wrote.
    """
    middle = 1.0 if stage.to_disk is None else stage.to_disk
    alone_s = _in_turn(stage.shuffle.written_bytes, before.shuffle_written, fast.write, slow.write)
    least = 0.0
    if alone_s > 0:
        of_shuffle = stage.shuffle.written_bytes / stage.written_bytes
        least = min(stage.write_wait_s / alone_s, 1.0) * of_shuffle
    return middle, min(least, middle), max(middle, 1.0)


def _disks(rates: DiskClassRates, segment_bytes: float | None) -> list[_DiskSpeeds]:
    """Middle, low and high; unknown rates are not needed, and take no time."""
    none = (float("inf"),) * 3
    in_order = [
        none if each is None else (each.value, each.low, each.high)
        for each in (rates.read, rates.write)
    ]
    random = rates.shuffle_read(segment_bytes) or none
    return [_DiskSpeeds(*each) for each in zip(*in_order, random, strict=True)]


def _slower(load: JobLoad, fast: DiskClassRates, slow: DiskClassRates) -> str | None:
    """The operation of the job that is slower on fast disks, in words."""
    for stage in load.stages:
        quick, slower = (_disks(rates, stage.segment_bytes)[0] for rates in (fast, slow))
        for words, used, one, other in (
            ("writing", _kinds(stage, lambda kind: kind.written_bytes), quick.write, slower.write),
            ("reading", stage.spill.read_bytes + stage.cached.read_bytes, quick.read, slower.read),
            ("random reads", stage.shuffle.read_bytes, quick.random, slower.random),
        ):
            if used and one < other:
                return f"{words} ({one / 1e6:,.0f} MB/s, and {other / 1e6:,.0f} MB/s)"
    return None


def _kinds(stage: StageLoad, of: Callable[[TransferredBytes], float]) -> float:
    return sum(of(kind) for kind in (stage.shuffle, stage.spill, stage.cached))


def _bounds(values: Sequence[float]) -> Bounds:
    return Bounds(values[0], min(values), max(values))
