"""Karpenter's page of AWS instance types with its price table: `venturi catalog import karpenter`.

`instance-types.md` has a heading ``### `TYPE` `` a type and under it a table of labels: vCPUs,
memory in MiB, bandwidths in Mbit/s (the network's is the sustained one, the volumes' the maximum),
local disks in GB. `zz_generated.pricing_aws*.go` has a Go map region -> type -> price an hour,
which is read as text. Give the page, and the table for prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

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
    need_date,
    number,
)

_HEADING = re.compile(r"### `([^`]+)`\s*\Z")
_LABEL = re.compile(r"\s*\|([^|]*/[^|]*)\|([^|]*)\|\s*\Z")
_GENERATED = re.compile(r"// generated at (\d{4}-\d\d-\d\d)")
_REGION = re.compile(r'\s*"([^"]+)":\s*(?:map\[string\]float64\s*)?\{\s*\Z')
_PRICE = re.compile(r'"([^"]+)":\s*([^,\s]+)\s*,')
_AWS = "karpenter.k8s.aws/instance-"


@dataclass(frozen=True, slots=True)
class _Prices:
    """Prices of one region: type -> (place, the number as written)."""

    table: CatalogSource
    region: str
    as_of: date
    prices: dict[str, tuple[str, str]]

    @property
    def currency(self) -> str:
        """AWS in China charges in yuan; the table does not say so."""
        return "CNY" if self.region.startswith("cn-") else "USD"


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The catalog in one page and any number of price tables, for one region."""
    builder = Builder(options)
    tables = [source for source in sources if source.file.endswith(".go")]
    pages = [source for source in sources if source not in tables]
    if len(pages) != 1:
        raise format_error(
            sources[0].file,
            f"{len(pages)} pages of instance types were given, not 1",
            hint="give instance-types.md and, for prices, zz_generated.pricing_aws.go",
        )
    prices = _prices(tables, options, builder) if tables else None
    page = pages[0]
    as_of = need_date(options.as_of or (prices.as_of if prices else None), options, page.file)
    origin = f"AWS EC2 instance types; as in Karpenter's {page.name}"
    types = list(_types(page))
    for place, name, labels in types:
        with builder.row(place, name):
            builder.keep(_entry(labels, TypeEntry(name, place, origin, as_of), prices))
    if prices:
        others = sorted(prices.prices.keys() - {name for _, name, _ in types})
        if others:
            shown = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if others[5:] else "")
            builder.note(f"with a price but no place on the page: {shown}")
    return builder.done(page.file)


def _types(page: CatalogSource) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(place, name, label -> value) of each type, in the page's order."""
    name, place, labels = "", "", dict[str, str]()
    count = 0
    for line, text in enumerate(page.text.splitlines(), 1):
        heading = _HEADING.match(text)
        if heading:
            if name:
                yield place, name, labels
            name, place, labels = heading[1], f"{page.file}, line {line}", {}
            count += 1
            if count > MAX_ROWS:
                raise format_error(page.file, f"has more than {MAX_ROWS} types", line=line)
        elif name and (label := _LABEL.match(text)):
            labels[label[1].strip()] = label[2].strip()
    if not name:
        raise format_error(
            page.file,
            "is not Karpenter's page of instance types",
            field="headings",
            hint="it has a heading ### `TYPE` for each type and a table of labels below it",
        )
    yield place, name, labels


def _entry(labels: dict[str, str], entry: TypeEntry, prices: _Prices | None) -> TypeEntry:
    entry.put("provider", "aws")
    if "kubernetes.io/arch" in labels:
        entry.put_architecture(labels["kubernetes.io/arch"], "kubernetes.io/arch")
    if labels.get(_AWS + "cpu-manufacturer"):
        entry.put("processor", labels[_AWS + "cpu-manufacturer"], column=_AWS + "cpu-manufacturer")

    def put(attribute: str, label: str, scale: float, why: str, note: str = "") -> None:
        found = number(_AWS + label, labels.get(_AWS + label))
        value = None if found is None else found * scale
        entry.put(attribute, value, why, note=note, column=_AWS + label)

    if _AWS + "cpu" not in labels or _AWS + "memory" not in labels:
        raise BadRowError(_AWS + "cpu", "", "and instance-memory are not both in the table")
    put("vcpus", "cpu", 1, "")
    put("memory", "memory", 1 / 1024, "")
    put(
        "network_line_rate",
        "network-bandwidth",
        1e-3,
        "the page gives no bandwidth",
        "sustained, not burst",
    )
    put(
        "volume_line_rate",
        "ebs-bandwidth",
        1,
        "the page gives no bandwidth to volumes",
        "the maximum; small sizes cannot sustain it",
    )
    if labels.get(_AWS + "local-nvme"):
        put("local_size", "local-nvme", 1, "")
        entry.put("disk_count", None, "the page gives only the size of all local disks together")
        entry.put("disk_kind", None, "the page doesn't distinguish hard disks from flash")
    else:
        entry.put("disk_count", None, "no local disks")
    _put_price(entry, prices)
    entry.put_unmeasured()
    return entry


def _put_price(entry: TypeEntry, prices: _Prices | None) -> None:
    if prices is None:
        entry.put("price", None, "no price table was given")
        return
    place, text = prices.prices.get(entry.name, (prices.table.file, ""))
    try:
        value = number("price", text)
    except BadRowError as bad:
        raise BadRowError("price", bad.value, f"in {place} {bad.reason}") from bad
    page = (entry.place, entry.source, entry.as_of)
    entry.place, entry.as_of = place, prices.as_of
    origin = f"AWS EC2 on-demand price list, {prices.region}, Linux"
    entry.source = f"{origin}; as in Karpenter's {prices.table.name}"
    why = f"the price table has no price for it in {prices.region}"
    entry.put("price", value, why, currency=prices.currency)
    entry.put("region", prices.region)
    entry.place, entry.source, entry.as_of = page


def _prices(tables: Sequence[CatalogSource], options: ImportOptions, builder: Builder) -> _Prices:
    """The prices of the requested region, from whichever table has it."""
    found: dict[str, _Prices] = {}
    for table in tables:
        as_of = need_date(generated_on(table), options, table.file)
        for region, prices in regions_of(table, builder).items():
            found[region] = _Prices(table, region, as_of, prices)
    return found[choose_region(found, options.region, tables[0].file)]


def generated_on(table: CatalogSource) -> date | None:
    """The day that the table says it was made on, if it says one."""
    generated = _GENERATED.search(table.text)
    try:
        return date.fromisoformat(generated[1]) if generated else None
    except ValueError:
        return None


def regions_of(table: CatalogSource, builder: Builder) -> dict[str, dict[str, tuple[str, str]]]:
    """Region -> type -> (place, price as written) in a Go map of prices."""
    regions: dict[str, dict[str, tuple[str, str]]] = {}
    inside: dict[str, tuple[str, str]] | None = None
    for line, text in enumerate(table.text.splitlines(), 1):
        code = text.split("//", 1)[0].strip()
        if region := _REGION.match(code):
            inside = regions.setdefault(region[1], {})
        elif inside is None or not code:
            continue
        elif code.startswith("}"):
            inside = None
        else:
            place = f"{table.file}, line {line}"
            pairs = _PRICE.findall(code)
            inside |= {name: (place, price) for name, price in pairs}
            if rest := _PRICE.sub("", code).strip():
                builder.refuse(place, "", "price", rest, 'is not of the form "TYPE": PRICE,')
    if not regions:
        raise format_error(
            table.file,
            "is not Karpenter's price table",
            field="map",
            hint='it has a Go map "REGION": {"TYPE": PRICE, ...}',
        )
    return regions
