"""The page of a catalog: its types, the facts of a type with their sources, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from venturi.core.quantity import Quantity
from venturi.core.statistics.stats import Missing
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.catalog.diff import CatalogDifference
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.node import Node, node_of
from venturi.machines.cost.price import is_stale
from venturi.terminal.catalog import CatalogSummary, summarise
from venturi.web.report.data import Number, Text, number


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One instance type: a node of it, and its price. Rates are those that models take."""

    instance_type: str
    vcpus: Number
    memory_bytes: Number
    local_bytes: Number
    storage_bytes_per_s: Number
    network_bytes_per_s: Number
    price_usd_per_hour: Number
    price_as_of: Text
    price_is_stale: bool


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """The requested parts of catalogs; a part that was not requested is empty or None.

    `chosen` is the type with these `facts`.
    """

    title: str
    generated_at: datetime
    catalogs: tuple[CatalogSummary, ...] = ()
    types: tuple[TypeRow, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    chosen: str | None = None
    difference: CatalogDifference | None = None
    warnings: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def list_page(
    catalogs: tuple[CatalogSummary, ...], generated_at: datetime, **more: Any
) -> CatalogPage:
    """How much each of `catalogs` knows."""
    title = f"{len(catalogs)} machine catalogs"
    return CatalogPage(title, generated_at, catalogs=catalogs, **more)


def show_page(
    catalog: Catalog, chosen: InstanceType | None, generated_at: datetime, **more: Any
) -> CatalogPage:
    """The types of `catalog`, and all that it knows of the `chosen` one."""
    today = generated_at.date()
    return CatalogPage(
        catalog.name if chosen is None else f"{chosen.name} in {catalog.name}",
        generated_at,
        catalogs=(summarise(catalog, today),),
        types=tuple(_type_row(each, today) for each in catalog.types.values()),
        facts={} if chosen is None else chosen.facts,
        chosen=None if chosen is None else chosen.name,
        **more,
    )


def difference_page(
    old: str, new: str, difference: CatalogDifference, generated_at: datetime, **more: Any
) -> CatalogPage:
    """The changes from the catalog `old` to `new`."""
    return CatalogPage(f"Changes from {old} to {new}", generated_at, difference=difference, **more)


def _type_row(instance_type: InstanceType, today: date) -> TypeRow:
    node, price = node_of(instance_type, NetworkChoice.AT_SCALE), instance_type.fact("price")
    day = price.as_of
    return TypeRow(
        instance_type.name,
        _known(instance_type.number("vcpus"), instance_type.fact("vcpus").note),
        _known(node.memory_bytes, instance_type.fact("memory").note),
        _known(node.local_bytes, node.missing.get("local_bytes", "")),
        _rate(node, node.storage, "storage"),
        _rate(node, node.network, "network"),
        _known(instance_type.number("price"), price.note),
        Missing("the price has no date") if day is None else day.isoformat(),
        day is not None and is_stale(day, today),
    )


def _rate(node: Node, quantity: Quantity | None, name: str) -> Number:
    return _known(None if quantity is None else quantity.value, node.missing.get(name, ""))


def _known(value: float | None, note: str) -> Number:
    return number(value, note or "the catalog gives no reason")
