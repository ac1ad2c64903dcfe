"""Figures that look as if they were given in another unit, and rows that contradict each other.

A factor of 8, 1000 or 1024 doesn't show in one number, but in its ratio to another: memory or price
a vCPU, a measured rate and its line. The bounds (`units.toml`) lie between the figures of real
machines and the same off by that factor. Venturi asks about a doubtful figure and never changes it:
a fact with `ACCEPTED` in its note was checked by the user.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.catalog import BYTES_PER_S, Catalog, Fact, InstanceType

ACCEPTED = "unit checked"
TOLERANCE = 1.25  # how far a measured rate may be above the one it cannot exceed
_STRICT = {"extra": "forbid"}
_COMPARABLE = frozenset({"USD", "EUR", "GBP", "CHF", "CAD", "AUD"})  # within a factor of 2


@dataclass(frozen=True)
class PlausibleRange:
    """A `[[range]]` of `units.toml`: the range of values on real machines.

    The head of that file explains the fields. If `per` or the kind of disk is unknown, nothing is
    checked.
    """

    __pydantic_config__ = _STRICT

    attributes: tuple[str, ...]
    low: float
    high: float
    source: str
    unit: str = ""
    per: str = ""
    disk_kind: str = ""

    def likely(self, value: float) -> str:
        """The unit in which `value` would be in the range; "" if no unit fits."""
        others = _tables().units.get(self.unit, {})
        fits = (u for u, many in others.items() if self.low <= value / many <= self.high)
        return next(fits, "")


@dataclass(frozen=True)
class AttributeLimit:
    """A `[[limit]]`: `attribute` cannot be far above the largest of `most` that is known."""

    __pydantic_config__ = _STRICT

    attribute: str
    most: tuple[str, ...]
    factor: float = TOLERANCE


@dataclass(frozen=True)
class _Tables:
    __pydantic_config__ = _STRICT

    units: Mapping[str, Mapping[str, float]]
    range: tuple[PlausibleRange, ...]
    limit: tuple[AttributeLimit, ...]


@cache
def _tables() -> _Tables:
    """The table; an error in it is a bug and raises pydantic's."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - only to check a catalog

    text = (resources.files("venturi.machines.catalog") / "units.toml").read_text("utf-8")
    return TypeAdapter(_Tables).validate_python(tomllib.loads(text))


def ranges() -> tuple[PlausibleRange, ...]:
    """All ranges, in the order in which they are checked."""
    return _tables().range


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to ask about. `likely` is the unit it looks like, "" if none; `places` its rows."""

    instance_type: str
    attributes: tuple[str, ...]
    value: str
    problem: str
    likely: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        where = f" ({' and '.join(self.places)})" if self.places else ""
        return f"{self.instance_type} {self.attributes[0]} {self.value}{where}: {self.problem}"


def check_units(
    catalog: Catalog, places: Mapping[tuple[str, str], str] | None = None
) -> tuple[Doubt, ...]:
    """The doubtful values in `catalog`. `places`: (type, attribute) -> where it was read."""
    found = (
        doubt
        for instance_type in catalog.types.values()
        for doubt in _of_type(instance_type, places or {})
    )
    return tuple(found)


def accept(catalog: Catalog, doubts: Sequence[Doubt]) -> Catalog:
    """`catalog` with a note at the doubtful facts that they are meant as they are."""
    types = dict(catalog.entries)
    for doubt in doubts:
        of_type = types[doubt.instance_type]
        name = doubt.attributes[0]
        fact = of_type.facts[name]
        note = "; ".join(word for word in (fact.note, ACCEPTED) if word)
        types[of_type.name] = replace(
            of_type, facts={**of_type.facts, name: replace(fact, note=note)}
        )
    return Catalog.of(catalog.name, types)


def doubt_error(doubts: Sequence[Doubt], file: str, hint: str) -> VenturiError:
    """The error that asks: VEN-CATALOG-UNIT, or VEN-CATALOG-FORMAT if no unit explains it."""
    first = doubts[0]
    code = "VEN-CATALOG-UNIT" if any(d.likely for d in doubts) else "VEN-CATALOG-FORMAT"
    shown = [str(doubt) for doubt in doubts[:10]]
    if len(doubts) > len(shown):
        shown.append(f"and {len(doubts) - len(shown)} more")
    where: dict[str, object] = {
        "file": file,
        "instance_type": first.instance_type,
        "field": first.attributes[0],
        "value": first.value,
        "doubts": len(doubts),
    }
    if first.places:
        where["places"] = " and ".join(first.places)
    return VenturiError(code, "; ".join(shown), where=where, hint=hint)


def _of_type(instance_type: InstanceType, places: Mapping[tuple[str, str], str]) -> Iterator[Doubt]:
    doubted: set[str] = set()

    def doubt(problem: str, likely: str, *attributes: str) -> Doubt:
        doubted.add(attributes[0])
        fact = instance_type.fact(attributes[0])
        known = (places.get((instance_type.name, attribute)) for attribute in attributes)
        rows = tuple(dict.fromkeys(place for place in known if place))
        value = f"{fact.value:g} {fact.unit}".removesuffix(" 1")
        return Doubt(instance_type.name, attributes, value, problem, likely, rows)

    for bounds, attribute in ((each, name) for each in ranges() for name in each.attributes):
        value = _ratio(instance_type, attribute, bounds)
        if value is None or attribute in doubted or bounds.low <= value <= bounds.high:
            continue
        each = f", {value:g} per {_ONE[bounds.per]}" if bounds.per else ""
        likely = bounds.likely(value)
        looks = f"it looks like {likely}" if likely else "it is impossible"
        problem = f"{looks}{each} (known: {bounds.source})"
        yield doubt(problem, likely, attribute, *([bounds.per] if bounds.per else []))
    unit = None if "memory" in doubted else _decimal_memory(instance_type)
    if unit:
        yield doubt(f"it looks like a round number of {unit}, not GiB", unit, "memory")
    if not doubted & {"local_size", "disk_size"} and (total := _other_total(instance_type)):
        yield doubt(total, "", "local_size", "disk_count", "disk_size")
    for limit in _tables().limit:
        if limit.attribute not in doubted and (found := _above(instance_type, limit)):
            yield doubt(*found)


def _other_total(instance_type: InstanceType) -> str:
    """How `local_size` contradicts the number of disks times their size; "" if it does not."""
    total_gb = _number(instance_type, "local_size")
    count, size_gb = (instance_type.number(name) for name in ("disk_count", "disk_size"))
    if total_gb is None or count is None or size_gb is None:
        return ""
    if 1 / TOLERANCE <= count * size_gb / total_gb <= TOLERANCE:
        return ""
    return f"it contradicts disk_count times disk_size, {count:g} x {size_gb:g} GB"


_ONE = {"vcpus": "vCPU", "disk_count": "disk"}


def _number(instance_type: InstanceType, attribute: str) -> float | None:
    fact = instance_type.facts.get(attribute)
    if fact is None or ACCEPTED in fact.note or not isinstance(fact.value, float):
        return None
    return fact.value


def _ratio(instance_type: InstanceType, attribute: str, bounds: PlausibleRange) -> float | None:
    value = _number(instance_type, attribute)
    if value is None:
        return None
    unit = instance_type.facts[attribute].unit
    if bounds.unit == "price" and unit.partition("/")[0] not in _COMPARABLE:
        return None
    if bounds.disk_kind and instance_type.fact("disk_kind").value != bounds.disk_kind:
        return None
    if not bounds.per:
        return value
    per = instance_type.number(bounds.per)
    return None if per is None else value / per


def _decimal_memory(instance_type: InstanceType) -> str:
    """GB or MB, if the advertised memory is a power of 2 in GB or in thousands of MB."""
    value = _number(instance_type, "memory")
    if value is None or instance_type.facts["memory"].kind is not ValueKind.ADVERTISED:
        return ""
    # 32 GiB written in GB is 34.36; 16,000 MB taken for MiB is 15.625 GiB.
    for unit, factor, tolerance in (("GB", 1e9 / 2**30, 2e-3), ("MB", 1.024, 1e-5)):
        power = round(math.log2(value * factor))
        if power >= 2 and abs(value * factor / 2**power - 1) < tolerance:
            return unit
    return ""


def _base(fact: Fact) -> float:
    assert isinstance(fact.value, float)
    return fact.value * BYTES_PER_S.get(fact.unit, 1.0)


def _above(instance_type: InstanceType, limit: AttributeLimit) -> tuple[str, ...] | None:
    """(problem, likely unit, attribute, the one it is above) if it is."""
    if _number(instance_type, limit.attribute) is None:
        return None
    known = [name for name in limit.most if instance_type.number(name) is not None]
    if not known:
        return None
    fact = instance_type.facts[limit.attribute]
    most = max(known, key=lambda name: _base(instance_type.facts[name]))
    ratio = _base(fact) / _base(instance_type.facts[most])
    if ratio <= limit.factor:
        return None
    other = instance_type.facts[most]
    likely = "Mbit/s" if fact.unit == "MB/s" and 2 < ratio <= 8 * TOLERANCE else ""
    looks = f"it looks like {likely}, or " if likely else ""
    problem = (
        f"{looks}it contradicts {most} {other.value:g} {other.unit}".removesuffix(" 1")
        + f" ({other.kind}, {other.source}): it is {ratio:.3g} times as much"
    )
    return problem, likely, limit.attribute, most
