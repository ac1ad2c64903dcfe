"""Meanings of engines' failure messages, with remedies: the tables next to this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

CANCELED = "job-canceled"
"""The meaning of a job that a user or the program canceled."""
_TABLES = (
    "hosts.toml",
    "stores.toml",
    "programs.toml",
    "services.toml",
    "exits.toml",
)  # the order in which they are tried
_MESSAGE_CHARACTERS = 20_000  # of a stack trace; its cause is near its beginning
# "exited with code 137", "Exit status: 143", "exitCode: -104", "Exit code is 143"
_EXIT = (
    r"\bexit(?:ed)?[ _]?(?:with )?(?:a )?(?:non-zero )?(?:exit )?(?:status|code|value)"
    r"(?: is|:|=)? ?"
)
# A quoted text is data ("status 'No space left' is not valid"), unless it is a field of an error.
_QUOTED = re.compile(r"""(?<![\w'"])(?P<mark>['"`]|\\")(?P<text>[^'"`\n]+)(?P=mark)(?!\w)""")
_ERROR_FIELD = re.compile(
    r"\b(reason|message|error|exception|cause|code|type|msg|failed)\W{0,4}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FailureMeaning:
    """An entry of the tables: `confidence` is high or medium, `example` a message of an engine,
    `source` where it is from. `remedy_of` has the remedies of engines that need another."""

    id: str
    pattern: re.Pattern[str]
    meaning: str
    remedy: str
    confidence: str
    example: str
    source: str
    remedy_of: Mapping[str, str] = field(default_factory=dict, hash=False)
    only: str | None = None

    @property
    def text(self) -> str:
        """The meaning and the remedy in one sentence."""
        return f"{self.meaning}: {self.remedy}"


@cache
def failure_meanings(engine: str | None = None) -> tuple[FailureMeaning, ...]:
    """The entries of all tables, those for `engine` with its remedies, in the order of matching."""
    if engine is not None:
        entries = (each for each in failure_meanings() if each.only in (None, engine))
        return tuple(
            replace(each, remedy=each.remedy_of.get(engine, each.remedy)) for each in entries
        )
    folder = Path(__file__).parent
    rows: list[dict[str, Any]] = [
        row
        for name in _TABLES
        for row in tomllib.loads((folder / name).read_text("utf-8"))["failures"]
    ]
    return tuple(FailureMeaning(**{**row, "pattern": _compiled(row["pattern"])}) for row in rows)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("<EXIT>", _EXIT), re.IGNORECASE)


def meaning_of(message: str | None, engine: str | None = None) -> FailureMeaning | None:
    """Return the first entry for `engine` with a pattern that matches `message`, or None."""
    if not message:
        return None
    text = message[:_MESSAGE_CHARACTERS]
    quoted = [
        found.span("text")
        for found in _QUOTED.finditer(text)
        if not _ERROR_FIELD.search(text[max(0, found.start() - 20) : found.start()])
    ]
    return next((each for each in failure_meanings(engine) if _says(each, text, quoted)), None)


def _says(entry: FailureMeaning, text: str, quoted: list[tuple[int, int]]) -> bool:
    """Whether `text` matches the pattern of `entry` other than inside its `quoted` parts."""
    return any(
        not any(start <= found.start() and found.end() <= end for start, end in quoted)
        for found in entry.pattern.finditer(text)
    )
