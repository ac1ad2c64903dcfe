"""The rules as data: `diagnosis.toml`, which explains the fields in its head."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from venturi.record.account_kind import Capability


@dataclass(frozen=True)
class Threshold:
    """A number that a rule compares with."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    default: float
    bounds: tuple[float, float]
    unit: str
    source: str

    def __post_init__(self) -> None:
        if not self.bounds[0] <= self.default <= self.bounds[1]:
            raise ValueError("the default is out of its bounds")


@dataclass(frozen=True)
class Applicability:
    """Where a variant of an advice applies: the first version of the engine, and the deployments
    that ignore it. Elsewhere the variant `otherwise` is the advice.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    otherwise: str
    since: tuple[int, int] | None = None
    not_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class DiagnosisRule:
    """One `[[rule]]` of the table."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    title: str
    costs: str
    when: str
    do: Mapping[str, str]
    assumes: str
    source: str
    thresholds: Mapping[str, Threshold]
    needs: tuple[Capability, ...] = ()
    rests_on_slots: Literal["stage", "application"] | None = None
    """Where idle or busy slots are its evidence: there it needs the events of all tasks."""
    needs_plan: bool = True
    """Whether a plan, or a metric of its operators, may show that it isn't so."""
    of_application: bool = False
    """Whether the fix is of the whole application, so that no stage or query follows it."""
    bound: bool = False
    """Whether no fix saves more than the replay: all of the time that the rule is about."""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The settings of the engine that put an advice into effect, by variant; none where the program
    itself has to change."""
    fix: Mapping[str, str] = field(default_factory=dict)
    """The advice in some words, by variant, `any` for all others."""
    after: Mapping[str, str] = field(default_factory=dict)
    """By variant, the rule that has to be followed first."""
    applies: Mapping[str, Applicability] = field(default_factory=dict)
    """Where variants of the advice apply; the others apply everywhere."""

    def fix_of(self, variant: str) -> str:
        """Return the advice of a variant in some words."""
        return self.fix.get(variant) or self.fix.get("any") or f"Fix {self.title}"


@cache
def load_rules() -> Mapping[str, DiagnosisRule]:
    """The rules by id; an error in the table is a bug and raises pydantic's."""
    text = (resources.files("venturi.jobs.diagnosis") / "diagnosis.toml").read_text("utf-8")
    rules = TypeAdapter(tuple[DiagnosisRule, ...]).validate_python(tomllib.loads(text)["rule"])
    return {rule.id: rule for rule in rules}
