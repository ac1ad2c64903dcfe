"""What a terminal shows of two jobs beside one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from venturi.core.units import format_bytes, format_duration, format_figure
from venturi.jobs.diagnosis.changes import AmountChange, JobDifference
from venturi.jobs.diagnosis.find import Diagnosis
from venturi.terminal.findings import bound
from venturi.terminal.table import UNKNOWN, Paragraph, Table, pairs, table

SHOWN = 15
_LEAST_S = 0.05  # what is less rounds to nothing
_FORMATS: Mapping[str, Callable[[float], str]] = {
    "B": format_bytes,
    "s": format_duration,
    "1": lambda value: f"{value:,.0f}",
}


def parts(found: JobDifference, diagnoses: Sequence[Diagnosis]) -> Iterator[Paragraph | Table]:
    """The sentence, then what it rests on; `diagnoses` are those of the two jobs."""
    yield Paragraph(found.sentence, "bold")
    for title, content in (
        ("Where the time went", _times(found)),
        ("Settings that differ", _settings(found)),
        ("Plans that differ", _plans(found)),
        ("Data and resources", _amounts(found.amounts)),
        ("Stages, by what they differ", _stages(found)),
        ("What to do about each", _findings(diagnoses)),
    ):
        if content.rows:
            yield Paragraph(f"\n{title}", "bold")
            yield content


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
    made = table(
        "query",
        "name",
        "only before",
        "only after",
        left=4,
        prose=("name", "only before", "only after"),
    )
    for each in found.plans[:SHOWN]:
        numbers = [UNKNOWN if n is None else str(n) for n in (each.before_query, each.after_query)]
        query = " / ".join(dict.fromkeys(numbers))
        made.add(query, each.name, "; ".join(each.gone) or "—", "; ".join(each.new) or "—")
    return made


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
        told = ", ".join(map(bound, diagnosis.findings)) or diagnosis.silence or UNKNOWN
        rows.append((name, told))
    return pairs(rows)
