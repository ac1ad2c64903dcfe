"""Parses a lab's TOML file strictly, and reports all mistakes together, each with its line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from venturi.core import toml_file, units
from venturi.core.errors import VenturiError
from venturi.core.toml_file import Bytes, KeyLines, KeyPath, Mistake, Seconds, Strict, Text
from venturi.core.wording import did_you_mean
from venturi.measure.lab.lab_spec import (
    CORE,
    MACHINE,
    NETWORKS,
    LabDisk,
    LabHost,
    LabSpec,
    Model,
    Pool,
    Switch,
)

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_OF_NAMES = "small letters, digits and -, 32 at most"
MOST_HOSTS = 200
_SECTOR_BYTES = 4096
_LEAST_MEMORY_BYTES = 16 * 2**20
_LEAST_CPUS = 0.01
_LINKS = (12_500.0, 125e9, "a link has 100kbit/s to 1Tbit/s")
_DISKS = (1e5, 1e12, "a disk has 100kB/s to 1TB/s")
_REQUESTS = (1.0, 1e9, "a disk has 1 to 1,000,000,000 IOPS")
"""Limits of a lab after dilation: below them making a file system takes forever, above them the
kernel has no such limit.
"""
_MOST_SEEK_S = 10.0


def _rate(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("a rate is text with its unit, such as 100MB/s or 1Gbit/s")
    try:
        rate = units.parse_rate(value)
    except VenturiError as error:
        raise ValueError(f"{error.message}: {error.hint}") from error
    if rate <= 0:
        raise ValueError(f"{value} is too slow; leave the key out for no limit")
    return rate


_Rate = Annotated[float, BeforeValidator(_rate)]
_Iops = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class _Network(Strict):
    rate: Annotated[_Rate | None, Field(description="a host's link, each way")] = None
    addresses: Annotated[
        Text | None, Field(description="of the lab; default: the first free 10.77-127.0.0/24")
    ] = None
    mtu: Annotated[int, Field(ge=576, le=65_535, strict=True)] = 1500


class _Rack(Strict):
    uplink: Annotated[_Rate | None, Field(description="its link upwards, each way")] = None
    within: Annotated[Text, Field(description="its rack")] = CORE


class _Bond(Strict):
    ports: Annotated[Literal[1, 2, 4, 8], Field(description="network ports of the machine")]
    rate: Annotated[_Rate, Field(description="of one port, each way")]
    rack: Text = CORE
    shared: Annotated[bool, Field(description="one for all, else a port each", strict=True)] = True


class _Disk(Strict):
    size: Bytes
    model: Annotated[Model, Field(description="throttle, or spindle")] = "throttle"
    rate: Annotated[_Rate | None, Field(description="of reads and of writes")] = None
    read_rate: _Rate | None = None
    write_rate: _Rate | None = None
    iops: Annotated[_Iops | None, Field(description="of reads and of writes")] = None
    read_iops: _Iops | None = None
    write_iops: _Iops | None = None
    seek: Annotated[Seconds | None, Field(description="average seek (spindle)")] = None
    rotation: Annotated[Seconds | None, Field(description="of one rotation (spindle)")] = None
    dirty: Annotated[Bytes | None, Field(description="maximum unwritten data in memory")] = None
    seen_as: Annotated[Text | None, Field(alias="class", description="if not NAME")] = None


class _Pool(Strict):
    disks: Annotated[tuple[Text, ...], Field(min_length=2, description="one pool per last disk")]
    free: Annotated[Bytes, Field(description="space to leave free on all but the last")] = 0


class _Host(Strict):
    name: Annotated[Text, Field(description="with a count: the prefix of the names")]
    count: Annotated[int | None, Field(ge=1, le=MOST_HOSTS, strict=True)] = None
    address: Text | None = None
    rate: Annotated[_Rate | None, Field(description="its link, each way")] = None
    rack: Text | None = None
    bond: Text | None = None
    disks: Annotated[
        dict[str, Annotated[int, Field(ge=1, le=64, strict=True)]],
        Field(description="number of disks per class"),
    ] = Field(default={})
    pools: tuple[Text, ...] = ()
    memory: Annotated[Bytes | None, Field(description="page cache included")] = None
    cpus: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    roles: tuple[Literal["master", "worker", "client"], ...] = ("worker",)
    images: Annotated[Text | None, Field(description="folder for its disks' files")] = None


class LabFile(Strict):
    """All keys of a lab file."""

    name: Text = "lab"
    dilation: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    dilate_cpu: Annotated[bool, Field(strict=True)] = False
    images: Annotated[Text | None, Field(description="folder for the disks' files")] = None
    network: _Network = _Network()
    racks: dict[str, _Rack] = Field(default={})
    bonds: dict[str, _Bond] = Field(default={})
    disks: dict[str, _Disk] = Field(default={})
    pools: dict[str, _Pool] = Field(default={})
    hosts: tuple[_Host, ...] = Field(min_length=1)


_PARTS = {
    "network": "a network",
    "racks": "a rack",
    "bonds": "a bond",
    "disks": "a class of disks",
    "pools": "a pool of disks",
    "hosts": "a host",
}


def lab_of(text: str, file: Path) -> LabSpec:
    """The lab in the `text` of `file`; VEN-LAB-FILE with every mistake in it."""
    spec, mistakes = parse_lab(text, file)
    if spec is None:
        raise toml_file.refused(
            "VEN-LAB-FILE", "the lab", file, mistakes, "docs/guide/measure/lab.md has an example"
        )
    return spec


def parse_lab(text: str, file: Path) -> tuple[LabSpec | None, tuple[Mistake, ...]]:
    """Parse the lab in the `text` of `file`, to which its folders are relative; return it or all
    mistakes.
    """
    folder = file.absolute().parent
    given, lines, mistakes = toml_file.parse(LabFile, text, "a lab", _PARTS)
    if given is None:
        return None, mistakes
    if mistakes := lines.sorted(_doubts(given)):
        return None, mistakes
    named = given.network.addresses
    network = NETWORKS[0] if named is None else IPv4Network(named)
    hosts, doubts = _hosts(given, network, folder)
    if mistakes := lines.sorted((*doubts, *_same(hosts, lines))):
        return None, mistakes
    return LabSpec(
        name=given.name,
        network=str(network),
        machine_address=str(network.broadcast_address - 1),
        mtu=given.network.mtu,
        dilation=given.dilation,
        dilate_cpu=given.dilate_cpu,
        images=None if given.images is None else folder / given.images,
        switches=_switches(given),
        hosts=tuple(host for _, host in hosts),
        addresses_named=named is not None or any(host.address for host in given.hosts),
        file=file,
        size_lines={name: lines.of(("disks", name, "size")) for name in given.disks},
    ), ()


def _doubts(given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    """Yield the mistakes in single keys, independent of the others."""
    if not NAME.fullmatch(given.name):
        yield ("name",), f"name: {given.name!r} is not a valid name: use {_OF_NAMES}"
    if given.dilate_cpu and given.dilation == 1:
        yield ("dilate_cpu",), "dilate_cpu needs a dilation"
    if given.network.addresses is not None:
        yield from _doubtful_network(given.network.addresses)
    for name in {*given.racks, *given.bonds}:
        table = "racks" if name in given.racks else "bonds"
        if not NAME.fullmatch(name) or name == CORE:
            yield (table, name), f"{table}.{name}: use small letters, digits and -, and not {CORE}"
        if name in given.racks and name in given.bonds:
            yield ("bonds", name), f"bonds.{name}: a rack has this name"
    yield from _doubtful_racks(given)
    yield from _doubtful_speeds(given)
    for name, disk in given.disks.items():
        yield from _doubtful_disk(name, disk)
    for name, pool in given.pools.items():
        yield from _doubtful_pool(name, pool, given)
    for place, host in enumerate(given.hosts):
        yield from _doubtful_host(place, host, given)
        yield from _doubtful_pools_of(place, host, given)
    masters = [at for at, each in enumerate(given.hosts) if "master" in each.roles]
    if (count := sum(given.hosts[at].count or 1 for at in masters)) > 1:
        said = f"{count} hosts are the master, but only one can be"
        yield ("hosts", masters[-1], "roles"), f"hosts.roles: {said}"


def _no(what: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {what} {name!r}; {did_you_mean(name, known, 'one of')}"


def _doubtful_network(addresses: str) -> Iterator[tuple[KeyPath, str]]:
    at = ("network", "addresses")
    try:
        network = IPv4Network(addresses)
    except ValueError as error:
        yield at, f"network.addresses: {error}"
        return
    if not network.is_private or not 16 <= network.prefixlen <= 29:
        yield at, "network.addresses: give a private network of 8 to 65,536 addresses"


def _doubtful_racks(given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    known = (CORE, *given.racks)
    for name, rack in given.racks.items():
        if rack.within not in known:
            yield (
                ("racks", name, "within"),
                f"racks.{name}.within: {_no('rack', rack.within, known)}",
            )
    for name, bond in given.bonds.items():
        if bond.rack not in known:
            yield ("bonds", name, "rack"), f"bonds.{name}.rack: {_no('rack', bond.rack, known)}"
    told: set[str] = set()
    for name in given.racks:
        path = [name]
        while (above := given.racks.get(path[-1])) and above.within not in path:
            path.append(above.within)
        if above and above.within == name and name not in told:
            told.update(path)
            cycle = " in ".join((*path, name))
            yield ("racks", name, "within"), f"racks.{name}.within: racks are in a cycle: {cycle}"


def _doubtful_speeds(given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    """Speeds that no lab has."""
    k = given.dilation
    links: list[tuple[KeyPath, float | None]] = [
        (("network", "rate"), given.network.rate),
        *((("racks", name, "uplink"), each.uplink) for name, each in given.racks.items()),
        *((("bonds", name, "rate"), each.rate) for name, each in given.bonds.items()),
        *((("hosts", place, "rate"), each.rate) for place, each in enumerate(given.hosts)),
    ]
    speeds = [(path, value, _LINKS) for path, value in links]
    for name, disk in given.disks.items():
        for key in ("rate", "read_rate", "write_rate", "iops", "read_iops", "write_iops"):
            bounds = _DISKS if key.endswith("rate") else _REQUESTS
            speeds.append((("disks", name, key), getattr(disk, key), bounds))
        for key in ("seek", "rotation"):
            if (getattr(disk, key) or 0) * k > _MOST_SEEK_S:
                said = f"it is {_MOST_SEEK_S:g} s at most{_times(k)}"
                yield ("disks", name, key), f"disks.{name}.{key}: {said}"
    for path, value, (least, most, said) in speeds:
        if value is not None and not least <= value / k <= most:
            place = ".".join(part for part in path if isinstance(part, str))
            yield path, f"{place}: {said}{_times(k)}"


def _times(k: float) -> str:
    return "" if k == 1 else f", after a dilation of {k:g}"


def _doubtful_class(table: str, name: str) -> Iterator[tuple[KeyPath, str]]:
    if not NAME.fullmatch(name) or name[-1].isdigit():
        said = "use small letters, digits and -, with a letter at the end"
        yield (table, name), f"{table}.{name}: {said}"


def _doubtful_disk(name: str, disk: _Disk) -> Iterator[tuple[KeyPath, str]]:
    at = ("disks", name)
    yield from _doubtful_class("disks", name)
    for both, of_reads, of_writes in (
        ("rate", "read_rate", "write_rate"),
        ("iops", "read_iops", "write_iops"),
    ):
        parts = [key for key in (of_reads, of_writes) if getattr(disk, key) is not None]
        if getattr(disk, both) is not None and parts:
            yield (*at, parts[0]), f"disks.{name}: give {both}, or {of_reads} and {of_writes}"
    strange = (
        ("seek", "rotation")
        if disk.model == "throttle"
        else ("read_rate", "write_rate", "read_iops", "write_iops")
    )
    for key in strange:
        if getattr(disk, key) is not None:
            other = "spindle" if disk.model == "throttle" else "throttle"
            yield (*at, key), f'disks.{name}.{key}: only model = "{other}" has it'
    turns = (disk.seek is not None, disk.rotation is not None, disk.iops is None)
    if disk.model == "spindle" and (disk.rate is None or len(set(turns)) > 1):
        said = "a spindle needs a rate, and either seek and rotation or, if it doesn't rotate, iops"
        yield at, f"disks.{name}: {said}"
    if disk.size < 16 * 2**20:
        yield (*at, "size"), f"disks.{name}.size: a file system needs 16 MiB at least"


def _doubtful_pool(name: str, pool: _Pool, given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    yield from _doubtful_class("pools", name)
    if name in given.disks:
        yield ("pools", name), f"pools.{name}: a class of disks has this name"
    for each in pool.disks:
        if each not in given.disks:
            said = _no("class of disks", each, given.disks)
            yield ("pools", name, "disks"), f"pools.{name}.disks: {said}"
        elif each != pool.disks[-1] and given.disks[each].size <= pool.free:
            said = f"{each} is no larger than that, so it would never be used"
            yield ("pools", name, "free"), f"pools.{name}.free: {said}"


def _doubtful_host(place: int, host: _Host, given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    at = ("hosts", place)
    if not NAME.fullmatch(host.name):
        yield (*at, "name"), f"hosts.name: {host.name!r} is not a valid name: use {_OF_NAMES}"
    if host.name in {"localhost", MACHINE}:
        yield (*at, "name"), f"hosts.name: another host has the name {host.name}"
    if host.memory is not None and host.memory < _LEAST_MEMORY_BYTES:
        yield (*at, "memory"), "hosts.memory: programs need at least 16 MiB"
    k = given.dilation if given.dilate_cpu else 1
    if host.cpus is not None and host.cpus / k < _LEAST_CPUS:
        said = f"a host needs at least {_LEAST_CPUS:g}, the kernel's minimum{_times(k)}"
        yield (*at, "cpus"), f"hosts.cpus: {said}"
    for key in ("address", "images"):
        if (host.count or 1) > 1 and getattr(host, key) is not None:
            yield (*at, key), f"hosts.{key}: {host.count} hosts cannot share it; give each a table"
    if host.rack is not None and host.bond is not None:
        yield (*at, "bond"), "hosts.bond: give either rack or bond; a bond has its own rack"
    if host.rack is not None and host.rack not in (CORE, *given.racks):
        yield (*at, "rack"), f"hosts.rack: {_no('rack', host.rack, (CORE, *given.racks))}"
    if host.bond is not None and host.bond not in given.bonds:
        yield (*at, "bond"), f"hosts.bond: {_no('bond', host.bond, given.bonds)}"
    for name in host.disks:
        if name not in given.disks:
            yield (*at, "disks"), f"hosts.disks: {_no('class of disks', name, given.disks)}"


def _doubtful_pools_of(place: int, host: _Host, given: LabFile) -> Iterator[tuple[KeyPath, str]]:
    for name in host.pools:
        said = ""
        if name not in given.pools:
            said = _no("pool", name, given.pools)
        elif lacking := set(given.pools[name].disks) - set(host.disks):
            said = f"the host lacks disks of the pool {name}: {', '.join(sorted(lacking))}"
        if said:
            yield ("hosts", place, "pools"), f"hosts.pools: {said}"


def _hosts(
    given: LabFile, network: IPv4Network, folder: Path
) -> tuple[list[tuple[int, LabHost]], list[tuple[KeyPath, str]]]:
    """Return every host with the index of its table, and the mistakes in their combination."""
    doubts: list[tuple[KeyPath, str]] = []
    reserved = {
        int(network.network_address),
        int(network.broadcast_address) - 1,
        int(network.broadcast_address),
    }
    taken = set(reserved)
    for place, host in enumerate(given.hosts):
        if host.address is not None:
            at = ("hosts", place, "address")
            try:
                address = IPv4Address(host.address)
            except ValueError as error:
                doubts.append((at, f"hosts.address: {error}"))
                continue
            if address not in network or int(address) in reserved:
                named = "" if given.network.addresses else ", as network.addresses is not given"
                said = f"{address} is not for a host of {network}{named}"
                doubts.append((at, f"hosts.address: {said}"))
            taken.add(int(address))
    free = (each for each in itertools.count(int(network.network_address) + 1) if each not in taken)
    hosts: list[tuple[int, LabHost]] = []
    for place, host in enumerate(given.hosts):
        names = (
            [host.name]
            if host.count is None
            else [f"{host.name}{number}" for number in range(1, host.count + 1)]
        )
        for name in names:
            address_text = host.address or str(IPv4Address(next(free)))
            hosts.append((place, _host(name, address_text, host, given, folder)))
    if len(hosts) > min(MOST_HOSTS, network.num_addresses - len(reserved)):
        doubts.append((("hosts",), f"hosts: {len(hosts)} are too many for {network}"))
    for name, bond in given.bonds.items():
        members = sum(host.bond == name for place, _ in hosts for host in [given.hosts[place]])
        if not bond.shared and members > bond.ports:
            said = f"{members} hosts cannot have one of {bond.ports} ports each"
            doubts.append((("bonds", name, "ports"), f"bonds.{name}.ports: {said}"))
    return hosts, doubts


def _host(name: str, address: str, host: _Host, given: LabFile, folder: Path) -> LabHost:
    rate, switch = host.rate or given.network.rate, host.rack or CORE
    if host.bond is not None:
        bond, switch = given.bonds[host.bond], host.bond
        rate = host.rate or bond.rate * (bond.ports if bond.shared else 1)
    return LabHost(
        name=name,
        address=address,
        switch=switch,
        link_bytes_per_s=rate,
        disks=tuple(
            _disk(f"{each}{number}", each, given.disks[each])
            for each, count in host.disks.items()
            for number in range(count)
        ),
        memory_bytes=host.memory,
        cpus=host.cpus,
        roles=host.roles,
        images=None if host.images is None else folder / host.images,
        pools=tuple(_pools(host, given)),
    )


def _pools(host: _Host, given: LabFile) -> Iterator[Pool]:
    for name in host.pools:
        *before, last = given.pools[name].disks
        first = [f"{each}{number}" for each in before for number in range(host.disks[each])]
        for number in range(host.disks[last]):
            own = (*first, f"{last}{number}")
            yield Pool(f"{name}{number}", name, own, given.pools[name].free)


def _disk(name: str, disk_class: str, disk: _Disk) -> LabDisk:
    return LabDisk(
        name=name,
        disk_class=disk_class,
        model=disk.model,
        size_bytes=disk.size // _SECTOR_BYTES * _SECTOR_BYTES,
        read_bytes_per_s=disk.read_rate or disk.rate,
        write_bytes_per_s=disk.write_rate or disk.rate,
        read_iops=disk.read_iops or disk.iops,
        write_iops=disk.write_iops or disk.iops,
        seek_s=disk.seek,
        rotation_s=disk.rotation,
        dirty_bytes=disk.dirty,
        seen_as=disk.seen_as,
    )


def _switches(given: LabFile) -> tuple[Switch, ...]:
    racks = [Switch(name, each.within, each.uplink) for name, each in given.racks.items()]
    bonds = [
        Switch(name, each.rack, each.rate, each.ports)
        if each.shared
        else Switch(name, each.rack, None)
        for name, each in given.bonds.items()
    ]
    return (*racks, *bonds)


def _same(hosts: Sequence[tuple[int, LabHost]], lines: KeyLines) -> Iterator[tuple[KeyPath, str]]:
    """Yield the values that two hosts share although they must be unique."""
    first: dict[tuple[str, str], tuple[int, str]] = {}
    for place, host in hosts:
        folder = str(host.images) if host.images is not None and host.disks else ""
        for key, value in (("name", host.name), ("address", host.address), ("images", folder)):
            if not value:
                continue
            other = first.setdefault((key, value), (place, host.name))
            if other == (place, host.name):
                continue
            line = lines.of(("hosts", other[0], key))
            what = {
                "name": f"two hosts have the name {value}",
                "address": f"{other[1]} and {host.name} have the same address, {value}",
                "images": (
                    f"{other[1]} and {host.name} share a disk folder, {value}, so their disks "
                    "would share files"
                ),
            }[key]
            yield ("hosts", place, key), f"hosts.{key}: {what} (the other is in line {line})"
