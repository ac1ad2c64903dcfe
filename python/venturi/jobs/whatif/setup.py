"""The machines and executors that a job runs on: as recorded, and on the target.

Every capacity is a `Quantity` with its range and origin. One that no one measured is a named
assumption with a wide range, and `measure` says which command would replace it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.units import parse_rate, size_text
from venturi.core.wording import count_of
from venturi.jobs.stages.memory import heap_bytes, is_local
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.whatif.outlook import executor_slots
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.job_prices import CLUSTER_LABEL, JobPrices
from venturi.machines.cost.node import node_of
from venturi.machines.cost.price import Tariff, tariff_of

if TYPE_CHECKING:
    from venturi.record.trial import Trial

RESERVED_SHARE = 0.1
"""Chosen by us: the share of a machine's memory that its system needs."""
OVERHEAD_SHARE, OVERHEAD_LEAST_BYTES = 0.1, 384 * 2**20
"""Spark's defaults for memory beyond the heap (spark.executor.memoryOverhead*)."""
DEFAULT_HEAP_BYTES = 2**30
"""Spark's default of spark.executor.memory and spark.driver.memory."""
_SEEK_S = {"hdd": 8e-3}
_DISKS = {
    "hdd": (150e6, 100e6, 280e6, "one spinning disk"),
    "ssd": (500e6, 350e6, 560e6, "one SATA SSD"),
    "nvme": (2000e6, 1000e6, 7000e6, "one NVMe SSD"),
}
_ADVERTISED_CPU = "CoreMark per vCPU; how far Spark follows it is our judgment (20 %)"


@dataclass(frozen=True, slots=True)
class Setup:
    """Hosts with executors. Rates are bytes/s of one host, reading and writing concurrently.

    `cpu` is the speed of a core relative to the recorded machine's. `cores` are a host's CPUs.
    `heap_bytes` is an executor's heap. `seek_s` is a host's time for a random request: a disk's by
    their number, as they seek concurrently; 0 on flash. `tariff` prices a host; without one,
    `unpriced` says why.
    """

    name: str
    hosts: int
    executors: int
    slots_each: int
    task_cpus: int
    cores: Quantity
    cpu: Quantity
    disk: Quantity
    network: Quantity
    heap_bytes: float
    seek_s: float = 0.0
    tariff: Tariff | None = None
    unpriced: str = ""

    @property
    def slots(self) -> int:
        """Tasks that run concurrently."""
        return self.executors * self.slots_each

    @property
    def slots_per_host(self) -> float:
        """Concurrent tasks that share a host."""
        return self.slots / self.hosts

    @property
    def container_bytes(self) -> float:
        """Memory of an executor's container: heap and overhead."""
        return self.heap_bytes + max(OVERHEAD_SHARE * self.heap_bytes, OVERHEAD_LEAST_BYTES)


MEASURE = {
    "cpu": "venturi probe host --label instance_type=TYPE on both machines",
    "disk": "venturi probe disk",
    "network": "venturi probe net",
    "cores": "venturi probe host",
}
"""The command that replaces an assumed capacity by a measured one."""


def assumed(value: float, low: float, high: float, source: str) -> Quantity:
    """A capacity that no one measured."""
    return Quantity(value, low, high, ValueKind.ASSUMED, source)


def recorded_setup(
    line: Timeline,
    trial: Trial,
    ran_on: InstanceType | None = None,
    known: Mapping[str, Quantity] = MappingProxyType({}),
) -> Setup:
    """The machines of a recorded job.

    `ran_on` is their type, and `known` has capacities that were measured there, which count more.
    """
    account = line.account
    assert line.there is not None
    assert line.elapsed_s is not None
    slots = max(line.there.most(0.0, line.elapsed_s), 1)
    each = min(executor_slots(line) or _usual_slots(line) or slots, slots)
    hosts = max(len({name for name in account.executors["host"].to_list() if name}), 1)
    heap = heap_bytes(account, local=is_local(account)) or DEFAULT_HEAP_BYTES
    setup = Setup(
        name="as recorded",
        hosts=hosts,
        executors=-(-slots // each),
        slots_each=each,
        task_cpus=line.there.cpus,
        cores=_cores(trial, slots * line.there.cpus / hosts),
        cpu=Quantity(1.0, 1.0, 1.0, ValueKind.MEASURED, "the recorded machine"),
        disk=assumed(500e6, 150e6, 2500e6, "Unknown: between one HDD and one NVMe SSD"),
        network=assumed(1.25e9, 0.125e9, 3.1e9, "Unknown: 1 to 25 Gbit/s"),
        heap_bytes=heap,
        unpriced="the recorded machine's type is unknown: add --from TYPE",
    )
    if ran_on is not None:
        setup = replace(_on_type(setup, ran_on, None), cpu=setup.cpu)
    return replace(
        setup, disk=known.get("disk", setup.disk), network=known.get("network", setup.network)
    )


def _usual_slots(line: Timeline) -> int | None:
    """The most frequent number of slots of an executor; None of a single one."""
    assert line.there is not None
    sizes = Counter(line.account.executors["cores"].drop_nulls().to_list())
    if sizes.total() < 2:
        return None
    return max(int(sizes.most_common(1)[0][0]) // line.there.cpus, 1)


def _cores(trial: Trial, used: float) -> Quantity:
    known = [
        count
        for host in trial.cluster.hosts
        for count in (host.facts.get("cpu_threads_allowed") or host.facts.get("cpu_threads"),)
        if isinstance(count, int) and count > 0
    ]
    if known:
        count = min(known)
        return Quantity(count, count, count, ValueKind.MEASURED, "the trial's host facts")
    least = max(used, 1.0)
    return assumed(least, least, 2 * least, "Unknown: at least the cores that executors offered")


def _on_type(setup: Setup, type_: InstanceType, recorded: InstanceType | None) -> Setup:
    """`setup` with the capacities and the price of a machine type."""
    node = node_of(type_)
    vcpus = type_.number("vcpus")
    if vcpus is None:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"the number of CPUs of {type_.name} is unknown",
            where={"instance_type": type_.name},
            hint="name a type with vcpus in its catalog",
        )
    disk = node.storage or node.local_read or node.volume_read
    tariff = tariff_of(type_)
    return replace(
        setup,
        cores=Quantity(vcpus, vcpus, vcpus, ValueKind.ADVERTISED, "the catalog"),
        cpu=cpu_factor(type_, recorded),
        disk=disk or assumed(250e6, 125e6, 1000e6, "a network volume, as the type has no disk"),
        network=node.network or assumed(1.25e9, 0.125e9, 3.1e9, "Unknown: 1 to 25 Gbit/s"),
        seek_s=_SEEK_S.get((type_.word("disk_kind") or "").lower(), 0.0)
        / max(type_.number("disk_count") or 1.0, 1.0),
        tariff=tariff,
        unpriced="" if tariff else type_.fact("price").note,
    )


def cpu_factor(type_: InstanceType, recorded: InstanceType | None) -> Quantity:
    """Speed of a core of `type_` relative to one of the recorded machine."""
    if recorded is not None and type_.name == recorded.name:
        return Quantity(1.0, 1.0, 1.0, ValueKind.DERIVED, "the same type")
    speeds = []
    for each in (type_, recorded):
        per_cpu = None
        if each is not None and (marks := each.number("coremark")) and each.number("vcpus"):
            per_cpu = marks / (each.number("vcpus") or 1.0)
        speeds.append(per_cpu)
    there, here = speeds
    if there is None or here is None:
        return assumed(1.0, 0.7, 1.4, "Unknown: assumes cores as fast as the recorded ones")
    ratio = there / here
    return Quantity(ratio, ratio / 1.2, ratio * 1.2, ValueKind.DERIVED, _ADVERTISED_CPU)


@dataclass(frozen=True, slots=True)
class SetupChange:
    """Differences on the target; None stays as recorded."""

    type: InstanceType | None = None
    nodes: int | None = None
    executors: int | None = None
    cores_per_executor: int | None = None
    heap_bytes: float | None = None
    disk: str | None = None
    network_bytes_per_s: float | None = None
    usd_per_host_hour: float | None = None


def target_setup(
    recorded: Setup,
    change: SetupChange,
    ran_on: InstanceType | None = None,
    measured_cpu: Quantity | None = None,
) -> Setup:
    """The setup after `change`; VEN-MODEL-INPUT if not even one executor fits on a machine.

    `measured_cpu` is the speed of a core on other machines than the recorded ones, if measured.

    Executors keep their recorded cores and heap unless these change. On a machine type, as many as
    fit by CPUs and memory run on each machine. Without a type, as many run on each host as were
    recorded there.
    """
    made = recorded
    cores = change.cores_per_executor or recorded.slots_each * recorded.task_cpus
    if (slots_each := cores // recorded.task_cpus) < 1:
        raise UsageError(
            "VEN-MODEL-INPUT",
            f"an executor of {cores} cores has no slot: a task takes {recorded.task_cpus}",
            where={"field": "--cores-per-executor", "value": cores},
            hint=f"give at least {recorded.task_cpus}",
        )
    made = replace(
        made,
        slots_each=slots_each,
        heap_bytes=change.heap_bytes or recorded.heap_bytes,
        name="as changed" if change.executors is None else count_of(change.executors, "executor"),
    )
    if change.type is None:
        executors = change.executors or recorded.executors
        per_host = ceil(recorded.executors / recorded.hosts)
        hosts = recorded.hosts if change.executors is None else ceil(executors / per_host)
        made = replace(made, executors=executors, hosts=hosts)
    else:
        there = _on_type(made, change.type, ran_on)
        if measured_cpu is not None and (ran_on is None or ran_on.name != change.type.name):
            there = replace(there, cpu=measured_cpu)
        made = _on_machines(there, change, cores)
    if change.disk is not None:
        made = replace(made, disk=disk_given(change.disk), seek_s=_SEEK_S.get(change.disk, 0.0))
    if change.network_bytes_per_s is not None:
        rate = change.network_bytes_per_s
        made = replace(made, network=assumed(0.9 * rate, 0.5 * rate, rate, "--network"))
    return priced(made, change)


def priced(setup: Setup, change: SetupChange) -> Setup:
    """`setup` at the price that the question gives, by the second and at least a minute."""
    if change.usd_per_host_hour is None:
        return setup
    return replace(setup, tariff=Tariff(change.usd_per_host_hour, "USD"), unpriced="")


def at_own_price(setup: Setup, trial: Trial, type_name: str, prices: JobPrices) -> Setup:
    """`setup` of a recorded job at the user's price of its cluster or of a node of its type.

    That of a core-hour counts if no other price is known. Emulated clusters have no price.
    """
    usd = None
    if trial.cluster.dilation is not None:
        return setup
    cluster = trial.cluster.name or trial.labels.get(CLUSTER_LABEL, "")
    if (whole := prices.clusters.get(cluster)) is not None:
        usd = whole / setup.hosts
    elif type_name in prices.nodes:
        usd = prices.nodes[type_name]
    elif setup.tariff is None and prices.core_hour is not None:
        usd = prices.core_hour * setup.slots * setup.task_cpus / setup.hosts
    return setup if usd is None else replace(setup, tariff=Tariff(usd, "USD"), unpriced="")


def _on_machines(made: Setup, change: SetupChange, cores: int) -> Setup:
    assert change.type is not None
    vcpus, memory_gib = made.cores.value, change.type.number("memory")
    fit = int(vcpus // cores)
    if memory_gib is not None:
        fit = min(fit, int((1 - RESERVED_SHARE) * memory_gib * 2**30 // made.container_bytes))
    if fit < 1:
        has = "" if memory_gib is None else f" and {memory_gib:g} GiB"
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"{change.type.name} is smaller than one executor: it has {vcpus:g} CPUs{has}, and an "
            f"executor takes {cores} cores and {size_text(made.container_bytes)}",
            where={"instance_type": change.type.name},
            hint="make executors smaller: --cores-per-executor 2 --set spark.executor.memory=2g",
        )
    nodes = change.nodes or 1
    executors = fit * nodes
    if change.executors is not None and change.nodes is None:
        executors, nodes = change.executors, ceil(change.executors / fit)
    elif change.executors is not None:
        executors = min(executors, change.executors)
    return replace(made, name=f"{change.type.name} × {nodes}", hosts=nodes, executors=executors)


def disk_given(text: str) -> Quantity:
    """The rate of a host's disks from `hdd`, `ssd`, `nvme` or a rate such as `900MB/s`."""
    if text in _DISKS:
        value, low, high, what = _DISKS[text]
        return assumed(value, low, high, f"--disk {text} is {what}")
    if not any(each.isdigit() for each in text):
        raise UsageError(
            "VEN-UNIT-SYNTAX",
            f"--disk {text[:40]!r} is neither a class of disks nor a rate",
            where={"option": "--disk", "value": text[:40]},
            hint=f"write {', '.join(_DISKS)}, or a rate such as 900MB/s",
        )
    return assumed(rate := positive_rate("--disk", text), 0.8 * rate, rate, f"--disk {text}")


def positive_rate(option: str, text: str) -> float:
    """A rate above 0 in bytes/s; `25Gbit` means per second."""
    unit = text.strip()
    rate = parse_rate(unit if "/" in unit else f"{unit}/s")
    if rate <= 0:
        raise UsageError(
            "VEN-UNIT-SYNTAX",
            f"{option} {text}: the rate must be above 0",
            where={"option": option, "value": text},
            hint="write it like 25Gbit/s or 900MB/s",
        )
    return rate
