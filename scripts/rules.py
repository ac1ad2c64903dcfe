"""The reference page of the rules, from their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from venturi.jobs.diagnosis.table import DiagnosisRule, Threshold, load_rules
from venturi.machines.health.doctor import DoctorRule
from venturi.machines.health.doctor import load_rules as load_doctor_rules


def rules() -> Iterator[str]:
    """The lines of the page."""
    yield "Look up the rule behind a finding that you got: its condition, its fixes, the assumption"
    yield "behind its saving, and its thresholds with their sources."
    yield from ("", "## A job's log", "")
    yield "You get these findings from `venturi show`, `venturi import` and the page of a trial."
    yield "[Why a job is slow](../guide/jobs/diagnosis.md) shows how to use them. You can read the"
    yield "table in `python/venturi/jobs/diagnosis/diagnosis.toml`."
    for rule in load_rules().values():
        yield from _diagnosis_rule(rule)
    yield from ("", "## A host", "")
    yield "You get these findings from `venturi doctor`. You can read the table in"
    yield "`python/venturi/machines/health/doctor.toml`."
    yield ""
    yield "| rule | checks | severity | effect | source |"
    yield "|---|---|---|---|---|"
    for each in load_doctor_rules():
        yield _doctor_rule(each)


def _diagnosis_rule(rule: DiagnosisRule) -> Iterator[str]:
    yield from ("", f"### {rule.id}", "", f"{rule.title[:1].upper()}{rule.title[1:]}.")
    yield from (_plain(rule.costs), "")
    yield f"- You see this when: {_plain(rule.when)}"
    if rule.needs:
        yield f"- Only if your log has: {', '.join(rule.needs)}"
    for variant, advice in rule.do.items():
        name = "" if variant == "any" else f" ({variant})"
        yield f"- Fix{name}: {_plain(advice)}"
    yield f"- Assumption: {_plain(rule.assumes)}"
    yield f"- Source: {_plain(rule.source)}"
    yield from _thresholds(rule.thresholds)


def _thresholds(thresholds: Mapping[str, Threshold]) -> Iterator[str]:
    if not thresholds:
        return
    yield from ("", "| threshold | default | bounds | unit | source |", "|---|--:|---|---|---|")
    for name, each in thresholds.items():
        low, high = each.bounds
        yield (
            f"| `{name}` | {_number(each.default)} | {_number(low)} to {_number(high)} "
            f"| {_plain(each.unit)} | {_plain(each.source)} |"
        )


def _doctor_rule(rule: DoctorRule) -> str:
    return (
        f"| `{rule.id}` | {_plain(rule.checks)} | {rule.severity} | {_plain(rule.effect)} "
        f"| {_plain(rule.source)} |"
    )


def _number(value: float) -> str:
    return f"{int(value):,}" if value.is_integer() else f"{value:,}"


def _plain(text: str) -> str:
    """`text` in a table cell, without HTML or emphasis."""
    return re.sub(r"([|*<])", r"\\\1", text)
