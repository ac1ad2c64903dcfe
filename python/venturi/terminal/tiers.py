"""The output of `advise tiers` on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.core.units import format_bytes_decimal, format_duration, format_rate
from venturi.core.wording import count_of
from venturi.jobs.tiers.advice import TiersAdvice
from venturi.terminal.predictions import time_text, usd_text
from venturi.terminal.table import Paragraph, Table, table

SHOWN_STAGES = 20
LITTLE = 0.05  # of the trial's time; our choice


def tiers_lines(advice: TiersAdvice) -> Iterator[Paragraph | Table]:
    """The whole output, in order."""
    size = format_bytes_decimal
    title = f"{advice.workload} on {advice.engine}: {format_duration(advice.elapsed_s)}"
    yield Paragraph(f"{title} (trial {advice.trial})", "bold")
    yield Paragraph(sentence(advice))
    made = table("fast storage", "time", "saves", "cost", left=0)
    for step in advice.steps:
        made.add(
            size(step.fast_bytes),
            time_text(step.time_s),
            time_text(step.saved_s),
            usd_text(step.usd),
        )
    made.notes.append(
        (
            "fast storage",
            f"fast storage: in each of {count_of(advice.hosts, 'host')}"
            if advice.hosts > 1
            else "fast storage: in its host",
        )
    )
    made.notes.append(("saves", "saves: compared with no fast storage"))
    if advice.usd_missing_reason:
        made.notes.append(("cost", f"cost: not known, {advice.usd_missing_reason}"))
    yield made
    if advice.more:
        yield Paragraph(f"\nBeyond the {size(advice.held_bytes)} that the trial used", "bold")
        made = table("more", "saves", left=0)
        for each in advice.more:
            made.add(size(each.more_bytes), time_text(each.saved_s))
        yield made
    yield Paragraph("\nLocal files by stage", "bold")
    yield _stages(advice)
    yield Paragraph("\nRates of all disks of a class in a host", "bold")
    made = table("disks", "of", "rate", "from", left=4, prose=("disks", "from"))
    for rate in advice.rates:
        text, low, high = map(format_rate, (rate.value, rate.low, rate.high))
        text += "" if low == high else f" ({low} to {high})"
        made.add(rate.disks, rate.what, text, rate.source)
    yield made
    for note in advice.notes:
        yield Paragraph(note, "dim", 2)


def sentence(advice: TiersAdvice) -> str:
    """The saving and the size needed, in one sentence."""
    size, saves = format_bytes_decimal, time_text(advice.saved_s)
    fits = f"everything fits in {size(advice.all_bytes)} of fast storage in each host"
    if advice.saved_s.high < LITTLE * advice.elapsed_s:
        return f"fast storage brings little: {fits}, and saves {saves} then"
    fits += f", and saves {saves} then"
    if advice.knee_bytes is None:
        return f"{fits}; until then the saving grows with its size"
    return f"{fits}; beyond {size(advice.knee_bytes)} more of it saves much less"


def _stages(advice: TiersAdvice) -> Table:
    size = format_bytes_decimal
    made = table("stage", "files of", "written", "read", "on fast disks", left=2)
    most = sorted(advice.stages, key=lambda each: -each.written_bytes - each.read_bytes)
    kept = {id(each) for each in most[:SHOWN_STAGES]}
    for each in advice.stages:
        if id(each) in kept:
            made.add(
                each.label,
                each.kind,
                size(each.written_bytes),
                size(each.read_bytes),
                f"{each.written_fast:.0%}",
            )
    if len(advice.stages) > SHOWN_STAGES:
        made.notes.append(("stage", f"the {SHOWN_STAGES} of {len(advice.stages)} with most bytes"))
    return made
