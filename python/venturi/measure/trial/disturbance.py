"""What others used of the host while a trial executed: the host's counters less the trial's own.

The agent's sampler says each second what all used, and what the process that runs the trial and all
that it started used. What remains is others' work: it is a sample of every trial, and from
`LIMITS` on a warning. See docs/method/disturbance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from venturi.record.series import stacked_on_others
from venturi.record.trial import CPU_OTHERS, CPU_STEAL, DISK_OTHERS, DISTURBED, Sample, TrialWarning
from venturi.units import format_duration

Row = tuple[str, str | None, float]
"""Metric, device, value."""

_Mean = Callable[[Iterable[float | None]], float | None]

NOT_WATCHED = "the host was not watched during the trial"
LEAST_COVERED = 0.5  # of the execution, at least, by samples
MEMORY_STALLED = "memory_stalled_share"

_WORK = ("cpu_user", "cpu_nice", "cpu_system")  # interrupts are nobody's own
_READ, _WRITE = "disk_read_bytes_per_s", "disk_write_bytes_per_s"
_NET = ("net_receive_bytes_per_s", "net_transmit_bytes_per_s")
_LOOPBACK = "lo"
# Sample, its unit, and the metric of the series of which it is the mean over the execution.
_MEANS = (
    (CPU_STEAL, "cpu_steal"),
    ("cpu_pressure_share", "pressure_cpu_some"),
    ("io_pressure_share", "pressure_io_full"),
    (MEMORY_STALLED, "pressure_memory_full"),
)


@dataclass(frozen=True, slots=True)
class Limit:
    """From `least` on, a share of the execution's time, a trial is disturbed; `said` names what by.

    `source` says why there and no lower.
    """

    metric: str
    least: float
    said: str
    source: str


_TENTH = (
    "work that needs a resource throughout takes up to 1/(1 - share) as long, 11 % at a tenth; "
    "below it drowns in the spread of repeats (ALOJA's groups: 4.5 % at the median). Our judgement"
)
LIMITS = (
    Limit(CPU_OTHERS, 0.10, "others used {share} of the processor time", _TENTH),
    Limit(
        CPU_STEAL, 0.05, "the hypervisor withheld {share} of the processor time",
        "stolen time is time in which a process was ready to run (proc(5), `steal`): all of it is "
        "lost to the trial, 5 % at the limit, the least difference that is asked for by default",
    ),
    Limit(DISK_OTHERS, 0.10, "others' transfers took {share} of a disk's time", _TENTH),
    Limit(
        MEMORY_STALLED, 0.10, "all tasks stood still for lack of memory for {share} of the time",
        "`full` of the kernel's pressure stall information (Linux, accounting/psi): time in which "
        "nothing was done; a tenth as for the other resources",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tick:
    """The means since the sample before, from `from_s` to `to_s` on the trial's clock.

    None is what was not said. `cpu_others` is of all processors; `net_bytes_per_s` is without
    loopback.
    """

    from_s: float
    to_s: float
    cpu_others: float | None
    host_disk_bytes_per_s: float | None
    own_disk_bytes_per_s: float | None
    disk_busy: float | None
    net_bytes_per_s: float | None
    means: tuple[float | None, ...]


def tick(from_s: float, to_s: float, rows: Iterable[Row]) -> Tick:
    """One sample of the host's series."""
    alone: dict[str, float] = {}
    disks: dict[str, dict[str, float]] = {}
    net: list[float] = []
    for metric, device, value in rows:
        if device is None:
            alone[metric] = value
        elif metric in {_READ, _WRITE, "disk_busy"}:
            disks.setdefault(device, {})[metric] = value
        elif metric in _NET and device != _LOOPBACK:
            net.append(value)
    once = [found for name, found in disks.items() if not stacked_on_others(name, set(disks))]
    return Tick(
        from_s,
        to_s,
        cpu_others=_less(_sum(alone, _WORK), alone.get("own_cpu")),
        host_disk_bytes_per_s=sum(
            each.get(_READ, 0.0) + each.get(_WRITE, 0.0) for each in once
        ) if once else None,
        own_disk_bytes_per_s=_sum(alone, (f"own_{_READ}", f"own_{_WRITE}")),
        disk_busy=max((each["disk_busy"] for each in once if "disk_busy" in each), default=None),
        net_bytes_per_s=sum(net) if net else None,
        means=tuple(alone.get(metric) for _, metric in _MEANS),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What is said of a trial: the samples, and a warning for each limit that was reached."""

    samples: tuple[Sample, ...]
    warnings: tuple[TrialWarning, ...] = ()


def disturbance(
    ticks: Sequence[Tick],
    from_s: float,
    to_s: float,
    *,
    elsewhere: str | None = None,
    network: str | None = None,
) -> Disturbance:
    """What others did from `from_s` to `to_s`, when the trial executed.

    `elsewhere` says why not all of the trial's own work is counted as its own, `network` why its
    own traffic cannot be told from others'. A figure that cannot be told has the reason.
    """
    inside = [each for each in ticks if each.to_s > from_s and each.from_s < to_s]
    covered_s = sum(min(each.to_s, to_s) - max(each.from_s, from_s) for each in inside)
    too_short = None
    if covered_s <= 0 or covered_s < LEAST_COVERED * (to_s - from_s):
        too_short = "it executed for less time than lies between two samples of the host"
        if covered_s or not ticks:
            too_short = "the host was sampled for less than half of the execution"

    def mean(values: Iterable[float | None]) -> float | None:
        weighed = [
            (value, min(each.to_s, to_s) - max(each.from_s, from_s))
            for each, value in zip(inside, values, strict=True)
            if value is not None
        ]
        weight = sum(weight for _, weight in weighed)
        if weight <= 0 or weight < LEAST_COVERED * covered_s:
            return None
        return sum(value * weight for value, weight in weighed) / weight

    cpu = mean(each.cpu_others for each in inside)
    disk_bytes_per_s, disk_share = _disks(ticks, inside, mean)
    net = mean(each.net_bytes_per_s for each in inside)
    silent = "the sampler does not say"
    own = too_short or elsewhere
    figures: list[tuple[str, float | None, str, str | None]] = [
        (CPU_OTHERS, _least_0(cpu), "fraction", own),
        (DISK_OTHERS, disk_share, "fraction", own),
        ("disk_others_bytes_per_s", disk_bytes_per_s, "B/s", own),
        ("net_others_bytes_per_s", net, "B/s", own or network),
        *(
            (name, mean(each.means[place] for each in inside), "fraction", too_short)
            for place, (name, _) in enumerate(_MEANS)
        ),
    ]
    samples = tuple(
        Sample(metric, None if why else value, unit, missing_reason=_reason(value, why, silent))
        for metric, value, unit, why in figures
    )
    return Disturbance(samples, tuple(_warnings(samples, to_s - from_s)))


def unknown(reason: str) -> Disturbance:
    """Of a trial of which nothing can be told, for `reason`."""
    return Disturbance(
        tuple(
            Sample(metric, None, "fraction", missing_reason=reason)
            for metric in (CPU_OTHERS, DISK_OTHERS, CPU_STEAL, MEMORY_STALLED)
        )
    )


def _warnings(samples: Iterable[Sample], executed_s: float) -> Iterable[TrialWarning]:
    values: Mapping[str, float] = {
        sample.metric: sample.value for sample in samples if sample.value is not None
    }
    for limit in LIMITS:
        share = values.get(limit.metric)
        if share is not None and share >= limit.least:
            said = limit.said.format(share=f"{share:.0%}")
            yield TrialWarning(
                DISTURBED, f"{said} while it executed ({format_duration(executed_s)})"
            )


def _disks(
    ticks: Sequence[Tick], inside: Sequence[Tick], mean: _Mean
) -> tuple[float | None, float | None]:
    """Bytes a second that others moved, and the share of the busiest disk's time that took.

    A disk's time is shared out by bytes. What was written before the execution may reach the disk
    only during it: as much of the trial's own as had not by then is its own still.
    """
    host = mean(each.host_disk_bytes_per_s for each in inside)
    own = mean(each.own_disk_bytes_per_s for each in inside)
    busy = mean(each.disk_busy for each in inside)
    if host is None or own is None:
        return None, None
    waiting_bytes = 0.0
    for each in ticks:
        if inside and each.from_s >= inside[0].from_s:
            break
        moved = (each.own_disk_bytes_per_s or 0.0) - (each.host_disk_bytes_per_s or 0.0)
        waiting_bytes = max(0.0, waiting_bytes + moved * (each.to_s - each.from_s))
    inside_s = inside[-1].to_s - inside[0].from_s
    others = max(0.0, host - own - waiting_bytes / inside_s)
    share = others / host if host > 0 else 0.0
    return others, None if busy is None else busy * share


def _reason(value: float | None, why: str | None, silent: str) -> str | None:
    return why or (silent if value is None else None)


def _less(all_: float | None, own: float | None) -> float | None:
    return None if all_ is None or own is None else all_ - own


def _least_0(value: float | None) -> float | None:
    return None if value is None else max(0.0, value)


def _sum(values: Mapping[str, float], metrics: Sequence[str]) -> float | None:
    found = [values[metric] for metric in metrics if metric in values]
    return sum(found) if len(found) == len(metrics) else None
