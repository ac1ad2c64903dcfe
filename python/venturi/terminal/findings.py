"""A job's findings as text: where the time went, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.find import Diagnosis, Finding
from venturi.jobs.stages.stage import Analysis
from venturi.terminal.table import Paragraph, Table, pairs

SHOWN = 3


def opening(analysis: Analysis, found: Diagnosis) -> Iterator[Paragraph | Table]:
    """The narrowest point, then the findings that cost the most time, or why there aren't any."""
    yield Paragraph("Narrowest point", "bold")
    yield pairs([("", headline(analysis, found))])
    yield Paragraph("\nFindings, the costliest first", "bold")
    rows = [row for n, each in enumerate(found.findings[:SHOWN], 1) for row in _rows(n, each)]
    if len(found.findings) > SHOWN:
        rest = ", ".join(bound(each) for each in found.findings[SHOWN:])
        rows.append(("and", rest))
    if found.silence is not None:
        rows.append(("", found.silence))
    if found.overlap is not None:
        rows.append(("", found.overlap))
    yield pairs([*rows, *(("not seen", each) for each in found.unseen)])


def headline(analysis: Analysis, found: Diagnosis) -> str:
    """Return where the time went, and the costliest finding.

    The finding comes first if no part of the time stands out or that part is smaller, but never
    before an unfinished task.
    """
    first = next(iter(found.findings), None)
    verdict = analysis.verdict
    if first is None or first.saves_s <= 0:
        return verdict.sentence
    costly = f"the costliest finding is {bound(first)}"
    smaller = verdict.share is not None and verdict.share < first.share
    before = verdict.narrowest is None or smaller
    if not before and first.rule == "executor-lost":  # with that the verdict ended
        costly = f"that is the costliest finding ({format_saving(first)})"
    return f"{costly}; {verdict.sentence}" if before else f"{verdict.sentence}; {costly}"


def bound(finding: Finding) -> str:
    """A finding with its cost: "uneven partitions (at most 3.4 s, 9%)"."""
    return f"{finding.title} ({format_saving(finding)})"


def format_saving(finding: Finding) -> str:
    """Return the cost of a finding: "at most 3.4 s, 9%"."""
    costs = [(format_duration(finding.saves_s), finding.share)] if finding.saves_s > 0 else []
    if finding.spares is not None:
        costs.append((finding.spares.what, finding.spares.share))
    said = "in recorded tasks " if finding.partial else "at most "
    return said + "; ".join(f"{what}, {share:.0%}" for what, share in costs)


def as_options(finding: Finding) -> str:
    """Its settings as options of `spark-submit`."""
    return " ".join(f"--conf {key}={value}" for key, value in finding.settings.items())


def _rows(number: int, finding: Finding) -> Iterator[tuple[str, str]]:
    yield f"{number}.", f"{bound(finding)}: {finding.says}"
    yield "do", finding.do
    if finding.settings:
        yield "set", as_options(finding)
    yield "if", f"{finding.assumes}; {finding.confidence} confidence"
