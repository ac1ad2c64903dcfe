"""Compares two jobs: time by part, settings, data and plans.

The parts add up to each elapsed time, so their differences add up to the whole difference. Changes
are listed next to them. A change is named as the cause only if it is the only one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from venturi.core.units import format_bytes, format_duration, format_figure
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.changes import (
    AmountChange,
    JobDifference,
    PartChange,
    PlanChange,
    SettingChange,
    StageChange,
)
from venturi.jobs.diagnosis.find import Finding
from venturi.jobs.stages.elapsed import BEFORE, START_UP
from venturi.jobs.stages.plans import Operator
from venturi.jobs.stages.stage import Analysis, Stage
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.stages.verdict import in_words
from venturi.record.job_account import Application, JobAccount
from venturi.record.plan_texts import comparable, differing
from venturi.record.trial import State

# Chosen by us: two executions of the same job differ by as much.
CHANCE = 0.05
_DATA = 1.1  # times as much, or as little
_SMALL = 0.1  # times as much: amounts are easier to read
_MOSTLY = 0.5  # of the difference
_MOST = 200  # stages or queries of each job that are matched
_SHOWN_OPERATORS = 6
_EVEN = 1.3  # times the ratio of the whole times: a part changed as much as the whole
_EVEN_SHARE = 0.8  # of the time before, in parts that changed as much as the whole
_DIGITS = re.compile(r"\d+")
_INPUT, _FILES = "input", "size of files read"
_DATA_READ = (_INPUT, _FILES, "shuffle data read")
_COUNTED = 0.5  # of the files: a counter of less missed reads, as of vectorized local reads
# Folders with random names, such as "tmp2wv4cyi3" or "spark-" with a UUID.
_RANDOM = re.compile(r"(?<=/)(?:tmp|temp|spark-|blockmgr-)[\w-]*\w")


def difference(
    before: tuple[Timeline, Analysis],
    after: tuple[Timeline, Analysis],
    states: Sequence[State] = (State.SUCCEEDED, State.SUCCEEDED),
    findings: tuple[Sequence[Finding], Sequence[Finding]] = ((), ()),
) -> JobDifference:
    """The differences between two jobs with trials that ended in `states`, and with `findings`.

    If one didn't finish, their times aren't compared: a job that stops early isn't faster.
    """
    (one_line, one), (other_line, other) = before, after
    lines = (one_line, other_line)
    applications = [line.account.application for line in lines]
    broken = [
        told
        for which, line, state in zip(("first", "second"), lines, states, strict=True)
        if (told := _broken_off(which, line, state)) is not None
    ]
    parts = _parts(one, other)
    amounts = tuple(_amounts(before, after))
    settings = tuple(_settings(one_line.account, other_line.account))
    plans = tuple(_plans(one_line, other_line))
    changed = [*_changed(amounts, settings, plans)]
    if broken:
        sentence = _not_compared(broken, one, other, changed)
    else:
        sentence = _sentence(one.elapsed_s, other.elapsed_s, parts, changed)
    caution = _caution(*applications)
    promise, held = (None, None) if broken else _promise(findings, one, other)
    return JobDifference(
        f"{caution}, which may take different times: {sentence}" if caution else sentence,
        one.elapsed_s,
        other.elapsed_s,
        parts,
        amounts,
        settings,
        plans,
        tuple(_stages(one, other)),
        not broken,
        caution,
        promise,
        None if broken else _start_up(one, other),
        held,
    )


def _promise(
    findings: tuple[Sequence[Finding], Sequence[Finding]],
    one: Analysis,
    other: Analysis,
) -> tuple[str | None, bool | None]:
    """The promise of the first job's first finding against the saving, if the finding is gone; and
    whether it held.

    The time before the first query doesn't count: no fix changes it.
    """
    before, after = findings
    first = next((each for each in before if each.saving_s > 0), None)
    if first is None or one.elapsed_s is None or other.elapsed_s is None:
        return None, None
    if first.rule in {each.rule for each in after}:
        return None, None
    saved_s = one.elapsed_s - other.elapsed_s
    for part in (BEFORE, START_UP):
        saved_s -= _seconds(one, part) - _seconds(other, part)
    measured = f"{format_duration(abs(saved_s))} {'less' if saved_s >= 0 else 'longer'}"
    expected = first.saving.replace("saves", "save", 1)
    said = f"From the first query on, the second job took {measured}"
    if saved_s > first.saving_high_s:
        verdict = "more than expected: other changes saved time, too, or the range is too low"
    elif saved_s < first.saving_low_s:
        verdict = "less than expected: other changes cost time, or the range is too high"
    else:
        verdict = "as expected"
    held = first.saving_low_s <= saved_s <= first.saving_high_s
    return f"{said}, {verdict} ('{first.fix}' was to {expected})", held


def _start_up(one: Analysis, other: Analysis) -> str | None:
    """The next step if most of the difference is before the first query."""
    if one.elapsed_s is None or other.elapsed_s is None:
        return None
    gap_s = other.elapsed_s - one.elapsed_s
    start_s = sum(_seconds(other, part) - _seconds(one, part) for part in (BEFORE, START_UP))
    if abs(gap_s) < CHANCE * one.elapsed_s or start_s / gap_s < _MOSTLY:
        return None
    slower = "second" if gap_s > 0 else "first"
    return (
        f"{format_duration(abs(start_s))} of the difference is before the first query, while the "
        f"driver starts. Repeat both runs. If the {slower} stays slower, check what its driver "
        "does first: downloading jars (spark.jars.packages), opening catalogs, listing files"
    )


def _caution(one: Application, other: Application) -> str | None:
    """Return that the jobs are of two engines, or by their names of two programs.

    Numbers in names do not count: many have a date in them.
    """
    if one.engine != other.engine:
        return f"these are jobs of two engines ({one.engine} and {other.engine})"
    if _DIGITS.sub("", one.name) != _DIGITS.sub("", other.name):
        return f"by name these are two programs ({one.name!r} and {other.name!r})"
    return None


def _broken_off(which: str, line: Timeline, state: State) -> str | None:
    """How a job did not come to its end; None of one that did, with a right result."""
    outcome = line.account.application.outcome
    after = "" if line.elapsed_s is None else f" after {format_duration(line.elapsed_s)}"
    if state is State.RUNNING:
        return f"the {which} is still running"
    if outcome == "unfinished":
        return f"the end of the {which} is unknown ({line.account.application.reason})"
    if outcome == "failed" or state is State.FAILED:
        return f"the {which} failed{after}"
    if state is State.INTERRUPTED:
        return f"the {which} was interrupted{after}"
    return f"the {which} had an invalid result" if state is State.INVALID else None


def _not_compared(
    broken: Sequence[str], one: Analysis, other: Analysis, changed: Sequence[str]
) -> str:
    """Explains why times aren't compared; compares those stages that ended in both jobs."""
    said = f"{' and '.join(broken)}, so the times cannot be compared"
    both = [
        (old.elapsed_s, new.elapsed_s)
        for old, new in _stage_pairs(one, other)
        if old is not None
        and new is not None
        and old.name == new.name
        and old.outcome == new.outcome == "succeeded"
        and old.elapsed_s is not None
        and new.elapsed_s is not None
    ]
    if both:
        took = [format_duration(sum(each)) for each in zip(*both, strict=True)]
        stages = count_of(len(both), "stage")
        said += f"; {stages} that ended in both took {took[1]} instead of {took[0]}"
    else:
        said += "; no stage ended in both"
    return f"{said}. Differences: {'; '.join(changed)}" if changed else said


def _parts(one: Analysis, other: Analysis) -> tuple[PartChange, ...]:
    names = dict.fromkeys([*one.verdict.shares, *other.verdict.shares])
    found = [
        PartChange(in_words(name), *(_seconds(each, name) for each in (one, other)))
        for name in names
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.after_s - each.before_s)))


def _seconds(analysis: Analysis, part: str) -> float:
    return analysis.verdict.shares.get(part, 0.0) * (analysis.verdict.of_s or 0.0)


def _amounts(
    before: tuple[Timeline, Analysis], after: tuple[Timeline, Analysis]
) -> Iterator[AmountChange]:
    both = [dict(_amounts_of(*each)) for each in (before, after)]
    for what in dict.fromkeys([*both[0], *both[1]]):
        values = [each.get(what) for each in both]
        unit = next(value[0] for value in values if value is not None)
        numbers = [None if value is None else value[1] for value in values]
        if any(numbers):
            yield AmountChange(what, unit, numbers[0], numbers[1])


def _amounts_of(line: Timeline, analysis: Analysis) -> Iterator[tuple[str, tuple[str, float]]]:
    rows = line.tasks.rows
    files = sum(each.counted.get(_FILES, 0) for each in line.plans.operators.values())
    for amount in line.account.kind.amounts:
        known = [rows[name] for name in amount.metrics if rows[name].count()]
        value = float(sum(each.cast(float).sum() for each in known))
        if amount.what == _INPUT and value < _COUNTED * files:
            yield _FILES, ("B", float(files))
        elif known:
            yield amount.what, (amount.unit, value)
    yield "task attempts", ("1", float(len(rows)))
    yield "task time, all tasks", ("s", sum(stage.task_s for stage in analysis.stages))
    yield "CPU time, all tasks", ("s", _cause_s(analysis, "cpu"))
    yield "wasted task time", ("s", sum(loss.time_s for loss in analysis.losses))
    yield "stages", ("1", float(len(analysis.stages)))
    if line.there is not None and line.elapsed_s:
        yield "peak slots", ("1", float(line.there.most(0.0, line.elapsed_s)))
    executors = line.account.executors
    yield "executors", ("1", float(len(executors)))
    yield "hosts", ("1", float(executors["host"].n_unique()))


def _cause_s(analysis: Analysis, cause: str) -> float:
    return sum(
        each.time_s or 0.0
        for stage in analysis.stages
        for each in stage.causes
        if each.cause == cause
    )


def _settings(one: JobAccount, other: JobAccount) -> Iterator[SettingChange]:
    versions = [f"{a.application.engine} {a.application.engine_version}" for a in (one, other)]
    if versions[0] != versions[1]:
        yield SettingChange("engine", *versions)
    for key in sorted({*one.chosen, *other.chosen}):
        values = one.configuration.get(key), other.configuration.get(key)
        if values[0] != values[1] and not _is_random(*values):
            yield SettingChange(key, *values)


def _is_random(before: str | None, after: str | None) -> bool:
    """Whether values differ only in temporary folders, which each run names at random."""
    if before is None or after is None:
        return False
    return _RANDOM.sub("", before) == _RANDOM.sub("", after)


def _plans(one: Timeline, other: Timeline) -> Iterator[PlanChange]:
    before, after = _queries(one), _queries(other)
    names = [[name for _, name, _ in each] for each in (before, after)]
    nothing = 0, "", Counter[str]()
    for a, b in _aligned(names[0], names[1]):
        old, new = None if a is None else before[a], None if b is None else after[b]
        gone, come = differing((old or nothing)[2], (new or nothing)[2])
        if gone or come:
            yield PlanChange(
                old[0] if old else None,
                new[0] if new else None,
                (old or new or nothing)[1],
                tuple(gone)[:_SHOWN_OPERATORS],
                tuple(come)[:_SHOWN_OPERATORS],
            )


def _queries(line: Timeline) -> list[tuple[int, str, Counter[str]]]:
    """The first queries with a plan: number, name, and the texts of their operators."""
    found: dict[int, list[Operator]] = {}
    for operator in line.plans.operators.values():
        found.setdefault(operator.query_id, []).append(operator)
    queries = line.account.queries
    names = {} if queries is None else dict(queries.select("query_id", "name").rows())
    return [
        (query, names.get(query) or "", comparable(each.text for each in plan))
        for query, plan in sorted(found.items())[:_MOST]
    ]


def _stages(one: Analysis, other: Analysis) -> Iterator[StageChange]:
    pairs = _stage_pairs(one, other)
    pairs.sort(key=lambda each: -abs(_took_s(each[1]) - _took_s(each[0])))
    for old, new in pairs:
        # The stage at the same position may do something else.
        names = dict.fromkeys(each.name for each in (old, new) if each is not None)
        yield StageChange(
            old.label if old else None,
            new.label if new else None,
            " / ".join(names),
            old.elapsed_s if old else None,
            new.elapsed_s if new else None,
        )


def _stage_pairs(one: Analysis, other: Analysis) -> list[tuple[Stage | None, Stage | None]]:
    """The stages that stand in the same place in both, in order; None where one lacks it."""
    before, after = _ran(one), _ran(other)
    return [
        (before[a] if a is not None else None, after[b] if b is not None else None)
        for a, b in _aligned([each.name for each in before], [each.name for each in after])
    ]


def _ran(analysis: Analysis) -> list[Stage]:
    """The stages with the most task time, in their own order."""
    there = sorted(analysis.stages, key=lambda each: -each.task_s)[:_MOST]
    return sorted((each for each in there if each.task_s > 0), key=lambda each: each.key)


def _took_s(stage: Stage | None) -> float:
    return 0.0 if stage is None else stage.elapsed_s or 0.0


def _aligned(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[int | None, int | None]]:
    """The aligned positions in both sequences, in order; None where one lacks an item."""
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        for n in range(max(a_to - a_from, b_to - b_from)):
            a, b = a_from + n, b_from + n
            yield (a if a < a_to else None), (b if b < b_to else None)


def _changed(
    amounts: Sequence[AmountChange],
    settings: Sequence[SettingChange],
    plans: Sequence[PlanChange],
) -> Iterator[str]:
    """The changes of amounts, settings and plans, in words."""
    for each in amounts:
        if each.what not in {*_DATA_READ, "peak slots"} or not each.before or not each.after:
            continue
        ratio = each.after / each.before
        if each.what == "peak slots" and ratio != 1:
            yield f"there were {each.after:,.0f} slots instead of {each.before:,.0f}"
        elif not 1 / _DATA < ratio < _DATA:
            times = f"{format_figure(ratio)} times as much"
            both = f"{format_bytes(each.after)} instead of {format_bytes(each.before)}"
            yield f"{each.what} was {both if ratio < _SMALL else times}"
    if settings:
        first = settings[0]
        more = f" and {len(settings) - 1:,} more" if len(settings) > 1 else ""
        yield f"{first.key} was {_set(first.after)} instead of {_set(first.before)}{more}"
    if plans:
        changed = sum(
            each.before_query is not None and each.after_query is not None for each in plans
        )
        alone = f"{count_of(len(plans), 'query', 'queries')} in only one of them"
        yield (
            f"{count_of(changed, 'query has', 'queries have')} a different plan"
            if changed
            else alone
        )


def even_ratio(parts: Sequence[PartChange]) -> float | None:
    """Return the ratio of the second job's time to the first's, if it is that of nearly all parts
    too; None if they differ or the times are about the same.
    """
    before_s, after_s = (sum(getattr(each, at) for each in parts) for at in ("before_s", "after_s"))
    if not before_s or not after_s or abs(after_s / before_s - 1) < 2 * CHANCE:
        return None
    whole = after_s / before_s
    even_s = sum(
        each.before_s
        for each in parts
        if each.before_s and 1 / _EVEN < each.after_s / each.before_s / whole < _EVEN
    )
    return whole if even_s >= _EVEN_SHARE * before_s else None


def even_words(ratio: float) -> str:
    """Return the conclusion if all parts changed by `ratio`."""
    which, times = ("second", ratio) if ratio > 1 else ("first", 1 / ratio)
    return (
        f"Every part takes about {format_figure(times)} times as long in the {which} job, as on a "
        "slower machine or one that other programs use"
    )


def _set(value: str | None) -> str:
    return "not set" if value is None else value


def _sentence(
    before_s: float | None, after_s: float | None, parts: Sequence[PartChange], changed: list[str]
) -> str:
    if before_s is None or after_s is None:
        return "the start or end of one of them is unknown, so their times cannot be compared"
    gap_s = after_s - before_s
    both = f"{format_duration(after_s)} instead of {format_duration(before_s)}"
    if abs(gap_s) < CHANCE * before_s:
        said = f"it took about as long: {both}"
    else:
        said = f"it took {format_duration(abs(gap_s))} {'longer' if gap_s > 0 else 'less'}: {both}"
        same = [each for each in parts if (each.after_s - each.before_s) * gap_s > 0][:2]
        most = ", ".join(f"{p.part} ({p.after_s - p.before_s:+.1f} s)" for p in same)
        said += f"; most of it {most}" if most else ""
    if (ratio := even_ratio(parts)) is not None:
        said += f". {even_words(ratio)}"
    if not changed:
        return (
            f"{said}. Settings, plans and amounts of data are the same. More repetitions "
            "would show whether this is noise; host metrics, whether other programs "
            "interfered"
        )
    return f"{said}. Differences: {'; '.join(changed)}"
