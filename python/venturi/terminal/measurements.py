"""Terminal output of the measuring verbs: renderables made from trials, printed by cli."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from venturi.core.statistics.stats import summarise
from venturi.core.units import (
    format_bytes,
    format_bytes_decimal,
    format_duration,
    format_rate,
)
from venturi.record.trial import Sample, Scalar, State, Trial, TrialWarning
from venturi.record.vocabulary import CORE_SPEED
from venturi.results.bottleneck import narrowest_points
from venturi.terminal.predictions import predicted_and_taken
from venturi.terminal.table import UNKNOWN, Table, pairs, table_of

REGIMES = {"in-memory": "in memory", "hybrid": "in two passes"}


def figure(value: float, unit: str) -> str:
    """Return a value for people by its unit; a ratio has none."""
    written = _WRITTEN.get(unit)
    return written(value) if written else f"{value:,.6g} {unit}".rstrip()


def _short_duration(value_s: float) -> str:
    return format_duration(value_s) if value_s >= 0.001 else f"{value_s * 1e6:.0f} µs"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


_WRITTEN: dict[str, Callable[[float], str]] = {
    "B": format_bytes,
    "B/s": format_rate,
    "s": _short_duration,
    "1": _number,
    "ratio": _number,
    "fraction": lambda value: f"{value:.1%}",
    "%": lambda value: f"{value:,.3g}%",
    "1/s": lambda value: f"{value:,.0f}/s",
}


def one(trial: Trial, metric: str) -> float | None:
    """The only value of `metric`, None if the trial has none."""
    values = trial.values(metric)
    return values[0] if values else None


def regime(trial: Trial) -> str:
    """`in memory` or `in two passes`, by the spilled bytes."""
    spilled_bytes = one(trial, "spilled_bytes")
    if spilled_bytes is None:
        return REGIMES.get(str(trial.configuration.get("regime_expected")), "—")
    return "in memory" if spilled_bytes == 0 else "in two passes"


def outcome(trial: Trial) -> str:
    """How a trial ended, in a few words."""
    if trial.failure is None:
        remarks = ", ".join(each for each in trial.remarks if each != "warm-up")
        return f"{trial.state.value} ({remarks})" if remarks else trial.state.value
    return f"{trial.state.value}: {trial.failure.message}"


def host_facts(facts: Mapping[str, Any], samples: Iterable[Sample] = ()) -> Table:
    """The host card, with the speed of a core from `samples`."""

    def bytes_of(key: str) -> str:
        return format_bytes(facts.get(key))

    def known(value: object) -> str:
        return "—" if value is None else str(value)

    rows = [
        ("host", known(facts.get("hostname"))),
        ("system", f"{known(facts.get('os_name'))}, kernel {known(facts.get('kernel_release'))}"),
        (
            "machine",
            f"{known(facts.get('architecture'))}, virtualization "
            f"{known(facts.get('virtualisation'))}, container {known(facts.get('container'))}",
        ),
        (
            "CPU",
            f"{known(facts.get('cpu_model'))}: {known(facts.get('cpu_sockets'))} sockets, "
            f"{known(facts.get('cpu_cores'))} cores, {known(facts.get('cpu_threads'))} threads, "
            f"{known(facts.get('numa_nodes'))} NUMA nodes",
        ),
        (
            "memory",
            f"{bytes_of('memory_total_bytes')}, {bytes_of('memory_available_bytes')} available",
        ),
        *_core_speeds(samples),
    ]
    for device in facts.get("block_devices") or ():
        kind = {True: "rotational", False: "solid state", None: "kind unknown"}
        rows.append(
            (
                f"disk {device.get('name')}",
                f"{format_bytes_decimal(device.get('size_bytes'))}, "
                f"{kind.get(device.get('rotational'), '—')}, "
                f"{known(device.get('transport'))}, scheduler {known(device.get('scheduler'))}",
            )
        )
    for entry in facts.get("file_systems") or ():
        rows.append(
            (
                f"mount {entry.get('mount_point')}",
                f"{known(entry.get('kind'))} on {known(entry.get('device'))}, "
                f"{format_bytes_decimal(entry.get('free_bytes'))} free of "
                f"{format_bytes_decimal(entry.get('total_bytes'))}",
            )
        )
    for nic in facts.get("network_interfaces") or ():
        speed = nic.get("speed_bits_per_s")
        rows.append(
            (
                f"network {nic.get('name')}",
                f"{known(nic.get('kind'))}, {known(nic.get('state'))}, "
                f"{'speed —' if speed is None else f'{speed / 1e9:g} Gbit/s'}, "
                f"MTU {known(nic.get('mtu_bytes'))}, driver {known(nic.get('driver'))}",
            )
        )
    return pairs(rows)


def _core_speeds(samples: Iterable[Sample]) -> Iterator[tuple[str, str]]:
    """The median rate of a core at each kind of work, and its range."""
    kinds: dict[object, list[Sample]] = {}
    for each in samples:
        if each.metric == CORE_SPEED:
            kinds.setdefault(each.labels.get("kind"), []).append(each)
    for kind, own in kinds.items():
        values = [each.value for each in own if each.value is not None]
        unit = own[0].unit
        shown = [
            format_rate(value) if unit == "B/s" else f"{value / 1e6:.1f} million/s"
            for value in (statistics.median(values), min(values), max(values))
        ]
        yield f"core: {kind}", f"{shown[0]} ({shown[1]} to {shown[2]})"


def folded(warnings: Iterable[TrialWarning]) -> Iterator[str]:
    """The warnings, those of rates that did not settle as one line that names each test."""
    unsteady = []
    for warning in warnings:
        if warning.code == "VEN-MEASURE-UNSTEADY":
            unsteady.append(warning.message)
        else:
            yield warning.message
    if len(unsteady) < 2:
        yield from unsteady
        return
    settings: dict[str, list[str]] = {}
    for message in unsteady:
        test, _, setting = message.partition(": ")[0].partition(" (")
        settings.setdefault(test, []).append(setting.replace(")", ""))
    names = ", ".join(
        f"{test} ({'; '.join(dict.fromkeys(told))})" for test, told in settings.items()
    )
    yield f"{len(unsteady)} tests did not settle (--verbose says how each varied): {names}"


def _grouped(trial: Trial, metrics: Sequence[str]) -> dict[tuple[str, str], list[Sample]]:
    groups: dict[tuple[str, str], list[Sample]] = {}
    chosen = [sample for sample in trial.samples if sample.metric in metrics]
    if {None} < (dirs := {sample.labels.get("dir") for sample in chosen}) and len(dirs) == 2:
        # One directory alone is also all of them together: shown once.
        chosen = [sample for sample in chosen if sample.labels.get("dir") is None]
    for sample in chosen:
        labels = ", ".join(
            _label(key, value)
            for key, value in sample.labels.items()
            if key != "iteration" and value is not None
        )
        groups.setdefault((sample.metric, labels), []).append(sample)
    return groups


def _label(key: str, value: Scalar) -> str:
    if key == "block_bytes" and isinstance(value, int):
        return f"{format_bytes(value)} blocks"
    if key == "dir":
        return str(value)
    if key == "slowest":
        return "slowest peer" if value else "all peers"
    if key == "peer":
        return f"({value})"
    return f"{key.replace('_', ' ')} {value}"


def rates(trial: Trial, metrics: Mapping[str, str]) -> Table:
    """Mean, least, greatest and deviation over iterations of the metrics, by their plain names."""
    rows = []
    for (metric, labels), samples in _grouped(trial, tuple(metrics)).items():
        values = [sample.value for sample in samples if sample.value is not None]
        unit = samples[0].unit
        row = {"what": metrics[metric], "how": labels}
        row |= dict.fromkeys(("mean", "min", "max", "stdev"), "")
        if values:
            row["mean"] = _rate(statistics.fmean(values), unit)
            row["min"], row["max"] = _rate(min(values), unit), _rate(max(values), unit)
            row["stdev"] = _rate(statistics.stdev(values), unit) if len(values) > 1 else UNKNOWN
        else:
            row["mean"] = f"{UNKNOWN} ({samples[0].missing_reason or 'not measured'})"
        rows.append(row)
    return table_of(rows, left=2, prose=("how", "mean"), spare=("stdev",))


def _rate(value: float, unit: str) -> str:
    return format_rate(value) if unit == "B/s" else f"{value:,.0f}/s"


DISK_NAMES = {
    "disk_read_bytes_per_s": "read",
    "disk_write_bytes_per_s": "write",
    "disk_mixed_read_bytes_per_s": "read, while writing",
    "disk_mixed_write_bytes_per_s": "write, while reading",
    "disk_random_read_iops": "random read",
    "disk_shuffle_read_bytes_per_s": "shuffle read",
    # Only other tools measure these.
    "disk_random_write_iops": "random write",
    "disk_random_mixed_read_iops": "random read, while writing",
    "disk_random_mixed_write_iops": "random write, while reading",
}
NET_NAMES = {
    "net_pairwise_bytes_per_s": "pairwise",
    "net_all_to_all_bytes_per_s": "all to all",
    "net_udp_received_bytes_per_s": "UDP, received",
}


def sort_summary(trial: Trial) -> Table:
    """Regime, time, rate, predicted time, and the narrowest point of each phase."""
    size_bytes = trial.workload.input_bytes
    elapsed_s = trial.elapsed_s
    rate = size_bytes / elapsed_s if size_bytes is not None and elapsed_s else None
    records = trial.workload.input_records
    count = "" if records is None else f", {records:,} records"
    rows = [
        ("trial", f"{trial.id} ({outcome(trial)})"),
        ("input", f"{format_bytes_decimal(size_bytes)}{count}"),
        ("regime", regime(trial)),
        ("time", f"{format_duration(elapsed_s)} ({format_rate(rate)})"),
    ]
    predicted_s = one(trial, "predicted_elapsed_s")
    if predicted_s is not None:
        low_s, high_s = one(trial, "predicted_low_s"), one(trial, "predicted_high_s")
        rows.append(("prediction", predicted_and_taken(predicted_s, low_s, high_s, elapsed_s)))
    user_s, system_s = one(trial, "cpu_user_s"), one(trial, "cpu_system_s")
    if user_s is not None and system_s is not None:
        per_record = f", {(user_s + system_s) / records * 1e9:,.0f} ns a record" if records else ""
        rows.append(("CPU time", f"{format_duration(user_s + system_s)}{per_record}"))
    peak_bytes = one(trial, "peak_rss_bytes")
    if peak_bytes is not None:
        budget = format_bytes(one(trial, "memory_budget_bytes"))
        rows.append(("memory", f"{format_bytes(peak_bytes)} at the peak, budget {budget}"))
    if trial.elapsed_s is not None:
        rows += narrowest_rows(trial)
    rows += [("warning", warning.message) for warning in trial.warnings]
    return pairs(rows)


def narrowest_rows(trial: Trial) -> list[tuple[str, str]]:
    """The narrowest point of each phase, and its busy share."""
    rows = []
    for finding in narrowest_points(trial):
        text = finding.sentence
        if finding.reason is None and finding.stages:
            text += f"; {finding.stages[0].at_work}"
        rows.append((f"narrowest point of {finding.phase}", text))
    return rows


def repetitions(trials: Sequence[Trial]) -> Table:
    """Each repetition, then the median of those that count."""
    rows = []
    for trial in trials:
        size_bytes, elapsed_s = trial.workload.input_bytes, trial.elapsed_s
        rate = size_bytes / elapsed_s if size_bytes is not None and elapsed_s else None
        name = f"{trial.repetition}{' (warm-up)' if trial.warm_up else ''}"
        rows.append(
            {
                "repetition": name,
                "trial": trial.id,
                "outcome": outcome(trial),
                "regime": regime(trial),
                "time": format_duration(elapsed_s),
                "rate": format_rate(rate),
            }
        )
    counted = [
        trial.elapsed_s
        for trial in trials
        if trial.state is State.SUCCEEDED and not trial.warm_up and trial.elapsed_s is not None
    ]
    middle_s = summarise(counted).median
    if middle_s is not None:
        rows.append(
            {
                "repetition": "median",
                "trial": f"of {len(counted)}",
                "time": format_duration(middle_s),
            }
        )
    return table_of(rows, left=4, prose=("outcome",), spare=("regime",))
