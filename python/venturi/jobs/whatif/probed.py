"""Capacities of a recorded job's own machines, from probes of its hosts and its cluster's links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from venturi.core.quantity import Quantity, ValueKind
from venturi.machines.cost.predict import disk_rates_from_trial
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

_MOST_PROBES = 50
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
