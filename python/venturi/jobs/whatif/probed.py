"""Capacities of a recorded job's own machines, from probes of its hosts and its cluster's links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean, median
from typing import TYPE_CHECKING

from venturi.core.quantity import Quantity, ValueKind
from venturi.core.wording import joined
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.job_prices import TYPE_LABEL
from venturi.machines.cost.predict import disk_rates_from_trial
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State, Trial
from venturi.record.vocabulary import CORE_SPEED

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

_MOST_PROBES = 50
KINDS = {"integer", "memory", "compression", "serialization"}
"""The kinds of work that `venturi probe host` measures."""
_Speeds = Mapping[str, Bounds]
_NET = ("net_all_to_all_bytes_per_s", "net_pairwise_bytes_per_s")


def probed_capacities(repository: TrialRepository, trial: Trial) -> dict[str, Quantity]:
    """`disk` and `network` in bytes/s of a host, as far as they were measured or declared."""
    hosts = {host.name for host in trial.cluster.hosts}
    found = {}
    if (disk := next(_disks(_probes(repository, "diskbench", hosts)), None)) is not None:
        found["disk"] = disk
    network = next(_networks(_probes(repository, "netbench", hosts)), None) or _declared(trial)
    if network is not None:
        found["network"] = network
    return found


def cpu_factors(
    repository: TrialRepository, trial: Trial, recorded_type: str | None
) -> dict[str, Quantity]:
    """The speed of a core of probed machine types, relative to the recorded machine's.

    It is the geometric mean over kinds of work. A probe says its type in its cluster or a label.
    The recorded machine's is of one of its hosts, or else of its type.
    """
    named = Condition.equal("workload", "hostfacts")
    hosts = {host.name for host in trial.cluster.hosts}
    own: _Speeds | None = None
    types: dict[str, tuple[str, _Speeds]] = {}
    for probe in whole_trials(repository, named, most=_MOST_PROBES, skip=lambda _: None):
        if probe.state is not State.SUCCEEDED or not (speeds := _core_speeds(probe)):
            continue
        if own is None and not hosts.isdisjoint(host.name for host in probe.cluster.hosts):
            own = speeds
        if name := probe.cluster.instance_type or str(probe.labels.get(TYPE_LABEL, "")):
            types.setdefault(name, (probe.id, speeds))
    if own is None and recorded_type in types:
        own = types[recorded_type][1]
    if own is None:
        return {}
    factors = {name: (id_, _ratio(speeds, own)) for name, (id_, speeds) in types.items()}
    return {
        name: Quantity(*ratio, ValueKind.MEASURED, f"Probe {id_}: {joined(sorted(KINDS))}")
        for name, (id_, ratio) in factors.items()
        if ratio is not None
    }


def _core_speeds(probe: Trial) -> _Speeds:
    found: dict[str, list[float]] = {}
    for each in probe.samples:
        if each.metric == CORE_SPEED and each.value:
            found.setdefault(str(each.labels.get("kind")), []).append(each.value)
    speeds = {}
    for kind, values in found.items():
        # Of five rounds, the slowest and the fastest say more about the load than about the CPU.
        middle = sorted(values)[len(values) // 5 : len(values) - len(values) // 5]
        speeds[kind] = Bounds(median(values), middle[0], middle[-1])
    return {kind: speed for kind, speed in speeds.items() if kind in KINDS}


def _ratio(there: _Speeds, here: _Speeds) -> tuple[float, float, float] | None:
    """The mean ratio over kinds, and the least and largest one; None if a kind is missing."""
    if not KINDS == there.keys() == here.keys():
        return None
    middle = geometric_mean([there[kind].value / here[kind].value for kind in KINDS])
    low = min(there[kind].low / here[kind].high for kind in KINDS)
    return middle, low, max(there[kind].high / here[kind].low for kind in KINDS)


def _probes(repository: TrialRepository, workload: str, hosts: set[str]) -> list[Trial]:
    """Probes of these hosts that succeeded, the newest first."""
    named = Condition.equal("workload", workload)
    return [
        each
        for each in whole_trials(repository, named, most=_MOST_PROBES, skip=lambda _: None)
        if each.state is State.SUCCEEDED
        and not hosts.isdisjoint(host.name for host in each.cluster.hosts)
    ]


def _disks(probes: Sequence[Trial]) -> Iterator[Quantity]:
    for probe in probes:
        rates = disk_rates_from_trial(probe)
        rate = rates.mixed_total or rates.read or rates.write
        if rate is not None:
            yield _measured(probe, [rate.low_bytes_per_s, rate.bytes_per_s, rate.high_bytes_per_s])


def _networks(probes: Sequence[Trial]) -> Iterator[Quantity]:
    for probe in probes:
        for metric in _NET:
            values = [s.value for s in probe.samples if s.metric == metric and s.value]
            if values:
                yield _measured(probe, values)


def _measured(probe: Trial, values: Sequence[float]) -> Quantity:
    source = f"Probe {probe.id}"
    return Quantity(median(values), min(values), max(values), ValueKind.MEASURED, source)


def _declared(trial: Trial) -> Quantity | None:
    """The slowest link that the trial's cluster declares."""
    links = [trial.cluster.data_link(host) for host in trial.cluster.hosts]
    rates = [link.bytes_per_s for link in links if link is not None and link.bytes_per_s]
    if not rates:
        return None
    rate = min(rates)
    return Quantity(rate, 0.5 * rate, rate, ValueKind.ADVERTISED, "The cluster's file")
