"""The steps that make a lab, in order: each needs only earlier ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from venturi.measure.lab.disk_steps import Image, Loop, Merge, Mount, Throttle
from venturi.measure.lab.lab_spec import FOLDER, LabDisk, LabHost, LabSpec
from venturi.measure.lab.steps import (
    SWITCHES,
    ControlGroup,
    Folder,
    Holder,
    LabNetwork,
    LabStep,
    MountPoint,
    Spindle,
)

_PERIOD_US = 100_000
_DIRTY_BYTES_MIN = 16 * 2**20
_DIRTY_S = 0.8
KINDS: Mapping[str, Callable[..., LabStep]] = {
    each.kind: each
    for each in (
        *(MountPoint, Holder, LabNetwork, ControlGroup, Folder, Spindle),
        *(Image, Loop, Throttle, Mount, Merge),
    )
}
"""The class of each kind of step in a journal."""


def steps_of(
    spec: LabSpec, id: str, folder: Path, groups: dict[str, Path], agent: Path | None
) -> Iterator[LabStep]:
    """Yield the steps of the (dilated) lab with the folder `folder`; `groups` are the root groups
    of the controllers. Without an `agent` it must have no disks of the model spindle.
    """
    yield MountPoint(str(FOLDER))
    yield Holder(SWITCHES, "switches")
    for host in spec.hosts:
        yield Holder(host.name, host.name)
    yield LabNetwork()
    for root in sorted({str(groups[name]) for host in spec.hosts for name in _limits(host)}):
        yield ControlGroup(f"{root}/venturi-lab-{id}")
    for host in spec.hosts:
        for name, values in _limits(host).items():
            yield ControlGroup(str(group_of(groups[name], id, host.name)), values)
    for images in dict.fromkeys(images_of(spec, host, id, folder) for host in spec.hosts):
        yield Folder(str(images))
    disks = [
        (host, disk, images_of(spec, host, id, folder) / f"{_file_name(host, disk)}.img")
        for host in spec.hosts
        for disk in host.disks
    ]
    for host, disk, image in disks:
        yield Image(f"{host.name}/{disk.name}", str(image), disk.size_bytes)
    if served := [_served(host, disk, image) for host, disk, image in disks if _turns(disk)]:
        yield Spindle(str(agent), tuple(served))
    for host, disk, image in disks:
        yield from (_spindle(host, disk) if _turns(disk) else _throttled(host, disk, image))
    for host in spec.hosts:
        if host.disks:
            yield Mount(host.name, tuple(disk.name for disk in host.disks))
        for pool in host.pools:
            own = tuple(str(group_of(groups[name], id, host.name)) for name in controllers(host))
            yield Merge(host.name, pool.name, pool.disks, pool.free_bytes, own)


def group_of(root: Path, id: str, host: str) -> Path:
    """A host's group below the root group of a controller."""
    return root / f"venturi-lab-{id}" / host


def images_of(spec: LabSpec, host: LabHost, id: str, folder: Path) -> Path:
    """The folder with the files of a host's disks; its name has the lab's id in it."""
    return (host.images or spec.images or folder) / f"venturi-lab-{id}"


def _limits(host: LabHost) -> dict[str, dict[str, str]]:
    """Return the settings of a host's groups, by controller."""
    limits: dict[str, dict[str, str]] = {}
    if host.memory_bytes is not None:
        limits["memory"] = {"memory.limit_in_bytes": str(host.memory_bytes)}
    if host.cpus is not None:
        quota_us = max(1000, round(host.cpus * _PERIOD_US))
        limits["cpu"] = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}
    return limits


def controllers(host: LabHost) -> tuple[str, ...]:
    """The controllers in which a host has a group."""
    return tuple(_limits(host))


def _file_name(host: LabHost, disk: LabDisk) -> str:
    return f"{host.name}.{disk.name}"  # no name has a point in it


def _turns(disk: LabDisk) -> bool:
    return disk.model == "spindle"


def _served(host: LabHost, disk: LabDisk, image: Path) -> str:
    """Describe a disk for the server, as JSON."""
    mechanism: dict[str, object] = {"kind": "ssd", "iops": disk.read_iops}
    if disk.seek_s is not None and disk.rotation_s is not None:
        mechanism = {
            "kind": "hdd",
            "seek_average_ms": disk.seek_s * 1000,
            "revolution_ms": disk.rotation_s * 1000,
        }
    mechanism["rate_bytes_per_s"] = disk.read_bytes_per_s
    return json.dumps(
        {
            "name": _file_name(host, disk),
            "image": str(image),
            "size_bytes": disk.size_bytes,
            "mechanism": mechanism,
        }
    )


def _spindle(host: LabHost, disk: LabDisk) -> Iterator[LabStep]:
    """A disk that takes its time itself, before its requests are answered."""
    yield Loop(
        f"{host.name}/{disk.name}",
        served=_file_name(host, disk),
        dirty_bytes=_dirty_bytes(disk),
    )


def _throttled(host: LabHost, disk: LabDisk, image: Path) -> Iterator[LabStep]:
    """Yield a throttled disk: a limited loop device, and over it an unlimited one, which is
    mounted. A request waits for a limit before its device gets it; so the upper device's figures
    include that time, and the lower one's don't.
    """
    name = f"{host.name}/{disk.name}"
    limits = {
        "read_bps": disk.read_bytes_per_s,
        "write_bps": disk.write_bytes_per_s,
        "read_iops": disk.read_iops,
        "write_iops": disk.write_iops,
    }
    lower = f"{name}/lower"
    yield Loop(lower, backing=str(image))
    yield Throttle(lower, {key: round(value) for key, value in limits.items() if value is not None})
    yield Loop(name, over=lower, dirty_bytes=_dirty_bytes(disk))


def _dirty_bytes(disk: LabDisk) -> int:
    """Return how many bytes of a disk may wait in memory: below about a second of its writes, the
    kernel would delay writers longer than the disk does.
    """
    if disk.dirty_bytes is not None or disk.write_bytes_per_s is None:
        return disk.dirty_bytes or 0
    return max(_DIRTY_BYTES_MIN, round(disk.write_bytes_per_s * _DIRTY_S))
