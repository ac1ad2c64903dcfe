"""The switches and links of a lab, as commands for `ip -batch` and `tc -batch`.

The switches are bridges in their own network namespace, so that the machine's network (firewall,
forwarding, other bridges) doesn't interfere. A link is a pair of veth devices with a token bucket
at each end: a host's sent data are shaped at its own end, received data at the switch's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from venturi.core.errors import VenturiError
from venturi.measure.lab.lab_spec import CORE, MACHINE, NETWORKS, LabHost, LabSpec, Switch

_QUEUE_S = 0.05
_QUEUE_BYTES_MIN = 1000 * 1514
"""A thousand full frames, as Linux queues for a device: with less, many connections over a slow
link drop enough packets to leave it idle at times.
"""
_BURST_BYTES_MIN = 64 * 2**10
_BURST_S = 0.008
"""Two ticks of a kernel of 250 Hz: a bucket that is filled once a tick must hold that much."""
_HASHED_PORT_BITS = {2: (2,), 4: (2, 4), 8: (2, 4, 8)}
"""The bits of a TCP port that select the port of a bond: not the lowest, because Linux gives even
numbers to all clients.
"""


def switch_ip(spec: LabSpec, pids: dict[str, int], machine_link: str, machine_pid: int) -> str:
    """Return the `ip -batch` commands for the switches' namespace, with the hosts' holders `pids`,
    and for the link to the machine itself, named `machine_link` there.
    """
    return "\n".join(_switch_ip(spec, pids, machine_link, machine_pid)) + "\n"


def _switch_ip(
    spec: LabSpec, pids: dict[str, int], machine_link: str, machine_pid: int
) -> Iterator[str]:
    number = _numbers(spec)
    yield "link set lo up"
    for place in number.values():
        yield f"link add s{place} type bridge forward_delay 0 stp_state 0"
        yield f"link set s{place} mtu {spec.mtu} up"
    for switch in spec.switches:
        place = number[switch.name]
        yield f"link add u{place} mtu {spec.mtu} type veth peer name d{place} mtu {spec.mtu}"
        yield f"link set u{place} master s{place} up"
        yield f"link set d{place} master s{number[switch.within]} up"
    for port, host in enumerate(spec.hosts):
        yield (
            f"link add p{port} mtu {spec.mtu} type veth "
            f"peer name eth0 mtu {spec.mtu} netns {pids[host.name]}"
        )
        yield f"link set p{port} master s{number[host.switch]} up"
    yield (
        f"link add m0 mtu {spec.mtu} type veth "
        f"peer name {machine_link} mtu {spec.mtu} netns {machine_pid}"
    )
    yield f"link set m0 master s{number[CORE]} up"


def switch_tc(spec: LabSpec) -> str:
    """Return the `tc -batch` commands for the switches' ends of all links."""
    number = _numbers(spec)
    commands: list[str] = []
    for switch in spec.switches:
        for end in "ud":
            commands += _uplink(f"{end}{number[switch.name]}", switch)
    for port, host in enumerate(spec.hosts):
        if host.link_bytes_per_s is not None:
            commands.append(_bucket(f"p{port}", host.link_bytes_per_s))
    return "".join(f"{each}\n" for each in commands)


def host_ip(spec: LabSpec, host: LabHost) -> str:
    """Return the `ip -batch` commands for a host."""
    bits = spec.network.partition("/")[2]
    return f"link set lo up\naddr add {host.address}/{bits} dev eth0\nlink set eth0 up\n"


def host_tc(host: LabHost) -> str:
    """Return the `tc -batch` commands for a host's end of its link."""
    rate = host.link_bytes_per_s
    return "" if rate is None else _bucket("eth0", rate) + "\n"


def machine_ip(spec: LabSpec, machine_link: str) -> str:
    """Return the `ip -batch` commands for the machine itself."""
    bits = spec.network.partition("/")[2]
    return (
        f"addr add {spec.machine_address}/{bits} dev {machine_link}\nlink set {machine_link} up\n"
    )


def hosts_file(spec: LabSpec) -> str:
    """/etc/hosts of every host; the machine itself is in it, too."""
    rows = [("127.0.0.1", "localhost"), *((each.address, each.name) for each in spec.hosts)]
    return "".join(f"{at}\t{name}\n" for at, name in [*rows, (spec.machine_address, MACHINE)])


def _numbers(spec: LabSpec) -> dict[str, int]:
    return {name: place for place, name in enumerate((CORE, *(s.name for s in spec.switches)))}


def _bucket(link: str, bytes_per_s: float) -> str:
    burst = max(_BURST_BYTES_MIN, round(bytes_per_s * _BURST_S))
    limits = f"rate {max(8, round(bytes_per_s * 8))}bit burst {burst}b"
    return f"qdisc add dev {link} root tbf {limits} limit {burst + _queue_bytes(bytes_per_s)}b"


def _queue_bytes(bytes_per_s: float) -> int:
    """Return the size of a link's queue."""
    return max(_QUEUE_BYTES_MIN, round(bytes_per_s * _QUEUE_S))


def _uplink(link: str, switch: Switch) -> list[str]:
    """A rack's uplink; or the ports of a bond, of which each carries its share of the connections,
    chosen by both their ports as a bond's layer-3-and-4 hash does.
    """
    rate = switch.uplink_bytes_per_s
    if rate is None:
        return []
    if switch.ports == 1:
        return [_bucket(link, rate)]
    bits, burst = round(rate * 8), max(_BURST_BYTES_MIN, round(rate * _BURST_S))
    commands = [f"qdisc add dev {link} root handle 1: htb default 1"]
    for port in range(switch.ports):
        commands.append(
            f"class add dev {link} parent 1: classid 1:{port + 1:x} "
            f"htb rate {bits}bit ceil {bits}bit burst {burst}b cburst {burst}b quantum 60000"
        )
        queue = burst + _queue_bytes(rate)
        commands.append(f"qdisc add dev {link} parent 1:{port + 1:x} bfifo limit {queue}")
    masks = _HASHED_PORT_BITS[switch.ports]
    for source in range(switch.ports):
        for target in range(switch.ports):
            mask, at, to = sum(masks), _spread(source, masks), _spread(target, masks)
            commands.append(
                f"filter add dev {link} parent 1: protocol ip prio 1 u32 "
                f"match ip sport {at} {mask:#06x} match ip dport {to} {mask:#06x} "
                f"flowid 1:{(source ^ target) + 1:x}"
            )
    return commands


def _spread(number: int, masks: tuple[int, ...]) -> int:
    """`number` written in the bits of `masks`."""
    return sum(mask for place, mask in enumerate(masks) if number >> place & 1)


def with_free_addresses(spec: LabSpec, used: Sequence[IPv4Network]) -> LabSpec:
    """`spec` in the first of NETWORKS that overlaps none of `used`; as it is if its file names
    addresses. VEN-LAB-ADDRESS if none is free.
    """
    if spec.addresses_named:
        return spec
    free = (each for each in NETWORKS if not any(each.overlaps(other) for other in used))
    network = next(free, None)
    if network is None:
        raise VenturiError(
            "VEN-LAB-ADDRESS",
            f"this machine uses all networks for labs, {NETWORKS[0]} to {NETWORKS[-1]}",
            where={"key": "network.addresses"},
            hint="take down a lab, or set addresses in [network]",
        )
    shift = int(network.network_address) - int(IPv4Network(spec.network).network_address)
    return replace(
        spec,
        network=str(network),
        machine_address=str(IPv4Address(spec.machine_address) + shift),
        hosts=tuple(
            replace(host, address=str(IPv4Address(host.address) + shift)) for host in spec.hosts
        ),
    )
