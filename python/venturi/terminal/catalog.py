"""Catalogues on a terminal: what there is, what is known of a type, what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from venturi.core.units import format_bytes_decimal
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.catalog.diff import CatalogDifference
from venturi.machines.cost.price import is_stale
from venturi.terminal.table import UNKNOWN, Table, table


@dataclass(frozen=True, slots=True)
class CatalogSummary:
    """A catalogue at a glance. `oldest` and `newest` are the days of its values."""

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
    """One catalogue a row."""
    made = table(
        "catalogue",
        "types",
        "values",
        "unknown",
        "from",
        "to",
        "prices",
        "over a year",
        spare=("from", "unknown"),
    )
    for each in summaries:
        made.add(
            each.name,
            str(each.types),
            str(each.values),
            str(each.unknown),
            _day(each.oldest),
            _day(each.newest),
            str(each.prices),
            str(each.stale_prices),
        )
    return made


def types_table(catalog: Catalog) -> Table:
    """One instance type a row: what matters most."""
    made = table(
        "type",
        "vCPUs",
        "memory",
        "local disks",
        "network",
        "price",
        "as of",
        spare=("as of", "vCPUs"),
    )
    for each in catalog.types.values():
        local = each.local_bytes
        network = next(
            (
                f
                for name in ("network_rate_at_scale", "network_rate", "network_line_rate")
                if (f := each.fact(name)).value is not None
            ),
            each.fact("network_rate"),
        )
        made.add(
            each.name,
            value_text(each.fact("vcpus")),
            value_text(each.fact("memory")),
            UNKNOWN if local is None else format_bytes_decimal(local),
            value_text(network),
            value_text(each.fact("price")),
            _day(each.fact("price").as_of),
        )
    return made


def type_table(instance_type: InstanceType) -> Table:
    """One value a row, with its range, kind, day and source, or why it is unknown."""
    made = table(
        "attribute",
        "value",
        "range",
        "kind",
        "as of",
        "source; note",
        left=6,
        prose=("value", "attribute", "source; note"),
        spare=("range", "as of"),
    )
    for attribute, fact in instance_type.facts.items():
        words = [fact.source, fact.note] if fact.value is not None else [f"unknown: {fact.note}"]
        made.add(
            attribute,
            value_text(fact),
            range_text(fact),
            fact.kind or "",
            _day(fact.as_of) if fact.value is not None else "",
            "; ".join(word for word in words if word),
        )
    return made


def diff_table(difference: CatalogDifference) -> Table:
    """One change a row."""
    made = table(
        "type",
        "attribute",
        "old",
        "new",
        "change",
        "kind",
        left=2,
        prose=("attribute", "old", "new", "kind"),
        spare=("kind",),
    )
    for change in difference.changes:
        kinds = [fact.kind if fact and fact.kind else UNKNOWN for fact in (change.old, change.new)]
        relative = change.relative
        made.add(
            change.instance_type,
            change.attribute,
            value_text(change.old),
            value_text(change.new),
            "" if relative is None else f"{relative:+.1%}",
            kinds[0] if kinds[0] == kinds[1] else f"{kinds[0]} -> {kinds[1]}",
        )
    return made


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
