"""Operating limits that a user sets once: provider, region, families, quota, price list, discount.

They come from a TOML file (`limits.toml` in VENTURI_HOME, or the file that VENTURI_LIMITS names)
and from options, which take precedence.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import Field

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import ValueKind
from venturi.core.text_file import read_text
from venturi.core.toml_file import Strict, Text, parse, refused
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.catalog.find import unknown
from venturi.machines.cost.choices import MOST_NODES

Names = tuple[Text, ...]


class Limits(Strict):
    """Limits of an answer; an empty list allows all. `discount` is a share of the node price.

    `max_vcpus` is a quota for all nodes of a cluster together. `prices` is a CSV file with the
    columns `type` and `usd_per_hour`.
    """

    provider: Names = ()
    region: Names = ()
    family: Names = ()
    max_nodes: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None
    max_vcpus: Annotated[int, Field(ge=1)] | None = None
    discount: Annotated[float, Field(ge=0, lt=1)] = 0.0
    prices: Text | None = None

    @property
    def words(self) -> str:
        """The limits in force, such as `aws; 2,000 vCPUs`; "" without any."""
        parts = [", ".join(names) for names in (self.provider, self.region, self.family) if names]
        if self.max_nodes is not None:
            parts.append(f"{self.max_nodes:,} nodes")
        if self.max_vcpus is not None:
            parts.append(f"{self.max_vcpus:,} vCPUs")
        if self.prices is not None:
            parts.append(f"prices of {Path(self.prices).name}")
        if self.discount:
            parts.append(f"{self.discount:.0%} discount")
        return "; ".join(parts)

    def of_prices(self) -> Limits:
        """Only the price list and the discount, for machines that you name."""
        return Limits(discount=self.discount, prices=self.prices)


def read_limits(file: Path) -> Limits:
    """The limits in `file`; VEN-LIMITS-FORMAT with every mistake if it has any."""
    hint = 'a line such as provider = ["aws"] is enough; keys: ' + ", ".join(Limits.model_fields)
    text = read_text(file, "VEN-LIMITS-FORMAT", hint)
    found, _, mistakes = parse(Limits, text, "the file of limits")
    if found is None:
        raise refused("VEN-LIMITS-FORMAT", "the file of limits", file, mistakes, hint)
    if found.prices is None:
        return found
    return found.model_copy(update={"prices": str(file.parent / Path(found.prices).expanduser())})


def own_limits(file: Path | None) -> Limits:
    """The user's limits, from the file in the setting VENTURI_LIMITS; all types without one."""
    return Limits() if file is None else read_limits(file)


def limited(catalogs: Sequence[Catalog], limits: Limits, today: date) -> list[Catalog]:
    """The catalogs with the allowed types, at the limits' prices.

    Raises VEN-CATALOG-UNKNOWN if no type has a provider, region or family.
    """
    types = [each for catalog in catalogs for each in catalog.types.values()]
    for name in ("provider", "region"):
        known = {each.word(name) for each in types} - {None}
        for wanted in getattr(limits, name):
            if wanted not in known:
                raise _nothing(name, wanted, sorted(filter(None, known)))
    for wanted in limits.family:
        if not any(_is_of(each.name, wanted) for each in types):
            raise _nothing("family", wanted, sorted({_family(each.name) for each in types}))
    prices = {} if limits.prices is None else _price_list(Path(limits.prices))
    if prices and not any(each.name in prices for each in types):
        raise _bad_prices(limits.prices, "has none of the catalog's types")
    return [
        replace(
            catalog,
            types={
                name: _priced(each, prices, limits, today)
                for name, each in catalog.types.items()
                if _allowed(each, limits) and (not prices or name in prices)
            },
        )
        for catalog in catalogs
    ]


def _allowed(instance_type: InstanceType, limits: Limits) -> bool:
    for name in ("provider", "region"):
        wanted = getattr(limits, name)
        if wanted and instance_type.word(name) not in wanted:
            return False
    return not limits.family or any(_is_of(instance_type.name, each) for each in limits.family)


def _family(name: str) -> str:
    """`i4i` of `i4i.8xlarge`, `z3-highmem` of `z3-highmem-88`; other names are their own family."""
    if "." in name:
        return name.partition(".")[0]
    head, _, tail = name.rpartition("-")
    return head if head and tail.isdigit() else name


def _is_of(name: str, family: str) -> bool:
    """Whether a type is of the family: its name begins with it, or matches its pattern."""
    name, family = name.lower(), family.lower()
    return name.startswith((f"{family}.", f"{family}-")) or fnmatchcase(name, family)


def _nothing(what: str, wanted: str, known: Iterable[str]) -> VenturiError:
    message = f"no type of the catalog has the {what} {wanted!r}"
    return unknown(message, wanted, known, "it has", {what: wanted})


def _priced(
    instance_type: InstanceType, prices: Mapping[str, float], limits: Limits, today: date
) -> InstanceType:
    price = instance_type.fact("price")
    own = prices.get(instance_type.name)
    if own is not None:
        assert limits.prices is not None
        source = f"price list {Path(limits.prices).name}"
        price = Fact(own, "USD/h", ValueKind.ADVERTISED, source, today, "")
    if limits.discount and isinstance(price.value, float):
        note = f"{price.value:g} less {limits.discount:.3g} of it"
        price = replace(price, value=price.value * (1 - limits.discount), note=note)
    return replace(instance_type, facts={**instance_type.facts, "price": price})


def _price_list(file: Path) -> dict[str, float]:
    rows = list(csv.DictReader(read_text(file, "VEN-LIMITS-FORMAT").splitlines()))
    found: dict[str, float] = {}
    for number, row in enumerate(rows, 2):
        name, text = (row.get("type") or "").strip(), (row.get("usd_per_hour") or "").strip()
        try:
            price = float(text)
        except ValueError:
            price = -1.0
        if not name or not 0 < price < float("inf"):
            raise _bad_prices(str(file), f"line {number} has no type with a price above 0")
        found[name] = price
    if not found:
        raise _bad_prices(str(file), "has no prices")
    return found


def _bad_prices(file: str | None, problem: str) -> VenturiError:
    return UsageError(
        "VEN-LIMITS-FORMAT",
        f"price list {file} {problem}",
        where={"file": file},
        hint="the first line is type,usd_per_hour, and each other one has a type and its price",
    )
