"""SkyPilot's catalog, `vms.csv`: `venturi catalog import skypilot`.

Columns: InstanceType, AcceleratorName, AcceleratorCount, vCPUs, MemoryGiB, GpuInfo, Price,
SpotPrice, Region, AvailabilityZone, in newer versions Arch, for Azure Generation. Prices are in
USD/h. A type has a row for each region and zone: one region is taken, and its zones must agree in
everything but the spot price, which becomes a range. The file has no date and no provider.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from venturi.machines.catalog.importers.reading import (
    BadRowError,
    Builder,
    CatalogSource,
    ImportedCatalog,
    ImportOptions,
    TypeEntry,
    choose_region,
    csv_rows,
    need_date,
    number,
)

REQUIRED = ("InstanceType", "vCPUs", "MemoryGiB", "Price", "Region")
_KNOWN = ("SpotPrice", "AvailabilityZone", "Arch", "AcceleratorName", "AcceleratorCount")
_UNUSED = ("GpuInfo", "Generation")
# Columns that must not differ between the zones of a region.
_SAME = ("vCPUs", "MemoryGiB", "Price", "Arch", "AcceleratorName", "AcceleratorCount")


@dataclass(slots=True)
class _Zones:
    """A type's first row, and the spot prices of all its zones."""

    source: CatalogSource
    place: str
    row: dict[str, str]
    spot_usd_per_hour: list[float] = field(default_factory=list)


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The catalog in `sources`, for one region."""
    builder = Builder(options)
    rows = [
        (source, place, row)
        for source in sources
        for place, row in csv_rows(source, builder, required=REQUIRED, known=_KNOWN, unused=_UNUSED)
    ]
    region = choose_region((r["Region"] for _, _, r in rows), options.region, sources[0].file)
    types: dict[str, _Zones] = {}
    for source, place, row in rows:
        if row["Region"] == region:
            with builder.row(place, row["InstanceType"]):
                _join(types, source, place, row)
    for name, zones in types.items():
        with builder.row(zones.place, name):
            builder.keep(_entry(name, zones, options))
    return builder.done(sources[0].file)


def _join(types: dict[str, _Zones], source: CatalogSource, place: str, row: dict[str, str]) -> None:
    name = row["InstanceType"]
    if not name:
        accelerator = row.get("AcceleratorName", "")
        raise BadRowError("InstanceType", accelerator, "is empty: an accelerator, not a machine")
    spot = number("SpotPrice", row.get("SpotPrice"))
    zones = types.setdefault(name, _Zones(source, place, row))
    for column in _SAME:
        if row.get(column) != zones.row.get(column):
            raise BadRowError(
                column, row.get(column), f"contradicts {zones.row.get(column)!r} in {zones.place}"
            )
    if spot is not None:
        zones.spot_usd_per_hour.append(spot)


def _entry(name: str, zones: _Zones, options: ImportOptions) -> TypeEntry:
    row = zones.row
    as_of = need_date(None, options, zones.source.file)
    entry = TypeEntry(name, zones.place, f"SkyPilot catalog {zones.source.name}", as_of)
    entry.put("region", row["Region"], column="Region")
    if row.get("Arch"):
        entry.put_architecture(row["Arch"], "Arch")
    entry.put("price", number("Price", row["Price"]), column="Price")
    spot = zones.spot_usd_per_hour
    many = len(spot) > 1
    entry.put(
        "spot_price",
        statistics.median(spot) if spot else None,
        column="SpotPrice",
        low=min(spot) if many else None,
        high=max(spot) if many else None,
        note=f"median and range of {len(spot)} zones" if many else "",
    )
    entry.put("vcpus", number("vCPUs", row["vCPUs"]), column="vCPUs")
    entry.put("memory", number("MemoryGiB", row["MemoryGiB"]), column="MemoryGiB")
    entry.put("disk_count", None, "SkyPilot's catalog lists no disks")
    entry.put("network_line_rate", None, "SkyPilot's catalog lists no network")
    entry.put_unmeasured()
    return entry
