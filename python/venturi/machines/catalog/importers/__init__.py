"""Importers of formats that users already have: each a pure function from texts to a catalog.

A format is a module in this folder with `read(sources, options)` and a line in `IMPORTERS`, which
loads none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from venturi.machines.catalog.find import unknown

if TYPE_CHECKING:
    from venturi.machines.catalog.importers.reading import (
        CatalogSource,
        ImportedCatalog,
        ImportOptions,
    )

IMPORTERS: Mapping[str, str] = {
    "skypilot": "SkyPilot's vms.csv",
    "ec2instances": "ec2instances.info's instances.json",
    "karpenter": "Karpenter's instance-types.md and zz_generated.pricing_aws*.go",
    "karpenter_prices": (
        "Karpenter's price tables alone: initial-prices.json (Google), zz_generated.pricing*.go "
        "(AWS and Azure)"
    ),
    "scylla": (
        "Scylla's *_io_params.yaml (iotune) and *_net_params.json, with a catalog (.csv) for the "
        "numbers of disks"
    ),
    "onprem": "your own machines, a CSV sheet",
    "wide": "CSV with one row per type, columns with units",
}
"""Format -> description of its files; the module that reads it has its name."""


def import_catalog(
    format_name: str, sources: Sequence[CatalogSource], options: ImportOptions
) -> ImportedCatalog:
    """The catalog in `sources`, which are in the format `format_name`.

    VEN-CATALOG-UNKNOWN if there is no such format or region, VEN-CATALOG-FORMAT if a file isn't in
    this format.
    """
    if format_name not in IMPORTERS:
        raise unknown(
            f"there is no importer {format_name!r}",
            format_name,
            IMPORTERS,
            "formats",
            {"format": format_name},
        )
    imported: ImportedCatalog = importlib.import_module(f"{__name__}.{format_name}").read(
        sources, options
    )
    return imported
