"""This machine's own rates, to compare with those set for a lab's disks and links.

The agent measures them briefly while the lab is up and idle: writing and reading files at the place
of the disks' images (DiskBench); writing memory for the first time, as buffered data does
(`memory`); and sending between as many peers as hosts over the loopback device (NetBench), which is
limited by CPU time, as in a lab.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from venturi.core import units
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.agent_results import DiskReport, MemoryResult, NetReport
from venturi.measure.lab.lab_spec import LabDisk, LabSpec
from venturi.measure.lab.plan import images_of

_SECONDS = 0.25
_MARGIN = 1.05  # of half a second's measurement
_LEAST_BYTES, _MOST_BYTES = 16 * 2**20, 256 * 2**20
_MEMORY_BYTES = 32 * 2**20
_MOST_PEERS = 8


@dataclass(frozen=True, slots=True)
class Images:
    """The disks with images on one file system, and that file system's rates in bytes/s."""

    folder: str
    disks: tuple[str, ...]
    write_bytes_per_s: float
    read_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class MachineRates:
    """The machine's rates in a short measurement, in bytes/s; None if no limit depends on them."""

    images: tuple[Images, ...]
    memory_bytes_per_s: float | None
    links_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A part of a lab with a total rate, at full load, above this machine's own."""

    what: str
    set_bytes_per_s: float
    given_bytes_per_s: float
    said: str
    """Both in words."""


def measured(agent: Agent, made: LabSpec, id: str, folder: Path) -> MachineRates:
    """Measure this machine's rates for the lab that was `made` in its `folder`, in about half a
    second.

    Parts without a limit are omitted. VenturiError if the agent can't measure.
    """
    by_device: dict[int, tuple[Path, list[tuple[str, LabDisk]]]] = {}
    for host in made.hosts:
        place = images_of(made, host, id, folder)
        for disk in host.disks:
            _, disks = by_device.setdefault(place.stat().st_dev, (place, []))
            disks.append((f"{host.name}/{disk.name}", disk))
    images = tuple(
        _images(agent, place, disks)
        for place, disks in by_device.values()
        if any(disk.write_bytes_per_s or disk.read_bytes_per_s for _, disk in disks)
    )
    memory = links = None
    if images:
        touched = agent.run("memory", "--bytes", _MEMORY_BYTES).read(MemoryResult)
        memory = touched.first_touch_bytes_per_s
    if len(_links(made)) > 1:
        peers = min(len(made.hosts), _MOST_PEERS)
        said = agent.run(
            "net",
            "--loopback",
            peers,
            "--pattern",
            "all_to_all",
            "--scale",
            peers,
            "--iterations",
            1,
            "--max-seconds",
            _SECONDS,
        )
        report = said.read(NetReport)
        links = sum(rate or 0.0 for row in report.measurements[-1].matrix for rate in row)
    return MachineRates(images, memory, links)


def _images(agent: Agent, place: Path, disks: list[tuple[str, LabDisk]]) -> Images:
    rates = [(disk.write_bytes_per_s or 0.0, disk.read_bytes_per_s or 0.0) for _, disk in disks]
    wanted = max(sum(each) for each in zip(*rates, strict=True)) * _SECONDS
    size_bytes = round(min(max(wanted, _LEAST_BYTES), _MOST_BYTES))
    said = agent.run(
        "disk",
        "--dir",
        place,
        "--mode",
        "write,read",
        "--iterations",
        1,
        "--bytes",
        size_bytes,
        "--min-seconds",
        0,
        "--max-seconds",
        2 * _SECONDS,
    )
    report = said.read(DiskReport)
    found = {each.mode: each.bytes_per_s.mean for each in report.measurements if each.dir is None}
    names = tuple(name for name, _ in disks)
    return Images(str(place), names, found["write"], found["read"])


def _links(made: LabSpec) -> list[float]:
    return [host.link_bytes_per_s for host in made.hosts if host.link_bytes_per_s is not None]


def shortfalls(made: LabSpec, carried: MachineRates) -> Iterator[Shortfall]:
    """Yield the rates of the lab that was `made` that exceed this machine's own."""
    disks = {f"{host.name}/{disk.name}": disk for host in made.hosts for disk in host.disks}
    written = 0.0
    for images in carried.images:
        here = [disks[name] for name in images.disks]
        ways = (
            ("write", images.write_bytes_per_s, [each.write_bytes_per_s for each in here]),
            ("read", images.read_bytes_per_s, [each.read_bytes_per_s for each in here]),
        )
        for way, given, rates in ways:
            total = sum(each or 0.0 for each in rates)
            if total > _MARGIN * given:
                both = f"{units.format_rate(total)} in total; a file there reached"
                yield Shortfall(
                    f"{_disks(len(here))} in {images.folder}, to {way}",
                    total,
                    given,
                    f"{both} {units.format_rate(given)}",
                )
            written += total if way == "write" else 0.0
    memory, links = carried.memory_bytes_per_s, carried.links_bytes_per_s
    if memory is not None and written > _MARGIN * memory:
        yield Shortfall(
            f"{_disks(len(disks))}, buffered writes",
            written,
            memory,
            f"{units.format_rate(written)} in total; newly allocated memory was written with "
            f"{units.format_rate(memory)}",
        )
    limited = _links(made)
    if links is not None and sum(limited) > _MARGIN * links:
        yield Shortfall(
            f"{len(limited)} links, all hosts sending",
            sum(limited),
            links,
            f"{units.format_line_rate(sum(limited))} in total; connections over loopback "
            f"reached {units.format_line_rate(links)}",
        )


def _disks(count: int) -> str:
    return "1 disk" if count == 1 else f"{count} disks"


def from_data(data: Mapping[str, Any]) -> MachineRates:
    """Restore rates from the data that `dataclasses.asdict` made."""
    images = (Images(**{**each, "disks": tuple(each["disks"])}) for each in data["images"])
    return MachineRates(tuple(images), data["memory_bytes_per_s"], data["links_bytes_per_s"])
