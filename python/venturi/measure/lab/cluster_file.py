"""A lab as a cluster's file, so that it can be named wherever a cluster can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from venturi.measure.lab.lab_spec import CORE, FOLDER, LabHost, LabSpec


def cluster_text(spec: LabSpec, made: LabSpec) -> str:
    """Return the cluster file of the lab `spec`, which was made as `made`.

    Its rates are the made ones, which measurements can show. Without a master, the first host
    becomes one.
    """
    return "\n".join(_lines(spec, made)) + "\n"


def _lines(spec: LabSpec, made: LabSpec) -> Iterator[str]:
    yield "# Written by `venturi lab up`."
    yield f"name = {json.dumps(spec.name)}"
    if spec.dilation != 1:
        yield f"dilation = {spec.dilation}"
    if spec.dilate_cpu:
        yield "dilate_cpu = true"
    for switch in made.switches:
        yield f"\n[racks.{json.dumps(switch.name)}]"
        if switch.within != CORE:
            yield f"within = {json.dumps(switch.within)}"
        if switch.uplink_bytes_per_s is not None:
            yield f"uplink = {_rate(switch.uplink_bytes_per_s * switch.ports)}"
    if not any("master" in host.roles for host in made.hosts):
        first = made.hosts[0]
        roles = ("master", *first.roles)
        made = replace(made, hosts=(replace(first, roles=roles), *made.hosts[1:]))
    bonds = {each.name: each.uplink_bytes_per_s for each in made.switches if each.ports > 1}
    for host in made.hosts:
        yield from _host(spec, host, bonds.get(host.switch))


def _host(spec: LabSpec, host: LabHost, port_bytes_per_s: float | None) -> Iterator[str]:
    """The table of a host; `port_bytes_per_s` is the rate of one port of the bond it shares."""
    yield "\n[[hosts]]"
    yield f"name = {json.dumps(host.name)}"
    yield f"lab = {json.dumps(spec.name)}"
    yield f"address = {json.dumps(host.address)}"
    yield f"roles = {json.dumps(list(host.roles))}"
    if host.switch != CORE:
        yield f"rack = {json.dumps(host.switch)}"
    if host.link_bytes_per_s is not None:
        yield f"rate = {_rate(host.link_bytes_per_s)}"
    if port_bytes_per_s is not None:
        yield f"flow_rate = {_rate(port_bytes_per_s)}"
    folders: dict[str, list[str]] = {}
    for disk in host.disks:
        folders.setdefault(disk.seen_as or disk.disk_class, []).append(str(FOLDER / disk.name))
    for pool in host.pools:
        folders.setdefault(pool.pool_class, []).append(str(FOLDER / pool.name))
    if folders:
        told = ", ".join(
            f"{json.dumps(name)} = {json.dumps(each)}" for name, each in folders.items()
        )
        yield f"disks = {{ {told} }}"


def _rate(bytes_per_s: float) -> str:
    return json.dumps(f"{bytes_per_s * 8 / 1e6:.12g}Mbit/s")
