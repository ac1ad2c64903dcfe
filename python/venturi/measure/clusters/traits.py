"""Traits of hosts, and the outliers among hosts that should be equal. The majority decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from venturi.core.units import format_bytes, format_bytes_decimal, format_line_rate
from venturi.measure.clusters.names import names_of

if TYPE_CHECKING:
    from venturi.measure.clusters.cluster_spec import HostSpec
    from venturi.measure.clusters.survey import HostSurvey
    from venturi.record.trial import Host

Facts = Mapping[str, Any]

MEMORY_TOLERANCE = 0.01
"""Kernels and firmware of one kind of machine keep some MB of it, not always as many."""
DISK_TOLERANCE = 0.01
FREE_TOLERANCE = 0.25
"""Data that fits on one of several disks with the same use should fit on the others."""

# The kernel makes these of the memory that it finds.
_OF_MEMORY = frozenset(
    {"fs.file-max", "kernel.threads-max", "net.ipv4.tcp_mem", "vm.min_free_kbytes"}
)
_PLAIN = {
    "cpu_model": "CPU",
    "cpu_governors": "CPU governors",
    "numa_nodes": "memory nodes",
    "architecture": "architecture",
    "virtualisation": "virtualization",
    "kernel_release": "kernel",
    "os_name": "system",
    "clock_source": "clock source",
    "transparent_huge_pages": "transparent huge pages",
    "limit_open_files_soft": "limit of open files",
    "limit_processes_soft": "limit of processes",
    "limit_locked_memory_soft_bytes": "limit of locked memory",
}


_NUMBER_OF = "number of "
_OF_A_DISK = (
    "size of ",
    "model of ",
    "file system of ",
    "scheduler of ",
    "read-ahead of ",
    "write cache of ",
    "free space of ",
)


@dataclass(frozen=True, slots=True)
class TraitValue:
    """A trait's human-readable value. Numbers are equal within `tolerance`, a share of the smaller
    one. For sizes, `unit` says decimal or binary.
    """

    text: str
    number: float | None = None
    tolerance: float = 0.0
    unit: Literal["", "B", "iB"] = ""


@dataclass(frozen=True, slots=True)
class TraitDifference:
    """A trait with different values on hosts that should be equal.

    `usual` is the most frequent value, and `odd` are the hosts with other values; without a most
    frequent value, `usual` is None and `odd` are all hosts. A value of None is unknown.
    """

    trait: str
    usual: TraitValue | None
    odd: Mapping[str, TraitValue | None]
    count: int
    """Hosts that were compared."""


def differences(
    hosts: Mapping[str, Mapping[str, TraitValue | None]],
) -> tuple[TraitDifference, ...]:
    """Return the traits in which `hosts`, which should be equal, differ; hosts by name, traits in
    their order. A trait unknown on all hosts doesn't differ.
    """
    names = dict.fromkeys(trait for traits in hosts.values() for trait in traits)
    found = (_difference(trait, _values(trait, hosts)) for trait in names)
    return tuple(each for each in found if each is not None)


def _values(
    trait: str, hosts: Mapping[str, Mapping[str, TraitValue | None]]
) -> Mapping[str, TraitValue | None]:
    """A host without disks of a class has none of them, and they have no size or model."""
    if trait.startswith(_NUMBER_OF):
        return {host: traits.get(trait, TraitValue("none")) for host, traits in hosts.items()}
    if trait.startswith(_OF_A_DISK):
        return {host: traits[trait] for host, traits in hosts.items() if trait in traits}
    return {host: traits.get(trait) for host, traits in hosts.items()}


def _difference(trait: str, values: Mapping[str, TraitValue | None]) -> TraitDifference | None:
    groups = _equal_hosts(values)
    unknown = [host for host, value in values.items() if value is None]
    if not groups or len(groups) + bool(unknown) < 2:
        return None
    first, *others = groups
    if others and len(others[0]) == len(first):
        return TraitDifference(trait, None, dict(values), len(values))
    odd = {host: value for host, value in values.items() if host not in first}
    return TraitDifference(trait, values[first[len(first) // 2]], odd, len(values))


def _equal_hosts(values: Mapping[str, TraitValue | None]) -> list[list[str]]:
    """Group the hosts by equal value, the largest group first. Hosts with an unknown value are
    omitted.
    """
    groups: dict[object, list[str]] = {}
    numbers = sorted(
        (value.number, host)
        for host, value in values.items()
        if value is not None and value.number is not None
    )
    before: float | None = None
    key = 0
    for number, host in numbers:
        value = values[host]
        assert value is not None
        if before is not None and number > before * (1 + value.tolerance):
            key += 1
        before = number
        groups.setdefault(key, []).append(host)
    for host, value in values.items():
        if value is not None and value.number is None:
            groups.setdefault(value.text, []).append(host)
    return sorted(groups.values(), key=len, reverse=True)


def sentence(found: TraitDifference) -> str:
    """Describe the difference: each odd value with its hosts, and the usual value."""
    having: dict[TraitValue | None, list[str]] = {}
    for host, value in found.odd.items():
        having.setdefault(value, []).append(host)
    if found.usual is None:
        told = "; ".join(f"{names_of(hosts)}: {_text(value)}" for value, hosts in having.items())
        return f"{found.trait} differs, without a usual value: {told}"
    return "; ".join(
        _clause(
            names_of(hosts), "has" if len(hosts) == 1 else "have", found.trait, value, found.usual
        )
        for value, hosts in having.items()
    )


def _clause(hosts: str, have: str, trait: str, value: TraitValue | None, usual: TraitValue) -> str:
    if value is None:
        return f"{trait} of {hosts} is unknown (usual: {usual.text})"
    if usual.unit and value.number is not None and usual.number is not None:
        more = value.number - usual.number
        size = format_bytes(abs(more)) if usual.unit == "iB" else format_bytes_decimal(abs(more))
        than = "less" if more < 0 else "more"
        return f"{hosts} {have} {size} {than} {trait} ({value.text}; usual: {usual.text})"
    return f"{hosts} {have} {trait} {value.text} (usual: {usual.text})"


def _text(value: TraitValue | None) -> str:
    return "not known" if value is None else value.text


def memory_bytes(facts: Facts) -> int | None:
    """Return the memory available to a host's processes: all of it, or the limit of its control
    group if that is less.
    """
    found = _least(facts, "memory_total_bytes", "cgroup_memory_limit_bytes")
    return None if found is None else int(found)


def threads(facts: Facts) -> float | None:
    """Return how many hardware threads the host's processes can use concurrently; control groups
    allow fractions.
    """
    found = _least(facts, "cpu_threads_allowed", "cgroup_cpu_limit_cores")
    return None if found is None else round(found, 2)


def _least(facts: Facts, there: str, limit: str) -> float | None:
    known = (facts.get(there), facts.get(limit))  # a limit may be `unlimited`
    return min((each for each in known if isinstance(each, int | float)), default=None)


def traits_of(spec: HostSpec, said: HostSurvey) -> Mapping[str, TraitValue | None]:
    """The traits of a host, those first that matter most."""
    links = {name: port.bytes_per_s for name, port in spec.ports.items()}
    return dict(_traits(spec.disks, links, said.facts, said))


def recorded_differences(hosts: Sequence[Host]) -> tuple[TraitDifference, ...]:
    """Return the traits in which a trial's hosts with the same roles differ, by their facts."""
    alike: dict[tuple[str, ...], dict[str, Mapping[str, TraitValue | None]]] = {}
    for host in hosts:
        disks = {name: tuple(map(Path, folders)) for name, folders in host.disks.items()}
        links = {name: link.bytes_per_s for name, link in host.links.items()}
        traits = dict(_traits(disks, links, host.facts, None))
        alike.setdefault(tuple(sorted(host.roles)), {})[host.name] = traits
    return tuple(each for group in alike.values() for each in differences(group))


def _traits(
    disks: Mapping[str, Sequence[Path]],
    links: Mapping[str, float | None],
    facts: Facts,
    said: HostSurvey | None,
) -> Iterator[tuple[str, TraitValue | None]]:
    yield "memory", _size(memory_bytes(facts), MEMORY_TOLERANCE, "iB")
    yield "swap space", _size(facts.get("swap_total_bytes"), 0.0, "iB")
    yield "CPU threads", _plain(threads(facts))
    yield _PLAIN["cpu_model"], _plain(facts.get("cpu_model"))
    yield from _disks(disks, facts, said)
    for network, rate in links.items():
        known = None if rate is None else TraitValue(format_line_rate(rate), rate)
        yield f"link to {network}", known
    for interface in _elements(facts, "network_interfaces"):
        if interface.get("kind") != "loopback" and interface.get("state") == "up":
            name = interface.get("name")
            yield f"MTU of {name}", _plain(interface.get("mtu_bytes"))
            yield f"link speed of {name}", _plain(interface.get("speed_bits_per_s"), " bit/s")
    for fact, name in _PLAIN.items():
        yield name, _plain(facts.get(fact))
    if said is not None:
        yield "Java", TraitValue(said.java or "none")
        yield "agent", TraitValue(f"{said.agent.version} ({said.agent.git_sha})")
    sysctls = facts.get("sysctls")
    for name, value in sorted(sysctls.items() if isinstance(sysctls, Mapping) else ()):
        if name not in _OF_MEMORY:
            yield name, _plain(value)


def _disks(
    disks: Mapping[str, Sequence[Path]], facts: Facts, said: HostSurvey | None
) -> Iterator[tuple[str, TraitValue | None]]:
    """Yield the traits of the disks in the cluster file. Disks of one class in the same place
    should be equal.
    """
    surveys = {} if said is None else {each.path: each for each in said.folders}
    for name, folders in disks.items():
        yield f"{_NUMBER_OF}{name} disks", TraitValue(str(len(folders)))
        for place, folder in enumerate(folders, start=1):
            disk = f"{name} disk {place}" if len(folders) > 1 else f"{name} disk"
            file_system, device = disk_of(facts, folder)
            yield f"size of {disk}", _size(device.get("size_bytes"), DISK_TOLERANCE, "B")
            yield f"model of {disk}", _plain(device.get("model"))
            yield f"file system of {disk}", _plain(file_system.get("kind"))
            yield f"scheduler of {disk}", _plain(device.get("scheduler"))
            yield f"read-ahead of {disk}", _size(device.get("read_ahead_bytes"), 0.0, "iB")
            yield f"write cache of {disk}", _plain(device.get("write_cache"))
            free = surveys[folder].free_bytes if folder in surveys else None
            yield f"free space of {disk}", _size(free, FREE_TOLERANCE, "B")


def disk_of(facts: Facts, folder: Path) -> tuple[Facts, Facts]:
    """The file system that `folder` is on, and the disk below it; empty if they are not known."""
    mounted = [
        (len(Path(point).parts), each)
        for each in _elements(facts, "file_systems")
        if folder.is_relative_to(point := str(each.get("mount_point")))
    ]
    if not mounted:
        return {}, {}
    file_system = max(mounted, key=lambda each: each[0])[1]
    disks = {each.get("name"): each for each in _elements(facts, "block_devices")}
    return file_system, disks.get(file_system.get("block_device"), {})


def _elements(facts: Facts, name: str) -> list[Facts]:
    found = facts.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _size(value: object, tolerance: float, unit: Literal["B", "iB"]) -> TraitValue | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    text = format_bytes(value) if unit == "iB" else format_bytes_decimal(value)
    return TraitValue(text, float(value), tolerance, unit)


def _plain(value: object, unit: str = "") -> TraitValue | None:
    if value is None:
        return None
    if isinstance(value, list):
        return TraitValue(", ".join(map(str, value)))
    return TraitValue(f"{value}{unit}" if isinstance(value, str) else f"{value:,}{unit}")
