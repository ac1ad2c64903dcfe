"""How much fast local storage a job needs: its time and cost with more and less of it.

All sizes are those of one host; each host has the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.jobs.tiers.disks import TierDisks, local_disks
from venturi.jobs.tiers.fast_storage import DiskClassRates, FastStorage
from venturi.jobs.tiers.local_bytes import JobLoad, job_load
from venturi.jobs.tiers.measured import cannot_tell, read_job
from venturi.jobs.tiers.price import StoragePrice, storage_price
from venturi.jobs.tiers.rates import rates_of
from venturi.jobs.tiers.recorded_tiers import TierUse, tier_uses
from venturi.jobs.tiers.series import with_disk_shares
from venturi.machines.catalog import Catalog
from venturi.machines.cost.dataflow import Bounds
from venturi.record.trial import Trial

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

ROWS = 10
GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TiersQuestion:
    """The user's question. Without disks in `fast`, they are the trial's first tier; without disks
    in `slow`, its other folders. `sizes` are those of the fast storage, round ones by default.
    `volumes` is a kind of network volume in a catalog that the fast storage consists of.
    """

    fast: TierDisks
    slow: TierDisks
    sizes: tuple[int, ...] = ()
    catalogs: tuple[Catalog, ...] = ()
    volumes: str | None = None


@dataclass(frozen=True, slots=True)
class StorageStep:
    """The time with `fast_bytes` in each host, the time that saves, and the job's cost."""

    fast_bytes: int
    time_s: Bounds
    saved_s: Bounds
    usd: Bounds | None


@dataclass(frozen=True, slots=True)
class ExtraStorage:
    """The time saved by `more_bytes` in addition to those that the trial had."""

    more_bytes: int
    saved_s: Bounds


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate of the model, in bytes/s or reads/s, and its source."""

    disks: str
    what: str
    unit: str
    value: float
    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class StageFiles:
    """Local files of one kind of a stage in one host, and the share written to fast disks."""

    label: str
    kind: str
    written_bytes: float
    read_bytes: float
    written_fast: float


@dataclass(frozen=True, slots=True)
class TiersAdvice:
    """The answer. The trial used `held_bytes` of fast storage. Everything fits in `all_bytes`, and
    saves `saved_s` then, compared with none. Beyond `knee_bytes`, more saves much less (None: the
    saving grows evenly).
    """

    trial: str
    workload: str
    engine: str
    elapsed_s: float
    hosts: int
    held_bytes: int
    all_bytes: int
    saved_s: Bounds
    knee_bytes: int | None
    steps: tuple[StorageStep, ...]
    more: tuple[ExtraStorage, ...]
    stages: tuple[StageFiles, ...]
    rates: tuple[UsedRate, ...]
    notes: tuple[str, ...]
    usd_missing_reason: str | None


def advise_tiers(repository: TrialRepository, trial: Trial, question: TiersQuestion) -> TiersAdvice:
    """The answer by the account of `trial`; VEN-MODEL-INPUT if it lacks something."""
    measured = read_job(repository, trial)
    if job_load(measured).all_bytes <= 0:
        raise cannot_tell(
            trial,
            "no stage wrote or spilled anything to local disks, so none can save time",
            "give a trial of a job that shuffles",
        )
    disks = local_disks(measured, question.fast, question.slow)
    load = with_disk_shares(
        job_load(measured, disks.tier, disks.fast_share), measured, disks.folders
    )
    fast, slow = (rates_of(measured, disks, each, load) for each in (disks.fast, disks.slow))
    storage = FastStorage(load, fast, slow)
    price = storage_price(trial, load.hosts, question.catalogs, question.volumes)
    if disks.tier is None:
        held = disks.fast_share * load.all_bytes
    else:
        held = _held_bytes(load, tier_uses(measured.account))
    knee = storage.knee_bytes()
    return TiersAdvice(
        trial=trial.id,
        workload=trial.workload.name,
        engine=f"{trial.engine.name} {trial.engine.version}",
        elapsed_s=measured.elapsed_s,
        hosts=load.hosts,
        held_bytes=round(held),
        all_bytes=math.ceil(load.all_bytes),
        saved_s=storage.saved_s(0.0, load.all_bytes),
        knee_bytes=None if knee is None else round(knee),
        steps=tuple(
            _step(storage, size, price) for size in question.sizes or _round_sizes(load.all_bytes)
        ),
        more=tuple(
            ExtraStorage(more, storage.saved_s(held, held + more))
            for more in _extra_sizes(load.all_bytes, held)
        ),
        stages=tuple(_stage_files(load)),
        rates=(*_used_rates(disks.fast, fast, load), *_used_rates(disks.slow, slow, load)),
        notes=(*load.notes, *_notes(load)),
        usd_missing_reason=price if isinstance(price, str) else None,
    )


def _held_bytes(load: JobLoad, uses: tuple[TierUse, ...]) -> float:
    """The bytes of fast storage that the trial used: all, if nothing overflowed."""
    if not any(use.overflows for use in uses):
        return load.all_bytes if load.held_bytes else 0.0
    return min(load.held_bytes or 0.0, load.all_bytes)


def _round_sizes(all_bytes: float) -> tuple[int, ...]:
    """Round sizes from 0 to the first in which everything fits."""
    step = _round_up(all_bytes / ROWS)
    return tuple(range(0, math.ceil(all_bytes / step) * step + 1, step))


def _round_up(size: float) -> int:
    """The next of 1, 2, 5, 10, 20, ... bytes."""
    power = 10 ** math.floor(math.log10(max(size, 1.0)))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= size))


def _extra_sizes(all_bytes: float, held: float) -> tuple[int, ...]:
    """1, 2, 4, ... GB more, or for a small job multiples of a tenth, until everything fits."""
    left = all_bytes - held
    size = min(GB, _round_up(all_bytes / ROWS))
    found: list[int] = []
    while left > 0 and (not found or found[-1] < left) and len(found) < ROWS:
        found.append(size)
        size *= 2
    return tuple(found)


def _step(storage: FastStorage, size: int, price: StoragePrice | str) -> StorageStep:
    time_s = storage.time_s(size)
    usd = None if isinstance(price, str) else price.of_job(time_s, size)
    return StorageStep(size, time_s, storage.saved_s(0, size), usd)


def _stage_files(load: JobLoad) -> Iterator[StageFiles]:
    for stage in load.stages:
        for kind, moved in (
            ("shuffle", stage.shuffle),
            ("spill", stage.spill),
            ("cached", stage.cached),
        ):
            if moved.written_bytes or moved.read_bytes:
                yield StageFiles(
                    stage.label, kind, moved.written_bytes, moved.read_bytes, moved.written_fast
                )


def _used_rates(disks: TierDisks, rates: DiskClassRates, load: JobLoad) -> Iterator[UsedRate]:
    """The rates of all disks of a class in a host."""
    for what, each in (("reading", rates.read), ("writing", rates.write)):
        if each is not None:
            yield UsedRate(disks.title, what, "B/s", each.value, each.low, each.high, each.source)
    segments = [each.segment_bytes for each in load.stages if each.segment_bytes]
    random = rates.shuffle_read(min(segments) if segments else None)
    if random is not None:
        source = rates.shuffle.source if rates.shuffle else rates.requests[0].per_s.source
        yield UsedRate(disks.title, "shuffle reads", "B/s", *random, source)


def _notes(load: JobLoad) -> Iterator[str]:
    yield "times are based on this one trial; the ranges don't include the spread of repeats"
    if any(each.from_disk is None and each.shuffle.read_bytes for each in load.stages):
        yield (
            "the share of reads that came from memory is unknown, so the ranges cover all of "
            "it to none"
        )
    if load.hosts > 1:
        yield f"bytes are those of one of {load.hosts} hosts, which are assumed to be equal"
