"""Results read from the trial of a probe of several hosts, and one host's part of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import report_samples
from venturi.machines.health.verdict import AgainstClass, verdicts
from venturi.machines.scaling.between_hosts import PairRate, between_hosts
from venturi.machines.scaling.disks_of_hosts import disks_of_hosts
from venturi.record.dilation import as_on_real_machines
from venturi.record.one_host import of_host
from venturi.record.trial import Cluster, Engine, Host, Link, Sample, Scalar, Trial
from venturi.terminal import several_hosts


def sample(metric: str, value: float, **labels: Scalar) -> Sample:
    unit = "fraction" if "gain" in metric or "share" in metric else "B/s"
    names = {"source": "from", "target": "to", "of": "class"}
    return Sample(metric, value, unit, labels={names.get(k, k): v for k, v in labels.items()})


def probe(*samples: Sample, engine: str = "netbench") -> Trial:
    return replace(
        report_samples.trial(1, engine, engine),
        cluster=Cluster(
            tuple(Host(name, {}) for name in "abc"),
            {"input": ("a:/d", "b:/d", "c:/d", "c:/e")},
            network="network",
        ),
        samples=samples,
    )


def network(*, slow: bool) -> Trial:
    """Three hosts of 100 MB/s, c of 20 MB/s if one is to be `slow`."""
    rate = {"a": 100e6, "b": 100e6, "c": 20e6 if slow else 100e6}
    pairs = [
        sample(
            "net_pair_bytes_per_s",
            min(rate[a], rate[b]) * factor,
            source=a,
            target=b,
            iteration=iteration,
        )
        for a in rate
        for b in rate
        if a != b
        for iteration, factor in enumerate((1.0, 0.9, 1.1))
    ]
    standings = [
        each
        for host in rate
        for each in (
            sample("net_host_bytes_per_s", rate[host], host=host, slow=slow and host == "c"),
            sample("net_host_share_of_others", rate[host] / 100e6, host=host, slow=False),
        )
    ]
    least = min(rate.values())
    return probe(
        *pairs,
        *standings,
        sample("net_all_to_all_bytes_per_s", 1.5 * least, peers=3, slowest=False, iteration=0),
        sample("net_all_to_all_bytes_per_s", 0.8 * least, peers=3, slowest=True, peer="c"),
        sample("net_culled_bytes_per_s", 95e6, dropped="c", peers=2, peer="b"),
        sample("net_culled_gain", 95e6 / (0.8 * least) - 1, dropped="c", peers=2, peer="b"),
    )


def test_the_matrix_the_slow_host_and_what_culling_brings_are_read() -> None:
    found = between_hosts(network(slow=True))
    assert found is not None
    assert found.matrix[0] == (None, PairRate(100e6, 90e6, 3), PairRate(20e6, 18e6, 3))
    assert found.slow == ("c",)
    assert [each.host for each in found.standings] == ["c", "a", "b"]
    assert (found.culled[0].dropped, found.culled[0].hosts) == (("c",), 2)
    assert found.sentence == (
        "this host is slow: c (20% of the others); a pair moves 20 MB/s (median); all 3 "
        "concurrently: the slowest, c, moves 16 MB/s, 80% of a pair; without c the rate "
        "changes by +494%."
    )
    assert verdicts(network(slow=True))[0].standing is AgainstClass.SLOW_PEERS


def test_of_a_slow_host_it_is_said_what_its_link_is() -> None:
    trial = network(slow=True)
    rates = {"a": 125e6, "b": 125e6, "c": 25e6}
    hosts = tuple(
        replace(host, links={"network": Link("10.0.0.1", rates[host.name])})
        for host in trial.cluster.hosts
    )
    found = between_hosts(replace(trial, cluster=replace(trial.cluster, hosts=hosts)))
    assert found is not None
    assert "; the link of c has 200 Mbit/s; this is 80% of it;" in found.sentence


def test_where_none_is_slow_that_is_said() -> None:
    first = verdicts(network(slow=False))[0]
    assert first.standing is AgainstClass.ALIKE
    assert first.text.startswith("no host is slow: the slowest, a, has 100% of the others' rate")
    assert between_hosts(report_samples.network_probe()) is None
    assert disks_of_hosts(report_samples.disk_probe()) is None


def test_one_host_has_its_own_samples_with_all_at_work() -> None:
    rates = [
        sample("disk_read_bytes_per_s", rate, host=host, dir="/d", hosts_at_once=at_once)
        for host, rate, at_once in (("a", 9.0, 1), ("a", 5.0, 3), ("b", 7.0, 3))
    ]
    trial = probe(
        *rates,
        sample(
            "disk_share_of_others",
            0.5,
            host="a",
            dir="/d",
            mode="read",
            role="read",
            of="ssd",
            slow=True,
        ),
        sample("disk_share_of_alone", 0.55, host="a", mode="read", role="read"),
        engine="diskbench",
    )
    own = of_host(trial, "a")
    assert [host.name for host in own.cluster.hosts] == ["a"]
    assert own.cluster.disks_by_role == {"input": ("/d",)}
    assert own.values("disk_read_bytes_per_s", dir="/d") == [5.0]
    assert of_host(trial, "c").cluster.disks_by_role == {"input": ("/d", "/e")}
    found = disks_of_hosts(trial)
    assert found is not None
    assert (found.disks[0].rate, found.disks[0].of_alone) == (5.0, 0.55)
    assert found.sentence == (
        "slow disks: a /d (read at 50% of its peers). With all hosts active, each keeps at "
        "least 55% of its rate alone (the least: a, read)."
    )


def stated(trial: Trial, **bits_per_s: float) -> Trial:
    """`trial` with link rates stated in its cluster file, in a lab of k = 20."""
    hosts = tuple(
        replace(
            host,
            links={
                "other": Link(f"10.1.0.{place}", 1.0),
                "data": Link(f"10.0.0.{place}", bits_per_s[host.name] / 8),
            },
        )
        for place, host in enumerate(trial.cluster.hosts)
    )
    cluster = replace(trial.cluster, hosts=hosts, network="data", dilation=20.0)
    return replace(trial, cluster=cluster)


def test_a_network_is_judged_by_the_rate_that_its_file_states() -> None:
    as_fast = stated(network(slow=False), a=840e6, b=840e6, c=840e6)
    verdict = verdicts(as_fast)[1]
    assert verdict.standing is AgainstClass.AS_FAST
    assert "100 MB/s, 95% of the capacity of a link of 840 Mbit/s (the cluster file" in verdict.text
    late = verdicts(stated(network(slow=True), a=840e6, b=840e6, c=170e6))[1]
    assert late.standing is AgainstClass.AS_FAST  # its link is slow, too
    slow = verdicts(stated(network(slow=True), a=840e6, b=840e6, c=840e6))[1]
    assert (slow.standing, slow.source) == (AgainstClass.SLOWER, "the cluster file")
    assert slow.measured_bytes_per_s == 20e6
    assert verdicts(network(slow=False))[1].standing is AgainstClass.CANNOT_TELL


def test_a_pair_is_judged_by_what_its_connections_get_of_a_bond() -> None:
    trial = stated(network(slow=False), a=3360e6, b=3360e6, c=3360e6)
    assert verdicts(trial)[1].standing is AgainstClass.SLOWER
    hosts = tuple(
        replace(host, links={"data": replace(host.links["data"], flow_bytes_per_s=105e6)})
        for host in trial.cluster.hosts
    )
    bonded = replace(trial, cluster=replace(trial.cluster, hosts=hosts))
    verdict = verdicts(bonded)[1]
    assert verdict.standing is AgainstClass.AS_FAST
    both = "95% of the capacity of a link of 3.36 Gbit/s, with 840 Mbit/s per pair"
    assert both in verdict.text
    four = replace(bonded, configuration={"sockets_per_peer": 4})
    assert verdicts(four)[1].standing is AgainstClass.SLOWER


def test_rates_of_a_dilated_lab_have_modelled_ones_beside_them() -> None:
    trial = stated(network(slow=False), a=840e6, b=840e6, c=840e6)
    found = as_on_real_machines(trial)
    assert found is not None
    assert found.dilation == 20
    assert found.elapsed_s is None, "a probe takes as long as it was told to"
    sort = replace(trial.workload, name="terasort")
    job = as_on_real_machines(replace(trial, engine=Engine("mapreduce", "3"), workload=sort))
    assert job is not None
    assert job.elapsed_s == pytest.approx((trial.elapsed_s or 0) / 20)
    rates = [each.value for each in trial.samples if each.unit == "B/s"]
    assert [each.value for each in found.rates] == [20 * (rate or 0) for rate in rates]
    assert several_hosts.data(trial)["as_on_real_machines"]
    texts = str(list(several_hosts.parts(trial)))
    assert "100 MB/s" in texts
    assert "2,000 MB/s" in texts
    assert as_on_real_machines(network(slow=False)) is None
    assert "as_on_real_machines" not in several_hosts.data(network(slow=False))
