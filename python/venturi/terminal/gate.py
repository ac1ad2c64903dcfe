"""The result of a regression gate: first screen, Markdown, and JUnit XML for CI systems."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from venturi.core.wording import count_of
from venturi.record.query.identifying_keys import note_of
from venturi.results.compare.gate import BenchmarkResult, Gate
from venturi.results.compare.regression import Slowdown, change
from venturi.terminal.table import Paragraph, Table, table_of

ROWS_MAX = 12
_ORDER = (Slowdown.SLOWER, Slowdown.NO_RESULT, Slowdown.CANNOT_TELL, Slowdown.NOT_SLOWER)
_COLUMNS = ("benchmark", "trials", "change", "interval", "verdict")


def gate_screen(found: Gate, rows_max: int | None = ROWS_MAX) -> Iterator[Paragraph | Table]:
    """Yield the result, a row for each benchmark, the worst first, and the notes."""
    yield Paragraph(f"{found.sentence}.", "bold")
    rows = [_row(each) for each in by_severity(found)]
    if len(rows) > 1 or found.benchmarks[0].factor is None:
        yield table_of(rows[:rows_max], left=1, prose=("benchmark", "verdict"), spare=("interval",))
    if rows_max is not None and len(rows) > rows_max:
        yield Paragraph(f"{len(rows) - rows_max} more: --all", "dim")
    for note in notes(found):
        yield Paragraph(note)


def by_severity(found: Gate) -> list[BenchmarkResult]:
    """The benchmarks, slower ones first, then by the size of their change."""
    return sorted(
        found.benchmarks, key=lambda each: (_ORDER.index(each.outcome), -(each.factor or 0.0))
    )


def notes(found: Gate) -> Iterator[str]:
    """Yield the detectable slowdown, the repeats that would decide, and new benchmarks."""
    reach = [each.detectable for each in found.benchmarks if each.detectable is not None]
    if reach and found.outcome is not Slowdown.SLOWER:
        least = change(max(reach))
        within = least if len(reach) == 1 else f"{change(min(reach))} to {least}"
        yield f"These trials find a slowdown of {within} with a chance of 80%."
    repeats = [each.repeats for each in found.benchmarks if each.repeats is not None]
    if repeats:
        n = max(repeats)
        yield f"To decide, measure each side {n} times (run --repeat {n + 1})."
    if found.identifying:
        yield f"{note_of(found.identifying)}."
    if found.new:
        count = count_of(len(found.new), "benchmark")
        yield f"Not compared: {count} without a baseline, such as {found.new[0]}."


def _row(each: BenchmarkResult) -> dict[str, str]:
    bounded = each.low is not None and each.high is not None
    return {
        "benchmark": each.name,
        "trials": f"{each.baseline_trials}, {each.candidate_trials}",
        "change": "—" if each.factor is None else change(each.factor),
        "interval": f"{change(each.low or 0)} to {change(each.high or 0)}" if bounded else "—",
        "verdict": f"{each.outcome}: {each.reason}" if each.reason else str(each.outcome),
    }


def markdown(found: Gate) -> str:
    """The result as Markdown, for a comment on a change."""
    lines = [f"**{_plain(found.sentence)}.**", ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", "|---|--:|--:|---|---|"]
    for each in by_severity(found):
        row = _row(each)
        lines.append(f"| {' | '.join(_plain(row[column]) for column in _COLUMNS)} |")
    lines += ["", *map(_plain, notes(found))]
    return "\n".join(lines).rstrip() + "\n"


def _plain(text: str) -> str:
    # A benchmark's name comes from a file: it mustn't become a column or a tag.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def junit(found: Gate) -> str:
    """The result as JUnit XML: slower is a failure, no result an error, undecided is skipped."""
    suite = ET.Element(
        "testsuite",
        name=f"venturi compare {found.metric}",
        tests=str(len(found.benchmarks)),
        failures=str(found.count(Slowdown.SLOWER)),
        errors=str(found.count(Slowdown.NO_RESULT)),
        skipped=str(found.count(Slowdown.CANNOT_TELL)),
    )
    kinds = {
        Slowdown.SLOWER: "failure",
        Slowdown.NO_RESULT: "error",
        Slowdown.CANNOT_TELL: "skipped",
    }
    for each in found.benchmarks:
        case = ET.SubElement(suite, "testcase", name=_xml(each.name), classname=found.metric)
        if kind := kinds.get(each.outcome):
            ET.SubElement(case, kind, message=_xml(each.sentence))
        else:
            ET.SubElement(case, "system-out").text = _xml(each.sentence)
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, "unicode") + "\n"


def _xml(text: str) -> str:
    """`text` without characters that XML cannot hold."""
    return "".join(each if each.isprintable() else " " for each in text)
