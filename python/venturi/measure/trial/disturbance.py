"""Concurrent load during a trial: the host's counters minus the trial's own.

Each second the agent's sampler reports the use of the whole host, and that of the process that runs
the trial with its descendants. The difference is other processes' load: every trial has samples of
it, and beyond `LIMITS` a warning. Hosts on one machine, as in a lab, are judged together. See
docs/method/disturbance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from venturi.core.units import format_duration
from venturi.record.store.series import stacked_on_others
from venturi.record.trial import CPU_OTHERS, CPU_STEAL, DISK_OTHERS, DISTURBED, Sample, TrialWarning

Row = tuple[str, str | None, float]
"""Metric, device, value."""

NOT_WATCHED = "the host was not watched during the trial"
ONE_MACHINE = (
    "the trial's hosts are on one machine, so its disks and links carry the traffic of all"
)
LEAST_COVERED = 0.5  # of the execution, at least, by samples
MEMORY_STALLED = "memory_stalled_share"

_WORK = ("cpu_user", "cpu_nice", "cpu_system")  # interrupts belong to no process
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
class DisturbanceLimit:
    """The share of the execution's time from which on a trial is disturbed, `least`; `said` names
    the cause.

    `source` justifies the value.
    """

    metric: str
    least: float
    said: str
    source: str


_TENTH = (
    "work that needs a resource throughout takes up to 1/(1 - share) as long, 11 % at a "
    "tenth; below, it is lost in the spread of repeats (ALOJA's groups: 4.5 % at the "
    "median). Our judgment"
)
LIMITS = (
    DisturbanceLimit(CPU_OTHERS, 0.10, "other programs used {share} of the CPU time", _TENTH),
    DisturbanceLimit(
        CPU_STEAL,
        0.05,
        "the hypervisor withheld {share} of the CPU time",
        "in stolen time a process was ready to run (proc(5), `steal`), so the trial loses "
        "all of it; the limit of 5 % is the smallest difference that comparisons detect by "
        "default",
    ),
    DisturbanceLimit(
        DISK_OTHERS, 0.10, "other programs' transfers took {share} of a disk's time", _TENTH
    ),
    DisturbanceLimit(
        MEMORY_STALLED,
        0.10,
        "all tasks were stalled for lack of memory for {share} of the time",
        "`full` of the kernel's pressure stall information (Linux, accounting/psi): time "
        "without any progress; limit of a tenth as for the other resources",
    ),
)


@dataclass(frozen=True, slots=True)
class Tick:
    """Means since the previous sample, from `from_s` to `to_s` on the trial's clock.

    None: not reported. `cpu_work` and `cpu_own` cover all CPUs; `net_bytes_per_s` excludes
    loopback.
    """

    from_s: float
    to_s: float
    cpu_work: float | None
    cpu_own: float | None
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
        cpu_work=_sum(alone, _WORK),
        cpu_own=alone.get("own_cpu"),
        host_disk_bytes_per_s=sum(each.get(_READ, 0.0) + each.get(_WRITE, 0.0) for each in once)
        if once
        else None,
        own_disk_bytes_per_s=_sum(alone, (f"own_{_READ}", f"own_{_WRITE}")),
        disk_busy=max((each["disk_busy"] for each in once if "disk_busy" in each), default=None),
        net_bytes_per_s=sum(net) if net else None,
        means=tuple(alone.get(metric) for _, metric in _MEANS),
    )


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The verdict on a trial: its samples, and a warning for each limit reached."""

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
    """Return the concurrent load from `from_s` to `to_s`, the execution of the trial.

    `elsewhere` says why the trial's own work isn't fully counted, `network` why its traffic can't
    be separated from that of others. An unknown figure has the reason.
    """
    window = _Window(ticks, from_s, to_s)
    disk_bytes_per_s, disk_share = _disks(ticks, window)
    own = window.too_short or elsewhere
    return _judged(
        window,
        (CPU_OTHERS, window.cpu_others(), own),
        (DISK_OTHERS, disk_share, own),
        ("disk_others_bytes_per_s", disk_bytes_per_s, own),
        ("net_others_bytes_per_s", window.mean(lambda each: each.net_bytes_per_s), own or network),
    )


def disturbance_of_one_machine(
    hosts: Sequence[Sequence[Tick]], from_s: float, to_s: float, *, elsewhere: str | None = None
) -> Disturbance:
    """Return the concurrent load on the machine that emulates all `hosts` of the trial, from each
    one's samples.

    Each host sees the whole machine's work and its own part of the trial's; the trial's work is the
    sum of these parts. Transfers can't be separated this way: a host's disk is a file on the
    machine's.
    """
    windows = [_Window(ticks, from_s, to_s) for ticks in hosts]
    window = min(windows, key=lambda each: each.too_short is not None)
    unwatched = next((each.too_short for each in windows if each.too_short), None)
    work = window.mean(lambda each: each.cpu_work)
    owns = [each.mean(lambda each: each.cpu_own) for each in windows]
    known = [own for own in owns if own is not None]
    others = None if work is None or len(known) < len(owns) else work - sum(known)
    return _judged(
        window,
        (CPU_OTHERS, others, elsewhere or unwatched),
        (DISK_OTHERS, None, elsewhere or ONE_MACHINE),
        ("disk_others_bytes_per_s", None, elsewhere or ONE_MACHINE),
        ("net_others_bytes_per_s", None, elsewhere or ONE_MACHINE),
    )


class _Window:
    """A host's samples during the execution; `too_short` says why they are insufficient."""

    def __init__(self, ticks: Sequence[Tick], from_s: float, to_s: float) -> None:
        self.from_s, self.to_s = from_s, to_s
        self.ticks = [each for each in ticks if each.to_s > from_s and each.from_s < to_s]
        self._covered_s = sum(map(self._inside_s, self.ticks))
        self.too_short = None
        if self._covered_s <= 0 or self._covered_s < LEAST_COVERED * (to_s - from_s):
            self.too_short = "it was shorter than the sampling interval of the host"
            if self._covered_s or not ticks:
                self.too_short = "the host was sampled for less than half of the execution"

    def _inside_s(self, tick: Tick) -> float:
        return min(tick.to_s, self.to_s) - max(tick.from_s, self.from_s)

    def mean(self, of: Callable[[Tick], float | None]) -> float | None:
        """Over the execution, a part of a sample by its part; None if too few say it."""
        weighed = [
            (value, self._inside_s(each)) for each in self.ticks if (value := of(each)) is not None
        ]
        weight = sum(weight for _, weight in weighed)
        if weight <= 0 or weight < LEAST_COVERED * self._covered_s:
            return None
        return sum(value * weight for value, weight in weighed) / weight

    def cpu_others(self) -> float | None:
        return self.mean(
            lambda each: (
                None
                if each.cpu_work is None or each.cpu_own is None
                else each.cpu_work - each.cpu_own
            )
        )


def _judged(window: _Window, *others: tuple[str, float | None, str | None]) -> Disturbance:
    """Judge the figures. `others` are metric, value and the reason if unknown, for metrics that
    need the trial's own share.
    """

    def mean(place: int) -> float | None:
        share = window.mean(lambda each: each.means[place])
        return None if share is None else min(share, 1.0)  # the kernel's sums come a little late

    means = ((name, mean(place), window.too_short) for place, (name, _) in enumerate(_MEANS))
    samples = tuple(
        Sample(
            metric,
            None if why or value is None else max(0.0, value),
            "B/s" if metric.endswith("_bytes_per_s") else "fraction",
            missing_reason=why or ("not reported by the sampler" if value is None else None),
        )
        for metric, value, why in (*others, *means)
    )
    return Disturbance(samples, tuple(_warnings(samples, window.to_s - window.from_s)))


def unknown(reason: str) -> Disturbance:
    """Return the verdict on a trial without figures, for `reason`."""
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


def _disks(ticks: Sequence[Tick], window: _Window) -> tuple[float | None, float | None]:
    """Return the bytes per second of other processes, and their share of the busiest disk's time.

    A disk's time is divided by bytes. Data written before the execution may reach the disk only
    during it: the trial's own part of them still counts as its own.
    """
    host = window.mean(lambda each: each.host_disk_bytes_per_s)
    own = window.mean(lambda each: each.own_disk_bytes_per_s)
    busy = window.mean(lambda each: each.disk_busy)
    if host is None or own is None:
        return None, None
    inside = window.ticks
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


def _sum(values: Mapping[str, float], metrics: Sequence[str]) -> float | None:
    found = [values[metric] for metric in metrics if metric in values]
    return sum(found) if len(found) == len(metrics) else None
