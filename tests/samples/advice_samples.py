"""Catalogs and requests for the tests of the advice."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from venturi.core.quantity import ValueKind
from venturi.machines import catalog
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.cost.choices import Durability, Exchange
from venturi.machines.cost.job import Job, sort_job

TB = 10**12
DAY = date(2026, 1, 1)
UNITS = {name: unit for name, (unit, _) in catalog.ATTRIBUTES.items()}


def fact(
    attribute: str,
    value: float | str,
    low: float | None = None,
    high: float | None = None,
    kind: ValueKind = ValueKind.MEASURED,
) -> Fact:
    number = value if isinstance(value, str) else float(value)
    return Fact(number, UNITS[attribute], kind, "test", DAY, "", low, high)


def machine(name: str, **values: float | str | tuple[float, float, float]) -> InstanceType:
    """A type; a rate given as (value, low, high) has that range, as a number none at all."""
    given = {
        "price": 1.0,
        "vcpus": 8.0,
        "memory": 64.0,
        "disk_count": 8.0,
        "disk_size": 1000.0,
        "storage_rate": 1000.0,
        "network_rate": 500.0,
        "billing_granularity": 1.0,
    } | values
    facts = {}
    for attribute, value in given.items():
        if isinstance(value, tuple):
            facts[attribute] = fact(attribute, *value)
        elif isinstance(value, str):
            facts[attribute] = fact(attribute, value)
        else:
            facts[attribute] = fact(attribute, value, value, value)
    return InstanceType(name, facts)


def without(instance_type: InstanceType, *attributes: str) -> InstanceType:
    kept = {k: v for k, v in instance_type.facts.items() if k not in attributes}
    return replace(instance_type, facts=kept)


def catalog_of(*types: InstanceType, name: str = "test") -> Catalog:
    return Catalog(name, {each.name: each for each in types})


def request(job: Job | None = None, **asked: object) -> HardwareRequest:
    """By default a sort in the paper's form, with round numbers as times."""
    asked_job = job or sort_job(10 * TB, exchange=Exchange.ALL)
    return HardwareRequest(asked_job, today=DAY, **asked)  # type: ignore[arg-type]


ALL = (Durability.TWO_IO, Durability.REPLICATED, Durability.VOLUMES)
