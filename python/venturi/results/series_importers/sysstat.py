"""sysstat's JSON: `sadf -j`, and `iostat -o JSON` and `mpstat -o JSON`.

- `sadf` states times in UTC (or local times with `-t`), and how long each interval was. Local times
  have no zone that can be trusted: they are kept as a warning.
- `iostat` and `mpstat` have a time only with `-t` (mpstat always, without a date). Without one the
  interval is unknown, and 1 s is assumed, with a warning.
- The first report of `iostat` is the mean since the host started, unless `-y` was given, which the
  file doesn't show. It is left out if there are others, and the series begins with its time.
  `mpstat` begins with a report of an interval.
- A truncated file keeps its complete samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.host_series import HostSeries
from venturi.record.importing.items import ImportSource
from venturi.record.importing.json_text import (
    JsonDocument,
    JsonLimits,
    before_the_cut,
    documents,
    object_in,
    objects_in,
)
from venturi.record.importing.text import Refusal
from venturi.results.series_importers.metrics import (
    CPU,
    DISK,
    MEMORY,
    NETWORK,
    PAGING,
    add_all,
    is_amount,
)
from venturi.results.series_importers.times import ReportClock, clock_time

FORMAT = Format(
    "sysstat",
    "sysstat: sadf -j, iostat -o JSON, mpstat -o JSON; host series",
    pattern=r'(?s).{0,4096}?\{\s*"sysstat"\s*:\s*\{\s*"(?:hosts|sysdata-version|timezone)"',
)

_LIMITS = JsonLimits(file_bytes=512 << 20, records=1_000)
_BLOCK_BYTES = 512
_DAY_S = 86_400


def read(file: BinaryIO, source: ImportSource) -> Iterator[HostSeries | Refusal]:
    """Yield the series of each host in `file`."""
    for document in documents(file, source, _LIMITS):
        hosts = _hosts(document)
        if document.problem:
            yield Refusal(document.line, "", document.text[-100:], document.problem)
        for host in hosts:
            if isinstance(host, dict):
                yield from _series(host, document.line)


def _hosts(document: JsonDocument) -> list[Any]:
    if document.problem:
        host = _before_the_cut(document.text)
        return [host] if host else []
    root = document.value.get("sysstat")
    hosts = root.get("hosts") if isinstance(root, dict) else None
    return hosts if isinstance(hosts, list) else []


def _before_the_cut(text: str) -> dict[str, Any]:
    """Return the last host of a truncated file with its complete samples."""
    lists = list(re.finditer(r'"statistics"\s*:\s*\[', text))
    if not lists:
        return {}
    start = text.rfind("{", 0, text.rfind('"nodename"', 0, lists[-1].start()))
    host, found = before_the_cut(text, max(start, 0), lists[-1])
    return {**host, "statistics": found} if found else {}


def _series(host: Mapping[str, Any], line: int) -> Iterator[HostSeries | Refusal]:
    statistics = host.get("statistics")
    if not isinstance(statistics, list):
        return
    is_iostat = any(isinstance(each, dict) and "avg-cpu" in each for each in statistics) or (
        "file-date" not in host and any("disk" in each for each in statistics if each)
    )
    series = HostSeries(
        host=str(host.get("nodename") or "unknown")[:200],
        tool="iostat" if is_iostat else "sadf" if "file-date" in host else "mpstat",
        version="unknown",
        kernel=str(host["release"])[:200] if host.get("release") else None,
    )
    clock = ReportClock(series, since_boot=is_iostat)
    first = is_iostat and len(statistics) > 1
    interval_s = _interval_s(statistics)
    for place, sample in enumerate(statistics):
        if not isinstance(sample, dict):
            yield Refusal(line, f"statistics[{place}]", str(sample)[:100], "not an object")
            continue
        at_s = _at_s(sample.get("timestamp"), clock, None if place or first else interval_s)
        if first and place == 0:
            continue  # the mean since the host started
        _add(series, at_s, sample)
    clock.finish(first)
    if series.tool == "mpstat" and len(statistics) == 1:
        series.warn("the only report may be the mean since the host started")
    yield series


def _interval_s(statistics: Sequence[Any]) -> float | None:
    """The seconds between the first two reports: mpstat begins with an interval of that length."""
    reports = [each for each in statistics[:2] if isinstance(each, dict)]
    times = [clock_time(str(each.get("timestamp"))) for each in reports]
    if len(times) < 2 or times[0] is None or times[1] is None or times[0].tzinfo != times[1].tzinfo:
        return None
    return (times[1] - times[0]).total_seconds() % _DAY_S


def _at_s(stamp: Any, clock: ReportClock, first_interval_s: float | None) -> float:
    if isinstance(stamp, dict):
        written = f"{stamp.get('date')}T{stamp.get('time')}"
        interval_s = stamp.get("interval")
        zone = "+00:00" if stamp.get("utc") == 1 else ""
        try:
            at = datetime.fromisoformat(written + zone)
        except ValueError:
            return clock.next(None)
        return clock.next(at, float(str(interval_s)) if is_amount(interval_s) else None)
    stated = clock_time(stamp) if isinstance(stamp, str) else None
    return clock.next(stated, first_interval_s if stated else None)


def _add(series: HostSeries, t_s: float, sample: Mapping[str, Any]) -> None:
    for cpu in objects_in(sample, "cpu-load") + objects_in(sample, "cpu-load-all"):
        if cpu.get("cpu") in {"all", "-1", -1}:
            add_all(series, t_s, None, cpu, CPU)
    add_all(series, t_s, None, object_in(sample, "avg-cpu"), CPU)
    disks = objects_in(sample, "disk")
    for disk in disks:
        name = disk.get("disk-device") or disk.get("disk_device") or disk.get("dev")
        if name:
            add_all(series, t_s, str(name)[:200], disk, DISK)
    transfers = object_in(sample, "io")
    if not disks and transfers:
        for key, blocks, metric in (
            ("io-reads", "bread", "disk_read_bytes_per_s"),
            ("io-writes", "bwrtn", "disk_write_bytes_per_s"),
        ):
            value = object_in(transfers, key).get(blocks)
            if is_amount(value):
                series.add(t_s, metric, "all", float(value or 0) * _BLOCK_BYTES, "B/s")
    network = object_in(sample, "network")
    for interface in objects_in(network, "net-dev") + objects_in(sample, "net-dev"):
        if interface.get("iface"):
            add_all(series, t_s, str(interface["iface"])[:200], interface, NETWORK)
    add_all(series, t_s, None, object_in(sample, "memory"), MEMORY)
    add_all(series, t_s, None, object_in(sample, "paging"), PAGING)
