"""`report_data`: from recorded trials to the page's data. It reads no clock and no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from venturi.core.statistics.stats import Missing
from venturi.machines.cost.predict import DiskRates, Prediction, disk_rates_from_trial
from venturi.machines.health.verdict import DeviceVerdict, verdicts
from venturi.record.measured_over import measured_over
from venturi.record.trial import State, Trial, started
from venturi.web.report import words
from venturi.web.report.data import (
    Notice,
    PriceRow,
    ReportData,
    ReportedTrial,
    ReportFact,
    SkippedMeasurement,
    Text,
    number,
)
from venturi.web.report.host import host_card
from venturi.web.report.measurements import (
    disk_rates,
    latencies,
    network_rates,
    random_reads,
)
from venturi.web.report.sorts import is_sort, labels, phase_uses, sort_view, succeeded

if TYPE_CHECKING:
    import polars as pl

PROBE_LABELS = {"diskbench": "disk probe", "netbench": "network probe"}
NO_PRICES = Missing("no price table was given")

METHOD = (
    ReportFact(
        "Time of a sort",
        "from the start of the sort until its whole output is on disk (fsync, rename), without "
        "generating and validating",
    ),
    ReportFact(
        "Disk",
        "DiskBench: random data, past the page cache if the file system allows it, fsync inside "
        "the timer, several iterations; bars show their mean, whiskers the lowest and highest",
    ),
    ReportFact(
        "Limit of a phase",
        "bytes read and written concurrently, at the total rate that the disk reached doing both; "
        "the rest, at its rate of reading or writing alone",
    ),
    ReportFact(
        "Stages",
        "each worker's time is busy (useful work), idle (no input), waiting for memory, or blocked "
        "(the next stage is full); times are summed over the stage's workers",
    ),
    ReportFact(
        "Narrowest point",
        "the stage that was busy for the largest share of the phase; unnamed if no stage was busy "
        "for half of it, or if two are not distinguishable (Themis, SoCC 2015)",
    ),
    ReportFact(
        "Units", "rates are decimal: 1 MB/s is 10⁶ bytes per second; memory is binary (GiB)"
    ),
    ReportFact("Missing values", "shown as — with the reason, never counted as 0"),
)


def _all_same(values: Iterable[str | None], none: str) -> Text:
    """The value all trials share; all of them if they differ."""
    found = sorted({value for value in values if value})
    return ", ".join(found) if found else Missing(none)


def _software(trials: Sequence[Trial]) -> tuple[ReportFact, ...]:
    software = [trial.software for trial in trials]
    others = {name: version for each in software for name, version in each.others.items()}
    facts = [
        ReportFact("Venturi", _all_same((s.venturi_version for s in software), "not recorded")),
        ReportFact(
            "Git commit", _all_same((s.git_sha for s in software), "not built from a checkout")
        ),
        ReportFact("Build profile", _all_same((s.build_profile for s in software), "not recorded")),
        ReportFact("Kernel", _all_same((s.kernel for s in software), "not recorded")),
    ]
    return (*facts, *(ReportFact(name, version) for name, version in sorted(others.items())))


def _limits(probes: Sequence[Trial]) -> DiskRates | Missing:
    """The rates of the latest disk probe that succeeded."""
    done = [trial for trial in probes if trial.state is State.SUCCEEDED]
    return disk_rates_from_trial(done[-1]) if done else Missing("no disk probe succeeded")


def _verdicts(probes: Iterable[Trial]) -> tuple[DeviceVerdict, ...]:
    """The probes' verdicts on this machine's class; loopback is no network, so it gets none."""
    done = [probe for probe in probes if probe.state is State.SUCCEEDED]
    found = (verdict for probe in done for verdict in verdicts(probe))
    return tuple(verdict for verdict in found if verdict.device_class != "loopback")


def _row(trial: Trial, name: str) -> ReportedTrial:
    failed = trial.failure
    return ReportedTrial(
        trial.id,
        name,
        str(trial.state),
        f"{failed.kind} ({failed.code}): {failed.message}" if failed else None,
        trial.started_at,
        number(trial.elapsed_s, failed.message if failed else f"the trial is {trial.state}"),
        f"{trial.provenance.kind}, {trial.provenance.source}",
    )


def _warnings(trials: Iterable[Trial], names: Mapping[str, str]) -> Iterator[Notice]:
    for trial in trials:
        for warning in trial.warnings:
            yield Notice(warning.code, names[trial.id], warning.message)


def report_data(
    trials: Sequence[Trial],
    *,
    series: Mapping[str, pl.DataFrame],
    predictions: Mapping[str, Prediction],
    prices: Sequence[PriceRow] | None,
    generated_at: datetime,
    job: str = "a 100 TB sort",
    skipped: Sequence[SkippedMeasurement] = (),
    commands: Sequence[str] = (),
) -> ReportData:
    """The page's data for `trials` (disk and network probes, sorts; in any order).

    `series` holds, by trial id, the host's series with columns t_s (seconds since the start of the
    trial), metric, device, value, unit. `predictions` holds, by trial id, the prediction before the
    sort. `prices` is the price table of `job`, or None if it was not made. `commands` are the
    commands that reproduce these numbers.
    """
    ordered = sorted(trials, key=lambda trial: (started(trial), trial.id))
    names = labels(ordered) | {
        trial.id: PROBE_LABELS[trial.workload.name]
        for trial in ordered
        if trial.workload.name in PROBE_LABELS
    }
    probes = [t for t in ordered if t.workload.name == "diskbench"]
    networks = [t for t in ordered if t.workload.name == "netbench"]
    limits = _limits(probes)
    rates, network = disk_rates(probes), network_rates(networks)
    network_label = next(filter(None, map(measured_over, networks)), "network")
    sorts = tuple(
        sort_view(trial, names[trial.id], series.get(trial.id), predictions.get(trial.id))
        for trial in ordered
        if is_sort(trial)
    )
    disturbed = words.disturbances(ordered)
    timed = {trial.id: trial for trial in ordered if is_sort(trial) and succeeded(trial)}
    hosts = [host.name for trial in ordered for host in trial.cluster.hosts]
    host = hosts[0] if hosts else "This machine"
    table = tuple(prices) if prices is not None else NO_PRICES
    warnings = tuple(_warnings(ordered, names))
    return ReportData(
        title=f"Venturi report: {host}",
        generated_at=generated_at,
        headline=words.headline(host, sorts, disturbed),
        answers=words.answers(
            verdicts=_verdicts((*probes[-1:], *networks[-1:])),
            rates=rates,
            network=network,
            network_label=network_label,
            sorts=sorts,
            job=job,
            prices=table,
            disturbed=disturbed,
        ),
        figures=words.figures(rates, sorts, job, () if isinstance(table, Missing) else table),
        host=host_card(ordered),
        rates=rates,
        uses=tuple(
            use
            for sort in sorts
            if sort.id in timed
            for use in phase_uses(timed[sort.id], sort.label, sort.stages, limits)
        ),
        latencies=latencies(probes),
        random_reads=random_reads(probes),
        network=network,
        network_label=network_label,
        sorts=sorts,
        job=job,
        prices=table,
        method=METHOD,
        software=_software(ordered),
        commands=tuple(commands),
        trials=tuple(_row(trial, names[trial.id]) for trial in ordered),
        warned=words.warned(warnings),
        warnings=warnings,
        skipped=tuple(skipped),
    )
