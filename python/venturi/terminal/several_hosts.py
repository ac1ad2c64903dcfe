"""Tables of what probes of several hosts found, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.core.units import format_rate
from venturi.machines.scaling.between_hosts import BetweenHosts, between_hosts
from venturi.machines.scaling.disks_of_hosts import DisksOfHosts, disks_of_hosts
from venturi.record.dilation import as_on_real_machines, real_rate
from venturi.record.trial import Trial
from venturi.terminal.table import Paragraph, Table, table

REAL = "as on real machines"
MATRIX_HOSTS_MAX = 16
"""A matrix of more hosts fits no terminal: the page and the JSON have it."""


def parts(trial: Trial) -> Iterator[Paragraph | Table]:
    """What a probe of several hosts found; nothing for other trials."""
    if (k := trial.cluster.dilation) is not None:
        yield Paragraph(
            f"emulated: rates were divided by k = {k:g}; {REAL}: modelled, rates times k"
        )
    if (found := between_hosts(trial)) is not None:
        yield from _network(found, trial)
    if (disks := disks_of_hosts(trial)) is not None:
        yield Paragraph("\nDisks, all hosts at work", "bold")
        yield _disks(disks, trial)


def data(trial: Trial) -> dict[str, object]:
    """The same for programs: `between_hosts` and `disks_of_hosts`, where there is any, and of a
    dilated lab `as_on_real_machines`.
    """
    found = {
        "between_hosts": between_hosts(trial),
        "disks_of_hosts": disks_of_hosts(trial),
        "as_on_real_machines": as_on_real_machines(trial),
    }
    return {key: value for key, value in found.items() if value is not None}


def _network(found: BetweenHosts, trial: Trial) -> Iterator[Paragraph | Table]:
    if len(found.hosts) <= MATRIX_HOSTS_MAX:
        yield Paragraph("\nFrom the host of the row to the host of the column", "bold")
        yield _matrix(found)
    yield Paragraph("\nEach host with one other", "bold")
    real = (REAL,) if trial.cluster.dilation is not None else ()
    made = table("host", "rate", *real, "of the others", "", left=1, prose=("host",))
    for each in found.standings:
        slow = "slow" if each.slow else ""
        made.add(each.host, *_rates(trial, each.bytes_per_s), f"{each.share:.0%}", slow)
    yield made
    yield Paragraph("\nAll to all", "bold")
    made = table(
        "hosts", "slowest host", "it moves", *real, "mean of all", left=0, prose=("slowest host",)
    )
    for size in found.sizes:
        made.add(
            str(size.hosts),
            size.slowest,
            *_rates(trial, size.bytes_per_s),
            format_rate(size.mean_bytes_per_s),
        )
    yield made
    if found.culled:
        yield Paragraph("\nAll to all without the slowest", "bold")
        made = table(
            "without",
            "hosts",
            "slowest host",
            "it moves",
            *real,
            "gain",
            left=1,
            prose=("without", "slowest host"),
        )
        for step in found.culled:
            gain = "—" if step.gain is None else f"{step.gain:+.0%}"
            made.add(
                ", ".join(step.dropped),
                str(step.hosts),
                step.slowest,
                *_rates(trial, step.bytes_per_s),
                gain,
            )
        yield made


def _matrix(found: BetweenHosts) -> Table:
    made = table("", *found.hosts, left=1)
    for host, row in zip(found.hosts, found.matrix, strict=True):
        cells = ("—" if pair is None else format_rate(pair.bytes_per_s) for pair in row)
        made.add(f"{host} (slow)" if host in found.slow else host, *cells)
    return made


def _rates(trial: Trial, value: float | None, unit: str = "B/s") -> tuple[str, ...]:
    """A rate as it was measured, and of a dilated lab as on real machines."""
    if trial.cluster.dilation is None:
        return (_rate(value, unit),)
    return _rate(value, unit), _rate(real_rate(trial, value, unit), unit)


def _rate(value: float | None, unit: str) -> str:
    if value is None or unit == "B/s":
        return format_rate(value)
    return f"{value:,.0f}/s"


def _disks(found: DisksOfHosts, trial: Trial) -> Table:
    real = (REAL,) if trial.cluster.dilation is not None else ()
    made = table(
        "host",
        "folder",
        "test",
        "rate",
        *real,
        "of its peers",
        "of its rate alone",
        "",
        left=3,
        prose=("folder",),
        spare=("of its rate alone",),
    )
    for each in found.disks:
        alone = "—" if each.of_alone is None else f"{each.of_alone:.0%}"
        test = each.mode.replace("_", " ") if each.mode != "read_write" else f"mixed {each.role}"
        made.add(
            each.host,
            each.folder,
            test,
            *_rates(trial, each.rate, each.unit),
            "—" if each.share is None else f"{each.share:.0%}",
            alone,
            "slow" if each.slow else "",
        )
    return made
