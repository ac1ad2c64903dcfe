"""Speed of local disks and bytes transferred, from the trial's own series.

We chose the thresholds: a disk busier than `BUSY` is saturated, `MAINLY` times more traffic in one
direction makes it that direction, and fewer than `SAMPLES` samples are too few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median, quantiles
from typing import NamedTuple

from venturi.core.quantity import Quantity, ValueKind
from venturi.jobs.tiers.local_bytes import JobLoad, StageLoad
from venturi.jobs.tiers.measured import MeasuredJob
from venturi.machines.health.devices import device_of, mount_of
from venturi.record.trial import Host

BUSY, MAINLY, SAMPLES = 0.8, 4.0, 3


class DiskSample(NamedTuple):
    """One disk at one time, in seconds since the job began; rates in bytes/s."""

    t_s: float
    busy: float
    read: float
    written: float


def with_disk_shares(load: JobLoad, measured: MeasuredJob, folders: Sequence[str]) -> JobLoad:
    """`load` with the share of its stages' bytes that the disks behind `folders` moved.

    A stage's share stays None where other files may lie on these disks, such as the job's input or
    output, or where there are too few samples.
    """
    samples = list(_samples(measured, folders))
    hosts = max(len(measured.disk_series), 1)
    stages = []
    for stage in load.stages:
        read = stage.shuffle.read_bytes + stage.spill.read_bytes
        written = stage.written_bytes
        during = [each for each in samples if _ran_at(stage, each.t_s)]
        enough = len({each.t_s for each in during}) >= SAMPLES
        from_disk = to_disk = None
        if enough and read and not stage.input_bytes:
            from_disk = min(_moved(stage, during, "read", hosts) / read, 1.0)
        if enough and written and not stage.output_bytes:
            to_disk = _moved(stage, during, "written", hosts) / written
        stages.append(replace(stage, from_disk=from_disk, to_disk=to_disk))
    return replace(load, stages=tuple(stages))


def busy_rates(
    load: JobLoad, measured: MeasuredJob, folders: Sequence[str]
) -> tuple[dict[str, Quantity], int]:
    """Rates of reading, writing and shuffle reads of all disks of a host behind `folders`, while
    they were busy; and how many disks that are.
    """
    found: dict[str, list[float]] = {"read": [], "write": [], "shuffle": []}
    for t_s, busy, read, written in _samples(measured, folders):
        if busy < BUSY:
            continue
        if written > MAINLY * read:
            found["write"].append(written / busy)
        elif read > MAINLY * written:
            shuffled = any(
                stage.shuffle.read_bytes and not stage.input_bytes
                for stage in load.stages
                if _ran_at(stage, t_s)
            )
            found["shuffle" if shuffled else "read"].append(read / busy)
    source = f"the disks of trial {measured.trial.id} while they were busy"
    n = max((len(_devices(host, folders)) for host in measured.trial.cluster.hosts), default=0)
    rates = {
        name: Quantity(n * median(values), n * low, n * high, ValueKind.DERIVED, source)
        for name, values in found.items()
        if len(values) >= SAMPLES
        for low, _, high in [quantiles(values)]
        if low > 0
    }
    return rates, n


def _ran_at(stage: StageLoad, t_s: float) -> bool:
    return stage.started_s < t_s <= stage.started_s + stage.elapsed_s


def _moved(stage: StageLoad, samples: Sequence[DiskSample], column: str, hosts: int) -> float:
    """Bytes that the disks of one host moved during `stage`."""
    rate = sum(getattr(each, column) for each in samples) / len({each.t_s for each in samples})
    return float(rate) / hosts * stage.elapsed_s


def _samples(measured: MeasuredJob, folders: Sequence[str]) -> Iterable[DiskSample]:
    """The samples of the disks behind `folders`, host by host."""
    began_s = measured.account.began_s or 0.0
    for host in measured.trial.cluster.hosts:
        devices = _devices(host, folders)
        frame = measured.disk_series.get(host.name)
        if frame is not None:
            for t_s, device, busy, read, written in frame.iter_rows():
                if device in devices and None not in (busy, read, written):
                    yield DiskSample(t_s - began_s, busy, read, written)


def _devices(host: Host, folders: Sequence[str]) -> set[object]:
    """The names of the disks of a host behind `folders`."""
    mounts = [mount_of(host.facts, folder) for folder in folders]
    return {device_of(host.facts, each).get("name") for each in mounts if each}
