"""Importers of the formats users already have: each a pure function from texts to a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from venturi.model.catalog.find import unknown
from venturi.model.catalog.importers import ec2instances, karpenter, onprem, skypilot, wide
from venturi.model.catalog.importers.reading import (
    MAX_IMPORT_BYTES,
    Imported,
    Options,
    Refusal,
    Source,
)

__all__ = [
    "IMPORTERS", "MAX_IMPORT_BYTES", "Imported", "Importer", "Options", "Refusal", "Source",
    "import_catalog",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Importer:
    """A format: what its files are, and the function that reads them."""

    files: str
    read: Callable[[Sequence[Source], Options], Imported]


IMPORTERS: Mapping[str, Importer] = {
    "skypilot": Importer("SkyPilot's vms.csv", skypilot.read),
    "ec2instances": Importer("ec2instances.info's instances.json", ec2instances.read),
    "karpenter": Importer(
        "Karpenter's instance-types.md and zz_generated.pricing_aws*.go", karpenter.read
    ),
    "onprem": Importer("a sheet of your own machines, CSV", onprem.read),
    "wide": Importer("CSV with one row a type, columns with units", wide.read),
}


def import_catalog(format_name: str, sources: Sequence[Source], options: Options) -> Imported:
    """The catalogue in `sources`, which are of the format `format_name`.

    VEN-CATALOG-UNKNOWN if there is no such format or region, VEN-CATALOG-FORMAT if a file is not
    of it.
    """
    if format_name not in IMPORTERS:
        raise unknown(
            f"there is no importer {format_name!r}",
            format_name, IMPORTERS, "formats", {"format": format_name},
        )  # fmt: skip
    return IMPORTERS[format_name].read(sources, options)
