"""Overlays one catalog on another, and makes a catalog from measurements of a machine.

The more reliable of two values stays: measured over derived over advertised over assumed; of the
same kind, the newer one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain

from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.catalog import ATTRIBUTES, Catalog, Fact, InstanceType
from venturi.machines.catalog.storage import NOTE, concurrent_rate
from venturi.machines.cost.predict import DiskRate, DiskRates, disk_rates_from_trial
from venturi.machines.cost.probe_runs import is_imported, newest_runs
from venturi.machines.scaling.network import network_scaling_from_trials
from venturi.record.measured_over import measured_over
from venturi.record.one_host import HOST, of_host
from venturi.record.trial import State, Trial, started

_KINDS = tuple(ValueKind)
# These say how many nodes a rate stands for, and go with it.
_BELONGS_TO = {"network_nodes": "network_rate_at_scale", "storage_nodes": "storage_rate_slowest"}
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


# Rates of which two sources may say different things: the lower is safe, the other may be true.
DISPUTABLE = (
    "network_line_rate",
    "network_rate",
    "volume_line_rate",
    "local_read_rate",
    "local_write_rate",
    "storage_rate",
)
SAME = 0.02  # smaller differences are rounding


def overlay(base: Catalog, over: Catalog, *, both: bool = False) -> Catalog:
    """`base` with the more reliable values of `over`; types that only `over` has come last.

    If kind and day are equal, the value of `over` stays. An unknown value replaces nothing. With
    `both`, if two rates of one kind differ, the lower one stays and the other is its high end.
    """
    entries = dict(base.entries)
    for name, above in over.entries.items():
        below = entries.get(name)
        entries[name] = above if below is None else InstanceType(name, _merged(below, above, both))
    return Catalog.of(base.name, entries)


def _merged(below: InstanceType, above: InstanceType, both: bool) -> dict[str, Fact]:
    facts = dict(below.facts)
    for attribute in dict.fromkeys((*above.facts, *_BELONGS_TO)):
        leader = _BELONGS_TO.get(attribute, attribute)
        if not _better(above.facts.get(leader), below.facts.get(leader)):
            continue
        if attribute in above.facts:
            facts[attribute] = above.facts[attribute]
        else:  # how many nodes the old rate stood for says nothing of the new one
            facts.pop(attribute, None)
    if derived := _storage_of_better_rates(below, facts):
        facts["storage_rate"] = derived
    for attribute in DISPUTABLE if both else ():
        if disputed := _disputed(below.facts.get(attribute), above.facts.get(attribute)):
            facts[attribute] = disputed
    return facts


def _storage_of_better_rates(below: InstanceType, facts: Mapping[str, Fact]) -> Fact | None:
    """The storage rate, derived again if a better read or write rate replaced one of `below`."""
    names = ("local_read_rate", "local_write_rate")
    storage, (read, write) = facts.get("storage_rate"), (facts.get(name) for name in names)
    if storage is None or storage.kind is not ValueKind.DERIVED or read is None or write is None:
        return None
    if storage is not below.facts.get("storage_rate") or all(
        facts[name] is below.facts.get(name) for name in names
    ):
        return None
    if not isinstance(read.value, float) or not isinstance(write.value, float):
        return None
    disks = facts.get("disk_count")
    count = disks.value if disks is not None and isinstance(disks.value, float) else 1.0
    rate, low, high = concurrent_rate(read.value, write.value, count)
    newer = max((read, write), key=_strength)
    return replace(
        storage, value=rate, low=low, high=high, source=newer.source, as_of=newer.as_of, note=NOTE
    )


def _disputed(one: Fact | None, other: Fact | None) -> Fact | None:
    """The lower of two rates of one kind that differ, with the other as its high end."""
    if one is None or other is None or one.kind is not other.kind:
        return None
    if not isinstance(one.value, float) or not isinstance(other.value, float):
        return None
    low, high = (one, other) if one.value <= other.value else (other, one)
    assert isinstance(low.value, float)
    assert isinstance(high.value, float)
    if high.value <= low.value * (1 + SAME):
        return None
    note = f"two sources disagree: {high.source} has {high.value:g}; the lower one is used"
    notes = "; ".join(text for text in (low.note, note) if text)
    return replace(low, high=max(high.value, low.high or 0.0), note=notes)


def _better(above: Fact | None, below: Fact | None) -> bool:
    if above is None or below is None:
        return above is not None
    if above.value is None or below.value is None:
        return above.value is not None
    return _strength(above) >= _strength(below)


def _strength(fact: Fact) -> tuple[int, date]:
    return _KINDS.index(fact.kind or ValueKind.ASSUMED), fact.as_of or date.min


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """Facts about one instance type from trials, and the reason for each unused trial by id."""

    catalog: Catalog
    left_out: Mapping[str, str]


def overlay_from_trials(trials: Iterable[Trial], type_name: str) -> TrialFacts:
    """Facts about the instance type `type_name` from succeeded probes.

    DiskBench: storage_rate is the smaller of concurrent reading and writing (equation 5),
    local_read_rate and local_write_rate are separate rates; for several hosts the median, with the
    slowest as storage_rate_slowest. NetBench: network_rate between pairs, network_rate_at_scale of
    the slowest peer when all send to all, at the most peers measured. Host facts: CPUs, memory,
    NUMA nodes. The newest value of a host counts. Imported probes of fio, iperf3 and
    PerfKitBenchmarker count like Venturi's own, and the fact says so. Loopback isn't a network and
    is ignored.
    """
    left_out: dict[str, str] = {}
    usable: list[Trial] = []
    for trial in chain.from_iterable(map(_by_host, trials)):
        if why := _unusable(trial, type_name):
            left_out[trial.id] = why
        else:
            usable.append(trial)
    runs = newest_runs(usable)
    left_out |= runs.left_out
    facts = _Facts(runs.parts)
    disks = [trial for trial in runs.trials if trial.workload.name == "diskbench"]
    nets = [trial for trial in runs.trials if trial.workload.name == "netbench"]
    if disks:
        _disk_facts(disks, facts)
    if nets:
        _net_facts(nets, facts)
    # Imported probes come last: they have no facts of their host.
    if runs.trials:
        _host_facts(max(runs.trials, key=lambda t: (not is_imported(t), started(t))), facts)
    types = {type_name: InstanceType(type_name, facts.by_name)} if facts.by_name else {}
    return TrialFacts(Catalog(type_name, types), left_out)


def _by_host(trial: Trial) -> Iterable[Trial]:
    """A disk probe that names hosts as one of each; any other trial as it is."""
    named = any(HOST in sample.labels for sample in trial.samples)
    if trial.workload.name != "diskbench" or not named:
        return (trial,)
    return tuple(of_host(trial, host.name) for host in trial.cluster.hosts)


def replace_facts(catalog: Catalog, by: Catalog) -> Catalog:
    """`catalog` with the facts of `by` in place of its own, however either is known."""
    types = dict(catalog.types)
    for name, of in by.types.items():
        before = types[name].facts if name in types else {}
        types[name] = InstanceType(name, {**before, **of.facts})
    return replace(catalog, types=types)


def network_at(
    trials: Iterable[Trial], type_name: str, nodes: int, *, force: bool = False
) -> Catalog:
    """network_rate_at_scale of `type_name` for `nodes` nodes, from NetBench at several sizes.

    The fit and its range are those of `scaling.network_scaling_from_trials`; beyond 8 times the
    largest size measured VEN-MODEL-RANGE, unless `force`.
    """
    probes = [t for t in trials if t.workload.name == "netbench"]
    nets = [t for t in probes if not _unusable(t, type_name)]
    if not nets:
        reasons = "; ".join(f"trial {t.id}: {_unusable(t, type_name)}" for t in probes[:5])
        raise VenturiError(
            "VEN-MODEL-INPUT",
            "--at-nodes needs network probes at several cluster sizes: "
            f"{reasons or 'the trials have no network probe'}",
            where={"trials": " ".join(t.id for t in probes)} if probes else {},
            hint="measure between hosts: venturi probe net --scale 2,4,8 --peer HOST:PORT ...",
        )
    rate = network_scaling_from_trials(nets).at(nodes, force=force)
    as_of = rate.as_of or max(started(trial) for trial in nets).date()
    at_scale = Fact(
        rate.value / 1e6,
        "MB/s",
        rate.kind,
        rate.source,
        as_of,
        rate.note,
        rate.low / 1e6,
        rate.high / 1e6,
    )
    count = Fact(float(nodes), "1", rate.kind, rate.source, as_of, "")
    facts = {"network_rate_at_scale": at_scale, "network_nodes": count}
    return Catalog(type_name, {type_name: InstanceType(type_name, facts)})


def _unusable(trial: Trial, type_name: str) -> str:
    """Why `trial` says nothing of the instance type; "" if it does."""
    if trial.state is not State.SUCCEEDED:
        return f"it is {trial.state}, and only succeeded trials count"
    if trial.cluster.instance_type not in (None, type_name):
        return f"it was measured on {trial.cluster.instance_type}"
    if trial.workload.name not in {"diskbench", "netbench", "hostfacts"}:
        return f"{trial.workload.name} on {trial.engine.name} is not a probe"
    if not trial.cluster.hosts or trial.started_at is None:
        return "its host or its time is missing"
    return _of_no_machine(trial)


def _of_no_machine(trial: Trial) -> str:
    """Why the rates of a probe are no machine's; "" if they are."""
    if trial.cluster.dilation not in (None, 1):
        k = trial.cluster.dilation
        return f"it was measured in a lab with rates divided by {k:g}, which no machine has"
    loopback = (measured_over(trial) or "").startswith("loopback")
    if trial.workload.name == "netbench" and (
        loopback or trial.configuration.get("loopback") is not None
    ):
        return "loopback is memory copying, not a network"
    if target := trial.configuration.get("target_bits_per_s"):
        return f"its rate was limited to {target} bit/s (-b)"
    return ""


@dataclass(slots=True)
class _Facts:
    """Measured facts by attribute, each with the trials it comes from."""

    parts: Mapping[str, Sequence[Trial]]
    by_name: dict[str, Fact] = field(default_factory=dict)

    def _parts_of(self, trials: Sequence[Trial]) -> list[Trial]:
        """The recorded trials that were combined into `trials`."""
        return [part for trial in trials for part in self.parts.get(trial.id, (trial,))]

    def put(
        self,
        attribute: str,
        value: float | str,
        trials: Sequence[Trial],
        *,
        note: str = "",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        parts = self._parts_of(trials)
        ids = " ".join(dict.fromkeys(part.id for part in parts))
        tools = sorted({part.engine.name for part in parts if is_imported(part)})
        imported = f"imported from {', '.join(tools)}" if tools else ""
        self.by_name[attribute] = Fact(
            value,
            ATTRIBUTES[attribute][0],
            ValueKind.MEASURED,
            f"{'imported ' if tools else ''}{'trials' if ' ' in ids else 'trial'} {ids}",
            max(map(started, trials)).date(),
            "; ".join(filter(None, (note, imported))),
            low,
            high,
        )

    def put_missing(self, attribute: str, why: str, trials: Sequence[Trial]) -> None:
        day = max(map(started, trials)).date()
        self.by_name[attribute] = Fact(None, ATTRIBUTES[attribute][0], None, "", day, why)

    def put_rate(
        self, attribute: str, rates: Mapping[str, DiskRate], trials: Sequence[Trial], note: str
    ) -> None:
        """Median of the hosts' rates in MB/s, from the lowest to the highest of any."""
        of_hosts = [rate.bytes_per_s / 1e6 for rate in rates.values()]
        parts = self._parts_of(trials)
        codes = {warning.code for part in parts for warning in part.warnings}
        words = [
            note,
            *([f"of {len(of_hosts)} hosts"] if len(of_hosts) > 1 else []),
            *(["some rates did not settle"] if "VEN-MEASURE-UNSTEADY" in codes else []),
            *(["through the page cache"] if "VEN-IMPORT-CACHED" in codes else []),
        ]
        self.put(
            attribute,
            statistics.median(of_hosts),
            trials,
            note="; ".join(word for word in words if word),
            low=min(rate.low_bytes_per_s for rate in rates.values()) / 1e6,
            high=max(rate.high_bytes_per_s for rate in rates.values()) / 1e6,
        )


def _storage(rates: DiskRates) -> DiskRate | None:
    """Equation (5): the smaller of the concurrent read and write rates."""
    read, write = rates.mixed_read, rates.mixed_write
    if read is None or write is None:
        return None
    return DiskRate(
        min(read.bytes_per_s, write.bytes_per_s),
        min(read.low_bytes_per_s, write.low_bytes_per_s),
        min(read.high_bytes_per_s, write.high_bytes_per_s),
    )


def _host(trial: Trial) -> str:
    return trial.cluster.hosts[0].name


def _disk_facts(trials: Sequence[Trial], facts: _Facts) -> None:
    rates = {_host(trial): disk_rates_from_trial(trial) for trial in trials}
    figures: Sequence[tuple[str, Callable[[DiskRates], DiskRate | None], str, str]] = (
        (
            "storage_rate",
            _storage,
            "mixed_read",
            "the smaller of concurrent reading and writing",
        ),
        ("local_read_rate", lambda r: r.read, "read", ""),
        ("local_write_rate", lambda r: r.write, "write", ""),
    )
    for attribute, pick, missing, note in figures:
        known = {name: rate for name, r in rates.items() if (rate := pick(r)) is not None}
        used = [trial for trial in trials if _host(trial) in known]
        if not known:
            reasons = dict.fromkeys(
                r.missing.get(missing) or "no rate of both directions" for r in rates.values()
            )
            facts.put_missing(attribute, "; ".join(reasons), trials)
            continue
        facts.put_rate(attribute, known, used, note)
        if attribute == "storage_rate" and len(known) > 1:
            slowest = min(rate.bytes_per_s for rate in known.values()) / 1e6
            facts.put("storage_rate_slowest", slowest, used)
            facts.put("storage_nodes", float(len(known)), used)


def _net_rate(trial: Trial, metric: str, slowest: bool) -> tuple[float, DiskRate] | None:
    """(peers, rate) at the most peers measured."""
    samples = [
        sample
        for sample in trial.samples
        if sample.metric == metric
        and sample.value is not None
        and sample.labels.get("slowest") is slowest
        and isinstance(sample.labels.get("peers"), int | float)
    ]
    if not samples:
        return None
    peers = max(float(str(sample.labels["peers"])) for sample in samples)
    values = [s.value for s in samples if s.labels["peers"] == peers and s.value is not None]
    return peers, DiskRate(statistics.median(values), min(values), max(values))


def _net_facts(trials: Sequence[Trial], facts: _Facts) -> None:
    pairs = {
        t.id: found[1] for t in trials if (found := _net_rate(t, "net_pairwise_bytes_per_s", False))
    }
    used = [trial for trial in trials if trial.id in pairs]
    if used:
        facts.put_rate("network_rate", pairs, used, "between pairs, one after the other")
    shuffles = [
        (found, t) for t in trials if (found := _net_rate(t, "net_all_to_all_bytes_per_s", True))
    ]
    if not shuffles:
        return
    # The largest cluster says most; of equal ones the slowest peer is the figure.
    (peers, slowest), trial = min(shuffles, key=lambda s: (-s[0][0], s[0][1].bytes_per_s))
    average = _net_rate(trial, "net_all_to_all_bytes_per_s", False)
    high = None if average is None else max(average[1].high_bytes_per_s, slowest.bytes_per_s)
    facts.put(
        "network_rate_at_scale",
        slowest.bytes_per_s / 1e6,
        [trial],
        note=f"slowest of {peers:g} peers, all to all; high is their mean",
        high=None if high is None else high / 1e6,
    )
    facts.put("network_nodes", peers, [trial])


def _host_facts(trial: Trial, facts: _Facts) -> None:
    host = trial.cluster.hosts[0].facts
    numbers = (
        ("vcpus", "cpu_threads", 1.0),
        ("cores", "cpu_cores", 1.0),
        ("numa_nodes", "numa_nodes", 1.0),
        ("memory", "memory_total_bytes", 2.0**-30),
    )
    for attribute, name, scale in numbers:
        value = host.get(name)
        if isinstance(value, int | float) and value > 0:
            note = "as the kernel reports it" if attribute == "memory" else ""
            facts.put(attribute, value * scale, [trial], note=note)
    if isinstance(host.get("cpu_model"), str) and host["cpu_model"].strip():
        facts.put("processor", host["cpu_model"].strip(), [trial])
    architecture = _ARCHITECTURES.get(str(host.get("architecture")))
    if architecture:
        facts.put("architecture", architecture, [trial])


def need_facts(found: TrialFacts, wanted: Sequence[str]) -> None:
    """Raises an error if a trial requested by id was left out, or if no trial provided a fact."""
    refused = {name: why for name, why in found.left_out.items() if name in wanted}
    if not refused and found.catalog.types:
        return
    reasons = refused or dict(found.left_out)
    shown = "; ".join(f"trial {name}: {why}" for name, why in list(reasons.items())[:5])
    raise VenturiError(
        "VEN-MODEL-INPUT",
        shown or "there is no probe with figures",
        where={"trials": " ".join(reasons)} if reasons else {},
        hint="measure with `venturi probe disk` and `venturi probe net --peer ...` on the machine",
    )
