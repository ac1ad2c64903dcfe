"""Karpenter's price tables by themselves: `venturi catalog import karpenter_prices`.

Of Google's machines `initial-prices.json`: {"prices": {REGION: {"on_demand": {TYPE: USD/h}, "spot":
{TYPE: USD/h}}}}. Of AWS and Azure `zz_generated.pricing*.go`: a Go map region -> type -> USD/h. The
machines' facts are in another sheet: overlay these prices over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from venturi.machines.catalog import format_error
from venturi.machines.catalog.importers.karpenter import generated_on, regions_of
from venturi.machines.catalog.importers.reading import (
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

# attribute -> type -> (place, price as written)
RegionPrices = Mapping[str, Mapping[str, tuple[str, object]]]


def read(sources: Sequence[CatalogSource], options: ImportOptions) -> ImportedCatalog:
    """The prices of one region in `sources`."""
    builder = Builder(options)
    for source in sources:
        regions, day = (_json if source.file.endswith(".json") else _go)(source, builder)
        region = choose_region(regions, options.region, source.file)
        as_of = need_date(day, options, source.file)
        origin = f"price list, {region}, Linux; as in Karpenter's {source.name}"
        for name in dict.fromkeys(name for of in regions[region].values() for name in of):
            with builder.row(source.file, name):
                builder.keep(_entry(name, regions[region], origin, as_of, region))
    return builder.done(sources[0].file)


def _entry(name: str, prices: RegionPrices, origin: str, as_of: date, region: str) -> TypeEntry:
    first = next(of[name][0] for of in prices.values() if name in of)
    entry = TypeEntry(name, first, origin, as_of)
    for attribute, of in prices.items():
        place, text = of.get(name, (first, None))
        entry.place = place
        entry.put(attribute, number(attribute, text), f"the table has none in {region}")
    entry.put("region", region)
    entry.put_unmeasured()
    return entry


def _json(source: CatalogSource, _: Builder) -> tuple[dict[str, RegionPrices], None]:
    table = json_of(source)
    regions = table.get("prices") if isinstance(table, dict) else None
    if not isinstance(regions, dict) or not regions:
        raise format_error(
            source.file,
            "has no prices",
            field="prices",
            hint='it has {"prices": {REGION: {"on_demand": {TYPE: PRICE}, "spot": {TYPE: PRICE}}}}',
        )
    return {name: _of_region(source, name, each) for name, each in regions.items()}, None


def _of_region(source: CatalogSource, region: str, tables: object) -> RegionPrices:
    found: dict[str, dict[str, tuple[str, object]]] = {}
    for attribute, key in (("price", "on_demand"), ("spot_price", "spot")):
        prices = tables.get(key) if isinstance(tables, dict) else None
        place = f"prices.{region}.{key}"
        if not isinstance(prices, dict):
            raise format_error(source.file, f"{place} is not a table", field=place)
        found[attribute] = {n: (f"{source.file}, {place}.{n}", p) for n, p in prices.items()}
    return found


def _go(source: CatalogSource, builder: Builder) -> tuple[dict[str, RegionPrices], date | None]:
    try:
        regions = regions_of(source, builder)
    except BadRowError as bad:
        raise format_error(source.file, str(bad)) from bad
    return {name: {"price": prices} for name, prices in regions.items()}, generated_on(source)
