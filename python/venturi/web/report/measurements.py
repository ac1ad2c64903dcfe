"""The results of probes: device rates, latency, random reads, network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from venturi.core.statistics.stats import Missing
from venturi.record.trial import Sample, Scalar, Trial
from venturi.web.report.data import (
    DeviceRate,
    Direction,
    Number,
    RandomRead,
    ReportLatency,
    number,
)

# metric -> (label of the bar, the direction that picks its color)
DISK_RATES: dict[str, tuple[str, Direction]] = {
    "disk_read_bytes_per_s": ("Read alone", "read"),
    "disk_write_bytes_per_s": ("Write alone", "write"),
    "disk_mixed_read_bytes_per_s": ("Read, while writing", "read"),
    "disk_mixed_write_bytes_per_s": ("Write, while reading", "write"),
    "disk_shuffle_read_bytes_per_s": ("Shuffle read (many small segments)", "read"),
}
NETWORK_RATES = {
    "net_pairwise_bytes_per_s": "One pair",
    "net_all_to_all_bytes_per_s": "All to all",
}
QUANTILES = ("p50", "p90", "p99", "p99.9", "max")


def size(value: Scalar) -> str:
    """A request size for people: `4 KiB`, `4 MiB`."""
    if not isinstance(value, int | float):
        return "unknown size"
    for step, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if value >= step:
            return f"{value / step:g} {unit}"
    return f"{value:g} B"


def _groups(
    samples: Iterable[Sample], labels: Sequence[str]
) -> dict[tuple[Scalar, ...], list[Sample]]:
    """`samples` by the values of `labels`, in the order of their first appearance."""
    groups: dict[tuple[Scalar, ...], list[Sample]] = {}
    for sample in samples:
        groups.setdefault(tuple(sample.labels.get(label) for label in labels), []).append(sample)
    return groups


def spread(samples: Sequence[Sample]) -> tuple[Number, Number, Number]:
    """Mean, lowest and highest of the present values, or why they are missing."""
    values = [sample.value for sample in samples if sample.value is not None]
    if not values:
        reason = next((s.missing_reason for s in samples if s.missing_reason), "not measured")
        return Missing(reason), Missing(reason), Missing(reason)
    return (
        number(sum(values) / len(values), "no values"),
        number(min(values), "no values"),
        number(max(values), "no values"),
    )


def _where(directory: Scalar, alone: bool) -> str:
    return str(directory) if directory is not None else ("" if alone else "all together")


def disk_rates(trials: Sequence[Trial]) -> tuple[DeviceRate, ...] | Missing:
    """Sequential rates of every directory, and of all together when there are several."""
    samples = [sample for trial in trials for sample in trial.samples]
    rates = []
    for metric, (label, direction) in DISK_RATES.items():
        groups = _groups(
            (s for s in samples if s.metric == metric), ("dir", "block_bytes", "queue_depth")
        )
        directories = {key[0] for key in groups if key[0] is not None}
        for (directory, block_bytes, depth), group in groups.items():
            if directory is not None and len(directories) == 1 and len(groups) > 1:
                continue  # one directory alone is the same as all together
            setting = f"{size(block_bytes)} requests"
            setting += f", queue depth {depth}" if depth is not None else ""
            where = _where(directory, len(directories) <= 1)
            rates.append(_rate(label, where, direction, setting, group))
    return tuple(rates) or _why_none(trials, "disk")


def _rate(
    label: str, where: str, direction: Direction, setting: str, group: Sequence[Sample]
) -> DeviceRate:
    known = sum(sample.value is not None for sample in group)
    return DeviceRate(label, where, direction, setting, *spread(group), known)


def _why_none(trials: Sequence[Trial], what: str) -> Missing:
    failures = [trial.failure.message for trial in trials if trial.failure]
    return Missing(
        f"the {what} probe failed: {failures[0]}" if failures else f"the {what} was not measured"
    )


def best_rate(rates: tuple[DeviceRate, ...] | Missing, metric: str) -> Number:
    """The mean rate of `metric` over all directories together."""
    if isinstance(rates, Missing):
        return rates
    label = DISK_RATES[metric][0]
    for rate in rates:
        if rate.label == label and rate.where in {"", "all together"}:
            return rate.mean_bytes_per_s
    return Missing(f"{label.lower()} was not measured")


def _quantile(label: Scalar) -> str | None:
    """`p99` for any way of writing it: 0.99, `p99`, `p99_9`, `max`."""
    if isinstance(label, int | float):
        return "max" if label >= 1 else f"p{label * 100:.4g}"
    name = str(label).replace("_", ".")
    return name if name in QUANTILES else None


def latencies(trials: Sequence[Trial]) -> tuple[ReportLatency, ...]:
    """Percentiles of the request time of each mode, request size and depth."""
    samples = [s for trial in trials for s in trial.samples if s.metric == "disk_latency_s"]
    labels = ("mode", "role", "dir", "block_bytes", "queue_depth")
    found = []
    for (mode, role, directory, block, depth), group in _groups(samples, labels).items():
        quantiles: dict[str, Number] = {name: Missing("not reported") for name in QUANTILES}
        for name, same in _groups(group, ("quantile",)).items():
            known = _quantile(name[0])
            if known is not None:
                # Several iterations: the mean of a percentile; the worst of the maxima.
                mean, _, high = spread(same)
                quantiles[known] = high if known == "max" else mean
        text = str(mode or "unknown mode").replace("_", " ")
        text += f" ({role})" if role is not None and mode == "read_write" else ""
        text += f", {size(block)}" if block is not None else ""
        text += f", depth {depth}" if depth is not None else ""
        text += f", {directory}" if directory is not None else ""
        found.append(ReportLatency(text, tuple(quantiles.items())))
    return tuple(found)


def random_reads(trials: Sequence[Trial]) -> tuple[RandomRead, ...]:
    """Random reads per request size and queue depth."""
    samples = [s for trial in trials for s in trial.samples if s.metric == "disk_random_read_iops"]
    found = []
    for (directory, block, depth), group in _groups(
        samples, ("dir", "block_bytes", "queue_depth")
    ).items():
        mean, _, _ = spread(group)
        label = f"{size(block)}, depth {depth}" + (f", {directory}" if directory else "")
        rate: Number = mean
        if not isinstance(mean, Missing):
            known = isinstance(block, int | float)
            rate = mean * float(block or 0) if known else Missing("the request size is unknown")
        found.append(RandomRead(label, mean, rate))
    return tuple(found)


def network_rates(trials: Sequence[Trial]) -> tuple[DeviceRate, ...] | Missing:
    """The rate of the slowest peer, per pattern and number of peers."""
    samples = [sample for trial in trials for sample in trial.samples]
    rates = []
    for metric, label in NETWORK_RATES.items():
        chosen = [s for s in samples if s.metric == metric]
        # The slowest peer is the figure; other samples of the same metric are its companions.
        slowest = [s for s in chosen if s.labels.get("slowest") is True]
        for (peers, sockets), group in _groups(
            slowest or chosen, ("peers", "sockets_per_peer")
        ).items():
            setting = f"{sockets} socket{'' if sockets == 1 else 's'} per peer"
            rates.append(
                _rate(
                    f"{label}, {peers} peers" if peers is not None else label,
                    "slowest peer" if slowest else "",
                    "network",
                    setting if sockets is not None else "",
                    group,
                )
            )
    return tuple(rates) or _why_none(trials, "network")
