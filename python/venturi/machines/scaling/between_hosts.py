"""Results of NetBench between hosts, read from its trial.

They contain the rates of pairs, the slow hosts, and the rates by number of hosts and without slow
hosts. The probe identified the slow hosts; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from venturi.core.units import format_line_rate, format_rate
from venturi.record.one_host import HOST
from venturi.record.trial import Sample, Trial


@dataclass(frozen=True, slots=True)
class PairRate:
    """The rate from one host to another: median and minimum of `n` iterations."""

    bytes_per_s: float
    least_bytes_per_s: float
    n: int


@dataclass(frozen=True, slots=True)
class HostStanding:
    """A host's rate with one other host, and its share of the median of the others'."""

    host: str
    bytes_per_s: float
    share: float
    slow: bool


@dataclass(frozen=True, slots=True)
class AllToAll:
    """All of `hosts` hosts send concurrently: rate of the slowest, with the mean of all."""

    hosts: int
    slowest: str
    bytes_per_s: float
    mean_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class CulledRound:
    """All to all without the `dropped` hosts; `gain` is over all of them, 0.1 being 10 % more."""

    dropped: tuple[str, ...]
    hosts: int
    slowest: str
    bytes_per_s: float
    gain: float | None


@dataclass(frozen=True, slots=True)
class BetweenHosts:
    """`matrix` has a row for each sender in the order of `hosts`; None: not measured."""

    hosts: tuple[str, ...]
    matrix: tuple[tuple[PairRate | None, ...], ...]
    standings: tuple[HostStanding, ...]
    sizes: tuple[AllToAll, ...]
    culled: tuple[CulledRound, ...]
    sentence: str

    @property
    def slow(self) -> tuple[str, ...]:
        """The slow hosts, slowest first."""
        return tuple(each.host for each in self.standings if each.slow)


def between_hosts(trial: Trial) -> BetweenHosts | None:
    """The results in `trial`; None if it didn't measure between hosts."""
    pairs = _pairs(trial)
    if not pairs:
        return None
    hosts = tuple(host.name for host in trial.cluster.hosts)
    standings = tuple(_standings(trial))
    sizes = tuple(_sizes(trial))
    culled = tuple(_culled(trial))
    matrix = tuple(tuple(pairs.get((a, b)) for b in hosts) for a in hosts)
    links = {
        host.name: link.bytes_per_s
        for host in trial.cluster.hosts
        if (link := trial.cluster.data_link(host)) is not None and link.bytes_per_s is not None
    }
    said = _sentence(pairs, standings, sizes, culled, links)
    return BetweenHosts(hosts, matrix, standings, sizes, culled, said)


def _pairs(trial: Trial) -> dict[tuple[str, str], PairRate]:
    rates: dict[tuple[str, str], list[float]] = {}
    for sample in _of(trial, "net_pair_bytes_per_s"):
        key = str(sample.labels.get("from")), str(sample.labels.get("to"))
        if sample.value is not None:
            rates.setdefault(key, []).append(sample.value)
    return {key: PairRate(median(found), min(found), len(found)) for key, found in rates.items()}


def _standings(trial: Trial) -> list[HostStanding]:
    shares = {
        sample.labels.get(HOST): sample.value for sample in _of(trial, "net_host_share_of_others")
    }
    found = [
        HostStanding(
            str(sample.labels.get(HOST)),
            sample.value,
            shares.get(sample.labels.get(HOST)) or 0.0,
            sample.labels.get("slow") is True,
        )
        for sample in _of(trial, "net_host_bytes_per_s")
        if sample.value is not None
    ]
    return sorted(found, key=lambda each: each.bytes_per_s)


def _sizes(trial: Trial) -> list[AllToAll]:
    means: dict[int, list[float]] = {}
    slowest: dict[int, tuple[str, float]] = {}
    for sample in _of(trial, "net_all_to_all_bytes_per_s"):
        peers = int(float(str(sample.labels.get("peers"))))
        if sample.value is None:
            continue
        if sample.labels.get("slowest") is True:
            slowest[peers] = str(sample.labels.get("peer")), sample.value
        else:
            means.setdefault(peers, []).append(sample.value)
    return [
        AllToAll(peers, *slowest[peers], sum(found) / len(found))
        for peers, found in sorted(means.items())
        if peers in slowest
    ]


def _culled(trial: Trial) -> list[CulledRound]:
    gains = {s.labels.get("dropped"): s.value for s in _of(trial, "net_culled_gain")}
    return [
        CulledRound(
            tuple(str(sample.labels.get("dropped")).split(", ")),
            int(float(str(sample.labels.get("peers")))),
            str(sample.labels.get("peer")),
            sample.value,
            gains.get(sample.labels.get("dropped")),
        )
        for sample in _of(trial, "net_culled_bytes_per_s")
        if sample.value is not None
    ]


def _of(trial: Trial, metric: str) -> list[Sample]:
    return [sample for sample in trial.samples if sample.metric == metric]


def _sentence(
    pairs: Mapping[tuple[str, str], PairRate],
    standings: tuple[HostStanding, ...],
    sizes: tuple[AllToAll, ...],
    culled: tuple[CulledRound, ...],
    links: Mapping[str, float],
) -> str:
    middle = median(pair.bytes_per_s for pair in pairs.values())
    slow = [each for each in standings if each.slow]
    said = []
    if slow:
        named = ", ".join(f"{each.host} ({each.share:.0%} of the others)" for each in slow)
        said.append(f"{'this host is' if len(slow) == 1 else 'these hosts are'} slow: {named}")
        said += [
            f"the link of {each.host} has {format_line_rate(link)}; this is "
            f"{each.bytes_per_s / link:.0%} of it"
            for each in slow
            if (link := links.get(each.host)) is not None and link < max(links.values())
        ]
    elif standings:
        last = standings[0]
        said.append(
            f"no host is slow: the slowest, {last.host}, has {last.share:.0%} of the others' rate"
        )
    said.append(f"a pair moves {format_rate(middle)} (median)")
    if sizes:
        most = sizes[-1]
        said.append(
            f"all {most.hosts} concurrently: the slowest, {most.slowest}, moves "
            f"{format_rate(most.bytes_per_s)}, {most.bytes_per_s / middle:.0%} of a pair"
        )
    helped = [each for each in culled if each.gain is not None]
    if helped:
        names = {each.host for each in slow}
        told = next((each for each in helped if names <= set(each.dropped)), helped[-1])
        said.append(f"without {' and '.join(told.dropped)} the rate changes by {told.gain:+.0%}")
    return "; ".join(said) + "."
