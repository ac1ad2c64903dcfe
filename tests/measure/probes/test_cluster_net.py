"""NetBench between hosts: several of this machine's addresses, then real links, hosts that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from network_hosts import switched
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.machines.cost.overlay import overlay_from_trials
from venturi.machines.health.verdict import verdicts
from venturi.machines.scaling.between_hosts import between_hosts
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.agent_results import Iterations, NetMeasurement, SlowPeer
from venturi.measure.hosts.host import LiveHost, Process
from venturi.measure.hosts.local import LocalHost
from venturi.measure.probes.members import ProbedHost
from venturi.measure.probes.net_cluster import ClusterNetJob, ClusterNetOptions
from venturi.measure.probes.net_rounds import Rounds, host_rates, message_bytes, next_to_cull
from venturi.measure.probes.slow import standings
from venturi.measure.trial.runner import open_cluster_session, run_trial
from venturi.record.measured_over import measured_over
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import read_series
from venturi.record.trial import State, Trial

BRIEF = ClusterNetOptions(seconds=0.05, iterations=2)
Probe = Callable[..., Trial]


class _Brief(LocalHost):
    """A host with a peer that ends by itself in the middle of the measurement."""

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        words = [str(each) for each in argv]
        if "--listen-seconds" in words:
            words[words.index("--listen-seconds") + 1] = "0.7"
        return super().start(words, cwd=cwd, env=env)


@pytest.fixture
def repository(settings: Settings) -> Iterator[TrialRepository]:
    with TrialRepository.open(settings) as opened:
        yield opened


@pytest.fixture
def probe(repository: TrialRepository, agent_binary: Path) -> Probe:
    """Measures between `hosts` (host and data address by name)."""

    def measure(
        hosts: Mapping[str, tuple[LiveHost, str]], options: ClusterNetOptions = BRIEF
    ) -> Trial:
        agents = {name: Agent(str(agent_binary), host) for name, (host, _) in hosts.items()}
        session, lost = open_cluster_session(agents, repository, sample_interval_ms=100)
        assert not lost
        places = [ProbedHost(name, agents[name], address) for name, (_, address) in hosts.items()]
        return run_trial(session, ClusterNetJob(places, options, engine_version="test"))

    return measure


def _hosts(count: int) -> dict[str, tuple[LiveHost, str]]:
    return {f"h{n}": (LocalHost(), f"127.0.0.{n + 1}") for n in range(1, count + 1)}


@pytest.mark.slow
def test_every_pair_and_every_size_is_in_one_trial_of_all_hosts(
    probe: Probe, repository: TrialRepository
) -> None:
    trial = probe(_hosts(4))
    names = ["h1", "h2", "h3", "h4"]
    assert trial.state is State.SUCCEEDED
    assert [host.name for host in trial.cluster.hosts] == names
    assert trial.cluster.network is None  # no file names it
    assert measured_over(trial) == "loopback: memory copying, not a network"
    pairs = [(a, b) for a in names for b in names if a != b]
    for source, destination in pairs:
        found = trial.values("net_pair_bytes_per_s", **{"from": source, "to": destination})
        assert len(found) == 2
        assert min(found) > 0
    for peers in (2, 4):
        labels = {"peers": peers, "slowest": False}
        assert len(trial.values("net_all_to_all_bytes_per_s", **labels)) == 2
        assert len(trial.values("net_all_to_all_bytes_per_s", peers=peers, slowest=True)) == 1
    assert len(trial.values("net_sent_bytes_per_s", peers=4)) == 4 * 2
    # Other hosts are among the two of the second round.
    of_two = {
        s.labels["host"]
        for s in trial.samples
        if s.metric == "net_sent_bytes_per_s" and s.labels["peers"] == 2
    }
    assert of_two == {"h1", "h2", "h3"}
    assert len(trial.values("net_host_share_of_others")) == 4
    assert len(trial.values("net_culled_gain", peers=3)) == 1
    assert trial.configuration["disjoint_pairs"] is False
    assert "TCP" in str(trial.configuration["sockets"])
    series = [each for each in trial.artifacts if each.kind == "series"]
    assert [each.name for each in series] == [f"series.{name}.parquet" for name in names]
    assert all(len(read_series(repository.artifact_path(each))) for each in series)


@pytest.mark.slow
def test_a_host_that_fails_in_the_middle_is_named_and_the_others_measured(probe: Probe) -> None:
    hosts = _hosts(4)
    hosts["h2"] = (_Brief(), hosts["h2"][1])
    trial = probe(hosts, ClusterNetOptions(seconds=0.1, iterations=3))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert trial.failure.message.startswith("host h2 was lost ")
    assert ["h2" in w.message for w in trial.warnings if w.code == "VEN-MEASURE-HOSTS"] == [True]
    # The round was repeated without it, and the others are compared with one another.
    assert trial.values("net_all_to_all_bytes_per_s", peers=3, slowest=True)
    standing = {s.labels["host"] for s in trial.samples if s.metric == "net_host_bytes_per_s"}
    assert standing == {"h1", "h3", "h4"}


@pytest.mark.slow
def test_a_host_that_cannot_listen_is_named_and_two_must_be_left(probe: Probe) -> None:
    hosts = _hosts(3)
    hosts["h3"] = (LocalHost(), "203.0.113.1")
    trial = probe(hosts, ClusterNetOptions(seconds=0.05, iterations=1))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert "h3 was lost before the measurement: cannot listen on" in trial.failure.message
    assert len(trial.values("net_pair_bytes_per_s")) == 2
    del hosts["h2"]
    with pytest.raises(VenturiError) as caught:
        probe(hosts)
    assert caught.value.code == "VEN-MEASURE-HOSTS"
    assert "h3" in caught.value.message
    with pytest.raises(VenturiError) as caught:
        probe(_hosts(1))
    assert caught.value.code == "VEN-MEASURE-INPUT"


@pytest.mark.slow
@pytest.mark.root
def test_a_slow_link_is_named_and_leaving_it_out_helps(probe: Probe) -> None:
    with switched({"a": 400, "b": 400, "c": 100, "d": 400}) as hosts:
        trial = probe(hosts, ClusterNetOptions(seconds=0.15, iterations=1))
    assert trial.state is State.SUCCEEDED
    assert measured_over(trial) == "network"
    slow = [
        s.labels["host"]
        for s in trial.samples
        if s.metric == "net_host_bytes_per_s" and s.labels["slow"]
    ]
    assert slow == ["c"]
    told = [w.message for w in trial.warnings if w.code == "VEN-MEASURE-SLOW"]
    assert len(told) == 1
    assert told[0].startswith("c: ")
    # A quarter of the others' rate: without it all to all is several times as fast.
    assert trial.values("net_culled_gain", dropped="c")[0] > 0.5
    found = between_hosts(trial)
    assert found is not None
    assert found.slow == ("c",)
    assert found.sentence.startswith("this host is slow: c (")
    assert [size.hosts for size in found.sizes] == [2, 4]
    assert [pair is None for pair in found.matrix[0]] == [True, False, False, False]
    said = verdicts(trial)[0]
    assert (said.subject, said.text) == ("network of 4 hosts", found.sentence)
    # The models take the slowest of the largest size.
    facts = overlay_from_trials([trial], "box").catalog.types["box"].facts
    assert facts["network_rate_at_scale"].value == found.sizes[-1].bytes_per_s / 1e6
    assert facts["network_nodes"].value == 4
    # The rate of tbf, minus the headers of TCP and Ethernet.
    assert max(trial.values("net_pair_bytes_per_s", **{"from": "a", "to": "c"})) < 100e6 / 8 * 1.1


# --- what is computed -----------------------------------------------------------------------------


def _all_to_all(names: Sequence[str], rate: float) -> NetMeasurement:
    count = len(names)
    share = rate / (count - 1)
    matrix = [[None if a == b else share for b in range(count)] for a in range(count)]
    spread = Iterations(rate, rate, rate, None, [rate])
    return NetMeasurement("all_to_all", count, 1, spread, SlowPeer("", rate), matrix, 1, 1, 1, 1)


def _rounds(rates: Mapping[str, float]) -> Rounds:
    """Make the rounds of hosts with these link rates."""
    rounds = Rounds(pairs_at_once=False)
    names = list(rates)
    for a in names:
        for b in names:
            if a != b:
                rounds.pairs[a, b] = [min(rates[a], rates[b])] * 2
    rounds.take(0, names, _all_to_all(names, min(rates.values())))
    return rounds


def test_a_host_is_slow_beside_the_median_of_the_others() -> None:
    found = standings({"a": 100.0, "b": 79.0, "c": 100.0, "d": 102.0})
    assert (found[0].name, found[0].slow) == ("b", True)
    assert not any(each.slow for each in found[1:])
    assert found[0].share == pytest.approx(0.79)
    assert standings({"a": 1.0}) == ()
    rounds = _rounds({"a": 100.0, "b": 100.0, "c": 25.0, "d": 100.0})
    assert [each.name for each in rounds.standings("abcd") if each.slow] == ["c"]
    assert rounds.of_hosts("abd") == dict.fromkeys("abd", 100.0)


def test_culling_goes_on_while_it_helps_and_leaves_more_than_half() -> None:
    rates = {"a": 100.0, "b": 20.0, "c": 50.0, "d": 100.0, "e": 100.0, "f": 100.0, "g": 100.0}
    rounds, names, dropped = _rounds(rates), list(rates), []
    while (host := next_to_cull(rounds, names, dropped)) is not None:
        dropped.append(host)
        left = [name for name in names if name not in dropped]
        rate = min(rates[name] for name in left)
        measured = host_rates(left, _all_to_all(left, rate), 0)
        rounds.culled[tuple(dropped)] = list(measured)
    # Dropping b, then c helped; dropping the next did not, so it was the last.
    assert dropped[:2] == ["b", "c"]
    assert len(dropped) == 3
    gains = {
        s.labels["dropped"]: s.value for s in rounds.samples(names) if s.metric == "net_culled_gain"
    }
    assert gains["b"] == pytest.approx(1.5)
    assert gains["b, c"] == pytest.approx(4.0)
    assert next_to_cull(_rounds({"a": 1.0, "b": 1.0}), ["a", "b"], []) is None


def test_messages_are_as_long_as_the_network_is_fast() -> None:
    assert message_bytes(6e6, 0.75) == 32 << 10
    assert message_bytes(110e6, 0.75) == 256 << 10
    assert message_bytes(5e9, 1.0) == 4 << 20
