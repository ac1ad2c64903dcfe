"""Checks a host's settings against the field's recommendations.

The rules are a table (`tables/doctor.toml`), with threshold, bounds and source; here are the few
tests they are made of. Facts are the agent's `facts` result. A fact that is absent or not of its
type gives `unknown` with the reason, never `ok`.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter

Facts = Mapping[str, Any]
Element = Mapping[str, Any]

FACTS_SCHEMA_VERSION = 1
HOST_SETS = frozenset({"cpu_governors"})  # a virtual machine doesn't have these
IN_A_GUEST = "can't tell in a virtual machine: its host sets this"


class Severity(StrEnum):
    """Severity of a finding, the worst first."""

    PROBLEM = "problem"
    ADVICE = "advice"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True)
class OnlyIf:
    """A rule matters only where `fact` is at least `at_least`; `otherwise` says why not."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    fact: str
    at_least: float
    otherwise: str


@dataclass(frozen=True)
class NoElement:
    """The result of a rule about a list that has no elements to check."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    severity: Literal[Severity.OK, Severity.UNKNOWN]
    reason: str


@dataclass(frozen=True)
class DoctorRule:
    """One line of the table; its head explains the fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    title: str
    checks: str
    fact: str
    test: Literal["at_most", "at_least", "one_of", "includes"]
    severity: Literal[Severity.PROBLEM, Severity.ADVICE]
    effect: str
    source: str
    fix: str
    risk: str | None = None
    threshold: int | None = None
    bounds: tuple[int, int] | None = None
    allowed: tuple[str, ...] = ()
    unit: str = ""
    only: str | None = None
    only_if: OnlyIf | None = None
    none: NoElement | None = None

    def __post_init__(self) -> None:
        numeric = self.test in {"at_most", "at_least"}
        if numeric != (self.threshold is not None and self.bounds is not None):
            raise ValueError(f"{self.id}: a threshold and its bounds belong to a numeric test")
        if numeric == bool(self.allowed):
            raise ValueError(f"{self.id}: allowed values belong to a test of texts")
        if self.bounds and not self.bounds[0] <= (self.threshold or 0) <= self.bounds[1]:
            raise ValueError(f"{self.id}: the threshold is out of its bounds")
        of_a_list = "[]" in self.fact
        if of_a_list != (self.only in ELEMENTS) or of_a_list != (self.none is not None):
            raise ValueError(f"{self.id}: `only` and `none` belong to a fact of a list")


@dataclass(frozen=True)
class HostFinding:
    """A rule's result for this host.

    `fact` and `value` are the evidence; `value` is None only if unknown. `reason` explains why it
    is unknown, or why the rule doesn't apply. `fix` is set only if there is a problem, and `risk`
    only if the fix can break something.
    """

    rule: str
    title: str
    severity: Severity
    checks: str
    fact: str
    value: Any
    unit: str
    reason: str | None
    effect: str
    source: str
    fix: str | None
    risk: str | None


def counts_of(findings: Sequence[HostFinding]) -> dict[Severity, int]:
    """How many findings there are of each severity."""
    return {each: sum(finding.severity is each for finding in findings) for each in Severity}


def load_rules() -> tuple[DoctorRule, ...]:
    """The table's rules; an error in it is a bug and raises pydantic's."""
    text = (resources.files("venturi.machines.health") / "doctor.toml").read_text("utf-8")
    return TypeAdapter(tuple[DoctorRule, ...]).validate_python(tomllib.loads(text)["rule"])


def examine(facts: Facts, rules: Iterable[DoctorRule]) -> list[HostFinding]:
    """The findings of all rules in their order; a rule about a list gives one for each element."""
    facts = {**facts, **_derived(facts)}
    return [finding for rule in rules for finding in _examine(facts, rule)]


def _derived(facts: Facts) -> dict[str, float | None]:
    """Facts that follow from others; None if one of those is not known."""
    total, free = _number(facts.get("swap_total_bytes")), _number(facts.get("swap_free_bytes"))
    return {
        "swap_used_bytes": None if total is None or free is None or free > total else total - free,
        "dirty_percent": _dirty_percent(facts, "vm.dirty"),
        "dirty_background_percent": _dirty_percent(facts, "vm.dirty_background"),
    }


def _dirty_percent(facts: Facts, prefix: str) -> float | None:
    """The limit of unwritten memory in % of all: set as a ratio or, if not 0, in bytes (Linux,
    admin-guide/sysctl/vm: only one of the two is in force)."""
    limit_bytes = _number(_lookup(facts, f"sysctls.{prefix}_bytes"))
    memory_bytes = _number(facts.get("memory_total_bytes"))
    if limit_bytes is None or limit_bytes == 0:
        return _number(_lookup(facts, f"sysctls.{prefix}_ratio"))
    return round(limit_bytes / memory_bytes * 100, 1) if memory_bytes else None


def _examine(facts: Facts, rule: DoctorRule) -> list[HostFinding]:
    condition = rule.only_if
    if condition is not None:
        value = _number(_lookup(facts, condition.fact))
        if value is None:
            return [_unknown(rule, condition.fact, _why(facts, condition.fact))]
        if value < condition.at_least:
            reason = condition.otherwise
            return [_finding(rule, Severity.OK, fact=condition.fact, value=value, reason=reason)]
    if "[]" not in rule.fact:
        return [_judge(facts, rule, rule.fact, _lookup(facts, rule.fact), {})]
    name, field = rule.fact.split("[].")
    elements = facts.get(name)
    if not isinstance(elements, list) or not all(isinstance(e, Mapping) for e in elements):
        return [_unknown(rule, name, _why(facts, name, elements))]
    assert rule.only is not None
    assert rule.none is not None
    chosen = ELEMENTS[rule.only](elements)
    if not chosen:
        nothing = rule.none
        return [_finding(rule, Severity(nothing.severity), fact=name, reason=nothing.reason)]
    return [
        _judge(facts, rule, f"{name}.{_key(element)}.{field}", element.get(field), element)
        for element in chosen
    ]


def _judge(facts: Facts, rule: DoctorRule, fact: str, value: Any, element: Element) -> HostFinding:
    passes = None if value is None else TESTS[rule.test](rule, value)
    if passes is None:
        return _unknown(rule, fact, _why(facts, fact, value))
    if passes:
        return _finding(rule, Severity.OK, fact=fact, value=value)
    # Facts may come from a file: quote them so that they can't inject commands.
    words = {key: shlex.quote(str(word)) for key, word in element.items()}
    fix = rule.fix.format_map({**words, "threshold": rule.threshold})
    risk = rule.risk.format_map(words) if rule.risk is not None else None
    return _finding(rule, Severity(rule.severity), fact=fact, value=value, fix=fix, risk=risk)


def _finding(
    rule: DoctorRule,
    severity: Severity,
    *,
    fact: str,
    value: Any = None,
    reason: str | None = None,
    fix: str | None = None,
    risk: str | None = None,
) -> HostFinding:
    return HostFinding(
        rule=rule.id,
        title=rule.title,
        severity=severity,
        checks=rule.checks,
        fact=fact,
        value=value,
        # Where a rule does not matter, the evidence is another fact, a plain count.
        unit=rule.unit if rule.only_if is None or fact != rule.only_if.fact else "",
        reason=reason,
        effect=rule.effect,
        source=rule.source,
        fix=fix,
        risk=risk,
    )


def _unknown(rule: DoctorRule, fact: str, reason: str) -> HostFinding:
    return _finding(rule, Severity.UNKNOWN, fact=fact, reason=reason)


def _why(facts: Facts, fact: str, value: Any = None) -> str:
    """Why `fact` cannot be judged: the agent's reason, or its unexpected value."""
    if value is None and fact in HOST_SETS and facts.get("virtualisation") not in {None, "none"}:
        return IN_A_GUEST
    missing = facts.get("missing")
    if value is None and isinstance(missing, Mapping) and fact in missing:
        return str(missing[fact])
    if value is None and fact in facts:
        return "the facts it depends on are unknown"
    return f"{fact} is not in the facts" if value is None else f"{fact} is {value!r}"


def _lookup(facts: Facts, fact: str) -> Any:
    """The fact's value; the rest after `sysctls.` is one name with dots of its own."""
    if fact.startswith("sysctls."):
        sysctls = facts.get("sysctls")
        name = fact.removeprefix("sysctls.")
        return sysctls.get(name) if isinstance(sysctls, Mapping) else None
    return facts.get(fact)


def _number(value: Any) -> float | None:
    """`value` as a number; the kernel's settings come as text. `unlimited` is infinite."""
    if value == "unlimited":
        return float("inf")
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: Any) -> set[str] | None:
    if isinstance(value, str):
        return {value}
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return set(value)
    return None


def _at_most(rule: DoctorRule, value: Any) -> bool | None:
    number = _number(value)
    return None if number is None or rule.threshold is None else number <= rule.threshold


def _at_least(rule: DoctorRule, value: Any) -> bool | None:
    number = _number(value)
    return None if number is None or rule.threshold is None else number >= rule.threshold


def _one_of(rule: DoctorRule, value: Any) -> bool | None:
    texts = _texts(value)
    return None if texts is None else texts <= set(rule.allowed)


def _includes(rule: DoctorRule, value: Any) -> bool | None:
    texts = _texts(value)
    return None if texts is None else bool(texts & set(rule.allowed))


# Whether a value passes; None if it is not of the type that could tell.
TESTS: Mapping[str, Callable[[DoctorRule, Any], bool | None]] = MappingProxyType(
    {"at_most": _at_most, "at_least": _at_least, "one_of": _one_of, "includes": _includes}
)


def _key(element: Element) -> str:
    return str(element.get("mount_point", element.get("name")))


def _links(interfaces: list[Element]) -> list[Element]:
    """Physical interfaces that carry traffic; one with an unknown state may."""
    return [
        link
        for link in interfaces
        if link.get("kind") == "physical" and link.get("state") in {"up", "unknown", None}
    ]


def _fast_links(interfaces: list[Element]) -> list[Element]:
    """Links that may benefit from jumbo frames: known to be fast, and physical.

    For a virtual network card, the host and its cloud choose the frame size. An MTU below 1,500
    suggests a tunnel underneath.
    """
    virtual = {"virtio_net", "vmxnet3", "xen_netfront", "hv_netvsc", "ena", "gve", "mana"}
    return [
        link
        for link in _links(interfaces)
        if (_number(link.get("speed_bits_per_s")) or 0) >= 10e9
        and (_number(link.get("mtu_bytes")) or 1500) >= 1500
        and link.get("driver") not in virtual
    ]


def _disks(devices: list[Element]) -> list[Element]:
    return [disk for disk in devices if disk.get("transport") not in {"loop", "zram"}]


def _nvme_disks(devices: list[Element]) -> list[Element]:
    return [disk for disk in _disks(devices) if disk.get("transport") == "nvme"]


def _other_disks(devices: list[Element]) -> list[Element]:
    """Not NVMe, nor made of other disks: those have no scheduler of their own."""
    made = {"nvme", "device-mapper", "md"}
    return [disk for disk in _disks(devices) if disk.get("transport") not in made]


def _data_file_systems(file_systems: list[Element]) -> list[Element]:
    """Writable file systems on a local disk, each disk's once: at its shortest mount point."""
    by_device: dict[str, Element] = {}
    for mount in sorted(file_systems, key=lambda mount: len(str(mount.get("mount_point")))):
        options = mount.get("options")
        read_only = isinstance(options, list) and "ro" in options
        for_booting = str(mount.get("mount_point")).startswith(("/boot", "/efi"))
        if mount.get("block_device") is not None and not read_only and not for_booting:
            by_device.setdefault(str(mount.get("device")), mount)
    return list(by_device.values())


# The elements of a list that a rule looks at.
ELEMENTS: Mapping[str, Callable[[list[Element]], list[Element]]] = MappingProxyType(
    {
        "links": _links,
        "fast_links": _fast_links,
        "disks": _disks,
        "nvme_disks": _nvme_disks,
        "other_disks": _other_disks,
        "data_file_systems": _data_file_systems,
    }
)
