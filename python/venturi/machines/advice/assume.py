"""User assumptions for values that a catalog lacks: filled in, marked, with a wide range.

An assumption never replaces a known figure, except an advertised line rate and its payload, which
are only upper bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import ValueKind
from venturi.core.units import format_bytes_decimal, parse_rate, unit_error
from venturi.machines.catalog import BYTES_PER_S, DISK_KINDS, Catalog, Fact, InstanceType

# resource -> (the attribute that is filled in, those that make it known, its line rate)
RESOURCES = {
    "storage": ("storage_rate", ("storage_rate",), None),
    "network": ("network_rate", ("network_rate", "network_rate_at_scale"), "network_line_rate"),
    "volume-read": ("volume_read_rate", ("volume_read_rate",), "volume_line_rate"),
    "volume-write": ("volume_write_rate", ("volume_write_rate",), "volume_line_rate"),
}
EXAMPLE_OF = {
    "storage": "storage=400MB/s/TB",
    "network": "network=5Gbit/s",
    "volume-read": "volume-read=500MB/s",
    "volume-write": "volume-write=500MB/s",
}
# As in catalog.units_check: of one disk, else of a node.
PLAUSIBLE_MB_PER_S = {"HDD": (1, 400), "SSD": (5, 16_000), "NVMe": (5, 16_000)}
LOW, HIGH = 0.5, 1.5  # the range of an assumption: our own caution
EXAMPLES = (
    "storage=400MB/s/TB (per TB of local disks), storage=900MB/s (per node), NVMe=1000MB/s "
    "(per disk), network=5Gbit/s or network=70% (of line rate)"
)
PER_TB = "/TB"
PAYLOAD = 0.9  # of a line at least is payload: 0.94 with frames of 1,460 bytes
ALIKE = 1.25  # local disks that differ less in size may share one rate


@dataclass(frozen=True, slots=True)
class Assumption:
    """A rate of a node's `resource`, or of one disk of the kind `resource`.

    Either `bytes_per_s`, with `per_tb` for each TB of local disks, or `share` of the advertised
    line rate.
    """

    resource: str
    bytes_per_s: float | None
    share: float | None
    text: str
    per_tb: bool = False


def parse_assumption(text: str) -> Assumption:
    """The assumption in `text`, such as `storage=900MB/s` or `network=70%`."""
    name, equals, amount = (part.strip() for part in text.partition("="))
    known = {each.lower(): each for each in (*RESOURCES, *DISK_KINDS)}
    resource = known.get(name.lower().replace("_", "-"))
    if not equals or resource is None:
        raise _bad(text, "is not an assumption")
    if amount.endswith("%"):
        if resource not in RESOURCES or RESOURCES[resource][2] is None:
            raise _bad(text, f"{resource} has no advertised rate, so a share of it is undefined")
        share = _number(text, amount.removesuffix("%")) / 100
        if share > 1:
            raise _bad(text, "is more than the line rate")
        return Assumption(resource, None, share, text)
    per_tb = amount.upper().endswith(PER_TB)
    if per_tb and resource != "storage" and resource not in DISK_KINDS:
        raise _bad(text, f"{resource} doesn't depend on the size of the disks")
    rate = _rate(text, amount[: -len(PER_TB)] if per_tb else amount)
    low, high = PLAUSIBLE_MB_PER_S.get(resource, (5, 100_000))
    if not low <= rate / 1e6 <= high:
        raise UsageError(
            "VEN-CATALOG-UNIT",
            f"{text!r} is {rate / 1000000.0:g} MB/s, which is impossible for the {resource} "
            f"of one {'disk' if resource in DISK_KINDS else 'node'} ({low:g} to {high:,g} "
            "MB/s)",
            where={"option": "--assume", "value": text},
            hint="check bits or bytes, MB or GB. If it is right, write it into a catalog with "
            "'unit checked' in its note, and use the catalog with --measured",
        )
    return Assumption(resource, rate, None, text, per_tb)


def assume(catalog: Catalog, assumptions: Sequence[Assumption], today: date) -> Catalog:
    """`catalog` with its unknown values filled in from `assumptions`; later ones take
    precedence.
    """
    if not assumptions:
        return catalog
    for each in assumptions:
        if each.resource == "storage" and not each.per_tb:
            _need_alike(catalog, each)
    types = {name: _filled(each, assumptions, today) for name, each in catalog.types.items()}
    return replace(catalog, types=types)


def _need_alike(catalog: Catalog, assumption: Assumption) -> None:
    """Rejects a single storage rate for nodes with local disks of different sizes."""
    sizes = {
        each.name: each.local_bytes
        for each in catalog.types.values()
        if each.number("storage_rate") is None and each.local_bytes
    }
    if not sizes:
        return
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[large] <= sizes[small] * ALIKE:
        return
    told = (f"{name} with {format_bytes_decimal(sizes[name])}" for name in (small, large))
    raise _bad(
        assumption.text,
        f"would give one rate to {' and '.join(told)} of local disks: give a rate per TB, "
        f"such as {EXAMPLE_OF['storage']}, or per disk, such as NVMe=1000MB/s",
    )


def _filled(
    instance_type: InstanceType, assumptions: Sequence[Assumption], today: date
) -> InstanceType:
    facts = dict(instance_type.facts)
    for each in assumptions:
        of_disk = each.resource in DISK_KINDS
        attribute, known_by, line = RESOURCES["storage" if of_disk else each.resource]
        known = any(instance_type.number(name) is not None for name in known_by)
        if known and not (each.resource == "network" and _only_line(instance_type)):
            continue
        value, most, note = _value(instance_type, each, line)
        if value is None:
            continue
        scale = BYTES_PER_S["MB/s"]
        high = value * HIGH if most is None else min(value * HIGH, most)
        facts[attribute] = Fact(
            value / scale,
            "MB/s",
            ValueKind.ASSUMED,
            f"assumed by the user: {each.text}",
            today,
            note,
            value * LOW / scale,
            high / scale,
        )
    return replace(instance_type, facts=facts)


def _only_line(instance_type: InstanceType) -> bool:
    """Whether the network's rate is only derived from its line rate, as the payload's share."""
    fact, line = (instance_type.fact(name) for name in ("network_rate", "network_line_rate"))
    if (
        fact.kind is not ValueKind.DERIVED
        or instance_type.number("network_rate_at_scale") is not None
    ):
        return False
    rates = [f.value * BYTES_PER_S[f.unit] for f in (fact, line) if isinstance(f.value, float)]
    return len(rates) == 2 and PAYLOAD * rates[1] <= rates[0] <= rates[1]


def _value(
    instance_type: InstanceType, assumption: Assumption, line: str | None
) -> tuple[float | None, float | None, str]:
    """Bytes per second assumed, the most that can be, and a note."""
    fact = None if line is None else instance_type.fact(line)
    most = None
    if fact is not None and isinstance(fact.value, float):
        most = fact.value * BYTES_PER_S[fact.unit]
    if assumption.share is not None:
        return (
            None if most is None else most * assumption.share,
            most,
            f"{assumption.share:.0%} of the advertised line rate; from half of it to the line rate",
        )
    assert assumption.bytes_per_s is not None
    note = "range from half of it to one and a half"
    if assumption.per_tb or assumption.resource in DISK_KINDS:
        value, told = _of_disks(instance_type, assumption)
        return value, None, f"{told}; {note}"
    if most is not None and assumption.bytes_per_s > most:
        return most, most, "cut to the advertised line rate; range from half of it"
    return assumption.bytes_per_s, most, note


def _of_disks(instance_type: InstanceType, assumption: Assumption) -> tuple[float | None, str]:
    """Bytes per second of a node's local disks, by their size or their number."""
    assert assumption.bytes_per_s is not None
    of_kind = assumption.resource in DISK_KINDS
    if of_kind and instance_type.fact("disk_kind").value != assumption.resource:
        return None, ""
    size, disks = instance_type.local_bytes, instance_type.number("disk_count")
    amount = size / 1e12 if assumption.per_tb and size else None if assumption.per_tb else disks
    if amount is None:
        return None, ""
    has = format_bytes_decimal(size) if assumption.per_tb else f"{amount:g} disks"
    if not of_kind:
        return assumption.bytes_per_s * amount, f"for {has}"
    # B_storage: half of the disks read while the others write.
    return assumption.bytes_per_s * amount / 2, f"half of {has}"


def _rate(text: str, amount: str) -> float:
    try:
        value = parse_rate(amount)
    except VenturiError as error:
        if "bits" in error.message:
            raise _bad(text, "may mean bits or bytes: write Gbit/s or GB/s") from error
        raise _bad(text, f"has no rate: {error.message}") from error
    if value <= 0:
        raise _bad(text, "must be above 0")
    return value


def _number(text: str, amount: str) -> float:
    try:
        value = float(amount)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise _bad(text, "must be a number above 0")
    return value


def _bad(text: str, problem: str) -> VenturiError:
    return unit_error(text, problem, f"write it like {EXAMPLES}", option="--assume")
