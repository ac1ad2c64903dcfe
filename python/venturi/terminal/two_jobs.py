"""How two jobs differ, as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from venturi.core.units import format_bytes, format_duration, format_figure
from venturi.jobs.diagnosis.changes import AmountChange, JobDifference, PartChange
from venturi.jobs.diagnosis.difference import even_ratio, even_words
from venturi.jobs.diagnosis.find import Diagnosis
from venturi.terminal.findings import with_saving
from venturi.terminal.table import (
    SCREEN_WIDTH,
    UNKNOWN,
    Paragraph,
    Table,
    pairs,
    shorten_to,
    table,
    table_of,
)

SHOWN = 15
_FIRST_PARTS, _FIRST_SETTINGS, _FIRST_AMOUNTS = 5, 4, 3
ONE_RUN_EACH = "One run of each: equal runs differ, too, often by 5 % or more."
_LEAST_S = 0.05  # smaller times round to nothing
_FORMATS: Mapping[str, Callable[[float], str]] = {
    "B": format_bytes,
    "s": format_duration,
    "1": lambda value: f"{value:,.0f}",
}


def parts(found: JobDifference, diagnoses: Sequence[Diagnosis]) -> Iterator[Paragraph | Table]:
    """The sentence, then its evidence; `diagnoses` are those of the two jobs."""
    yield Paragraph(found.sentence, "bold")
    for text in filter(None, (found.promise, found.start_up)):
        yield Paragraph(f"{text}.")
    for title, content in (
        ("Where the elapsed time went", _times(found)),
        ("Settings that differ", _settings(found)),
        ("Plans that differ", _plans(found)),
        ("Data and resources", _amounts(found.amounts)),
        ("Stages, by difference", _stages(found)),
        ("Findings of each", _findings(diagnoses)),
    ):
        if content.rows:
            yield Paragraph(f"\n{title}", "bold")
            yield content


def two_jobs_screen(found: JobDifference) -> Iterator[Paragraph | Table]:
    """Yield the first screen: the sentence, the largest changes of time, settings, and data."""
    yield Paragraph(_headline(found), "bold")
    if not found.comparable:
        yield Paragraph(found.sentence, indent=2)
        return
    if found.caution:
        yield Paragraph(f"Caution: {found.caution}.", "yellow", 2)
    if (ratio := even_ratio(found.parts)) is not None:
        yield Paragraph(f"{even_words(ratio)}.", indent=2)
    for text in filter(None, (found.promise, found.start_up)):
        yield Paragraph(f"{text}.", indent=2)
    yield Paragraph(ONE_RUN_EACH, "dim", 2)
    gaps = [(each.after_s - each.before_s, each) for each in found.parts]
    gaps = [pair for pair in gaps if abs(pair[0]) >= _LEAST_S]
    if gaps:
        yield Paragraph("\nElapsed time (before → after)", "bold")
    gaps.sort(key=lambda pair: -abs(pair[0]))
    if rest := gaps[_FIRST_PARTS:]:
        sums = [sum(getattr(each, at) for _, each in rest) for at in ("before_s", "after_s")]
        gaps[_FIRST_PARTS:] = [(sums[1] - sums[0], PartChange("other parts", *sums))]
    for gap_s, each in gaps:
        sign = "+" if gap_s > 0 else "-"
        amount_ = f"{sign}{format_duration(abs(gap_s))}"
        before, after = format_duration(each.before_s), format_duration(each.after_s)
        tail = f" ({before} → {after})"
        yield Paragraph(
            f"  {amount_:>9}  {shorten_to(each.part, SCREEN_WIDTH - 13 - len(tail))}{tail}"
        )
    if found.settings:
        yield Paragraph("\nSettings (before → after)", "bold")
        for setting in found.settings[:_FIRST_SETTINGS]:
            values = f"{setting.before or 'not set'} → {setting.after or 'not set'}"
            yield Paragraph(shorten_to(f"  {setting.key}: {values}", SCREEN_WIDTH))
        if len(found.settings) > _FIRST_SETTINGS:
            yield Paragraph(f"  and {len(found.settings) - _FIRST_SETTINGS:,} more")
    changed = [(of.after / of.before, of) for of in found.amounts if of.before and of.after]
    changed = [pair for pair in changed if format_figure(pair[0]) != "1"]
    changed.sort(key=lambda pair: -abs(math.log(pair[0])))
    if changed:
        yield Paragraph("\nData and resources", "bold")
        for ratio, of in changed[:_FIRST_AMOUNTS]:
            values = f"{amount(of, of.before)} → {amount(of, of.after)}"
            yield Paragraph(f"  {of.what}: {values} ({format_figure(ratio)}x)")


def _headline(found: JobDifference) -> str:
    """Return by how much the second job differs: "2 min 05 s longer (2 min 18 s vs. 13.5 s)"."""
    if not found.comparable or found.before_s is None or found.after_s is None:
        return "Cannot compare the times."
    gap_s = found.after_s - found.before_s
    by = f"{format_duration(abs(gap_s))} {'longer' if gap_s > 0 else 'less'}"
    return (
        f"The second job took {by} "
        f"({format_duration(found.after_s)} vs. {format_duration(found.before_s)})."
    )


def amount(change: AmountChange, value: float | None) -> str:
    """A value of `change` in its unit."""
    return UNKNOWN if value is None else _FORMATS[change.unit](value)


def _times(found: JobDifference) -> Table:
    made = table("part", "before", "after", "difference")
    for each in found.parts:
        gap_s = each.after_s - each.before_s
        if abs(gap_s) >= _LEAST_S:
            made.add(
                each.part,
                format_duration(each.before_s),
                format_duration(each.after_s),
                f"{gap_s:+.1f} s",
            )
    return made


def _amounts(amounts: Sequence[AmountChange]) -> Table:
    made = table("of", "before", "after", "times")
    for each in amounts:
        ratio = format_figure(each.after / each.before) if each.before and each.after else UNKNOWN
        made.add(each.what, amount(each, each.before), amount(each, each.after), ratio)
    return made


def _settings(found: JobDifference) -> Table:
    made = table("setting", "before", "after", left=3, prose=("before", "after"))
    for each in found.settings[:SHOWN]:
        made.add(each.key, each.before or "not set", each.after or "not set")
    if len(found.settings) > SHOWN:
        made.add(f"and {len(found.settings) - SHOWN:,} more (--json has all)", "", "")
    return made


def _plans(found: JobDifference) -> Table:
    rows = []
    for each in found.plans[:SHOWN]:
        numbers = [UNKNOWN if n is None else str(n) for n in (each.before_query, each.after_query)]
        query = " / ".join(dict.fromkeys(numbers))
        rows.append(
            {
                "query": query,
                "name": each.name,
                "only before": "; ".join(each.gone) or "—",
                "only after": "; ".join(each.new) or "—",
            }
        )
    return table_of(rows, left=4, prose=("name", "only before", "only after"))


def _stages(found: JobDifference) -> Table:
    made = table("stage", "name", "before", "after", "difference", left=2, prose=("name",))
    for each in found.stages[:SHOWN]:
        both = each.before_s is not None and each.after_s is not None
        gap_s = (each.after_s or 0.0) - (each.before_s or 0.0)
        if both and abs(gap_s) < _LEAST_S:
            continue
        gap = f"{gap_s:+.1f} s" if both else UNKNOWN
        made.add(
            " / ".join(dict.fromkeys(label or UNKNOWN for label in (each.before, each.after))),
            each.name,
            format_duration(each.before_s),
            format_duration(each.after_s),
            gap,
        )
    return made


def _findings(diagnoses: Sequence[Diagnosis]) -> Table:
    rows = []
    for name, diagnosis in zip(("before", "after"), diagnoses, strict=True):
        told = ", ".join(map(with_saving, diagnosis.findings)) or diagnosis.silence or UNKNOWN
        rows.append((name, told))
    return pairs(rows)
