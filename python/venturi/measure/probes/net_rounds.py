"""Evaluates rounds of NetBench between hosts: rates of pairs and hosts, slow hosts, the gain from
culling. Only computes: `net_cluster` runs the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from venturi.measure.hosts.agent_results import NetMeasurement
from venturi.measure.probes.slow import SLOW_FACTOR, Standing, standings
from venturi.record.one_host import HOST
from venturi.record.trial import Sample, Scalar

CULL_GAIN = 0.05
"""Culling stops where one host less lets the slowest send less than this much faster: it is the
least difference that comparisons ask for by default, and a host less is a host less at work.
"""
_PAIRS_EACH = 5_000
"""Of more rates of pairs only the medians are kept: a trial has room for 20,000 samples."""
LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES = 32 << 10, 4 << 20
_MESSAGES = 256


def message_bytes(bytes_per_s: float, seconds: float) -> int:
    """Return a power of two with which a host sends about a hundred messages in `seconds`: fewer
    would not spread over random destinations. The maximum is the seed's buffer of 4 MiB.
    """
    wanted = max(1, int(bytes_per_s * seconds / _MESSAGES))
    return min(max(1 << (wanted.bit_length() - 1), LEAST_MESSAGE_BYTES), MOST_MESSAGE_BYTES)


@dataclass(frozen=True, slots=True)
class HostRate:
    """A host's sent and received bytes per second in an all-to-all of `peers` hosts."""

    host: str
    peers: int
    iteration: int
    sent: float
    received: float

    @property
    def rate(self) -> float:
        """The slower of both: the rate of a shuffle."""
        return min(self.sent, self.received)


def host_rates(
    hosts: Sequence[str], measurement: NetMeasurement, iteration: int
) -> tuple[HostRate, ...]:
    """Return the rates of the participating `hosts`, in the order of the matrix."""
    matrix = measurement.matrix
    return tuple(
        HostRate(
            host,
            measurement.peers,
            iteration,
            sum(rate or 0.0 for rate in matrix[place]),
            sum(row[place] or 0.0 for row in matrix),
        )
        for place, host in enumerate(hosts[: measurement.peers])
    )


@dataclass
class Rounds:
    """The results of all rounds, by host name."""

    pairs_at_once: bool
    slow_factor: float = SLOW_FACTOR
    sockets_per_peer: int = 1
    pairs: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    all_to_all: list[HostRate] = field(default_factory=list)
    culled: dict[tuple[str, ...], list[HostRate]] = field(default_factory=dict)
    _pair_means: list[tuple[int, int, float]] = field(default_factory=list)

    def take(self, iteration: int, hosts: Sequence[str], measurement: NetMeasurement) -> None:
        """One measurement between `hosts`."""
        if measurement.pattern == "all_to_all":
            self.all_to_all += host_rates(hosts, measurement, iteration)
            return
        for source, row in zip(hosts, measurement.matrix, strict=True):
            for destination, rate in zip(hosts, row, strict=True):
                if rate is not None:
                    self.pairs.setdefault((source, destination), []).append(rate)
        self._pair_means.append((iteration, measurement.peers, measurement.bytes_per_s.mean))

    def of_hosts(self, hosts: Sequence[str]) -> dict[str, float]:
        """Return each host's rate with one other: the median rate to, or from, the others,
        whichever is slower. Omits hosts without results.
        """
        found = {}
        for host in hosts:
            out = [median(r) for (a, b), r in self.pairs.items() if a == host and b in hosts]
            back = [median(r) for (a, b), r in self.pairs.items() if b == host and a in hosts]
            if out and back:
                found[host] = min(median(out), median(back))
        return found

    def standings(self, hosts: Sequence[str]) -> tuple[Standing, ...]:
        """Compare the hosts with one another, slowest first."""
        return standings(self.of_hosts(hosts), self.slow_factor)

    def at(self, peers: int) -> list[HostRate]:
        """Return the rates of the all-to-all of `peers` hosts."""
        return [each for each in self.all_to_all if each.peers == peers]

    def samples(self, hosts: Sequence[str]) -> tuple[Sample, ...]:
        """All as samples, the standings among `hosts`."""
        common: dict[str, Scalar] = {"sockets_per_peer": self.sockets_per_peer}
        made = [*self._pair_samples(common), *self._size_samples(common)]
        for each in self.standings(hosts):
            labels: dict[str, Scalar] = {HOST: each.name, "slow": each.slow}
            made += [
                Sample("net_host_bytes_per_s", each.rate, "B/s", labels=labels),
                Sample("net_host_share_of_others", each.share, "fraction", labels=labels),
            ]
        before = slowest(self.at(len(hosts)))
        for dropped, rates in self.culled.items():
            after = slowest(rates)
            labels = {"dropped": ", ".join(dropped), "peers": rates[0].peers, "peer": after[0]}
            made.append(Sample("net_culled_bytes_per_s", after[1], "B/s", labels=labels))
            if before[1] > 0:
                gain = after[1] / before[1] - 1
                made.append(Sample("net_culled_gain", gain, "fraction", labels=labels))
        return tuple(made)

    def _pair_samples(self, common: Mapping[str, Scalar]) -> list[Sample]:
        made = []
        every = sum(map(len, self.pairs.values())) <= _PAIRS_EACH
        for (source, destination), rates in self.pairs.items():
            labels: dict[str, Scalar] = {"from": source, "to": destination}
            kept = list(enumerate(rates)) if every else [(None, median(rates))]
            made += [
                Sample(
                    "net_pair_bytes_per_s",
                    rate,
                    "B/s",
                    labels=labels if place is None else {**labels, "iteration": place},
                )
                for place, rate in kept
            ]
        made += [
            Sample(
                "net_pairwise_bytes_per_s",
                mean,
                "B/s",
                labels={**common, "peers": peers, "iteration": iteration, "slowest": False},
            )
            for iteration, peers, mean in self._pair_means
        ]
        if self.pairs:
            (source, destination), rates = min(self.pairs.items(), key=lambda e: fmean(e[1]))
            made.append(
                Sample(
                    "net_pairwise_bytes_per_s",
                    fmean(rates),
                    "B/s",
                    labels={
                        **common,
                        "peers": len({a for a, _ in self.pairs}),
                        "slowest": True,
                        "peer": f"{source} -> {destination}",
                    },
                )
            )
        return made

    def _size_samples(self, common: Mapping[str, Scalar]) -> list[Sample]:
        made = []
        for peers in sorted({each.peers for each in self.all_to_all}):
            rates = self.at(peers)
            labels: dict[str, Scalar] = {**common, "peers": peers}
            for iteration in sorted({each.iteration for each in rates}):
                mean = fmean(each.rate for each in rates if each.iteration == iteration)
                made.append(
                    Sample(
                        "net_all_to_all_bytes_per_s",
                        mean,
                        "B/s",
                        labels={**labels, "iteration": iteration, "slowest": False},
                    )
                )
            host, rate = slowest(rates)
            made.append(
                Sample(
                    "net_all_to_all_bytes_per_s",
                    rate,
                    "B/s",
                    labels={**labels, "slowest": True, "peer": host},
                )
            )
            made += [
                Sample(
                    f"net_{direction}_bytes_per_s",
                    value,
                    "B/s",
                    labels={HOST: each.host, "peers": peers, "iteration": each.iteration},
                )
                for each in rates
                for direction, value in (("sent", each.sent), ("received", each.received))
            ]
        return made


def slowest(rates: Sequence[HostRate]) -> tuple[str, float]:
    """The host with the lowest mean rate over the iterations, and that rate: it decides."""
    means = {
        host: fmean(each.rate for each in rates if each.host == host)
        for host in {each.host for each in rates}
    }
    return min(means.items(), key=lambda each: (each[1], each[0]), default=("", 0.0))


def next_to_cull(rounds: Rounds, hosts: Sequence[str], dropped: Sequence[str]) -> str | None:
    """Return the slowest remaining host by pairs, or None at the end: if two hosts or half of them
    would be left, or dropping the last one didn't gain CULL_GAIN.
    """
    left = [host for host in hosts if host not in dropped]
    if len(left) < 3 or len(left) * 2 <= len(hosts):
        return None
    if dropped:
        after = slowest(rounds.culled[tuple(dropped)])[1]
        earlier = tuple(dropped[:-1])
        before = slowest(rounds.culled[earlier] if earlier else rounds.at(len(hosts)))[1]
        if before <= 0 or after / before - 1 < CULL_GAIN:
            return None
    found = rounds.standings(left)
    return found[0].name if found else None
