"""Figures that look as if they were given in another unit, and rows that contradict each other.

A factor of 8, 1000 or 1024 cannot be seen in one number, but in its ratio to another: memory or
price a vCPU, a measured rate and the line it went through. The bounds lie between what machines
have and the same by that factor off. What is doubtful is asked about, never changed: a fact whose
note has `ACCEPTED` was looked at and meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import VenturiError
from venturi.core.quantity import Kind
from venturi.machines.catalog import BYTES_PER_S, Catalog, Fact, InstanceType

ACCEPTED = "unit checked"
TOLERANCE = 1.25  # how far a measured rate may be above the one it cannot exceed
_COMPARABLE = frozenset({"USD", "EUR", "GBP", "CHF", "CAD", "AUD"})  # within a factor of 2
Others = Mapping[str, float]  # a unit it may be in -> factor from there to the attribute's unit
_MB_PER_S: Others = {"Mbit/s": 1 / 8, "kB/s": 1e-3, "bytes/s": 1e-6, "GB/s": 1e3}
_GBIT_PER_S: Others = {"Mbit/s": 1e-3, "kbit/s": 1e-6, "bit/s": 1e-9, "Tbit/s": 1e3}
_GB: Others = {"TB": 1e3, "MB": 1e-3, "kB": 1e-6, "bytes": 1e-9}
_USD_PER_HOUR: Others = {"USD a month": 1 / 730, "USD a year": 1 / 8766, "USD a second": 3600.0}


@dataclass(frozen=True, slots=True)
class Range:
    """Where an attribute's value lies on real machines, in its unit.

    With `per`, the value divided by that attribute; with `disk_kind`, only for such disks. If
    either is unknown, nothing is checked. `source` says where the bounds come from.
    """

    attribute: str
    low: float
    high: float
    others: Others
    source: str
    per: str = ""
    disk_kind: str = ""

    def likely(self, value: float) -> str:
        """The unit in which `value` would be in the range; "" if there is none."""
        return next(
            (
                unit
                for unit, factor in self.others.items()
                if self.low <= value * factor <= self.high
            ),
            "",
        )


_RENTED = "AWS us-east-1, 2026-07"
_DISKS = ("storage_rate", "local_read_rate", "local_write_rate")
RANGES: Sequence[Range] = (
    Range("vcpus", 0.1, 4096, {}, f"0.2 (shared core) to 1,920 ({_RENTED})"),
    Range(
        "memory",
        0.095,
        96,
        {"MiB": 1 / 1024, "TiB": 1024, "bytes": 2**-30},
        f"0.25 (t3.nano) to 36.6 GiB a vCPU (u7in-32tb.224xlarge), {_RENTED}, and midway to the "
        "same by a factor of 1,024 off",
        per="vcpus",
    ),
    Range(
        "price",
        0.0003,
        1.25,
        _USD_PER_HOUR,
        f"0.0021 (t4g.nano) to 0.74 USD/h a vCPU (p6-b300.48xlarge), {_RENTED}; a month has 730 h",
        per="vcpus",
    ),
    Range("spot_price", 0.0001, 1.25, _USD_PER_HOUR, "as the price", per="vcpus"),
    Range(
        "network_line_rate",
        0,
        64,
        _GBIT_PER_S,
        f"at most 33 Gbit/s a vCPU (p6-b300.48xlarge), {_RENTED}",
        per="vcpus",
    ),
    Range(
        "network_line_rate",
        0.01,
        10_000,
        _GBIT_PER_S,
        f"0.032 (t3.nano) to 6,400 Gbit/s (p6-b300.48xlarge), {_RENTED}",
    ),
    Range("network_burst_rate", 0.01, 10_000, _GBIT_PER_S, "as the line rate"),
    Range(
        "volume_line_rate",
        50,
        1e6,
        {"Gbit/s": 1e3, "kbit/s": 1e-3, "bit/s": 1e-6},
        f"425 (i3.large) to 300,000 Mbit/s (r8ib.metal-96xl), {_RENTED}",
    ),
    *(
        Range(
            name,
            5,
            100_000,
            _MB_PER_S,
            "a 100 Mbit/s line has 12.5 MB/s; 12 to 16 NVMe disks "
            "read 53 GB/s (i8g.48xlarge, by its siblings)",
        )
        for name in (
            "network_rate",
            "network_rate_at_scale",
            "volume_read_rate",
            "volume_write_rate",
            *_DISKS,
        )
    ),
    *(
        Range(
            name,
            1,
            400,
            _MB_PER_S,
            "one hard disk reads at most some 300 MB/s",
            per="disk_count",
            disk_kind="HDD",
        )
        for name in _DISKS
    ),
    *(
        Range(
            name,
            5,
            16_000,
            _MB_PER_S,
            "PCIe 5.0 x4 has 15.75 GB/s",
            per="disk_count",
            disk_kind="NVMe",
        )
        for name in _DISKS
    ),
    Range("disk_size", 4, 300_000, _GB, "4 GB (m3.medium, 2014) to 245 TB (the largest SSDs)"),
    Range(
        "disk_size",
        100,
        100_000,
        _GB,
        "160 GB (m1.small, 2008) to 36 TB a hard disk",
        disk_kind="HDD",
    ),
    Range(
        "disk_size", 40, 300_000, _GB, f"50 GB (c5d.large) and more, {_RENTED}", disk_kind="NVMe"
    ),
    Range("local_size", 4, 5e6, _GB, f"50 GB (c5d.large) to 336 TB (d3en.12xlarge), {_RENTED}"),
    Range("power", 10, 30_000, {"kW": 1e3, "mW": 1e-3}, "a small board to a rack of accelerators"),
)


@dataclass(frozen=True, slots=True)
class Limit:
    """`attribute` cannot be far above the largest of `most` that is known."""

    attribute: str
    most: tuple[str, ...]
    factor: float = TOLERANCE


_LINE = ("network_line_rate", "network_burst_rate")
LIMITS: Sequence[Limit] = (
    Limit("network_rate", _LINE),
    Limit("network_rate_at_scale", _LINE),
    # Measured at different times on different machines: only far above is a contradiction.
    Limit("network_rate_at_scale", ("network_rate",), 2.0),
    Limit("volume_read_rate", ("volume_line_rate",)),
    Limit("volume_write_rate", ("volume_line_rate",)),
    Limit("storage_rate", ("local_read_rate",)),
    Limit("storage_rate", ("local_write_rate",)),
    Limit("storage_rate_slowest", ("storage_rate",), 2.0),
    Limit("cores", ("vcpus",), 1.0),
    Limit("numa_nodes", ("vcpus",), 1.0),
)


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
    """What is doubtful in `catalog`. `places`: (type, attribute) -> where it was read."""
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

    for bounds in RANGES:
        value = _ratio(instance_type, bounds)
        if value is None or bounds.attribute in doubted or bounds.low <= value <= bounds.high:
            continue
        each = f", {value:g} a {_ONE[bounds.per]}" if bounds.per else ""
        likely = bounds.likely(value)
        looks = f"it looks like {likely}" if likely else "it cannot be"
        problem = f"{looks}{each} (known: {bounds.source})"
        attributes = (bounds.attribute, bounds.per) if bounds.per else (bounds.attribute,)
        yield doubt(problem, likely, *attributes)
    unit = None if "memory" in doubted else _decimal_memory(instance_type)
    if unit:
        yield doubt(f"it looks like a round number of {unit}, not GiB", unit, "memory")
    if not doubted & {"local_size", "disk_size"} and (total := _other_total(instance_type)):
        yield doubt(total, "", "local_size", "disk_count", "disk_size")
    for limit in LIMITS:
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


def _ratio(instance_type: InstanceType, bounds: Range) -> float | None:
    value = _number(instance_type, bounds.attribute)
    if value is None:
        return None
    unit = instance_type.facts[bounds.attribute].unit
    if bounds.others is _USD_PER_HOUR and unit.partition("/")[0] not in _COMPARABLE:
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
    if value is None or instance_type.facts["memory"].kind is not Kind.ADVERTISED:
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


def _above(instance_type: InstanceType, limit: Limit) -> tuple[str, ...] | None:
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
