"""Tables of the results of probes of several hosts, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.core.units import format_rate
from venturi.machines.scaling.between_hosts import BetweenHosts, between_hosts
from venturi.machines.scaling.disks_of_hosts import DisksOfHosts, disks_of_hosts
from venturi.record.dilation import as_on_real_machines, real_rate
from venturi.record.trial import Trial
from venturi.terminal.table import Paragraph, Table, format_share, table, table_of

REAL = "as on real machines"
MATRIX_HOSTS_MAX = 16
"""A larger matrix doesn't fit a terminal; the page and the JSON have it."""


def parts(trial: Trial) -> Iterator[Paragraph | Table]:
    """The results of a probe of several hosts; nothing for other trials."""
    if (k := trial.cluster.dilation) is not None:
        yield Paragraph(
            f"emulated: rates were divided by k = {k:g}; {REAL}: modeled, rates times k"
        )
    if (found := between_hosts(trial)) is not None:
        yield from _network(found, trial)
    if (disks := disks_of_hosts(trial)) is not None:
        yield Paragraph("\nDisks, all hosts at work", "bold")
        yield _disks(disks, trial)


def data(trial: Trial) -> dict[str, object]:
    """The same as JSON: `between_hosts` and `disks_of_hosts`, if any, and `as_on_real_machines` for
    a dilated lab.
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
    yield table_of(
        (
            {
                "host": each.host,
                **_rates(trial, "rate", each.bytes_per_s),
                "of the others": f"{each.share:.0%}",
                "": "slow" if each.slow else "",
            }
            for each in found.standings
        ),
        prose=("host",),
    )
    yield Paragraph("\nAll to all", "bold")
    sizes = (
        {
            "hosts": str(size.hosts),
            "slowest host": size.slowest,
            **_rates(trial, "it moves", size.bytes_per_s),
            "mean of all": format_rate(size.mean_bytes_per_s),
        }
        for size in found.sizes
    )
    yield table_of(sizes, left=0, prose=("slowest host",))
    if found.culled:
        yield Paragraph("\nAll to all without the slowest", "bold")
        steps = (
            {
                "without": ", ".join(step.dropped),
                "hosts": str(step.hosts),
                "slowest host": step.slowest,
                **_rates(trial, "it moves", step.bytes_per_s),
                "gain": "—" if step.gain is None else f"{step.gain:+.0%}",
            }
            for step in found.culled
        )
        yield table_of(steps, prose=("without", "slowest host"))


def _matrix(found: BetweenHosts) -> Table:
    made = table("", *found.hosts, left=1)
    for host, row in zip(found.hosts, found.matrix, strict=True):
        cells = ("—" if pair is None else format_rate(pair.bytes_per_s) for pair in row)
        made.add(f"{host} (slow)" if host in found.slow else host, *cells)
    return made


def _rates(trial: Trial, name: str, value: float | None, unit: str = "B/s") -> dict[str, str]:
    """A measured rate, and for a dilated lab also the rate on real machines."""
    measured = {name: _rate(value, unit)}
    if trial.cluster.dilation is None:
        return measured
    return {**measured, REAL: _rate(real_rate(trial, value, unit), unit)}


def _rate(value: float | None, unit: str) -> str:
    if value is None or unit == "B/s":
        return format_rate(value)
    return f"{value:,.0f}/s"


def _disks(found: DisksOfHosts, trial: Trial) -> Table:
    rows = []
    for each in found.disks:
        test = each.mode.replace("_", " ") if each.mode != "read_write" else f"mixed {each.role}"
        rows.append(
            {
                "host": each.host,
                "folder": each.folder,
                "test": test,
                **_rates(trial, "rate", each.rate, each.unit),
                "of its peers": format_share(each.share),
                "of its rate alone": format_share(each.of_alone),
                "": "slow" if each.slow else "",
            }
        )
    return table_of(rows, left=3, prose=("folder",), spare=("of its rate alone",))
