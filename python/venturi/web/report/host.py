"""The host card: the agent's facts in the order a reader asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from venturi.core.statistics.stats import Missing
from venturi.core.units import format_bytes, format_bytes_decimal
from venturi.machines.health.devices import mount_of
from venturi.record.trial import Trial
from venturi.web.report.data import FactGroup, ReportFact, Text

NOT_SAID = "the agent didn't report it"
Facts = Mapping[str, Any]


def _reason(facts: Facts, name: str) -> Missing:
    missing = facts.get("missing")
    told = missing.get(name) if isinstance(missing, Mapping) else None
    return Missing(str(told) if told else NOT_SAID)


def _fact(facts: Facts, name: str, tell: Callable[[Any], str] = str) -> Text:
    """The fact `name` as text, or the agent's own reason why it is not known."""
    value = facts.get(name)
    return _reason(facts, name) if value is None else tell(value)


def _joined(*parts: str | None) -> Text:
    return ", ".join(part for part in parts if part) or Missing(NOT_SAID)


def _device(device: Facts) -> Text:
    size, rotational = device.get("size_bytes"), device.get("rotational")
    return _joined(
        str(device["model"]) if device.get("model") else None,
        format_bytes_decimal(size) if size is not None else None,
        None if rotational is None else ("reported as spinning" if rotational else "solid state"),
        str(device["transport"]) if device.get("transport") else None,
        f"scheduler {device['scheduler']}" if device.get("scheduler") else None,
        f"cache {device['write_cache']}" if device.get("write_cache") else None,
    )


def _interface(interface: Facts) -> Text:
    speed = interface.get("speed_bits_per_s")
    return _joined(
        str(interface.get("kind") or "") or None,
        "speed not reported" if speed is None else f"{speed / 1e6:,.0f} Mbit/s",
        f"MTU {interface['mtu_bytes']}" if interface.get("mtu_bytes") else None,
        f"driver {interface['driver']}" if interface.get("driver") else None,
        f"{interface['state']}" if interface.get("state") not in {None, "up"} else None,
    )


def _file_system(entry: Facts) -> Text:
    free, total = entry.get("free_bytes"), entry.get("total_bytes")
    return _joined(
        f"{entry.get('kind', '')} on {entry.get('device', '')}",
        f"{format_bytes_decimal(free)} free of {format_bytes_decimal(total)}"
        if free is not None and total is not None
        else None,
        " ".join(map(str, entry.get("options") or ())),
    )


def _mounts_in_use(facts: Facts, trials: Sequence[Trial]) -> list[Facts]:
    """The file systems that hold a directory of the trials: the longest mount point above each."""
    used: dict[str, Facts] = {}
    roles = [dirs for trial in trials for dirs in trial.cluster.disks_by_role.values()]
    for directory in {directory for dirs in roles for directory in dirs}:
        mount = mount_of(facts, directory)
        if mount is not None:
            used[str(mount["mount_point"])] = mount
    return [used[name] for name in sorted(used)]


def _group(
    title: str, items: Sequence[Facts], key: str, tell: Callable[[Facts], Text], none: Missing
) -> FactGroup:
    told = tuple(ReportFact(str(item.get(key) or "unnamed"), tell(item)) for item in items)
    return FactGroup(title, told or (ReportFact(title, none),))


def host_card(trials: Sequence[Trial]) -> tuple[FactGroup, ...]:
    """Facts of the first host that has any; without any, a line that says so."""
    hosts = [host for trial in trials for host in trial.cluster.hosts]
    if not hosts:
        return (FactGroup("Machine", (ReportFact("Host", Missing("no trial names its host")),)),)
    host = next((candidate for candidate in hosts if candidate.facts), hosts[0])
    facts = host.facts
    cores = [facts.get(name) for name in ("cpu_sockets", "cpu_cores", "cpu_threads")]
    counts: Text = " / ".join("—" if count is None else str(count) for count in cores)
    if all(count is None for count in cores):
        counts = _reason(facts, "cpu_threads")
    machine = (
        ReportFact("Host", host.name),
        ReportFact("CPU", _fact(facts, "cpu_model")),
        ReportFact("Sockets / cores / threads", counts),
        ReportFact("NUMA nodes", _fact(facts, "numa_nodes")),
        ReportFact("Memory", _fact(facts, "memory_total_bytes", format_bytes)),
        ReportFact("Virtualization", _fact(facts, "virtualisation")),
        ReportFact("Container", _fact(facts, "container")),
        ReportFact("System", _fact(facts, "os_name")),
        ReportFact("Kernel", _fact(facts, "kernel_release")),
        ReportFact("Huge pages", _fact(facts, "transparent_huge_pages")),
    )
    interfaces = [i for i in facts.get("network_interfaces") or () if i.get("kind") != "loopback"]
    return (
        FactGroup("Machine", machine),
        _group(
            "Disks",
            [d for d in facts.get("block_devices") or () if d.get("transport") != "loop"],
            "name",
            _device,
            _reason(facts, "block_devices"),
        ),
        _group(
            "File systems used",
            _mounts_in_use(facts, trials),
            "mount_point",
            _file_system,
            _reason(facts, "file_systems"),
        ),
        _group(
            "Network interfaces",
            interfaces,
            "name",
            _interface,
            _reason(facts, "network_interfaces"),
        ),
    )
