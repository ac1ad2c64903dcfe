"""The operators of plans by their text, so that two plans can be shown side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

COMPARED_TEXT = 100
"""How many characters of an operator's text are compared."""
PASSING = (
    "InputAdapter",
    "ColumnarToRow",
    "AdaptiveSparkPlan",
    "ShuffleQueryStage",
    "BroadcastQueryStage",
    "ResultQueryStage",
    "TableCacheQueryStage",
    "WholeStageCodegen",
)
"""How operators begin that only pass rows on, and say nothing."""
_ID = re.compile(r"#\d+L?|, \[(?:plan_id=|id=#)\d+\]")


def without_numbers(text: str) -> str:
    """An operator's text without the numbers that each plan gives its columns and itself."""
    return _ID.sub("", text)


def comparable(texts: Iterable[str]) -> Counter[str]:
    """How often each operator stands in a plan."""
    return Counter(without_numbers(text)[:COMPARED_TEXT] for text in texts)


def differing(before: Counter[str], after: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """The operators that only the first of two plans has, and those that only the second has."""
    return before - after, after - before
