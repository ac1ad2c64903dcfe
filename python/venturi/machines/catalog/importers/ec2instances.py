"""ec2instances.info's `instances.json`: `venturi catalog import ec2instances`.

A list of objects: instance_type, vCPU, memory (GiB), arch, physical_processor, cores, storage
{devices, size, size_unit, ssd, nvme_ssd} or null, network_performance in words,
ebs_baseline_bandwidth and ebs_max_bandwidth (Mbit/s), coremark_iterations_second and
numa_node_count (both measured), and pricing[REGION].linux {ondemand, spot_min, spot_avg, spot_max}
in USD/h as text. Unknown prices are 0 or N/A. The file has no date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from venturi.core.quantity import ValueKind
from venturi.machines.catalog import format_error
from venturi.machines.catalog.importers.reading import (
    MAX_ROWS,
    BadRowError,
    Builder,
    CatalogSource,
    ImportedCatalog,
    ImportOptions,
    TypeEntry,
    choose_region,
    json_of,
    need_date,
    number,
)

PROJECT = "ec2instances.info"
_BANDWIDTH = re.compile(
    r"(?P<burst>up to )?(?:(?P<ports>\d+)x ?)?(?P<rate>[\d.]+) (?P<unit>gigabit|megabit)\Z", re.I
)
_GBIT = {"gigabit": 1.0, "megabit": 1e-3}
_GB = {"GB": 1.0, "TB": 1e3, "GiB": 2**30 / 1e9, "TiB": 2**40 / 1e9}
_UNKNOWN = frozenset({None, "", "N/A", "NA", "unknown", "variable", 0, "0"})


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The catalog in `sources`, with the prices of one region."""
    builder = Builder(options)
    items = [(s, f"$[{i}]", item) for s in sources for i, item in enumerate(_items(s))]
    regions = (
        region
        for _, _, item in items
        if isinstance(item, dict) and isinstance(item.get("pricing"), dict)
        for region in item["pricing"]
    )
    region = choose_region(regions, options.region, sources[0].file)
    as_of = need_date(None, options, sources[0].file)
    for source, path, item in items:
        origin = f"{PROJECT} {source.name}"
        place = f"{source.file}, {path}"
        name = item.get("instance_type") if isinstance(item, dict) else None
        with builder.row(place, str(name or "")):
            if not isinstance(item, dict) or not isinstance(name, str):
                raise BadRowError("instance_type", name, "is not text in an object")
            builder.keep(_entry(item, TypeEntry(name.strip(), place, origin, as_of), region))
    return builder.done(sources[0].file)


def _items(source: CatalogSource) -> list[Any]:
    items = json_of(source)
    if not isinstance(items, list):
        raise format_error(
            source.file, "is not a list of instance types", field="$", value=type(items).__name__
        )
    if len(items) > MAX_ROWS:
        raise format_error(source.file, f"has more than {MAX_ROWS} types", field="$")
    return items


def _known(item: Mapping[str, Any], name: str) -> float | None:
    """A number of which the source writes 0 or N/A if it does not know it."""
    value = item.get(name)
    return (
        None
        if isinstance(value, str | int | float | None) and value in _UNKNOWN
        else number(name, value)
    )


def _object(item: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = item.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadRowError(name, value, "is not an object")
    return value


def _entry(item: Mapping[str, Any], entry: TypeEntry, region: str) -> TypeEntry:
    entry.put("provider", "aws")
    architectures = item.get("arch")
    if isinstance(architectures, list) and architectures:
        entry.put_architecture(str(architectures[-1]), "arch")  # ["i386", "x86_64"]: the wider
    if isinstance(item.get("physical_processor"), str):
        entry.put("processor", item["physical_processor"], column="physical_processor")
    for attribute, key, kind in (
        ("vcpus", "vCPU", ValueKind.ADVERTISED),
        ("memory", "memory", ValueKind.ADVERTISED),
        ("cores", "cores", ValueKind.ADVERTISED),
        ("coremark", "coremark_iterations_second", ValueKind.MEASURED),
        ("numa_nodes", "numa_node_count", ValueKind.MEASURED),
    ):
        entry.put(attribute, _known(item, key), f"{PROJECT} has no {key}", kind=kind, column=key)
    _storage(entry, _object(item, "storage"))
    _network(entry, item.get("network_performance"))
    volumes = {name: _known(item, name) for name in ("ebs_max_bandwidth", "ebs_baseline_bandwidth")}
    entry.put_volume_rate(volumes, f"{PROJECT} has no ebs_max_bandwidth")
    _prices(entry, _object(item, "pricing") or {}, region)
    entry.put_unmeasured()
    return entry


def _storage(entry: TypeEntry, storage: Mapping[str, Any] | None) -> None:
    if storage is None:
        entry.put("disk_count", None, "no local disks", column="storage")
        return
    unit = storage.get("size_unit", "GB")
    if unit not in _GB:
        raise BadRowError("storage.size_unit", unit, f"is none of {', '.join(_GB)}")
    count, size = number("storage.devices", storage.get("devices")), storage.get("size")
    size_gb = number("storage.size", size)
    entry.put("disk_count", count, column="storage.devices")
    entry.put("disk_size", size_gb and size_gb * _GB[unit], column="storage.size")
    kind = "NVMe" if storage.get("nvme_ssd") else "SSD" if storage.get("ssd") else "HDD"
    entry.put("disk_kind", kind, column="storage.ssd")


def _network(entry: TypeEntry, words: object) -> None:
    text = words.strip() if isinstance(words, str) else ""
    match = _BANDWIDTH.match(text)
    if match is None:
        word = "" if text in _UNKNOWN else text
        entry.put("network_class", word, "the source doesn't say", column="network_performance")
        entry.put("network_line_rate", None, f"the source says only {text!r}")
        return
    ports = int(match["ports"] or 1)
    gbit_per_s = number("network_performance", match["rate"])
    rate = gbit_per_s and gbit_per_s * _GBIT[match["unit"].lower()] * ports
    if match["burst"]:
        entry.put("network_burst_rate", rate, column="network_performance")
        entry.put("network_line_rate", None, f"only the burst rate is published: {text}")
    else:
        note = f"{ports} ports together" if ports > 1 else ""
        entry.put("network_line_rate", rate, note=note, column="network_performance")


def _prices(entry: TypeEntry, pricing: Mapping[str, Any], region: str) -> None:
    of_region = _object(pricing, region) or {}
    linux = _object(of_region, "linux") or {}
    column = f"pricing.{region}.linux"
    entry.put("region", region)
    price = None if linux.get("ondemand") in ("N/A", None) else linux["ondemand"]
    entry.put(
        "price",
        number(f"{column}.ondemand", price),
        f"not offered in {region}",
        column=f"{column}.ondemand",
    )
    spot, low, high = (_known(linux, name) for name in ("spot_avg", "spot_min", "spot_max"))
    if spot is not None and not (low or spot) <= spot <= (high or spot):
        raise BadRowError(f"{column}.spot_avg", f"{spot:g}", f"is not from {low} to {high}")
    entry.put(
        "spot_price",
        spot,
        f"no spot price in {region}",
        low=low,
        high=high,
        column=f"{column}.spot_avg",
    )
