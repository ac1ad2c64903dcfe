"""The first screen of a comparison of repeat groups: the verdict, and the trials behind it."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase

from venturi.core.statistics.stats import Interval
from venturi.core.statistics.two_groups import ComparisonOutcome
from venturi.core.units import format_duration, format_figure
from venturi.core.wording import count_of
from venturi.results.compare.repeat_groups import Comparison, GroupResult
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, shorten_to

_STRIP = 24
_GROUPS_MAX = 8


def comparison_screen(comparison: Comparison) -> Iterator[Paragraph]:
    """Yield a verdict for each group against the first, then a line of its trials for each."""
    groups = comparison.groups[:_GROUPS_MAX]
    for letter, group in zip(ascii_uppercase[1:], groups[1:], strict=False):
        yield Paragraph(headline(comparison, group, letter), "bold")
    yield Paragraph("")
    values = [value for group in groups for value in group.values]
    for letter, group in zip(ascii_uppercase, groups, strict=False):
        yield _line(comparison, group, letter, values)
    if comparison.caption:
        yield Paragraph(f"The same in all: {comparison.caption}", "dim", 2)
    reasons = dict.fromkeys(
        group.summary.reasons["interval"] for group in groups if group.summary.interval is None
    )
    for reason in reasons:
        yield Paragraph(reason, "dim", 2)
    for letter, group in zip(ascii_uppercase, groups, strict=False):
        if group.left_out:
            counts = ", ".join(f"{n} {why}" for why, n in sorted(group.left_out.items()))
            yield Paragraph(f"{letter}: not counted: {counts}", "dim", 2)


def headline(comparison: Comparison, group: GroupResult, letter: str) -> str:
    """Return "B is 8% faster than A (95% CI 5 to 11%), 6 and 6 trials."."""
    verdict, first = group.against_first, comparison.groups[0]
    assert verdict is not None
    trials = f"{first.summary.n} and {count_of(group.summary.n, 'trial')}"
    if verdict.ratio is None:
        return f"Can't tell {letter} from A: {verdict.reason}."
    ratio = f"{letter} takes {verdict.ratio:.3g} times as long"
    if comparison.metric != "elapsed_s":
        ratio = f"{letter} has {verdict.ratio:.3g} times as much"
    if verdict.outcome in {ComparisonOutcome.LOWER, ComparisonOutcome.HIGHER} and (
        verdict.interval is not None
    ):
        better, worse = ("faster", "slower")
        if comparison.metric != "elapsed_s":
            better, worse = ("lower", "higher")
        word = better if verdict.outcome is ComparisonOutcome.LOWER else worse
        by, within = _percent(verdict.ratio), _percents(verdict.interval)
        level = f"{100 * verdict.interval.level:.3g}% CI"
        return f"{letter} is {by} {word} than A ({level} {within}), {trials}."
    if verdict.interval is None:
        return f"Can't tell {letter} from A: {ratio}; {verdict.reason}."
    low, high = verdict.interval.low, verdict.interval.high
    within = f"{100 * verdict.interval.level:.3g}% CI {low:.3g} to {high:.3g}"
    return f"Can't tell {letter} from A: {ratio} ({within}), {trials}."


def _percent(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.3g}%" if ratio < 2 else f"{ratio:.3g}x"


def _percents(interval: Interval) -> str:
    ends = sorted((abs(interval.low - 1), abs(interval.high - 1)))
    if interval.high >= 2:
        return f"{interval.low:.3g} to {interval.high:.3g}x"
    return f"{100 * ends[0]:.3g} to {100 * ends[1]:.3g}%"


def _line(
    comparison: Comparison, group: GroupResult, letter: str, values: list[float]
) -> Paragraph:
    """Return the group's name, median and a strip of its trials, on the scale of all groups."""
    median = group.summary.median
    if median is None:
        text = "—"
    elif comparison.unit == "s":
        text = format_duration(median)
    else:
        unit = {"1": "", "1/s": "/s", "fraction": ""}.get(comparison.unit, f" {comparison.unit}")
        text = f"{format_figure(median)}{unit}"
    name = shorten_to(group.name, SCREEN_WIDTH - _STRIP - max(9, len(text)) - 11)
    strip = _strip(group.values, median, min(values), max(values)) if group.values else ""
    return Paragraph(
        f"  {letter}  {text:>9}  ▏{strip:{_STRIP}}▕  {name}" if values else f"  {letter}  {name}"
    )


def _strip(values: tuple[float, ...], median: float | None, low: float, high: float) -> str:
    cells = [" "] * _STRIP
    scale = (_STRIP - 1) / (high - low) if high > low else 0.0
    for value in values:
        cells[round((value - low) * scale)] = "·"
    if median is not None:
        cells[round((median - low) * scale)] = "●"
    return "".join(cells)
