"""The main figures of an imported host series: busiest disk, CPU, network, memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from venturi.core.units import format_bytes, format_duration, format_rate
from venturi.record.store.series import stacked_on_others
from venturi.results.hosts.use import CPU_STATES

if TYPE_CHECKING:
    import polars as pl

_BYTES = ("disk_read_bytes_per_s", "disk_write_bytes_per_s")
_NETWORK = (("receive", "net_receive_bytes_per_s"), ("transmit", "net_transmit_bytes_per_s"))
_WAITS = (("", "disk_await_s"), ("read ", "disk_read_await_s"), ("write ", "disk_write_await_s"))
_SUMS = {"all", "total"}  # over all devices
_Figures = dict[tuple[str, str | None], tuple[float, float]]


def series_figures(rows: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each figure that the `rows` of a series have.

    Figures are means over the samples, with the largest sample in brackets.
    """
    from venturi.record.store.frames import pl

    value = pl.col("value")
    grouped = rows.group_by("metric", "device").agg(mean=value.mean(), most=value.max())
    found: _Figures = {row[:2]: row[2:] for row in grouped.rows()}
    samples = rows["t_s"].n_unique()
    first_s, last_s = rows.select(pl.col("t_s").min(), last=pl.col("t_s").max()).row(0)
    over = f" over {format_duration(last_s - first_s)}" if samples > 1 else ""
    yield "samples", f"{samples:,}{over}"
    yield from _disks(found)
    yield from _cpu(rows)
    for name, metric in _NETWORK:
        devices = [device for key, device in found if key == metric and device is not None]
        own = set(devices) - {"lo"}
        if own := (own - _SUMS) or own:
            busiest = max(sorted(own), key=lambda each: found[metric, each][0])
            mean, most = found[metric, busiest]
            yield f"{name} ({busiest})", f"{format_rate(mean)} (most {format_rate(most)})"
    for name, metric in (("available", "memory_available_bytes"), ("free", "memory_free_bytes")):
        least = rows.filter(pl.col("metric") == metric)["value"].min()
        if isinstance(least, float):
            yield "memory", f"at least {format_bytes(least)} {name}"
            break


def _disks(found: _Figures) -> Iterator[tuple[str, str]]:
    every = {device for metric, device in found if metric in {"disk_busy", *_BYTES} and device}
    single = (every - _SUMS) or every
    disks = [each for each in single if not stacked_on_others(each, single)]
    if not disks:
        return

    def moved(device: str) -> float:
        return sum(found.get((metric, device), (0.0, 0.0))[0] for metric in _BYTES)

    def load(device: str) -> tuple[float, float]:
        return found.get(("disk_busy", device), (0.0, 0.0))[0], moved(device)

    busiest = max(sorted(disks), key=load)
    said = []
    if ("disk_busy", busiest) in found:
        mean, most = found["disk_busy", busiest]
        said.append(f"{mean:.0%} busy (most {most:.0%})")
    for name, metric in zip(("read", "write"), _BYTES, strict=True):
        if (metric, busiest) in found:
            said.append(f"{name} {format_rate(found[metric, busiest][0])}")
    for name, metric in _WAITS:
        if (metric, busiest) in found:
            said.append(f"{name}await {found[metric, busiest][0] * 1e3:.3g} ms")
    others = f", busiest of {len(disks)}" if len(disks) > 1 else ""
    yield "disk", f"{busiest}{others}: {', '.join(said)}"


def _cpu(rows: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """The CPU of all processors: other devices of the metric are single ones."""
    from venturi.record.store.frames import pl

    whole = rows.filter(pl.col("metric").str.starts_with("cpu_") & pl.col("device").is_null())
    busy = [each for name, own in CPU_STATES.items() if name != "waiting for I/O" for each in own]
    used = whole.filter(pl.col("metric").is_in(busy)).group_by("t_s").agg(pl.col("value").sum())
    if used.is_empty():
        return
    mean, most = float(used["value"].mean()), float(used["value"].max())  # type: ignore[arg-type]
    waiting = whole.filter(pl.col("metric") == "cpu_iowait")["value"].mean()
    wait = f", waiting for I/O {waiting:.0%}" if isinstance(waiting, float) else ""
    yield "CPU", f"{mean:.0%} busy (most {most:.0%}){wait}"
