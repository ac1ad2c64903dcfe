"""A verdict on two groups in a sentence: the same wherever it is read."""

from __future__ import annotations

from venturi.core.statistics.two_groups import ComparisonOutcome, Verdict
from venturi.core.wording import percent


def in_words(name: str, first: str, verdict: Verdict, metric: str = "elapsed_s") -> str:
    """`IB takes 12 % (9–15 %) less time than ETH`, or `cannot tell: ` and why."""
    if verdict.ratio is None or verdict.interval is None or verdict.reason:
        return f"cannot tell: {verdict.reason}"
    lower = verdict.outcome is ComparisonOutcome.LOWER
    ends = sorted(abs(1 - end) for end in (verdict.interval.low, verdict.interval.high))
    within = "–".join(percent(end).removesuffix(" %") for end in ends)
    by = f"{percent(1 - verdict.ratio)} ({within} %)"
    if metric == "elapsed_s":
        return f"{name} takes {by} {'less' if lower else 'more'} time than {first}"
    return f"{name}: {metric} is {by} {'lower' if lower else 'higher'} than that of {first}"
