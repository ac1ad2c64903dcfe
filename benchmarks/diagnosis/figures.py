"""Figures of the diagnosis of planted causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.diagnosis.program import files, load
from benchmarks.diagnosis.runs import DiagnosedLog

OTHERS = 0.1  # of the CPU time: with more for other programs, saved seconds mean little
HEAD = (
    "| cause | kind | API | faulty | fixed | by others | no cause | first findings | promised "
    "| saved | findings if fixed |",
    "|---|---|---|--:|--:|--:|--:|---|--:|--:|---|",
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A program's two variants: times in seconds, shares of 1, and the rules of the findings.

    `promised_s` is the saving that the finding of the planted cause promises, lowest, expected and
    highest; None if there is no such finding. `others` is the larger share of CPU time that other
    programs took, `without_cause` the share of the faulty job's task time.
    """

    name: str
    finding: str
    faulty_s: float
    fixed_s: float
    others: float
    without_cause: float
    found: tuple[str, ...]
    found_if_fixed: tuple[str, ...]
    promised_s: tuple[float, float, float] | None
    sentence: str

    @property
    def saved_s(self) -> float:
        """By how much the fixed variant was faster."""
        return self.faulty_s - self.fixed_s

    def named_among(self, n: int) -> bool:
        """Whether one of the first `n` findings names the planted cause."""
        return self.finding in self.found[:n]

    def stored(self) -> dict[str, Any]:
        """Return the fields for JSON, rounded."""
        return {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in asdict(self).items()
            if key != "name"
        }

    def __str__(self) -> str:
        named = "first" if self.named_among(1) else "second" if self.named_among(2) else "NOT NAMED"
        twin = f"; if fixed: {', '.join(self.found_if_fixed)}" if self.found_if_fixed else ""
        return (
            f"{self.finding} {named} of {', '.join(self.found) or 'none'}; promised "
            f"{_promise(self)}, saved {self.saved_s:.1f} s of {self.faulty_s:.1f} s{twin}\n"
            f"  {self.sentence}"
        )


def pair_of(name: str, faulty: DiagnosedLog, fixed: DiagnosedLog) -> Pair:
    """Return the figures of a program."""
    finding = load(name).finding
    findings = faulty.diagnosis.findings
    own = next((each for each in findings if each.rule == finding), None)
    return Pair(
        name,
        finding,
        faulty.elapsed_s,
        fixed.elapsed_s,
        max(faulty.others, fixed.others),
        faulty.without_cause,
        tuple(each.rule for each in findings),
        tuple(each.rule for each in fixed.diagnosis.findings),
        None if own is None else (own.saving_low_s, own.saving_s, own.saving_high_s),
        faulty.sentence,
    )


def row(pair: Pair) -> str:
    """Return the row of a table, in the order of `HEAD`."""
    api, kind = load(pair.name).api, files()[pair.name].parent.name
    findings = [f"**{each}**" if each == pair.finding else each for each in pair.found[:2]]
    return (
        f"| {pair.name} | {kind} | {api} | {pair.faulty_s:.1f} s | {pair.fixed_s:.1f} s "
        f"| {pair.others:.0%} | {pair.without_cause:.0%} | {', '.join(findings) or '-'} "
        f"| {_promise(pair)} | {pair.saved_s:.1f} s | {', '.join(pair.found_if_fixed) or '-'} |"
    )


def _promise(pair: Pair) -> str:
    if pair.promised_s is None:
        return "-"
    low_s, expected_s, high_s = pair.promised_s
    return f"{expected_s:.1f} s ({low_s:.1f} to {high_s:.1f})"


def summary(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield lines with the shares of the causes named, false findings, and how promises hold."""
    if not pairs:
        return
    n = len(pairs)
    for place, words in ((1, "named first"), (2, "among the first two")):
        yield f"{words}: {sum(pair.named_among(place) for pair in pairs)} of {n}"
    false = [pair.name for pair in pairs if pair.finding in pair.found_if_fixed]
    others = sum(len(pair.found_if_fixed) for pair in pairs)
    yield f"planted cause found in the fixed program: {', '.join(false) or 'none'}"
    yield f"findings in fixed programs: {others} in {n}"
    yield f"most time without a cause: {max(pair.without_cause for pair in pairs):.0%}"
    quiet = [p for p in pairs if p.promised_s and p.promised_s[1] > 0 and p.others <= OTHERS]
    if quiet:
        held = sum(p.promised_s[0] <= p.saved_s <= p.promised_s[2] for p in quiet if p.promised_s)
        ratios = [pair.saved_s / pair.promised_s[1] for pair in quiet if pair.promised_s]
        yield (
            f"of {len(quiet)} on an idle machine: median of saved to promised "
            f"{median(ratios):.2f}, ranges hold in {held}"
        )
