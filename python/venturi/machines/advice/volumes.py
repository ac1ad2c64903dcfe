"""Network volumes as parts of a machine: their number, size, rates and price.

`--volumes gp3:4` attaches four volumes of the kind gp3 to every node. Their rate grows with their
count up to the machine's limit for volumes. A machine without local disks also keeps its
intermediate data on them, so both directions share the rate.
"""

from __future__ import annotations

import math
from dataclasses import replace

from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.core.units import parse_bytes, parse_rate, unit_error
from venturi.machines.catalog import BYTES_PER_S, AttachedVolumes, Catalog, Fact, InstanceType
from venturi.machines.catalog.find import unknown
from venturi.machines.cost.charges import HOURS_PER_MONTH

MOST = 128  # volumes of a node; providers allow some tens
# AWS machines with fewer than 32 vCPUs have the path of one with 32 for 30 minutes a day. They
# sustain a part in proportion to their vCPUs (EC2 user guide, EBS-optimized instance types).
BURST, SUSTAINED = "30 minutes a day", 32.0
MOST_BY_DEFAULT = 24  # Nitro machines of AWS take 28 attachments, network cards included
EXAMPLE = "gp3:4 or gp3:8,size=135GiB,iops=6000,throughput=250MiB/s,hours=720"
# The usable share of the provisioned rate: 226 of 250 MB/s, and 87 % of that (SoCC 2015, 4.4 and
# 5.3).
KEPT = 0.79


def parse_volumes(text: str) -> tuple[str, AttachedVolumes]:
    """The kind in `text` and its volumes; `attach` fills in their facts."""
    head, *options = (part.strip() for part in text.split(","))
    kind, _, count = head.partition(":")
    if not kind or not (count.isascii() and count.isdigit() and 1 <= int(count) <= MOST):
        raise _bad(text, f"is not KIND:COUNT with a count from 1 to {MOST}")
    given: dict[str, float] = {}
    for option in options:
        name, _, amount = option.partition("=")
        if name not in {"size", "iops", "throughput", "hours"} or name in given:
            raise _bad(text, f"{name!r} is unknown, or given twice")
        try:
            value = _amount(name, amount)
        except (ValueError, VenturiError) as error:
            raise _bad(text, f"{name} is not one: {amount!r}") from error
        if not 0 < value < float("inf"):
            raise _bad(text, f"{name} must be above 0")
        given[name] = value
    return kind, AttachedVolumes(
        InstanceType(kind, {}),
        int(count),
        given.get("size"),
        given.get("iops"),
        given.get("throughput"),
        given.get("hours", HOURS_PER_MONTH),
    )


def _amount(name: str, text: str) -> float:
    if name == "size":
        return parse_bytes(text, unit_needed=True) / 2**30
    return parse_rate(text) / 2**20 if name == "throughput" else float(text)


def equipped(catalog: Catalog) -> Catalog:
    """`catalog` with each provider's object storage, and volumes where there are no local disks.

    A kind fits with a price and an included throughput. Each machine has as many volumes as fill
    its path to them, `MOST_BY_DEFAULT` at most, so that none needs throughput at extra cost.
    """
    kinds = {
        provider: each
        for each in catalog.volumes.values()
        if (provider := each.word("provider")) is not None
        and each.number("volume_price") is not None
        and each.number("volume_throughput_included") is not None
    }
    stores = {each.word("provider") or "": each for each in catalog.stores.values()}
    return replace(
        catalog,
        types={
            name: replace(
                _equipped(each, kinds.get(each.word("provider") or "")),
                store=stores.get(each.word("provider") or ""),
            )
            for name, each in catalog.types.items()
        },
    )


def _equipped(instance_type: InstanceType, kind: InstanceType | None) -> InstanceType:
    path = instance_type.number("volume_line_rate")
    if kind is None or path is None or instance_type.has_disks or instance_type.volumes:
        return instance_type
    included = (kind.number("volume_throughput_included") or 1) * BYTES_PER_S["MiB/s"]
    count = min(MOST_BY_DEFAULT, math.ceil(path * BYTES_PER_S["Mbit/s"] / included))
    volumes = AttachedVolumes(kind, count, None, None, None, HOURS_PER_MONTH)
    return _with(instance_type, volumes)


def attach(catalog: Catalog, kind: str, volumes: AttachedVolumes) -> Catalog:
    """`catalog` with these volumes on each machine of the same provider.

    Raises VEN-CATALOG-UNKNOWN if the catalog has no such kind, VEN-MODEL-INPUT if a volume of this
    kind can't have the requested values.
    """
    if kind not in catalog.volumes:
        raise unknown(
            f"catalog {catalog.name} has no volumes of the kind {kind!r}",
            kind,
            catalog.volumes,
            "it has",
            {"catalog": catalog.name, "volumes": kind},
        )
    with_facts = replace(volumes, kind=catalog.volumes[kind])
    _need_possible(with_facts)
    types = {name: _with(each, with_facts) for name, each in catalog.types.items()}
    return replace(catalog, types=types)


def _need_possible(volumes: AttachedVolumes) -> None:
    limits = {
        "size": (volumes.gib, "volume_size_max", "GiB"),
        "iops": (volumes.iops, "volume_iops_max", "IOPS"),
        "throughput": (volumes.mib_per_s, "volume_throughput_max", "MiB/s"),
    }
    for name, (asked, attribute, unit) in limits.items():
        most = volumes.kind.number(attribute)
        if asked is not None and most is not None and asked > most:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"{name} of a {volumes.kind.name} is {asked:g} {unit}, but at most {most:g}",
                where={"option": "--volumes", "field": name, "value": asked},
                hint="use more volumes",
            )


def _with(instance_type: InstanceType, volumes: AttachedVolumes) -> InstanceType:
    ours, theirs = instance_type.word("provider"), volumes.kind.word("provider")
    facts = dict(instance_type.facts)
    if ours is not None and theirs is not None and ours != theirs:
        why = f"{volumes.kind.name} is {theirs}'s, not {ours}'s"
        facts["volume_price"] = Fact(None, "USD/GiB-month", None, "", None, why)
        return replace(instance_type, facts=facts)
    facts["volume_price"] = volumes.kind.fact("volume_price")
    for direction in ("read", "write"):
        name = f"volume_{direction}_rate"
        path = next(
            (f for f in (facts.get(name), facts.get("volume_line_rate")) if f and f.value), None
        )
        found = _rate(instance_type, volumes, path)
        if found is not None:
            facts[name] = found
    if not instance_type.has_disks and (rate := facts.get("volume_read_rate")):
        facts["storage_rate"] = replace(rate, note=f"on volumes; {rate.note}")
    return replace(instance_type, facts=facts, volumes=volumes)


def _rate(instance_type: InstanceType, volumes: AttachedVolumes, path: Fact | None) -> Fact | None:
    """The rate of all volumes of a node in one direction; None if no source improves on the
    catalog.
    """
    each = volumes.throughput
    if each is None or not isinstance(each.value, float):
        if instance_type.has_disks:
            return None
        each = None
    ways: list[tuple[float, Fact, str]] = []
    sustained = 1.0
    if each is not None and isinstance(each.value, float):
        mb_per_s = volumes.count * each.value * BYTES_PER_S["MiB/s"] / 1e6
        ways.append((mb_per_s, each, f"{volumes.count} volumes of {each.value:g} MiB/s"))
    if path is not None and isinstance(path.value, float):
        mb_per_s = path.value * BYTES_PER_S[path.unit] / 1e6
        if BURST in path.note:
            sustained = min(1.0, (instance_type.number("vcpus") or SUSTAINED) / SUSTAINED)
        note = f"the machine's path to volumes, {mb_per_s:,.0f} MB/s"
        note += f" ({sustained:.0%} sustained)" if sustained < 1 else ""
        ways.append((mb_per_s * sustained, path, note))
    if not ways:
        return None
    value, of, note = min(ways, key=lambda way: way[0])
    if not instance_type.has_disks:
        value, note = value / 2, f"{note}, shared by both directions"
    low = value * KEPT
    if of is path and path.unit == "MB/s" and path.low is not None:  # it was measured as it is
        low = min(value, path.low)
    kind = of.kind if of is path and path.unit == "MB/s" else ValueKind.DERIVED
    high = value / sustained if of is path else value
    return Fact(value, "MB/s", kind, of.source, of.as_of, note, low, high)


def _bad(text: str, problem: str) -> VenturiError:
    return unit_error(text, problem, f"write it like {EXAMPLE}", option="--volumes")
