"""The verdict on a probe: is this device as fast as its class?

A class (SATA SSD, 10 GbE) and its rates with source come from `devices`. The verdict covers the
sequential read of a disk and the slowest pair of a network. It compares each iteration's rate with
the range of the class: all below is slower, all above is faster, otherwise the median decides if it
can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import itemgetter
from statistics import median
from typing import Any

from venturi.core.units import format_bytes_decimal, format_line_rate, format_rate
from venturi.core.wording import count_of
from venturi.machines.health.devices import (
    LinkEfficiency,
    device_of,
    disk_class,
    load_devices,
    mount_of,
)
from venturi.machines.health.doctor import ELEMENTS, Severity, counts_of, examine, load_rules
from venturi.machines.scaling.between_hosts import between_hosts
from venturi.machines.scaling.disks_of_hosts import disks_of_hosts
from venturi.record.measured_over import measured_over
from venturi.record.one_host import of_host
from venturi.record.trial import Link as HostLink
from venturi.record.trial import Trial

Facts = Mapping[str, Any]

# Single disks from slow to fast, to compare disks of unknown medium with.
_LADDER = ("hdd", "sata-ssd", "nvme-ssd")
_CACHE = (
    "a cache of the host or controller may have answered instead of the disk: measure with "
    "--bytes above its size"
)

_MEMORY = "VEN-DISK-MEMORY"  # a warning of the agent
_BURST = 1.05
"""Burst allowance of traffic shaping over a link's rate."""


class AgainstClass(StrEnum):
    """How a device compares with its class."""

    AS_FAST = "as fast as its class"
    SLOWER = "slower than its class"
    FASTER = "faster than its class"
    CANNOT_TELL = "cannot tell"
    SLOW_PEERS = "some are slower than their peers"
    ALIKE = "equally fast"


@dataclass(frozen=True)
class DeviceVerdict:
    """One device's verdict. `text` is the whole sentence, made of the other fields.

    `measured_bytes_per_s` is a median, None if it was not measured; `low_bytes_per_s` to
    `high_bytes_per_s` is the range of the class, None if the class has none.
    """

    subject: str
    standing: AgainstClass
    text: str
    device_class: str | None = None
    measured_bytes_per_s: float | None = None
    low_bytes_per_s: float | None = None
    high_bytes_per_s: float | None = None
    source: str | None = None
    as_of: str | None = None


def verdicts(trial: Trial) -> tuple[DeviceVerdict, ...]:
    """The verdicts of a probe: one for each disk, network or host; empty for other trials.

    For several hosts, the first verdict compares the hosts.
    """
    if of_hosts := tuple(_of_hosts(trial)):
        return of_hosts
    facts = trial.cluster.hosts[0].facts if trial.cluster.hosts else {}
    if trial.workload.name == "diskbench":
        folders = dict.fromkeys(d for dirs in trial.cluster.disks_by_role.values() for d in dirs)
        return tuple(_disk(trial, facts, folder) for folder in folders)
    if trial.workload.name == "netbench":
        return (_network(trial, facts),)
    return (_host(facts),) if trial.workload.name == "hostfacts" else ()


def _of_hosts(trial: Trial) -> Iterator[DeviceVerdict]:
    hosts = trial.cluster.hosts
    network = between_hosts(trial)
    if network is not None:
        standing = AgainstClass.SLOW_PEERS if network.slow else AgainstClass.ALIKE
        subject = f"network of {count_of(len(network.standings), 'host')}"
        yield DeviceVerdict(subject, standing, network.sentence)
        yield _stated_links(trial) or _network(trial, hosts[0].facts)
    disks = disks_of_hosts(trial)
    if disks is not None:
        slow = any(each.slow for each in disks.disks)
        standing = AgainstClass.SLOW_PEERS if slow else AgainstClass.ALIKE
        yield DeviceVerdict(f"disks of {count_of(len(hosts), 'host')}", standing, disks.sentence)
        for host in hosts:
            for each in verdicts(of_host(trial, host.name)):
                if each.standing not in {AgainstClass.SLOWER, AgainstClass.FASTER}:
                    continue  # hundreds of disks that are as they should be need no line each
                yield replace(each, subject=f"{host.name} {each.subject}")


def _disk(trial: Trial, facts: Facts, folder: str) -> DeviceVerdict:
    if _is_in_memory(trial, folder):
        return _memory(folder, _rates(trial, "disk_read_bytes_per_s", "dir", folder))
    mount = mount_of(facts, folder)
    device = device_of(facts, mount or {})
    subject = f"{folder} ({device['name']})" if device else folder
    rates = _rates(trial, "disk_read_bytes_per_s", "dir", folder)
    if not rates:
        return _unknown(subject, "sequential read was not measured (--mode read)")
    found = disk_class(mount or {}, device)
    if found is None or found.read_mb_per_s is None:
        reason = "the facts of this host don't give the kind of disk"
        if found is not None and found.reason is not None:
            reason = f"{found.title}, and {found.reason}"
        text = f"{reason}. {_known_disks_text(median(rates))}"
        return _unknown(subject, text, median(rates), found.title if found else None)
    low, high = (mb * 1e6 for mb in found.read_mb_per_s)
    standing = _standing(rates, low, high)
    more = {
        AgainstClass.FASTER: f"; {_CACHE}",
        AgainstClass.SLOWER: "; look for other load, a slower port or bus, a full or failing disk",
        AgainstClass.CANNOT_TELL: f"; the iterations range from {format_rate(min(rates))} to "
        f"{format_rate(max(rates))}: measure again with nothing else running",
    }.get(standing, "")
    text = (
        f"{_words(standing, 'disk')} ({found.title}: {_range(low, high)} sequential read; "
        f"source: {found.source}, {found.as_of}). It reads {format_rate(median(rates))}{more}."
    )
    return DeviceVerdict(
        subject, standing, text, found.title, median(rates), low, high, found.source, found.as_of
    )


def _is_in_memory(trial: Trial, folder: str) -> bool:
    """Whether the agent found `folder` on tmpfs or another file system in memory."""
    begins = f"{folder} is in memory"
    return any(
        warning.code == _MEMORY and warning.message.startswith(begins) for warning in trial.warnings
    )


def _memory(folder: str, rates: Sequence[float]) -> DeviceVerdict:
    """Return the verdict on a folder without a disk: its rates are the memory's."""
    read = f" It reads {format_rate(median(rates))}." if rates else ""
    return DeviceVerdict(
        folder,
        AgainstClass.CANNOT_TELL,
        f"in memory, not on a disk: its rates are those of memory.{read} Measure a folder on a "
        "disk with --dir.",
        "memory",
        median(rates) if rates else None,
    )


def _known_disks_text(rate: float) -> str:
    """The single disks that reach a rate, in words, for a disk of unknown class."""
    ladder = [next(c for c in load_devices().disk if c.id == name) for name in _LADDER]
    said = f"It reads {format_rate(rate)}: "
    for slower, disk in zip((None, *ladder), ladder, strict=False):
        assert disk.read_mb_per_s is not None
        low, high = (mb * 1e6 for mb in disk.read_mb_per_s)
        if rate > high:
            continue
        if rate >= low:
            return f"{said}as fast as one {disk.title} ({_range(low, high)})."
        if slower is None:
            return f"{said}less than any {disk.title} ({_range(low, high)})."
        return f"{said}more than one {slower.title} and less than one {disk.title}."
    return f"{said}more than any single disk; {_CACHE}."


def _network(trial: Trial, facts: Facts) -> DeviceVerdict:
    rates = _rates(trial, "net_pairwise_bytes_per_s", "slowest", False)
    label = measured_over(trial) or ""
    if "loopback" in label:
        return _unknown(
            "loopback",
            "the peers are on this machine: this is memory copying, not a network. To "
            "measure a network, run `venturi-agent net --listen ADDR:PORT` on other hosts "
            "and add --peer HOST:PORT for each",
            median(rates) if rates else None,
            "loopback",
        )
    if not rates:
        return _unknown("network", "pairs were not measured (--pattern pairwise)")
    link = load_devices().link
    links = ELEMENTS["links"](list(facts.get("network_interfaces") or ()))
    speeds = {(nic.get("speed_bits_per_s"), nic.get("mtu_bytes") or 1500) for nic in links}
    speed, mtu = next(iter(speeds)) if len(speeds) == 1 else (None, 1500)
    if speed is None:
        reason = (
            "no interface of this host reports its link speed"
            if len(speeds) <= 1
            else "the interfaces of this host have different speeds"
        )
        return _unknown(
            "network", f"{reason}. {_known_links_text(median(rates), link)}", median(rates)
        )
    high = link.payload_bytes_per_s(speed, mtu)
    low = speed / 8 * link.least_share
    title = f"{speed / 1e9:g} GbE"
    standing = _standing(rates, low, high)
    text = (
        f"{_words(standing, 'network')} ({title}: {_range(low, high)} of payload at MTU "
        f"{mtu}; source: {link.source}, {link.as_of}). A pair of peers moves "
        f"{format_rate(median(rates))}. The link speed is this host's; the peers' are "
        "assumed to be the same."
    )
    return DeviceVerdict(
        "network", standing, text, title, median(rates), low, high, link.source, link.as_of
    )


def _stated_links(trial: Trial) -> DeviceVerdict | None:
    """The pair of hosts with the lowest share of their link rate, by the rates stated in the
    cluster file; None if it states none.
    """
    flows = trial.configuration.get("sockets_per_peer")
    stated = {
        host.name: _pair_rate(link, flows if isinstance(flows, int) else 1)
        for host in trial.cluster.hosts
        if (link := trial.cluster.data_link(host)) is not None and link.bytes_per_s
    }
    pairs: dict[tuple[str, str], list[float]] = {}
    for sample in trial.samples:
        ends = str(sample.labels.get("from")), str(sample.labels.get("to"))
        if sample.metric != "net_pair_bytes_per_s" or sample.value is None:
            continue
        if all(end in stated for end in ends):
            pairs.setdefault(ends, []).append(sample.value)
    if not pairs:
        return None
    links = {ends: min((stated[end] for end in ends), key=itemgetter(0)) for ends in pairs}
    slowest = min(pairs, key=lambda ends: median(pairs[ends]) / links[ends][0])
    rates, (carried, whole) = pairs[slowest], links[slowest]
    low = carried * load_devices().link.least_share
    standing = _standing(rates, low, carried * _BURST)
    title, source = f"a link of {format_line_rate(whole)}", "the cluster file"
    if carried < whole:
        title += f", with {format_line_rate(carried)} per pair"
    text = (
        f"{_words(standing, 'network').replace('class', 'link')}: the slowest pair, "
        f"{slowest[0]} to {slowest[1]}, moves {format_rate(median(rates))}, "
        f"{median(rates) / carried:.0%} of the capacity of {title} ({source} states the "
        "rate)."
    )
    return DeviceVerdict("network", standing, text, title, median(rates), low, carried, source)


def _pair_rate(link: HostLink, flows: int) -> tuple[float, float]:
    """The rate that this many flows get of a link, and its whole rate (bytes/s)."""
    whole = link.bytes_per_s or 0.0
    of_flows = whole if link.flow_bytes_per_s is None else flows * link.flow_bytes_per_s
    return min(whole, of_flows), whole


def _known_links_text(rate: float, link: LinkEfficiency) -> str:
    said = f"A pair of peers moves {format_rate(rate)}: "
    speed = link.at_least(rate)
    if speed is None:
        return f"{said}more than any Ethernet link carries; are the peers on one machine?"
    carries = format_rate(link.payload_bytes_per_s(speed))
    return (
        f"{said}this needs a {speed / 1000000000.0:g} GbE link ({carries} of payload at MTU 1500)."
    )


def _host(facts: Facts) -> DeviceVerdict:
    """The kinds of devices and the result of the settings check; facts alone have no speed."""
    findings = examine(facts, load_rules())
    count = counts_of(findings)
    problems, advice = count[Severity.PROBLEM], count[Severity.ADVICE]
    disks = []
    for device in ELEMENTS["disks"](list(facts.get("block_devices") or ())):
        found = disk_class({}, device)
        size = format_bytes_decimal(device.get("size_bytes"))
        disks.append(f"{device['name']} {found.title if found else 'unknown kind'}, {size}")
    links = [
        f"{nic['name']} {f'{speed / 1e9:g} GbE' if speed else 'speed not reported'}"
        for nic in ELEMENTS["links"](list(facts.get("network_interfaces") or ()))
        for speed in (nic.get("speed_bits_per_s"),)
    ]
    settings = (
        f"{problems} of {len(findings)} settings checked {'is' if problems == 1 else 'are'} "
        f"known to slow data-intensive work, {advice} may be improved: `venturi doctor` "
        "lists them"
    )
    text = (
        "facts alone don't show how fast this host is; measure with `venturi probe disk` "
        f"and `probe net`. Disks: {'; '.join(disks) or 'none visible'}. Network: "
        f"{'; '.join(links) or 'no link is up'}. {settings}."
    )
    return _unknown(str(facts.get("hostname") or "host"), text)


def _standing(rates: Sequence[float], low: float, high: float) -> AgainstClass:
    if max(rates) < low:
        return AgainstClass.SLOWER
    if min(rates) > high:
        return AgainstClass.FASTER
    return AgainstClass.AS_FAST if low <= median(rates) <= high else AgainstClass.CANNOT_TELL


def _words(standing: AgainstClass, thing: str) -> str:
    if standing is AgainstClass.CANNOT_TELL:
        return f"cannot tell whether this {thing} is as fast as its class"
    return f"this {thing} is {standing.value}"


def _unknown(
    subject: str, reason: str, measured: float | None = None, device_class: str | None = None
) -> DeviceVerdict:
    return DeviceVerdict(
        subject, AgainstClass.CANNOT_TELL, f"cannot tell: {reason}", device_class, measured
    )


def _rates(trial: Trial, metric: str, label: str, value: object) -> list[float]:
    return [
        sample.value
        for sample in trial.samples
        if sample.metric == metric
        and sample.labels.get(label) == value
        and sample.value is not None
    ]


def _range(low: float, high: float) -> str:
    return f"{low / 1e6:,.0f}-{high / 1e6:,.0f} MB/s"
