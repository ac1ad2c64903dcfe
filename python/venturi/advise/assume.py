"""What the user assumes where a catalogue knows nothing: filled in, marked, with a wide range.

An assumption never replaces a figure that is known, except an advertised line rate, which is only
an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from venturi.errors import ExitCode, VenturiError
from venturi.model.catalog import BYTES_PER_S, DISK_KINDS, Catalog, Fact, InstanceType
from venturi.model.quantity import Kind
from venturi.units import parse_rate

# resource -> (the attribute that is filled in, those that make it known, its line rate)
RESOURCES = {
    "storage": ("storage_rate", ("storage_rate",), None),
    "network": ("network_rate", ("network_rate", "network_rate_at_scale"), "network_line_rate"),
    "volume-read": ("volume_read_rate", ("volume_read_rate",), "volume_line_rate"),
    "volume-write": ("volume_write_rate", ("volume_write_rate",), "volume_line_rate"),
}
EXAMPLE_OF = {
    "storage": "storage=900MB/s",
    "network": "network=5Gbit/s",
    "volume-read": "volume-read=500MB/s",
    "volume-write": "volume-write=500MB/s",
}
# As in catalog.units_check: of one disk, else of a node.
PLAUSIBLE_MB_PER_S = {"HDD": (1, 400), "SSD": (5, 16_000), "NVMe": (5, 16_000)}
LOW, HIGH = 0.5, 1.5  # the range of an assumption: our own caution
EXAMPLES = "storage=900MB/s, NVMe=1000MB/s (one disk), network=5Gbit/s or network=70% of line rate"


@dataclass(frozen=True, slots=True)
class Assumption:
    """A rate of a node's `resource`, or of one disk of the kind `resource`.

    Either `bytes_per_s`, or `share` of the advertised line rate.
    """

    resource: str
    bytes_per_s: float | None
    share: float | None
    text: str


def parse_assumption(text: str) -> Assumption:
    """The assumption in `text`, such as `storage=900MB/s` or `network=70%`."""
    name, equals, amount = (part.strip() for part in text.partition("="))
    known = {each.lower(): each for each in (*RESOURCES, *DISK_KINDS)}
    resource = known.get(name.lower().replace("_", "-"))
    if not equals or resource is None:
        raise _bad(text, "is not an assumption")
    if amount.endswith("%"):
        if resource not in RESOURCES or RESOURCES[resource][2] is None:
            raise _bad(text, f"{resource} has no advertised rate to take a share of")
        share = _number(text, amount.removesuffix("%")) / 100
        if share > 1:
            raise _bad(text, "is more than the line rate")
        return Assumption(resource, None, share, text)
    rate = _rate(text, amount)
    low, high = PLAUSIBLE_MB_PER_S.get(resource, (5, 100_000))
    if not low <= rate / 1e6 <= high:
        raise VenturiError(
            "VEN-CATALOG-UNIT",
            f"{text!r} is {rate / 1e6:g} MB/s, which no {resource} of one "
            f"{'disk' if resource in DISK_KINDS else 'node'} has ({low:g} to {high:,g} MB/s)",
            where={"option": "--assume", "value": text},
            hint="check bits against bytes and MB against GB; if it is right, write it into a "
            "catalogue with 'unit checked' in its note, and give that with --measured",
            exit_code=ExitCode.USAGE,
        )
    return Assumption(resource, rate, None, text)


def assume(catalog: Catalog, assumptions: Sequence[Assumption], today: date) -> Catalog:
    """`catalog` with what it does not know filled in from `assumptions`; the later ones win."""
    if not assumptions:
        return catalog
    types = {name: _filled(each, assumptions, today) for name, each in catalog.types.items()}
    return replace(catalog, types=types)


def _filled(
    instance_type: InstanceType, assumptions: Sequence[Assumption], today: date
) -> InstanceType:
    facts = dict(instance_type.facts)
    for each in assumptions:
        of_disk = each.resource in DISK_KINDS
        attribute, known_by, line = RESOURCES["storage" if of_disk else each.resource]
        if any(instance_type.number(name) is not None for name in known_by):
            continue
        value, most, note = _value(instance_type, each, line)
        if value is None:
            continue
        scale = BYTES_PER_S["MB/s"]
        high = value * HIGH if most is None else min(value * HIGH, most)
        facts[attribute] = Fact(
            value / scale, "MB/s", Kind.ASSUMED, f"assumed by the user: {each.text}", today, note,
            value * LOW / scale, high / scale,
        )  # fmt: skip
    return replace(instance_type, facts=facts)


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
    if assumption.resource not in DISK_KINDS:
        if most is not None and assumption.bytes_per_s > most:
            return most, most, "cut to the advertised line rate; range from half of it"
        return assumption.bytes_per_s, most, note
    disks = instance_type.number("disk_count")
    if disks is None or instance_type.fact("disk_kind").value != assumption.resource:
        return None, None, ""
    # B_storage: half of the disks read while the others write.
    return assumption.bytes_per_s * disks / 2, None, f"half of {disks:g} disks; {note}"


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
    return VenturiError(
        "VEN-UNIT-SYNTAX",
        f"{text!r} {problem}",
        where={"option": "--assume", "value": text},
        hint=f"write it like {EXAMPLES}",
        exit_code=ExitCode.USAGE,
    )
