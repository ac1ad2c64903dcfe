"""Capacities of a job's own machines, from probes in the repository."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model_trials import succeeded
from venturi.core.quantity import ValueKind
from venturi.core.settings import Settings
from venturi.jobs.whatif.probed import KINDS, cpu_factors, probed_capacities
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Engine, Host, Link, Sample, Trial, Workload
from venturi.record.vocabulary import CORE_SPEED


def probe(workload: str, host: str, *samples: Sample) -> Trial:
    return succeeded(
        workload=Workload(workload, "v1"),
        engine=Engine(workload, "1"),
        cluster=Cluster((Host(host),)),
        samples=samples,
    )


def rates(metric: str, *values: float, **labels: str | bool) -> tuple[Sample, ...]:
    return tuple(
        Sample(metric, value, "B/s", labels={"iteration": place, **labels})
        for place, value in enumerate(values)
    )


def test_probes_of_the_same_host_count(settings: Settings) -> None:
    job = succeeded(cluster=Cluster((Host("a"), Host("b"))))
    with TrialRepository.open(settings) as repository:
        for each in (
            probe("diskbench", "b", *rates("disk_read_bytes_per_s", 1e8, 2e8, 3e8)),
            probe("diskbench", "c", *rates("disk_read_bytes_per_s", 9e9)),
            probe("netbench", "a", *rates("net_pairwise_bytes_per_s", 1e9, slowest=False)),
        ):
            repository.add(each)
        found = probed_capacities(repository, job)
        elsewhere = probed_capacities(repository, succeeded(cluster=Cluster((Host("d"),))))
    assert (found["disk"].low, found["disk"].value, found["disk"].high) == (1e8, 2e8, 3e8)
    assert found["network"].value == 1e9
    assert {each.kind for each in found.values()} == {ValueKind.MEASURED}
    assert elsewhere == {}


def test_probed_cores_are_compared_by_type(settings: Settings) -> None:
    def cores(host: str, type_name: str, **speeds: float) -> Trial:
        kinds = dict.fromkeys(KINDS, 1.0) | speeds
        samples = [
            Sample(CORE_SPEED, scale * value, "B/s", labels={"kind": kind})
            for kind, value in kinds.items()
            for scale in (0.9, 1.0, 1.1)
        ]
        made = probe("hostfacts", host, *samples)
        return replace(made, labels={"instance_type": type_name} if type_name else {})

    job = succeeded(cluster=Cluster((Host("a"),)))
    with TrialRepository.open(settings) as repository:
        repository.add(cores("b", "fast", integer=16.0))
        assert cpu_factors(repository, job, None) == {}
        repository.add(cores("a", ""))
        found = cpu_factors(repository, job, None)["fast"]
        by_type = cpu_factors(repository, succeeded(cluster=Cluster((Host("d"),))), "fast")
    assert found.value == pytest.approx(2)  # the fourth root of 16
    assert (found.low, found.high) == pytest.approx((0.9 / 1.1, 16 * 1.1 / 0.9))
    assert found.kind is ValueKind.MEASURED
    assert by_type["fast"].value == 1


def test_a_declared_link_is_no_measurement(settings: Settings) -> None:
    host = Host("a", links={"data": Link("10.0.0.1", 1.25e9)})
    job = succeeded(cluster=Cluster((host,), network="data"))
    with TrialRepository.open(settings) as repository:
        network = probed_capacities(repository, job)["network"]
    assert (network.value, network.kind) == (1.25e9, ValueKind.ADVERTISED)
