"""The first screen of a trial without an engine's account: its outcome, and its bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from venturi.core.units import format_bytes_decimal, format_duration, format_rate
from venturi.machines.health.verdict import verdicts
from venturi.record.cost import recorded_cost
from venturi.record.prediction import prediction_check
from venturi.record.trial import Trial
from venturi.results.bottleneck import narrowest_points
from venturi.terminal.measurements import DISK_NAMES, NET_NAMES, figure, rates
from venturi.terminal.predictions import check_text
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, Table, pairs, shorten_to, table

_SETTINGS = 4
_SAMPLES = 6
_RATES = {"diskbench": DISK_NAMES, "netbench": NET_NAMES}


def trial_screen(
    trial: Trial, series: Iterable[tuple[str, str]] = ()
) -> Iterator[Paragraph | Table]:
    """Yield the headline, the failure or the bottleneck of each phase, and the main figures.

    `series` are those of an imported host series.
    """
    yield Paragraph(headline(trial), "bold")
    if trial.failure is not None:
        yield Paragraph(f"{trial.failure.message} [{trial.failure.code}]", indent=2)
    if (check := prediction_check(trial)) is not None:
        text = check_text(check)
        yield Paragraph(text[0].upper() + text[1:], indent=2)
    if trial.warnings:
        first = trial.warnings[0]
        more = len(trial.warnings) - 1
        text = f"Warning: {first.message}" + (f" (and {more} more)" if more else "")
        yield Paragraph(text, "yellow", 2)
    for verdict in verdicts(trial):
        yield Paragraph(f"{verdict.subject}: {verdict.text}", indent=2)
    yield Paragraph("")
    if (narrowest := _narrowest(trial)).rows:
        yield narrowest
        yield Paragraph("")
    names = _RATES.get(trial.workload.name)
    if names is not None:
        yield rates(trial, names)
        yield Paragraph("")
    yield pairs([*series, *_facts(trial, samples=names is None)])


def headline(trial: Trial) -> str:
    """Return the workload, engine, time and state: "sort · native 0.1.0 · 7.8 s · succeeded"."""
    workload = "/".join(filter(None, (trial.workload.name, trial.workload.scale)))
    tail = "".join(
        f" · {text}"
        for text in (
            f"{trial.engine.name} {trial.engine.version}".removesuffix(" unknown"),
            None if trial.elapsed_s is None else format_duration(trial.elapsed_s),
            ", ".join((trial.state.value, *trial.remarks)),
        )
        if text
    )
    return shorten_to(workload, SCREEN_WIDTH - len(tail)) + tail


def _narrowest(trial: Trial) -> Table:
    made = table("phase", "took", "bottleneck", left=3, prose=("bottleneck",))
    took = {phase.name: phase.elapsed_s for phase in trial.phases}
    for finding in narrowest_points(trial):
        made.add(finding.phase, format_duration(took.get(finding.phase)), finding.sentence)
    return made


def _facts(trial: Trial, *, samples: bool) -> Iterator[tuple[str, str]]:
    workload, cluster = trial.workload, trial.cluster
    if workload.input_bytes is not None:
        rate = ""
        if trial.elapsed_s:
            rate = f", {format_rate(workload.input_bytes / trial.elapsed_s)}"
        yield "input", f"{format_bytes_decimal(workload.input_bytes)}{rate}"
    machine = ", ".join(filter(None, (cluster.name, cluster.instance_type)))
    hosts = f"{len(cluster.hosts)} hosts" if len(cluster.hosts) > 1 else ""
    if not machine and not hosts and cluster.hosts:
        hosts = cluster.hosts[0].name
    yield "machines", ", ".join(filter(None, (machine, hosts))) or "not recorded"
    if (cost := recorded_cost(trial)) is not None:
        yield "cost", cost.text or f"unknown: {cost.missing_reason}"
    if trial.started_at is not None and trial.elapsed_s is not None:
        until = trial.started_at + timedelta(seconds=trial.elapsed_s)
        yield "time", f"{trial.started_at:%Y-%m-%d %H:%M:%S} to {until:%H:%M:%S} UTC"
    if trial.configuration:
        known = {key: value for key, value in trial.configuration.items() if value is not None}
        shown = [f"{key}={value}" for key, value in known.items()]
        more = f" and {len(shown) - _SETTINGS} more" if len(shown) > _SETTINGS else ""
        yield "settings", ", ".join(shown[:_SETTINGS]) + more
    own = [each for each in trial.samples if each.value is not None and not each.labels]
    for sample in own[:_SAMPLES] if samples else ():
        assert sample.value is not None
        yield sample.metric, figure(sample.value, sample.unit)
    yield "repeat group", f"{trial.group_key}, repetition {trial.repetition}"
    yield "source", f"{trial.provenance.kind.value} by {trial.provenance.source}"
    yield "trial", trial.id
