"""Classes of disks and links: which one a host's facts say it is, and how fast its kind is.

The classes are a table (`tables/devices.toml`), each rate with source and date.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import Any

from pydantic import ConfigDict, TypeAdapter

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class DiskClass:
    """One `[[disk]]` of the table, with rates or else a reason. The table's head explains the
    fields.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    title: str
    file_systems: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    rotational: bool | None = None
    read_mb_per_s: tuple[float, float] | None = None
    source: str | None = None
    as_of: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        known = self.read_mb_per_s is not None
        if known != (self.source is not None and self.as_of is not None):
            raise ValueError(f"{self.id}: a rate has a source and a date")
        if known == (self.reason is not None):
            raise ValueError(f"{self.id}: either rates or the reason for their absence")
        if not (self.file_systems or self.models or self.transports):
            raise ValueError(f"{self.id}: no fact identifies a disk of this class")

    def holds(self, file_system: Facts, device: Facts) -> bool:
        """Whether a device under a file system is of this class."""
        model = str(device.get("model") or "")
        return (
            (not self.file_systems or file_system.get("kind") in self.file_systems)
            and (not self.models or model.startswith(self.models))
            and (not self.transports or device.get("transport") in self.transports)
            and (self.rotational is None or device.get("rotational") is self.rotational)
        )


@dataclass(frozen=True)
class LinkEfficiency:
    """The table's `[link]`: the share of its line rate that a link carries."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    header_bytes: int
    frame_bytes: int
    least_share: float
    source: str
    as_of: str
    speeds_gbit_per_s: tuple[float, ...]

    def payload_bytes_per_s(self, speed_bits_per_s: float, mtu_bytes: float = 1500) -> float:
        """The most that TCP moves over a link of this speed."""
        share = (mtu_bytes - self.header_bytes) / (mtu_bytes + self.frame_bytes)
        return speed_bits_per_s / 8 * share

    def at_least(self, bytes_per_s: float) -> float | None:
        """The slowest Ethernet, in bits/s, that carries so much; None: there is none so fast."""
        speeds = (speed * 1e9 for speed in self.speeds_gbit_per_s)
        return next((s for s in speeds if self.payload_bytes_per_s(s, 9000) >= bytes_per_s), None)


@dataclass(frozen=True)
class Devices:
    """The whole table."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    disk: tuple[DiskClass, ...]
    link: LinkEfficiency


@cache
def load_devices() -> Devices:
    """The table; an error in it is a bug and raises pydantic's."""
    text = (resources.files("venturi.machines.health") / "devices.toml").read_text("utf-8")
    return TypeAdapter(Devices).validate_python(tomllib.loads(text))


def mount_of(facts: Facts, directory: str) -> Facts | None:
    """The file system that holds `directory`: the longest mount point above it."""
    path = PurePath(directory)
    above = [
        mount
        for mount in facts.get("file_systems") or ()
        if path.is_relative_to(str(mount["mount_point"]))
    ]
    return max(above, key=lambda mount: len(str(mount["mount_point"])), default=None)


def device_of(facts: Facts, mount: Facts) -> Facts:
    """The whole block device under a file system; empty if there is none that is known."""
    devices = facts.get("block_devices") or ()
    name = mount.get("block_device")
    return next((device for device in devices if name and device.get("name") == name), {})


def disk_class(file_system: Facts, device: Facts) -> DiskClass | None:
    """The class of a disk; None if the facts fit none."""
    return next((c for c in load_devices().disk if c.holds(file_system, device)), None)
