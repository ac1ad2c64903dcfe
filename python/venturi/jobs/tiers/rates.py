"""How fast two classes of disks are, for a job's local files: as given, as probes of disks measured
them, or else by what the hosts' own series say of the trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import TYPE_CHECKING

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.quantity import Kind, Quantity
from venturi.core.units import parse_rate
from venturi.jobs.tiers.fast_storage import READ_AHEAD_BYTES, DiskRates, Requests
from venturi.jobs.tiers.local_bytes import JobLoad, StageLoad
from venturi.jobs.tiers.one_disk import DiskMap, folders_probed
from venturi.machines.health.devices import device_of, mount_of
from venturi.record.store.series import host_of, read_parts
from venturi.record.trial import Host, State, Trial

if TYPE_CHECKING:
    import polars as pl

    from venturi.record.store.repository import Repository

EXAMPLE = "read=150MB/s,write=140MB/s,iops=120"
# Our judgement, not measured: a disk busier than this does what it can; this much more of one
# direction than of the other is that direction; fewer samples tell nothing.
BUSY, MAINLY, SAMPLES = 0.8, 4.0, 3
_RANDOM_BYTES = 4096  # of a request, where only requests a second are given
_READ, _WRITE = "disk_read_bytes_per_s", "disk_write_bytes_per_s"
_RANDOM = "disk_random_read_iops"


@dataclass(frozen=True, slots=True)
class Disks:
    """The disks of a class: folders of the trial's hosts, and rates that somebody gave."""

    name: str
    folders: tuple[str, ...] = ()
    given: tuple[DiskRates, ...] = ()

    @property
    def words(self) -> str:
        """As people name them."""
        return f"{self.name} disks" + (f" ({', '.join(self.folders)})" if self.folders else "")


def disks_given(name: str, texts: Sequence[str]) -> Disks:
    """The disks that an option names: folders, or rates such as `EXAMPLE`, one for each disk."""
    rates = [_given(name, text) for text in texts if "=" in text]
    return Disks(name, tuple(text for text in texts if "=" not in text), tuple(rates))


def _given(name: str, text: str) -> DiskRates:
    """Rates of one disk, as they are written."""
    found: dict[str, float] = {}
    for part in text.split(","):
        key, _, amount = (word.strip() for word in part.partition("="))
        if key not in {"read", "write", "iops"} or key in found:
            raise _bad(name, text, f"{key!r} is {'given twice' if key in found else 'no rate'}")
        try:
            found[key] = float(amount) if key == "iops" else parse_rate(amount)
        except (ValueError, VenturiError) as error:
            what = "number" if key == "iops" else "rate"
            raise _bad(name, text, f"{key} is no {what}: {amount!r}") from error
        if not 0 < found[key] < float("inf"):
            raise _bad(name, text, f"{key} must be above 0")

    def quantity(key: str) -> Quantity | None:
        value = found.get(key)
        if value is None:
            return None
        return Quantity(value, value, value, Kind.ASSUMED, f"--{name}")

    per_s = quantity("iops")
    requests = () if per_s is None else (Requests(_RANDOM_BYTES, per_s),)
    return DiskRates(quantity("read"), quantity("write"), requests)


def _bad(name: str, text: str, problem: str) -> VenturiError:
    return VenturiError(
        "VEN-UNIT-SYNTAX",
        f"--{name} {text[:80]!r}: {problem}",
        where={"option": f"--{name}", "value": text[:80]},
        hint=f"write it like {EXAMPLE}, or give a folder that `venturi probe disk` measured",
        exit_code=ExitCode.USAGE,
    )


def rates_of(where: DiskMap, disks: Disks, slots: int) -> DiskRates:
    """What is given, and of the rest what the probes of `where` measured. `Series` may tell more.

    Rates of several disks are added up, as far as there are tasks for them: `slots` of a host.
    Several folders may lie on one disk.
    """
    alone: list[str] = []
    for folder in disks.folders:
        if not where.is_on(folder, alone):
            alone.append(folder)
    probed = [_probed(where, folder, slots) for folder in alone]
    found = _together([*disks.given, *probed], slots)
    return replace(found, read_ahead_bytes=_read_ahead(where.trial, disks))


def _at_work(all_of_them: Quantity | None, disks: int, slots: int) -> Quantity | None:
    """Of so many disks, which can do so much together, those for which there is a task: each is at
    one file at a time. At most all of them, for the kernel writes to all.
    """
    if all_of_them is None or disks <= slots:
        return all_of_them
    part = slots / disks
    return replace(all_of_them, value=part * all_of_them.value, low=part * all_of_them.low)


def _together(each: Sequence[DiskRates], slots: int) -> DiskRates:
    """All of these disks at once; what is not known of one of them is not known."""
    if not each:
        return DiskRates()
    sizes = set.intersection(*({r.size_bytes for r in rates.requests} for rates in each))

    def added(found: Sequence[Quantity | None]) -> Quantity | None:
        return _at_work(_added(found), len(each), slots)

    by_size = {
        size: added(
            [one.per_s for rates in each for one in rates.requests if one.size_bytes == size]
        )
        for size in sorted(sizes)
    }
    return DiskRates(
        added([rates.read for rates in each]),
        added([rates.write for rates in each]),
        tuple(Requests(size, per_s) for size, per_s in by_size.items() if per_s is not None),
    )


def _added(found: Sequence[Quantity | None]) -> Quantity | None:
    known = [quantity for quantity in found if quantity is not None]
    if not known or len(known) < len(found):
        return None
    return Quantity(
        sum(q.value for q in known),
        sum(q.low for q in known),
        sum(q.high for q in known),
        min((q.kind for q in known), key=list(Kind).index),
        "; ".join(dict.fromkeys(q.source for q in known)),
    )


def _read_ahead(trial: Trial, disks: Disks) -> float:
    """What the kernel reads ahead on these disks, by the hosts' facts."""
    known = [
        device.get("read_ahead_bytes")
        for host in trial.cluster.hosts
        for folder in disks.folders
        if (mount := mount_of(host.facts, folder)) is not None
        for device in (device_of(host.facts, mount),)
    ]
    sizes = [size for size in known if isinstance(size, int) and size > 0]
    return median(sizes) if sizes else READ_AHEAD_BYTES


def _probed(where: DiskMap, folder: str, slots: int) -> DiskRates:
    """What the newest probe of `folder` that has it measured, else of another on its disk."""
    found = DiskRates()
    for probe in sorted(where.probes, key=lambda each: folder not in folders_probed(each)):
        labels, of_probe = folders_probed(probe), DiskMap(where.trial, (probe,))
        on_it = sorted(each for each in labels if of_probe.is_one(each, folder))
        if probe.state is not State.SUCCEEDED or not on_it:
            continue
        measured = folder if folder in labels else on_it[0]
        source = f"probe {probe.id} of {measured}"
        found = replace(
            found,
            read=found.read or _quantity(_values(probe, _READ, measured), source),
            write=found.write or _quantity(_values(probe, _WRITE, measured), source),
            requests=found.requests or _requests(probe, measured, slots, source),
        )
    return found


def _values(probe: Trial, metric: str, folder: str, **labels: object) -> list[float]:
    """What was measured, of several hosts with all of them at work."""
    wanted = {"dir": folder, **labels}
    found = [
        sample
        for sample in probe.samples
        if sample.metric == metric
        and sample.value
        and all(sample.labels.get(key) == value for key, value in wanted.items())
    ]
    most = max((int(s.labels.get("hosts_at_once") or 0) for s in found), default=0)
    return [s.value for s in found if s.value and int(s.labels.get("hosts_at_once") or 0) == most]


def _quantity(values: Sequence[float], source: str) -> Quantity | None:
    if not values:
        return None
    return Quantity(median(values), min(values), max(values), Kind.MEASURED, source)


def _seen(own: Quantity | None, probed: Quantity | None) -> Quantity | None:
    """What the trial shows, up to what a probe found to be possible; else what the probe found."""
    if own is None or probed is None:
        return own or probed
    return replace(own, high=max(own.high, probed.high))


def _requests(probe: Trial, folder: str, slots: int, source: str) -> tuple[Requests, ...]:
    """Random reads by size: with about as many at once as tasks (the range: one to many)."""
    shapes: dict[int, set[int]] = {}
    for sample in probe.samples:
        block, depth = (sample.labels.get(key) for key in ("block_bytes", "queue_depth"))
        if sample.metric == _RANDOM and isinstance(block, int) and isinstance(depth, int):
            shapes.setdefault(block, set()).add(depth)
    found = []
    for block, depths in sorted(shapes.items()):
        by_depth = {
            depth: median(values)
            for depth in depths
            if (values := _values(probe, _RANDOM, folder, block_bytes=block, queue_depth=depth))
        }
        if by_depth:
            usual = by_depth[min(by_depth, key=lambda depth: abs(depth - slots))]
            low, high = min(by_depth.values()), max(by_depth.values())
            quantity = Quantity(usual, low, high, Kind.MEASURED, source)
            found.append(Requests(block, quantity))
    return tuple(found)


_Moment = tuple[float, float, float, float]
"""Seconds since the job began, share busy, bytes/s read and written, of a disk."""


class Series:
    """What the disks of the trial's hosts did while its stages ran.

    `began_s` is when the job began, on the clock of the series; None, and nothing is known.
    """

    def __init__(self, repository: Repository, trial: Trial, began_s: float | None) -> None:
        self._trial, self._began_s = trial, began_s
        self._frames: dict[str, pl.DataFrame] = {}
        self._known: dict[tuple[str, ...], tuple[_Moment, ...]] = {}
        if began_s is None:
            return
        names = [host.name for host in trial.cluster.hosts]
        for artifact in trial.artifacts:
            if artifact.kind == "series":
                host = names[0] if len(names) == 1 else host_of(artifact.name, names)
                self._frames[host] = _of_disks(read_parts(repository.artifact_path(artifact)))

    def rates(self, load: JobLoad, known: DiskRates, disks: Disks) -> DiskRates:
        """`known`, unless the trial itself shows how fast the busy disks of this class were.

        A probe reads and writes long files, which the head stays in; what is said is not doubted.
        """
        if disks.given:
            return known
        found: dict[str, list[float]] = {"read": [], "write": [], "shuffle": []}
        for t_s, busy, read, written in self._moments(disks.folders):
            if busy < BUSY:
                continue
            if written > MAINLY * read:
                found["write"].append(written / busy)
            elif read > MAINLY * written:
                shuffled = any(
                    stage.shuffle.read_bytes and not stage.input_bytes
                    for stage in load.stages
                    if stage.started_s < t_s <= stage.started_s + stage.elapsed_s
                )
                found["shuffle" if shuffled else "read"].append(read / busy)
        source = f"the disks of trial {self._trial.id} while they were busy"
        n = max(
            (len(self._devices(host, disks.folders)) for host in self._trial.cluster.hosts),
            default=0,
        )
        own = {
            name: _at_work(
                Quantity(n * median(v), n * low, n * high, Kind.DERIVED, source), n, load.host_slots
            )
            for name, v in found.items()
            if len(v) >= SAMPLES
            for low, _, high in [quantiles(v)]
            if low > 0
        }
        return replace(
            known,
            read=_seen(own.get("read"), known.read),
            write=_seen(own.get("write"), known.write),
            shuffle=_seen(own.get("shuffle"), known.shuffle),
        )

    def from_disk(self, stage: StageLoad, folders: Sequence[str]) -> float | None:
        """The share of what `stage` read of local files that came from the disks behind `folders`.

        None where it read its input, too, which may lie there as well, or too few samples tell.
        """
        wanted = stage.shuffle.read_bytes + stage.spill.read_bytes
        if stage.input_bytes or not wanted:
            return None
        share = self._share(stage, folders, wanted, lambda moment: moment[2])
        return None if share is None else min(share, 1.0)

    def to_disk(self, stage: StageLoad, folders: Sequence[str]) -> float | None:
        """What those disks were given while `stage` ran, by what it wrote to local files.

        None where it wrote output, too, or too few samples tell.
        """
        if stage.output_bytes or not stage.written_bytes:
            return None
        return self._share(stage, folders, stage.written_bytes, lambda moment: moment[3])

    def _share(
        self,
        stage: StageLoad,
        folders: Sequence[str],
        wanted: float,
        of: Callable[[_Moment], float],
    ) -> float | None:
        """What the disks of a host moved while `stage` ran, by so many bytes."""
        end_s = stage.started_s + stage.elapsed_s
        moments: dict[float, float] = {}
        for moment in self._moments(folders):
            if stage.started_s < moment[0] <= end_s:
                moments[moment[0]] = moments.get(moment[0], 0.0) + of(moment)
        if len(moments) < SAMPLES:
            return None
        mean = sum(moments.values()) / len(moments) / max(len(self._frames), 1)
        return mean * stage.elapsed_s / wanted

    def _moments(self, folders: Sequence[str]) -> Sequence[_Moment]:
        """What is known of the disks behind `folders`, looked for once: each stage asks."""
        key = tuple(folders)
        if key not in self._known:
            self._known[key] = tuple(self._found(key))
        return self._known[key]

    def _devices(self, host: Host, folders: Sequence[str]) -> set[object]:
        """The names of the disks of a host behind `folders`."""
        mounts = [mount_of(host.facts, folder) for folder in folders]
        return {device_of(host.facts, each).get("name") for each in mounts if each}

    def _found(self, folders: Sequence[str]) -> Iterable[_Moment]:
        for host in self._trial.cluster.hosts:
            devices = self._devices(host, folders)
            frame = self._frames.get(host.name)
            if frame is not None:
                for t_s, device, busy, read, written in frame.iter_rows():
                    if device in devices and None not in (busy, read, written):
                        yield t_s - (self._began_s or 0.0), busy, read, written


def _of_disks(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    from venturi.record.store.frames import pl

    metrics = ["disk_busy", _READ, _WRITE]
    found = [part.filter(pl.col("metric").is_in(metrics)) for part in parts]
    if not found:
        raise VenturiError("VEN-RECORD-ARTIFACT", "the series holds no values")
    rows = pl.concat(found)
    by_metric: Mapping[str, pl.Expr] = {
        metric: pl.col("value").filter(pl.col("metric") == metric).first() for metric in metrics
    }
    return rows.group_by("t_s", "device").agg(**by_metric).sort("t_s")
