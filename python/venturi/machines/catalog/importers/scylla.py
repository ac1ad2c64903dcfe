"""Rates of machines from Scylla's machine images: `venturi catalog import scylla`.

`*_io_params.yaml` (iotune): TYPE or FAMILY.ALL -> read_iops, read_bandwidth (bytes/s), write_iops,
write_bandwidth, directly or below `disks:`. `*_net_params.json`: for AWS a list of [TYPE, the
provider's words, baseline Gbit/s], for Azure and Google TYPE -> {"Network_Limit_Gbps": ...}.

The rates are per disk for AWS' i2 to i4i, i4g, im4gn, is4gen and the families with a d, and per
machine for the others. To multiply them, add a catalog (.csv) with the numbers of disks. FAMILY.ALL
applies to the family's types without a line of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from venturi.core.quantity import ValueKind
from venturi.machines.catalog import Catalog, format_error, parse
from venturi.machines.catalog.importers.reading import (
    BadRowError,
    Builder,
    CatalogSource,
    ImportedCatalog,
    ImportOptions,
    TypeEntry,
    need_date,
    number,
)
from venturi.machines.catalog.storage import NOTE, concurrent_rate
from venturi.record.importing import json_text

# The share of TCP payload in an Ethernet frame at the provider's default MTU: 9001, 1460, 1500.
PAYLOAD = {"aws": 0.990, "gcp": 0.940, "azure": 0.942}
# Rate of whole arrays over one disk x count: rpk's iotune of i4i.8xlarge and i4i.16xlarge.
ARRAY_LOW = {2: 0.9, 3: 0.9}
MANY_LOW = 0.69
_ONE_DISK = re.compile(r"(i2|i3|i3en|i4i|i4g|im4gn|is4gen|z1d|x2gd|[a-z]\d[a-z]*d)\.")
_NAME = re.compile(r"([\w.+-]+):\s*\Z")
_FIELD = re.compile(r"\s+(?:- )?(\w+):\s*(\S+)?\s*\Z")
_UP_TO = re.compile(r"up to ([\d.]+) gigabit", re.I)
_ATTRIBUTES = {
    "read_bandwidth": ("local_read_rate", 1e-6),
    "write_bandwidth": ("local_write_rate", 1e-6),
    "read_iops": ("local_read_iops", 1.0),
    "write_iops": ("local_write_iops", 1.0),
}


@dataclass(frozen=True, slots=True)
class _LineGroup:
    """One group of lines in the file; `of` is its name there."""

    of: str
    place: str
    fields: Mapping[str, str]


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The rates in the given io and net files, and a catalog for the numbers of disks."""
    builder = Builder(options)
    entries: dict[str, TypeEntry] = {}
    known = Catalog("none", {})
    for source in sources:
        if source.file.endswith(".csv"):
            known = parse(source.text, source.name, source.file)
    for source in sources:
        if source.file.endswith(".json"):
            _network(source, options, builder, entries)
        elif not source.file.endswith(".csv"):
            _disks(source, options, builder, entries, known)
    for entry in entries.values():
        entry.put_unmeasured()
        builder.keep(entry)
    return builder.done(sources[0].file)


def _entry(
    entries: dict[str, TypeEntry], name: str, place: str, source: CatalogSource, o: ImportOptions
) -> TypeEntry:
    entry = entries.setdefault(name, TypeEntry(name, place, "", need_date(None, o, source.file)))
    entry.place = place
    return entry


def _network(
    source: CatalogSource, o: ImportOptions, builder: Builder, entries: dict[str, TypeEntry]
) -> None:
    provider = source.name.partition("_")[0]
    if provider not in PAYLOAD:
        raise format_error(
            source.file,
            "doesn't name the provider in its file name",
            field="file",
            hint="name it aws_net_params.json, gcp_net_params.json or azure_net_params.json",
        )
    for place, name, words, rate in _lines(source):
        with builder.row(place, name):
            gbit = number("baseline", rate)
            if gbit is None:
                raise BadRowError("baseline", rate, "is not known")
            found = _UP_TO.match(words)
            burst = None if found is None else number("up to", found[1])
            entry = _entry(entries, name, place, source, o)
            entry.source = f"scylladb/scylla-machine-image, {source.name}"
            entry.put("network_line_rate", gbit, note="the baseline" if words else "at most")
            if burst is not None:
                entry.put("network_burst_rate", burst, note=words)
            share = PAYLOAD[provider]
            entry.put(
                "network_rate",
                gbit * 125 * share,
                kind=ValueKind.DERIVED,
                note=f"line rate x {share:g}, TCP payload: an upper bound",
            )


def _lines(source: CatalogSource) -> Iterator[tuple[str, str, str, object]]:
    try:
        table = json_text.parse(source.text)
    except json_text.UnusableError as error:
        field = error.field or "$"
        raise format_error(source.file, f"{field}: {error.reason}", field=field) from error
    except ValueError as error:
        raise format_error(source.file, f"is not JSON: {error}", field="$") from error
    if isinstance(table, dict):
        for name, of in table.items():
            rate = of.get("Network_Limit_Gbps") if isinstance(of, dict) else None
            yield f"{source.file}, $.{name}", name, "", rate
    elif isinstance(table, list):
        for at, row in enumerate(table):
            place = f"{source.file}, $[{at}]"
            whole = isinstance(row, list) and len(row) == 3 and isinstance(row[0], str)
            yield (place, row[0], str(row[1]), row[2]) if whole else (place, "", "", row)
    else:
        raise format_error(source.file, "is neither a list nor a table", field="$")


def _disks(
    source: CatalogSource,
    o: ImportOptions,
    builder: Builder,
    entries: dict[str, TypeEntry],
    known: Catalog,
) -> None:
    groups = {each.of: each for each in _groups(source)}
    for name, measured in groups.items():
        family, _, size = name.rpartition(".")
        names = [name]
        if size == "ALL":
            names = [n for n in known.types if n.startswith(f"{family}.") and n not in groups]
            if not names:
                why = "names a family without a type in the given catalogs"
                builder.refuse(measured.place, name, "type", name, why)
        for each in names:
            with builder.row(measured.place, each):
                _put_disks(each, measured, source, o, entries=entries, known=known)


def _put_disks(
    name: str,
    measured: _LineGroup,
    source: CatalogSource,
    o: ImportOptions,
    *,
    entries: dict[str, TypeEntry],
    known: Catalog,
) -> None:
    count, kind, note, low = 1.0, ValueKind.MEASURED, f"all disks ({measured.of})", None
    if _ONE_DISK.match(f"{measured.of.rpartition('.')[0]}."):
        disks = known.types[name].number("disk_count") if name in known.types else None
        if disks is None:
            raise BadRowError("disk_count", "", "is unknown, and the rates are for one disk")
        count, note = number("disk_count", disks) or 1.0, f"one disk ({measured.of})"
        if count > 1:
            low = ARRAY_LOW.get(round(count), MANY_LOW)
            kind, note = (
                ValueKind.DERIVED,
                f"{note} x {count:g}; low: x {low:g}, as whole arrays gave",
            )
    values = {}
    for field, (attribute, scale) in _ATTRIBUTES.items():
        value = number(field, measured.fields.get(field))
        if value is None:
            raise BadRowError(field, "", "is not there")
        values[attribute] = value * scale * count
    entry = _entry(entries, name, measured.place, source, o)
    entry.source = f"iotune; scylladb/scylla-machine-image, {source.name}"
    for attribute, value in values.items():
        entry.put(attribute, value, kind=kind, note=note, low=None if low is None else value * low)
    put_storage(entry, values["local_read_rate"], values["local_write_rate"], count)


def put_storage(entry: TypeEntry, read: float, write: float, disks: float) -> None:
    """Estimates storage_rate, which is not published, from separate read and write rates (MB/s)."""
    rate, low, high = concurrent_rate(read, write, disks)
    entry.put("storage_rate", rate, kind=ValueKind.DERIVED, low=low, high=high, note=NOTE)


def _groups(source: CatalogSource) -> Iterator[_LineGroup]:
    name, place, fields = "", "", dict[str, str]()
    for line, text in enumerate(source.text.splitlines(), 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if heading := _NAME.match(text):
            if name:
                yield _LineGroup(name, place, fields)
            name, place, fields = heading[1], f"{source.file}, line {line}", {}
        elif name and (field := _FIELD.match(text)):
            if field[2] is not None:
                fields[field[1]] = field[2]
        else:
            raise format_error(
                source.file,
                "is not a table of iotune's rates",
                line=line,
                field="line",
                value=text[:80],
            )
    if not name:
        raise format_error(source.file, "has no types", field="headings")
    yield _LineGroup(name, place, fields)
