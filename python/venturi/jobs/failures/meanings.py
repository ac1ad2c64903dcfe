"""What engines' messages about failures mean, and what to do: the table in failures.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("failures.toml")
_MESSAGE_CHARACTERS = 20_000  # of a stack trace; its cause is near its beginning


@dataclass(frozen=True, slots=True)
class FailureMeaning:
    """An entry of the table: `confidence` is high or medium, `example` a message of an engine."""

    id: str
    pattern: re.Pattern[str]
    meaning: str
    remedy: str
    confidence: str
    example: str

    @property
    def text(self) -> str:
        """The meaning and the remedy in one sentence."""
        return f"{self.meaning}: {self.remedy}"


@cache
def failure_meanings() -> tuple[FailureMeaning, ...]:
    """The table, in the order in which patterns are tried."""
    rows: list[dict[str, Any]] = tomllib.loads(_TABLE.read_text("utf-8"))["failures"]
    return tuple(
        FailureMeaning(**{**row, "pattern": re.compile(row["pattern"], re.IGNORECASE)})
        for row in rows
    )


def meaning_of(message: str | None) -> FailureMeaning | None:
    """Return the first entry whose pattern is in `message`, or None."""
    if not message:
        return None
    text = message[:_MESSAGE_CHARACTERS]
    return next((each for each in failure_meanings() if each.pattern.search(text)), None)
