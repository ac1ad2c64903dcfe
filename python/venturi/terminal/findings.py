"""A job's findings as text: where the time went, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator

from venturi.jobs.diagnosis.find import Diagnosis, Finding
from venturi.jobs.stages.stage import Analysis
from venturi.terminal.table import Paragraph, Table, pairs

SHOWN = 3


def opening(analysis: Analysis, found: Diagnosis) -> Iterator[Paragraph | Table]:
    """The answer, the narrowest point, and the costliest findings."""
    yield Paragraph(found.sentence, "bold")
    yield Paragraph("\nNarrowest point", "bold")
    yield pairs([("", analysis.verdict.sentence)])
    yield Paragraph("\nFindings, the costliest first", "bold")
    rows = [row for n, each in enumerate(found.findings[:SHOWN], 1) for row in _rows(n, each)]
    if len(found.findings) > SHOWN:
        rest = ", ".join(with_saving(each) for each in found.findings[SHOWN:])
        rows.append(("and", rest))
    if found.silence is not None:
        rows.append(("", found.silence))
    if found.overlap is not None:
        rows.append(("", found.overlap))
    yield pairs([*rows, *(("not seen", each) for each in found.unseen)])


def with_saving(finding: Finding) -> str:
    """Return a finding with its saving: "uneven partitions (saves about 3 s (2–5 s) of 39.2 s)"."""
    return f"{finding.title} ({saving_text(finding)})"


def saving_text(finding: Finding) -> str:
    """Return its saving, marked if the confidence in it is low."""
    return finding.saving + (", low confidence" if finding.confidence == "low" else "")


def as_options(finding: Finding) -> str:
    """Its settings as options of `spark-submit`."""
    return " ".join(f"--conf {key}={value}" for key, value in finding.settings.items())


def _rows(number: int, finding: Finding) -> Iterator[tuple[str, str]]:
    yield f"{number}.", f"{finding.title}: {finding.says}"
    yield "saves", f"{finding.saving.removeprefix('saves ')}; {finding.saving_method}"
    yield "do", finding.do
    if finding.settings:
        yield "set", as_options(finding)
    yield "if", f"{finding.assumes}; {finding.confidence} confidence"
