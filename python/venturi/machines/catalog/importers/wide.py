"""One CSV row per type: `venturi catalog import wide`.

Columns end in their unit; `_mbps` is Mbit/s everywhere, `_gb` is decimal. Required: instance_type,
vcpus, memory_mib. The rest of `COLUMNS` is optional; an empty cell is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from venturi.core.quantity import ValueKind
from venturi.machines.catalog import ATTRIBUTES
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
    parse_date,
)

REQUIRED = ("instance_type", "vcpus", "memory_mib")
HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class AttributeColumn:
    """Which attribute a column gives, and by how much to multiply it for the attribute's unit."""

    attribute: str
    scale: float = 1.0
    kind: ValueKind = ValueKind.ADVERTISED
    note: str = ""


COLUMNS: Mapping[str, AttributeColumn] = {
    "provider": AttributeColumn("provider"),
    "region": AttributeColumn("region"),
    "cpu_vendor": AttributeColumn("processor"),
    "cpu_model": AttributeColumn("processor"),  # after cpu_vendor: the more exact word wins
    "vcpus": AttributeColumn("vcpus"),
    "physical_cores": AttributeColumn("cores"),
    "numa_nodes": AttributeColumn("numa_nodes"),
    "cpu_factor": AttributeColumn("cpu_factor", kind=ValueKind.MEASURED),
    "coremark_iter_s": AttributeColumn("coremark", kind=ValueKind.MEASURED),
    "memory_mib": AttributeColumn("memory", 1 / 1024),
    "net_baseline_mbps": AttributeColumn("network_line_rate", 1e-3, note="sustained, not burst"),
    "net_burst_mbps": AttributeColumn("network_burst_rate", 1e-3),
    "local_disk_kind": AttributeColumn("disk_kind"),
    "local_read_mbps": AttributeColumn("local_read_rate", 1 / 8),
    "local_write_mbps": AttributeColumn("local_write_rate", 1 / 8),
    "price_usd_hour": AttributeColumn("price"),
    "spot_usd_hour": AttributeColumn("spot_price"),
    "platform_fee_usd_hour": AttributeColumn("platform_fee"),
    "billing_granularity_s": AttributeColumn("billing_granularity"),
    "billing_minimum_s": AttributeColumn("billing_minimum"),
    "capex_usd": AttributeColumn("capital"),
    "power_w": AttributeColumn("power"),
}
_VOLUMES = ("ebs_max_mbps", "ebs_baseline_mbps")
# Read by name below.
_OTHERS = (
    "arch",
    "currency",
    "price_date",
    "source",
    "interruption_pct",
    *_VOLUMES,
    "local_nvme_gb",
    "local_disk_count",
    "local_disk_gb",
)
_UNUSED = (
    "clock_mhz",
    "gpu_count",
    "hypervisor",
    "net_burst_s",
    "ebs_iops",
    "local_rand_read_iops",
    "licence",
)


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The catalog in `sources`, for one region."""
    builder = Builder(options)
    known = [*COLUMNS, *_OTHERS]
    rows = [
        (source, place, row)
        for source in sources
        for place, row in csv_rows(source, builder, required=REQUIRED, known=known, unused=_UNUSED)
    ]
    region = None
    if any(row.get("region") for _, _, row in rows):
        region = choose_region((r["region"] for _, _, r in rows), options.region, sources[0].file)
    for source, place, row in rows:
        if region is None or row["region"] == region:
            with builder.row(place, row["instance_type"]):
                builder.keep(_entry(source, place, row, options))
    return builder.done(sources[0].file)


def _entry(
    source: CatalogSource, place: str, row: dict[str, str], options: ImportOptions
) -> TypeEntry:
    if row.get("currency", "USD") not in {"", "USD"}:
        raise BadRowError("currency", row["currency"], "contradicts the columns, which are in usd")
    as_of = need_date(parse_date("price_date", row.get("price_date", "")), options, source.file)
    entry = TypeEntry(row["instance_type"], place, row.get("source") or source.name, as_of)
    for name, column in COLUMNS.items():
        if name not in row or (not row[name] and column.attribute in entry.facts):
            continue
        value: float | str | None = row[name]
        if ATTRIBUTES[column.attribute][0]:
            found = number(name, row[name])
            value = None if found is None else found * column.scale
        entry.put(column.attribute, value, kind=column.kind, note=column.note, column=name)
    if row.get("arch"):
        entry.put_architecture(row["arch"], "arch")
    if not row.keys().isdisjoint(_VOLUMES):
        entry.put_volume_rate({column: number(column, row.get(column)) for column in _VOLUMES})
    _disks(entry, row)
    _interruption(entry, row)
    entry.put_unmeasured()
    return entry


def _disks(entry: TypeEntry, row: dict[str, str]) -> None:
    count = number("local_disk_count", row.get("local_disk_count"))
    size_gb = number("local_disk_gb", row.get("local_disk_gb"))
    total_gb = number("local_nvme_gb", row.get("local_nvme_gb"))
    if count is not None and size_gb is not None:
        entry.put("disk_count", count, column="local_disk_count")
        entry.put("disk_size", size_gb, column="local_disk_gb")
        return
    if total_gb is None:
        entry.put("disk_count", None, "the source names no local disks", column="local_nvme_gb")
        return
    entry.put("local_size", total_gb, column="local_nvme_gb")
    entry.put("disk_count", None, "the source gives only the size of all local disks together")
    # Hard disks of some types are attached by NVMe too, so the column's name says nothing.
    if "disk_kind" not in entry.facts:
        entry.put("disk_kind", None, "the source doesn't distinguish hard disks from flash")


def _interruption(entry: TypeEntry, row: dict[str, str]) -> None:
    """Share of nodes lost in a month -> losses of one node per hour: -ln(1 - p) / 730 h."""
    percent = number("interruption_pct", row.get("interruption_pct"))
    if percent is None:
        return
    if percent >= 100:
        raise BadRowError("interruption_pct", f"{percent:g}", "must be below 100")
    entry.put(
        "spot_loss_rate",
        -math.log1p(-percent / 100) / HOURS_PER_MONTH,
        kind=ValueKind.DERIVED,
        note=f"from {percent:g} % lost in a month of {HOURS_PER_MONTH} h",
        column="interruption_pct",
    )
