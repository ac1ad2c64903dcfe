"""Writes a catalog as text: `parse(render(catalog))` restores it."""

from __future__ import annotations

import csv
import io

from venturi.machines.catalog import COLUMNS, Catalog, Fact


def render(catalog: Catalog) -> str:
    """`catalog` in Venturi's CSV format, one value a line, types and attributes in its order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for instance_type in catalog.entries.values():
        for attribute, fact in instance_type.facts.items():
            writer.writerow([instance_type.name, attribute, *_cells(fact)])
    return text.getvalue()


def _cells(fact: Fact) -> list[str]:
    return [
        _cell(fact.value),
        _cell(fact.low),
        _cell(fact.high),
        fact.unit,
        fact.kind or "",
        fact.source,
        fact.as_of.isoformat() if fact.as_of else "",
        fact.note,
    ]


def _cell(value: float | str | None) -> str:
    """Numbers with as many digits as they need to come back the same, and no more."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value or ""
