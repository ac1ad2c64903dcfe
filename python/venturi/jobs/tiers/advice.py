"""How much fast local storage a job needs: its time with more and less of it, and what that costs.

Everything is of one host: each is to have so much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.core.units import SECONDS_PER_HOUR
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.tiers.fast_storage import DiskRates, FastStorage, missing_rates
from venturi.jobs.tiers.local_bytes import JobLoad, job_load
from venturi.jobs.tiers.one_disk import DiskMap, folders_probed, local_folders
from venturi.jobs.tiers.rates import EXAMPLE, Disks, Series, rates_of
from venturi.jobs.tiers.recorded import tier_uses
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.catalog.find import unknown
from venturi.machines.cost.charges import HOURS_PER_MONTH
from venturi.machines.cost.dataflow import Bounds
from venturi.record.job_account import TIERS_SETTING, has_account, load
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import CLUSTER_HOUR, CPU_OTHERS, State, Trial

if TYPE_CHECKING:
    from venturi.record.job_account import JobAccount
    from venturi.record.store.repository import Repository

PROBES_MAX = 50
ROWS = 10
GB = 1_000_000_000
_FAST_RATES = "--fast read=2GB/s,write=1.5GB/s,iops=90000"


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to know. Without `fast` it is the trial's first tier, without `slow` what
    is left of its folders; without `sizes` a row of round ones. `volumes` is the kind of network
    volume whose price, in a catalogue, the fast storage has.
    """

    fast: Disks
    slow: Disks
    sizes: tuple[int, ...] = ()
    catalogs: tuple[Catalog, ...] = ()
    volumes: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """With `fast_bytes` in each host: the time, what it saves beside none, and the job's cost."""

    fast_bytes: int
    time_s: Bounds
    saved_s: Bounds
    usd: Bounds | None


@dataclass(frozen=True, slots=True)
class More:
    """What `more_bytes` beyond what the trial had would save."""

    more_bytes: int
    saved_s: Bounds


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate that was used, in bytes/s or reads/s, and where it is from."""

    disks: str
    what: str
    unit: str
    value: float
    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class OfStage:
    """Local files of a stage in one host, by kind, and the share of what was written on fast."""

    label: str
    kind: str
    written_bytes: float
    read_bytes: float
    written_fast: float


@dataclass(frozen=True, slots=True)
class TiersAdvice:
    """The answer. `held_bytes` of fast storage is what the trial used of it; `all_bytes` holds all,
    which saves `saved_s` beside none; `knee_bytes` is where more begins to save much less (None:
    each byte saves alike).
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
    steps: tuple[Step, ...]
    more: tuple[More, ...]
    stages: tuple[OfStage, ...]
    rates: tuple[Rate, ...]
    notes: tuple[str, ...]
    usd_missing_reason: str | None


def advise_tiers(repository: Repository, trial: Trial, asked: Asked) -> TiersAdvice:
    """The answer from the account of `trial`; VEN-MODEL-INPUT, cannot tell, says what is missing
    and what to do.
    """
    account = _account(repository, trial)
    analysis = analyse(account, next(iter(trial.values(CPU_OTHERS)), None))
    elapsed_s = trial.elapsed_s or analysis.elapsed_s
    if trial.state is not State.SUCCEEDED or not elapsed_s or not analysis.path:
        raise _cannot_tell(
            trial,
            f"it ended as {trial.state.value}, or its account does not say when",
            "give a trial that succeeded",
        )
    if job_load(account, analysis, elapsed_s, frozenset(), 0.0).all_bytes <= 0:
        raise _cannot_tell(
            trial,
            "no stage wrote or spilled anything to local disks, so none can save time",
            "give a trial of a job that shuffles",
        )
    probes, elsewhere = _probes(repository, trial)
    where = DiskMap(trial, probes)
    fast, slow, tier = _classes(where, account, asked)
    folders = local_folders(trial)
    stock = sum(where.is_on(each, fast.folders) for each in folders) / max(len(folders), 1)
    job = job_load(account, analysis, elapsed_s, frozenset({tier} if tier else ()), stock)
    series = Series(repository, trial, account.began_s)
    job = replace(
        job,
        stages=tuple(
            replace(
                each,
                from_disk=series.from_disk(each, folders),
                to_disk=series.to_disk(each, folders),
            )
            for each in job.stages
        ),
    )
    rates = []
    for disks in (fast, slow):
        found = series.rates(job, rates_of(where, disks, job.host_slots), disks)
        if lacking := missing_rates(job, found):
            raise _no_rates(trial, disks, lacking, elsewhere)
        rates.append(found)
    storage = FastStorage(job, *rates)
    price, why = _price(trial, asked)
    held = _held(job, account, tier, stock)
    return TiersAdvice(
        trial=trial.id,
        workload=trial.workload.name,
        engine=f"{trial.engine.name} {trial.engine.version}",
        elapsed_s=elapsed_s,
        hosts=job.hosts,
        held_bytes=round(held),
        all_bytes=math.ceil(job.all_bytes),
        saved_s=storage.saved_s(0.0, job.all_bytes),
        knee_bytes=None if (knee := storage.knee_bytes()) is None else round(knee),
        steps=tuple(
            _step(storage, size, price, job.hosts) for size in asked.sizes or _row(job.all_bytes)
        ),
        more=tuple(More(more, storage.saved_s(held, held + more)) for more in _amounts(job, held)),
        stages=tuple(_of_stages(job)),
        rates=tuple(
            each
            for disks, found in zip((fast, slow), rates, strict=True)
            for each in _told(disks, found, job)
        ),
        notes=(*job.notes, *_notes(job)),
        usd_missing_reason=why,
    )


def _account(repository: Repository, trial: Trial) -> JobAccount:
    if not has_account(trial):
        raise _cannot_tell(
            trial,
            "no account of its engine was recorded with it",
            "give a trial that ran on Spark (venturi run WORKLOAD --engine spark), or the event "
            "log of an application (venturi ingest spark-eventlog FILE)",
        )
    return load(repository, trial)


def _cannot_tell(trial: Trial, why: str, hint: str) -> VenturiError:
    return VenturiError(
        "VEN-MODEL-INPUT",
        f"cannot tell how much fast storage trial {trial.id} needs: {why}",
        where={"trial": trial.id},
        hint=hint,
    )


def _no_rates(
    trial: Trial, disks: Disks, lacking: Sequence[str], elsewhere: Sequence[Trial]
) -> VenturiError:
    why = f"of its {disks.words} these rates are not known: {', '.join(lacking)}"
    probe = " ".join(f"--dir {folder}" for folder in disks.folders) or "--dir FOLDER"
    to_do = f"measure them on that host: venturi probe disk {probe} --mode read,write,random_read"
    for each in elsewhere:
        if folders_probed(each).intersection(disks.folders):
            there, here = (
                ", ".join(host.name for host in one.cluster.hosts) for one in (each, trial)
            )
            why += f"; probe {each.id} was of {there}, and the trial of {here}"
            to_do = "measure them on the trial's host"
            break
    return _cannot_tell(trial, why, f"{to_do}; or say them: --{disks.name} {EXAMPLE}")


def _probes(repository: Repository, trial: Trial) -> tuple[list[Trial], list[Trial]]:
    """Probes of the disks of the trial's hosts, and those of others, the newest first."""
    hosts = {host.name for host in trial.cluster.hosts}
    found = whole_trials(
        repository, Condition.equal("workload", "diskbench"), most=PROBES_MAX, skip=lambda _: None
    )
    both: tuple[list[Trial], list[Trial]] = [], []
    for each in found:
        both[hosts.isdisjoint(host.name for host in each.cluster.hosts)].append(each)
    return both


def _classes(where: DiskMap, account: JobAccount, asked: Asked) -> tuple[Disks, Disks, str | None]:
    """The fast and the slow disks, and the name of the tier that was fast."""
    trial, folders = where.trial, local_folders(where.trial)
    fast, slow, tier = asked.fast, asked.slow, None
    own = fast.folders
    if uses := tier_uses(account):
        # Nothing fitted: no file says how the first tier is called.
        tier = uses[0].tier if uses[0].order == 0 else _first_tier(trial)
        own = tuple(each for each in folders if tier and tier.lower() in each.lower())
        if not fast.folders and not fast.given:
            fast = Disks("fast", own)
    if not fast.folders and not fast.given:
        raise _cannot_tell(
            trial,
            "it does not say where its fast disks are",
            "name them: --fast FOLDER (measured by venturi probe disk --dir FOLDER), or their "
            f"rates: {_FAST_RATES}",
        )
    others = slow.folders
    if not slow.folders and not slow.given:
        others = tuple(each for each in folders if each not in {*own, *fast.folders})
        alone = tuple(each for each in others if not where.is_on(each, fast.folders))
        slow = Disks("slow", alone)
    shared = any(where.is_on(each, fast.folders) for each in slow.folders)
    if shared or (others and not slow.folders):
        raise _cannot_tell(
            trial,
            f"what is fast ({', '.join(fast.folders)}) and what is slow "
            f"({', '.join(others)}) lie on one disk",
            f"name disks that differ, or their rates: {_FAST_RATES} --slow {EXAMPLE}",
        )
    return fast, slow, tier


def _first_tier(trial: Trial) -> str | None:
    """The keyword that the trial's setting begins with."""
    words = str(trial.configuration.get(TIERS_SETTING) or "").split()
    return words[0] if words else None


def _held(job: JobLoad, account: JobAccount, tier: str | None, stock: float) -> float:
    """What the trial had of fast storage, as far as it used it: all, if nothing overflowed."""
    if tier is None:
        return stock * job.all_bytes
    if not any(use.overflows for use in tier_uses(account)):
        return job.all_bytes if job.held_bytes else 0.0
    return min(job.held_bytes or 0.0, job.all_bytes)


def _row(all_bytes: float) -> tuple[int, ...]:
    """Round sizes from 0 to the first in which everything fits."""
    step = _round_up(all_bytes / ROWS)
    return tuple(range(0, math.ceil(all_bytes / step) * step + 1, step))


def _round_up(size: float) -> int:
    """The next of 1, 2, 5, 10, 20, ... bytes."""
    power = 10 ** math.floor(math.log10(max(size, 1.0)))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= size))


def _amounts(job: JobLoad, held: float) -> tuple[int, ...]:
    """1, 2, 4, ... GB more, or of a small job a tenth of all, until everything fits."""
    left = job.all_bytes - held
    amount = min(GB, _round_up(job.all_bytes / ROWS))
    found: list[int] = []
    while left > 0 and (not found or found[-1] < left) and len(found) < ROWS:
        found.append(amount)
        amount *= 2
    return tuple(found)


def _step(storage: FastStorage, size: int, price: Price | None, hosts: int) -> Step:
    time_s = storage.time_s(size)
    usd = None
    if price is not None:
        per_s = price.per_hour(size, hosts) / SECONDS_PER_HOUR
        usd = Bounds(time_s.value * per_s, time_s.low * per_s, time_s.high * per_s)
    return Step(size, time_s, storage.saved_s(0, size), usd)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars an hour of all machines, and of a GiB of fast storage (0: it is part of them)."""

    machines: float
    gib: float

    def per_hour(self, fast_bytes: int, hosts: int) -> float:
        """With so much fast storage in each of so many hosts."""
        return self.machines + hosts * self.gib * fast_bytes / 2**30


def _price(trial: Trial, asked: Asked) -> tuple[Price | None, str | None]:
    """What an hour costs, or why that is not known."""
    kind = None if asked.volumes is None else _volumes(asked.volumes, asked.catalogs)
    machines, why = _machines(trial, asked.catalogs)
    if machines is None:
        return None, why
    if kind is None:
        return Price(machines, 0.0), None
    price = kind.fact("volume_price")
    if not isinstance(price.value, float):
        return None, f"{asked.volumes}: {price.note}"
    return Price(machines, price.value / HOURS_PER_MONTH), None


def _volumes(name: str, catalogs: Sequence[Catalog]) -> InstanceType:
    for catalog in catalogs:
        if (kind := catalog.volumes.get(name)) is not None:
            return kind
    raise unknown(
        f"no catalogue has volumes of the kind {name!r}",
        name,
        [each for catalog in catalogs for each in catalog.volumes],
        "they have",
        {"option": "--volumes", "volumes": name},
    )


def _machines(trial: Trial, catalogs: Sequence[Catalog]) -> tuple[float | None, str | None]:
    """US dollars an hour of the trial's machines."""
    cluster = trial.cluster
    if cluster.dilation is not None:
        return None, "the cluster is emulated: its time is not that of machines with a price"
    price = cluster.price
    if price is not None and price.per == CLUSTER_HOUR and price.currency == "USD":
        return price.amount, None
    if price is not None:
        return None, f"its price is in {price.currency}, per {price.per}"
    if cluster.instance_type is None:
        return None, "the trial does not say on which type of machine it ran"
    for catalog in catalogs:
        known = catalog.types.get(cluster.instance_type)
        each = None if known is None else known.number("price")
        if each is not None:
            return each * len(cluster.hosts), None
    return None, f"no catalogue given has a price of {cluster.instance_type}"


def _of_stages(job: JobLoad) -> list[OfStage]:
    return [
        OfStage(stage.label, kind, moved.written_bytes, moved.read_bytes, moved.written_fast)
        for stage in job.stages
        for kind, moved in (
            ("shuffle", stage.shuffle),
            ("spill", stage.spill),
            ("cached", stage.cached),
        )
        if moved.written_bytes or moved.read_bytes
    ]


def _told(disks: Disks, rates: DiskRates, job: JobLoad) -> list[Rate]:
    """The rates that were used, of all disks of a class in a host."""
    found = [
        Rate(disks.words, what, "B/s", each.value, each.low, each.high, each.source)
        for what, each in (("reading", rates.read), ("writing", rates.write))
        if each is not None
    ]
    segments = [each.segment_bytes for each in job.stages if each.segment_bytes]
    random = rates.shuffle_read(min(segments) if segments else None)
    if random is not None:
        source = rates.shuffle.source if rates.shuffle else rates.requests[0].per_s.source
        found.append(Rate(disks.words, "shuffle reads", "B/s", *random, source))
    return found


def _notes(job: JobLoad) -> list[str]:
    said = ["times are anchored at this one trial; how much its repeats differ is not in the range"]
    if any(each.from_disk is None and each.shuffle.read_bytes for each in job.stages):
        said.append(
            "how much of what was read came from memory is not known: the ranges reach from "
            "all of it to none"
        )
    if job.hosts > 1:
        said.append(f"bytes are those of one of {job.hosts} hosts, which are taken to be alike")
    return said
