"""All findings of a job, those that cost the most time of its critical path first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from venturi.core.units import format_duration
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.calibration import calibration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit, SparedResources
from venturi.jobs.diagnosis.registry import rule_functions
from venturi.jobs.diagnosis.sentences import first_sentence, place_words, saving_words
from venturi.jobs.diagnosis.table import DiagnosisRule, load_rules
from venturi.jobs.stages.causes import PYTHON, total
from venturi.jobs.stages.elapsed import BEFORE, START_UP
from venturi.jobs.stages.host_use import HostUseByStage, host_use_by_stage, python_cpu_s
from venturi.jobs.stages.stage import Analysis, label_of
from venturi.jobs.stages.timeline import Key, Timeline

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

# Chosen by us: smaller savings aren't worth the effort.
LEAST_S, LEAST_SHARE = 1.0, 0.02
LEAST_SPARED = 0.2  # of the resources, if no time would be saved
MOST_PLACES = 20
_ONE = re.compile(r"(?<![\w,.])1 (file|partition|task|thread|slot)s\b")
_FIXED_BY_CHECKPOINT = (
    ". The checkpoint fixes the number of state partitions, so start from a new checkpoint"
)
OF_RECORDED = "these are figures of the recorded tasks, because events are missing"
OF_THE_LOG = ", so this time was not analyzed"
"""How an unseen part ends that names missing events."""
_UNKNOWN = {
    "log start": "effects of Spark's version, which the log lacks",
    "application start": "the time before the first recorded event",
    "query start": "the plan and the driver time of queries without a start",
    "query end": "whether queries without an end succeeded, and the driver time after them",
}
"""The unknown parts without an event that tasks and slots don't need."""
OVERLAP = "savings overlap: two findings may save the same seconds"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule: its evidence, its advice, and the time that the fix saves.

    `saving_s` is the expected saving under the assumption `assumes`, `share` its share of the
    elapsed time. `saving_low_s` and `saving_high_s` are its 90 % range, found by `saving_method`
    from the saving in a replay alone, `replayed_s`. `saving` has them in words. `fix` is `do` in
    some words, with the place.
    If the saving is a `bound`, no fix saves more than `saving_high_s`. Savings of several findings
    may overlap, so never add them up. A finding that saves resources but no time has a `saving_s`
    of 0. `settings` implement the advice `do`; empty if the
    program has to change. If it is `partial`, events are missing from the log, and its figures are
    those of the recorded tasks.
    """

    rule: str
    title: str
    says: str
    where: tuple[FindingScope, ...]
    costs: str
    fix: str
    do: str
    settings: Mapping[str, str]
    saving: str
    saving_s: float
    saving_low_s: float
    saving_high_s: float
    saving_method: str
    replayed_s: float
    bound: bool
    share: float
    spares: SparedResources | None
    assumes: str
    confidence: Confidence
    source: str
    partial: bool = False

    @property
    def sentence(self) -> str:
        """The fix, its place and its saving, and whether the confidence in it is low."""
        partly = ", counting recorded tasks only" if self.partial else ""
        unsure = " (low confidence)" if self.confidence is Confidence.LOW else ""
        return f"{self.fix}: {self.saving}{partly}{unsure}."


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`sentence` is the answer. `findings` are in order of cost, those without a time last;
    `silence` explains why the list is empty; `unseen` lists the checks that the log lacks data for.
    """

    sentence: str
    findings: tuple[Finding, ...]
    silence: str | None
    unseen: tuple[str, ...]

    @property
    def overlap(self) -> str | None:
        """How to read the costs of several findings, None where at most one costs time."""
        several = sum(each.saving_s > 0 for each in self.findings) > 1
        return OVERLAP if several else None


def diagnose_trial(
    repository: TrialRepository,
    trial: Trial,
    line: Timeline,
    analysis: Analysis,
    host: HostUseByStage | None = None,
) -> Diagnosis:
    """The findings about the job of `trial`, with the sampled CPU time of its Python workers.

    `host` is the answer of `host_use_by_stage`, if the caller has it already.
    """
    cpu_s: Mapping[Key, float] = {}
    if line.elapsed_s and total(line.tasks.times.causes.get(PYTHON, np.zeros(0))) > 0:
        host = host or host_use_by_stage(repository, trial, line.account, analysis)
        cpu_s = python_cpu_s(host, trial, analysis)
    return diagnose(line, analysis, cpu_s)


def diagnose(
    line: Timeline, analysis: Analysis, worker_cpu_s: Mapping[Key, float] | None = None
) -> Diagnosis:
    """The findings about the time of a job; `analysis` was made on `line`.

    `worker_cpu_s` is the CPU time of Python workers by stage, as far as the hosts were sampled.
    """
    if not line.elapsed_s:
        said = first_sentence(line, analysis, None)
        return Diagnosis(said, (), "the start or end of the application is unknown", ())
    rules, functions = load_rules(), rule_functions()
    case = Case(line, analysis, rules, worker_cpu_s)
    least_s = max(LEAST_S, LEAST_SHARE * line.elapsed_s)
    found, certain = list[Finding](), _certain_stages(line)
    after: dict[str, str | None] = {}
    kind = line.account.kind
    for id_, search in functions.items():
        if not all(map(kind.can, rules[id_].needs)):
            continue
        rests_on = rules[id_].rests_on_slots if line.gaps.lacks else None
        if rests_on == "application":
            continue
        every = list(search(case))
        hits = [
            hit
            for hit in every
            if (rests_on != "stage" or _slots_known(certain, hit))
            and not (rules[id_].needs_plan and _lacks_plan(line, hit))
        ]
        whole = len(hits) == len(every)
        hits = [hit for hit in hits if hit.saves_s > 0 or hit.spares is not None]
        if not hits:
            continue
        hits.sort(key=lambda hit: -hit.saves_s)
        finding = _finding(rules[id_], hits, case, whole=whole)
        after[id_] = rules[id_].after.get(hits[0].variant)
        spared = any(hit.spares is not None and hit.spares.share >= LEAST_SPARED for hit in hits)
        if spared or finding.saving_s >= least_s:
            found.append(finding)
    found = _conditioned(sorted(found, key=_cost, reverse=True), after)
    silence = None if found else _silence(line, least_s)
    said = first_sentence(line, analysis, found[0].sentence if found else None)
    return Diagnosis(said, tuple(found), silence, tuple(_unseen(line, case, silent=not found)))


def _conditioned(found: Sequence[Finding], after: Mapping[str, str | None]) -> list[Finding]:
    """Add to the titles of findings which earlier one has to be fixed first, by `after`."""
    places = {each.rule: number for number, each in enumerate(found, 1)}
    return [
        replace(each, title=f"{each.title} (after fix {first})")
        if (first := places.get(after[each.rule] or "", number)) < number
        else each
        for number, each in enumerate(found, 1)
    ]


def _silence(line: Timeline, least_s: float) -> str:
    """Explains why there are no findings; the log may be incomplete."""
    application = line.account.application
    nothing = f"no known problem costs more than {format_duration(least_s)}"
    if line.gaps.lacks:
        return f"cannot tell: events are missing. In the recorded part, {nothing}"
    if application.outcome != "unfinished":
        return nothing
    ended = line.tasks.rows["finished_ms"].count()
    if not ended:
        return f"cannot tell: {application.reason}, and no task ended in it"
    told = count_of(ended, "ended task", "ended tasks")
    return f"cannot tell: {application.reason}. In its recorded part ({told}), {nothing}"


def _cost(finding: Finding) -> tuple[float, float]:
    return finding.saving_s, 0.0 if finding.spares is None else finding.spares.share


_STARTS = {"job start", "query start", "stage start"}


def _finding(rule: DiagnosisRule, hits: Sequence[Hit], case: Case, *, whole: bool) -> Finding:
    """Merges a rule's hits; the message describes the costliest one."""
    line = case.line
    first, *others = hits
    variant = case.applicable(rule, first.variant)
    do, settings = rule.do[variant], rule.settings.get(variant, {})
    fixed = "{partitions}" in do and "checkpoint" not in do and _stateful(case, first)
    places = "place" if len(others) == 1 else "places"
    more = f"; the same in {len(others):,} more {places}" if others else ""
    elapsed_s = line.elapsed_s or 0.0
    replayed_s = min(sum(hit.saves_s for hit in hits), elapsed_s)
    # A fix doesn't change the time before the first query, except where the replay says so.
    shares = case.analysis.verdict.shares
    start_s = elapsed_s * sum(shares.get(part, 0.0) for part in (START_UP, BEFORE))
    most_s = max(elapsed_s - start_s, replayed_s)
    saving = calibration().saving(rule.id, replayed_s, most_s, bound=rule.bound)
    fix = _filled(rule.fix_of(variant), first.values)
    # A setting counts for the whole application, whatever stage needs it.
    whole_job = "spark." in fix or (rule.of_application and not line.account.kind.can("maps"))
    place = "" if whole_job else place_words(first.where, line.account.kind)
    where = [place for hit in hits for place in hit.where]
    gaps = line.gaps  # unknown stages, and those that lack events, may have the same cause
    hidden = gaps.n_jobs or gaps.n_stages or gaps.stages or _STARTS & (gaps.dropped or {}).keys()
    partial = bool(hidden) or not whole or _is_partial(line, where)
    return Finding(
        rule=rule.id,
        title=rule.title,
        says=first.says + more + (f"; {OF_RECORDED}" if partial else ""),
        where=tuple(where[:MOST_PLACES]),
        costs=rule.costs,
        fix=fix + place,
        do=_filled(do, first.values) + (_FIXED_BY_CHECKPOINT if fixed else ""),
        settings={
            key.format_map(first.values): value.format_map(first.values)
            for key, value in settings.items()
            if not fixed
        },
        saving=saving_words(saving, elapsed_s, first.spares, bound=rule.bound),
        saving_s=saving.expected_s,
        saving_low_s=saving.low_s,
        saving_high_s=saving.high_s,
        saving_method=saving.method,
        replayed_s=replayed_s,
        bound=rule.bound,
        share=saving.expected_s / elapsed_s if elapsed_s else 0.0,
        spares=first.spares,
        assumes=rule.assumes,
        # Missing events can only hide more failures.
        confidence=Confidence.LOW if partial and rule.needs_plan else first.confidence,
        source=rule.source,
        partial=partial,
    )


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill values into the text of an advice, with "1 file" for "1 files"."""
    return _ONE.sub(r"1 \1", text.format_map(values))


def _stateful(case: Case, hit: Hit) -> bool:
    """Whether a hit is of a stage with streaming state, which has a partition for each task."""
    labels = {place.stage for place in hit.where}
    keys = (stage.key for stage in case.stages if stage.label in labels)
    return any("StateStore" in each.name for key in keys for each in case.plans.of_stage(key))


def _lacks_plan(line: Timeline, hit: Hit) -> bool:
    """Whether a hit is of a stage without a recorded end, which has its operators' metrics, or
    possibly of a query without a recorded start, which has its plan."""
    missing = {label_of(key) for key in line.gaps.endless}
    if (line.gaps.dropped or {}).get("query start"):
        missing |= {label_of(key) for key in line.spans if not line.plans.of_stage(key)}
        if any(place.query is not None for place in hit.where):
            return True
    return any(place.stage in missing for place in hit.where)


def _certain_stages(line: Timeline) -> frozenset[str]:
    """The stages during which no event of tasks or executors is missing."""
    gaps, dropped = line.gaps, line.gaps.dropped or {}
    unsure = gaps.stages | gaps.endless
    if not gaps.slots_known or dropped.get("query start") or not unsure <= line.spans.keys():
        return frozenset()
    missing = [(line.spans[key].from_s, line.spans[key].to_s) for key in unsure]
    origin_ms = line.tasks.origin_ms
    for from_ms, to_ms in gaps.spans:
        missing.append((((from_ms or 0.0) - origin_ms) / 1e3, (to_ms - origin_ms) / 1e3))
    return frozenset(
        label_of(key)
        for key, span in line.spans.items()
        if not any(from_s < span.to_s and span.from_s < to_s for from_s, to_s in missing)
    )


def _slots_known(certain: Collection[str], hit: Hit) -> bool:
    return all(place.stage in certain for place in hit.where)


def _is_partial(line: Timeline, where: Sequence[FindingScope]) -> bool:
    """Whether a finding rests on stages of which events are missing, or may."""
    lacks_query = (line.gaps.dropped or {}).get("query end")
    if line.gaps.plans_known and not line.gaps.lacks and not lacks_query:
        return False
    labels = {label_of(key) for key in line.gaps.stages | line.gaps.endless}
    if not line.gaps.slots_known:
        labels |= {label_of(key) for key in line.spans}
    return any(place.stage is None or place.stage in labels for place in where) or not where


def _unseen(line: Timeline, case: Case, *, silent: bool) -> Iterator[str]:
    if case.n_left_out:
        yield f"the {case.n_left_out:,} stages with the least time on the critical path"
    if line.account.application.outcome == "unfinished" and not silent:
        yield f"the rest of the application: {line.account.application.reason}"
    if line.gaps.lacks and (lacking := line.gaps.sentence) is not None:
        yield f"{lacking}{OF_THE_LOG}"
    dropped = line.gaps.dropped or {}
    yield from (unknown for kind, unknown in _UNKNOWN.items() if dropped.get(kind))
    if not (kind := line.account.kind).capabilities:
        left_out = sum(bool(rule.needs) for rule in load_rules().values())
        yield f"{left_out} rules, because {kind.engine} doesn't record enough about its tasks"
    if line.gaps.lacks:
        n = Counter(rule.rests_on_slots for rule in load_rules().values())
        n_stages, n_all = len(line.spans) - len(_certain_stages(line)), len(line.spans)
        some = (
            f" and {n['stage']} about those of {n_stages:,} of {n_all:,} stages" if n_stages else ""
        )
        yield (
            f"{n['application']} rules about the slots of the application{some}, because events "
            "are missing from the log"
        )
    if line.account.queries is not None and line.account.operators is None:
        yield "the log has no query plans, so joins, files and Python functions were not analyzed"
