"""Catalogs on a terminal: the list of catalogs, the facts of a type, and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from venturi.core.units import format_bytes_decimal
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.catalog.diff import CatalogDifference
from venturi.machines.cost.price import is_stale
from venturi.terminal.table import UNKNOWN, Table, table_of


@dataclass(frozen=True, slots=True)
class CatalogSummary:
    """A catalog at a glance. `oldest` and `newest` are the dates of its values."""

    name: str
    types: int
    values: int
    unknown: int
    oldest: date | None
    newest: date | None
    prices: int
    stale_prices: int


def summarise(catalog: Catalog, today: date, name: str = "") -> CatalogSummary:
    """How much `catalog` knows, how old it is, and how many prices are older than a year."""
    facts = [fact for t in catalog.types.values() for fact in t.facts.values()]
    known = [fact for fact in facts if fact.value is not None]
    days = [fact.as_of for fact in known if fact.as_of]
    prices = [t.fact("price") for t in catalog.types.values()]
    dated = [price.as_of for price in prices if price.value is not None and price.as_of]
    return CatalogSummary(
        name or catalog.name,
        len(catalog.types),
        len(known),
        len(facts) - len(known),
        min(days, default=None),
        max(days, default=None),
        len(dated),
        sum(is_stale(day, today) for day in dated),
    )


def list_table(summaries: Sequence[CatalogSummary]) -> Table:
    """One catalog per row."""
    return table_of(
        (
            {
                "catalog": each.name,
                "types": str(each.types),
                "values": str(each.values),
                "unknown": str(each.unknown),
                "from": _day(each.oldest),
                "to": _day(each.newest),
                "prices": str(each.prices),
                "over a year": str(each.stale_prices),
            }
            for each in summaries
        ),
        spare=("from", "unknown"),
    )


def types_table(catalog: Catalog) -> Table:
    """A row per instance type with its main facts."""
    rows = []
    for each in catalog.types.values():
        network = next(
            (
                f
                for name in ("network_rate_at_scale", "network_rate", "network_line_rate")
                if (f := each.fact(name)).value is not None
            ),
            each.fact("network_rate"),
        )
        rows.append(
            {
                "type": each.name,
                "vCPUs": value_text(each.fact("vcpus")),
                "memory": value_text(each.fact("memory")),
                "local disks": format_bytes_decimal(each.local_bytes),
                "network": value_text(network),
                "price": value_text(each.fact("price")),
                "as of": _day(each.fact("price").as_of),
            }
        )
    return table_of(rows, spare=("as of", "vCPUs"))


def type_table(instance_type: InstanceType) -> Table:
    """One value a row, with its range, kind, day and source, or why it is unknown."""
    rows = []
    for attribute, fact in instance_type.facts.items():
        words = [fact.source, fact.note] if fact.value is not None else [f"unknown: {fact.note}"]
        rows.append(
            {
                "attribute": attribute,
                "value": value_text(fact),
                "range": range_text(fact),
                "kind": fact.kind or "",
                "as of": _day(fact.as_of) if fact.value is not None else "",
                "source; note": "; ".join(word for word in words if word),
            }
        )
    return table_of(
        rows, left=6, prose=("value", "attribute", "source; note"), spare=("range", "as of")
    )


def diff_table(difference: CatalogDifference) -> Table:
    """One change a row."""
    rows = []
    for change in difference.changes:
        kinds = [fact.kind if fact and fact.kind else UNKNOWN for fact in (change.old, change.new)]
        relative = change.relative
        rows.append(
            {
                "type": change.instance_type,
                "attribute": change.attribute,
                "old": value_text(change.old),
                "new": value_text(change.new),
                "change": "" if relative is None else f"{relative:+.1%}",
                "kind": kinds[0] if kinds[0] == kinds[1] else f"{kinds[0]} -> {kinds[1]}",
            }
        )
    return table_of(rows, left=2, prose=("attribute", "old", "new", "kind"), spare=("kind",))


def value_text(fact: Fact | None) -> str:
    """The value with its unit, or a dash."""
    if fact is None or fact.value is None:
        return UNKNOWN
    if isinstance(fact.value, str):
        return fact.value
    return f"{_number(fact.value)} {fact.unit}".removesuffix(" 1")


def range_text(fact: Fact) -> str:
    """`low to high`, as far as given."""
    if fact.low is None and fact.high is None:
        return ""
    ends = (UNKNOWN if end is None else _number(end) for end in (fact.low, fact.high))
    return " to ".join(ends)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 and value.is_integer() else f"{value:,.6g}"


def _day(day: date | None) -> str:
    return UNKNOWN if day is None else day.isoformat()
