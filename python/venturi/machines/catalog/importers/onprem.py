"""A sheet of your own machines, one CSV row each: `venturi catalog import onprem`.

COLUMNS describes the columns; those of REQUIRED are mandatory. Purchased machines have no price per
hour: their bill consists of capital and power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venturi.machines.catalog.importers.reading import (
    BadRowError,
    Builder,
    CatalogSource,
    ImportedCatalog,
    ImportOptions,
    TypeEntry,
    csv_rows,
    need_date,
    number,
    parse_date,
)

REQUIRED = ("name", "cores", "memory_gib")
# column -> attribute, in the attribute's unit
NUMBERS: Mapping[str, str] = {
    "cores": "cores",
    "numa_nodes": "numa_nodes",
    "memory_gib": "memory",
    "nic_gbit_per_s": "network_line_rate",
    "power_w": "power",
    "max_nodes": "max_nodes",
}
COLUMNS: Mapping[str, str] = {
    "name": "name of the machine type",
    "cores": "physical cores",
    "memory_gib": "main memory in GiB",
    "threads": "logical CPUs; default: as many as cores",
    "numa_nodes": "NUMA nodes",
    "processor": "CPU model",
    "architecture": "x86_64 or arm64",
    "disks": "number of local disks; 0 for none",
    "disk_size_gb": "size of each disk in GB",
    "disk_kind": "HDD, SSD or NVMe",
    "nic_gbit_per_s": "line rate of the network in Gbit/s",
    "capital": "purchase price of one machine",
    "currency": "of the purchase price, three letters; default USD",
    "years": "depreciation period (only a note; --own years=... counts)",
    "power_w": "power drawn by one machine in W",
    "max_nodes": "number of these machines",
    "as_of": "date of the figures, YYYY-MM-DD; default: --as-of",
    "source": "source of the figures; default: the file",
    "note": "anything else",
}


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The catalog in `sources`."""
    builder = Builder(options)
    for source in sources:
        rows = csv_rows(source, builder, required=REQUIRED, known=tuple(COLUMNS))
        for place, row in rows:
            with builder.row(place, row["name"]):
                builder.keep(_entry(source, place, row, options))
    return builder.done(sources[0].file)


def _entry(
    source: CatalogSource, place: str, row: dict[str, str], options: ImportOptions
) -> TypeEntry:
    as_of = need_date(parse_date("as_of", row.get("as_of", "")), options, source.file)
    entry = TypeEntry(row["name"], place, row.get("source") or source.name, as_of)
    for column, attribute in NUMBERS.items():
        if column in row:
            entry.put(attribute, number(column, row[column]), column=column)
    if row.get("processor"):
        entry.put("processor", row["processor"], column="processor")
    if row.get("architecture"):
        entry.put_architecture(row["architecture"], "architecture")
    threads = number("threads", row.get("threads"))
    entry.put(
        "vcpus",
        threads or number("cores", row["cores"]),
        note="" if threads else "as many as cores: the sheet gives no threads",
        column="threads",
    )
    _disks(entry, row)
    _money(entry, row)
    entry.put_unmeasured()
    return entry


def _disks(entry: TypeEntry, row: dict[str, str]) -> None:
    if row.get("disks") == "0":
        entry.put("disk_count", None, "no local disks", column="disks")
        return
    entry.put("disk_count", number("disks", row.get("disks")), column="disks")
    entry.put("disk_size", number("disk_size_gb", row.get("disk_size_gb")), column="disk_size_gb")
    entry.put("disk_kind", row.get("disk_kind"), column="disk_kind")


def _money(entry: TypeEntry, row: dict[str, str]) -> None:
    currency = row.get("currency") or "USD"
    if not (len(currency) == 3 and currency.isascii() and currency.isupper()):
        raise BadRowError("currency", currency, "is not three capital letters, such as USD")
    years = number("years", row.get("years"))
    words = [row.get("note", ""), f"written off over {years:g} years" if years else ""]
    entry.put(
        "capital",
        number("capital", row.get("capital")),
        currency=currency,
        note="; ".join(word for word in words if word),
        column="capital",
    )
    entry.put(
        "price",
        None,
        "bought, not rented: the hourly price follows from capital, years, power and use; "
        "give them with --own years=4,...",
        currency=currency,
    )
