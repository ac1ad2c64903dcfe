"""How fast the fast and the slow disks are for a job's local files.

Rates are given by the user, measured by probes of the disks, or seen in the trial's own series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.units import parse_rate
from venturi.jobs.tiers.disks import SLOW_EXAMPLE, DiskMap, LocalDisks, TierDisks, folders_probed
from venturi.jobs.tiers.fast_storage import (
    READ_AHEAD_BYTES,
    DiskClassRates,
    Requests,
    missing_rates,
)
from venturi.jobs.tiers.local_bytes import JobLoad
from venturi.jobs.tiers.measured import READ, WRITTEN, MeasuredJob, cannot_tell
from venturi.jobs.tiers.series import busy_rates
from venturi.machines.health.devices import device_of, mount_of
from venturi.record.trial import State, Trial

_RANDOM_BYTES = 4096  # of a request, where only requests a second are given
_RANDOM = "disk_random_read_iops"


def disks_given(name: str, texts: Sequence[str]) -> TierDisks:
    """The disks that an option names: by folder, or by rates such as `SLOW_EXAMPLE`."""
    rates = [_given(name, text) for text in texts if "=" in text]
    return TierDisks(name, tuple(text for text in texts if "=" not in text), tuple(rates))


def _given(name: str, text: str) -> DiskClassRates:
    """Rates of one disk, as they are written."""
    found: dict[str, float] = {}
    for part in text.split(","):
        key, _, amount = (word.strip() for word in part.partition("="))
        if key not in {"read", "write", "iops"} or key in found:
            raise _bad(name, text, f"{key!r} is {'given twice' if key in found else 'not a rate'}")
        try:
            found[key] = float(amount) if key == "iops" else parse_rate(amount)
        except (ValueError, VenturiError) as error:
            what = "number" if key == "iops" else "rate"
            raise _bad(name, text, f"{key} is not a {what}: {amount!r}") from error
        if not 0 < found[key] < float("inf"):
            raise _bad(name, text, f"{key} must be above 0")

    def quantity(key: str) -> Quantity | None:
        value = found.get(key)
        if value is None:
            return None
        return Quantity(value, value, value, ValueKind.ASSUMED, f"--{name}")

    per_s = quantity("iops")
    requests = () if per_s is None else (Requests(_RANDOM_BYTES, per_s),)
    return DiskClassRates(quantity("read"), quantity("write"), requests)


def _bad(name: str, text: str, problem: str) -> VenturiError:
    return UsageError(
        "VEN-UNIT-SYNTAX",
        f"--{name} {text[:80]!r}: {problem}",
        where={"option": f"--{name}", "value": text[:80]},
        hint=f"write it like {SLOW_EXAMPLE}, or give a folder that `venturi probe disk` measured",
    )


def rates_of(
    measured: MeasuredJob, disks: LocalDisks, tier: TierDisks, load: JobLoad
) -> DiskClassRates:
    """The rates of the disks of `tier` together; VEN-MODEL-INPUT if `load` needs one that is
    unknown.

    Given rates and those of probes add up, as far as a host has tasks to use the disks. Rates that
    the trial itself shows come before those of probes, which read and write long files, in which
    the head stays.
    """
    slots = load.host_slots
    alone: list[str] = []  # one folder of each disk
    for folder in tier.folders:
        if not disks.map.is_on(folder, alone):
            alone.append(folder)
    found = _together([*tier.given, *(_probed(disks.map, each, slots) for each in alone)], slots)
    found = replace(found, read_ahead_bytes=_read_ahead(measured.trial, tier))
    if not tier.given:
        rates, n = busy_rates(load, measured, tier.folders)
        own = {name: _used(rate, n, slots) for name, rate in rates.items()}
        found = replace(
            found,
            read=_seen(own.get("read"), found.read),
            write=_seen(own.get("write"), found.write),
            shuffle=own.get("shuffle"),
        )
    if lacking := missing_rates(load, found):
        raise _unknown_rates(measured, tier, lacking)
    return found


def _unknown_rates(measured: MeasuredJob, tier: TierDisks, lacking: Sequence[str]) -> VenturiError:
    why = f"these rates of its {tier.title} are unknown: {', '.join(lacking)}"
    probe = " ".join(f"--dir {folder}" for folder in tier.folders) or "--dir FOLDER"
    to_do = f"measure them on that host: venturi probe disk {probe} --mode read,write,random_read"
    for each in measured.other_probes:
        if folders_probed(each).intersection(tier.folders):
            there, here = (
                ", ".join(host.name for host in one.cluster.hosts) for one in (each, measured.trial)
            )
            why += f"; probe {each.id} ran on {there}, and the trial on {here}"
            to_do = "measure them on the trial's host"
            break
    hint = f"{to_do}; or give them: --{tier.name} {SLOW_EXAMPLE}"
    return cannot_tell(measured.trial, why, hint)


def _used(all_of_them: Quantity | None, disks: int, slots: int) -> Quantity | None:
    """The part of a rate of several disks that a host's tasks use: each task uses one file at a
    time. The upper bound stays that of all disks, because the kernel writes to all of them.
    """
    if all_of_them is None or disks <= slots:
        return all_of_them
    part = slots / disks
    return replace(all_of_them, value=part * all_of_them.value, low=part * all_of_them.low)


def _together(each: Sequence[DiskClassRates], slots: int) -> DiskClassRates:
    """The rates of several disks together; unknown if the rate of one of them is unknown."""
    if not each:
        return DiskClassRates()
    sizes = set.intersection(*({r.size_bytes for r in rates.requests} for rates in each))

    def added(found: Sequence[Quantity | None]) -> Quantity | None:
        return _used(_added(found), len(each), slots)

    by_size = {
        size: added(
            [one.per_s for rates in each for one in rates.requests if one.size_bytes == size]
        )
        for size in sorted(sizes)
    }
    return DiskClassRates(
        added([rates.read for rates in each]),
        added([rates.write for rates in each]),
        tuple(Requests(size, per_s) for size, per_s in by_size.items() if per_s is not None),
    )


def _added(found: Sequence[Quantity | None]) -> Quantity | None:
    known = [quantity for quantity in found if quantity is not None]
    if not known or len(known) < len(found):
        return None
    return Quantity(
        sum(q.value for q in known),
        sum(q.low for q in known),
        sum(q.high for q in known),
        min((q.kind for q in known), key=list(ValueKind).index),
        "; ".join(dict.fromkeys(q.source for q in known)),
    )


def _read_ahead(trial: Trial, disks: TierDisks) -> float:
    """How many bytes the kernel reads ahead on these disks, by the hosts' facts."""
    known = [
        device.get("read_ahead_bytes")
        for host in trial.cluster.hosts
        for folder in disks.folders
        if (mount := mount_of(host.facts, folder)) is not None
        for device in (device_of(host.facts, mount),)
    ]
    sizes = [size for size in known if isinstance(size, int) and size > 0]
    return median(sizes) if sizes else READ_AHEAD_BYTES


def _probed(where: DiskMap, folder: str, slots: int) -> DiskClassRates:
    """Each rate from the newest probe that measured it in `folder`, else elsewhere on its disk."""
    found = DiskClassRates()
    for probe in sorted(where.probes, key=lambda each: folder not in folders_probed(each)):
        labels, of_probe = folders_probed(probe), DiskMap(where.trial, (probe,))
        on_it = sorted(each for each in labels if of_probe.is_one(each, folder))
        if probe.state is not State.SUCCEEDED or not on_it:
            continue
        measured = folder if folder in labels else on_it[0]
        source = f"probe {probe.id} of {measured}"
        found = replace(
            found,
            read=found.read or _quantity(_values(probe, READ, measured), source),
            write=found.write or _quantity(_values(probe, WRITTEN, measured), source),
            requests=found.requests or _requests(probe, measured, slots, source),
        )
    return found


def _values(probe: Trial, metric: str, folder: str, **labels: object) -> list[float]:
    """The values of a metric; for several hosts, those measured on all hosts concurrently."""
    wanted = {"dir": folder, **labels}
    found = [
        sample
        for sample in probe.samples
        if sample.metric == metric
        and sample.value
        and all(sample.labels.get(key) == value for key, value in wanted.items())
    ]
    most = max((int(s.labels.get("hosts_at_once") or 0) for s in found), default=0)
    return [s.value for s in found if s.value and int(s.labels.get("hosts_at_once") or 0) == most]


def _quantity(values: Sequence[float], source: str) -> Quantity | None:
    if not values:
        return None
    return Quantity(median(values), min(values), max(values), ValueKind.MEASURED, source)


def _seen(own: Quantity | None, probed: Quantity | None) -> Quantity | None:
    """The trial's own rate, with a range up to the probe's; without one, the probe's."""
    if own is None or probed is None:
        return own or probed
    return replace(own, high=max(own.high, probed.high))


def _requests(probe: Trial, folder: str, slots: int, source: str) -> tuple[Requests, ...]:
    """Random reads by size, with about as many concurrent requests as slots; the range is that of
    all queue depths."""
    shapes: dict[int, set[int]] = {}
    for sample in probe.samples:
        block, depth = (sample.labels.get(key) for key in ("block_bytes", "queue_depth"))
        if sample.metric == _RANDOM and isinstance(block, int) and isinstance(depth, int):
            shapes.setdefault(block, set()).add(depth)
    found = []
    for block, depths in sorted(shapes.items()):
        by_depth = {
            depth: median(values)
            for depth in depths
            if (values := _values(probe, _RANDOM, folder, block_bytes=block, queue_depth=depth))
        }
        if by_depth:
            usual = by_depth[min(by_depth, key=lambda depth: abs(depth - slots))]
            low, high = min(by_depth.values()), max(by_depth.values())
            quantity = Quantity(usual, low, high, ValueKind.MEASURED, source)
            found.append(Requests(block, quantity))
    return tuple(found)
