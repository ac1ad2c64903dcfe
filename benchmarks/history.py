"""Figures over time, by commit, with the regressions marked."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Bar
from benchmarks.report import number

# Without an interval on both sides, a difference below this may be chance.
_WITHOUT_INTERVAL = 0.10


@dataclass(frozen=True, slots=True)
class Point:
    """A figure in one result. `low` and `high` are None where too few rounds carry an interval."""

    key: str
    title: str
    unit: str
    bar: Bar | None
    measured_at: str
    commit: str
    value: float
    low: float | None
    high: float | None

    def is_worse_than(self, before: Point) -> bool:
        """Return whether this is a regression beyond chance."""
        if self.bar is None:
            return False
        worse = _badness(self.value, self.bar) - _badness(before.value, self.bar)
        if worse <= 0.0:
            return False
        if (
            self.low is not None
            and self.high is not None
            and before.low is not None
            and before.high is not None
        ):
            return self.low > before.high or self.high < before.low
        return abs(self.value - before.value) > _WITHOUT_INTERVAL * abs(before.value)


def _badness(value: float, bar: Bar) -> float:
    """Return a value that grows as `value` gets worse: towards the open side of a bar, or away from
    a closed range.
    """
    if bar.low is not None and bar.high is not None:
        return bar.shortfall(value)
    return value if bar.high is not None else -value


def load(folder: Path) -> list[Mapping[str, Any]]:
    """Return the results in `folder` and those removed from it in git's history, oldest first."""
    texts = _removed(folder) | {path.name: path.read_text() for path in folder.glob("*.json")}
    return [json.loads(text) for _, text in sorted(texts.items())]


def _removed(folder: Path) -> dict[str, str]:
    """Return the texts of removed results by file name; empty outside a git repository."""
    if not shutil.which("git"):
        return {}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    texts: dict[str, str] = {}
    commit = ""
    for line in git("log", "--diff-filter=D", "--format=%H", "--name-only", "--", "*.json").split():
        if line.endswith(".json"):
            texts[Path(line).name] = git("show", f"{commit}^:{line}")
        else:
            commit = line
    return texts


def points(results: Iterable[Mapping[str, Any]], suites: Sequence[str]) -> dict[str, list[Point]]:
    """The figures of `suites`, oldest first; of full-size results only, others do not compare."""
    found: dict[str, list[Point]] = {}
    for result in results:
        if result["scale"] != 1.0:
            continue
        for figure in result["figures"]:
            row, value = figure["row"], figure["value"]
            if value is None or row["key"].split(".")[0] not in suites:
                continue
            bar = Bar(**row["bar"]) if row["bar"] else None
            point = Point(
                row["key"],
                row["title"],
                row["unit"],
                bar,
                result["measured_at"],
                result["versions"].get("git") or "unknown",
                value,
                figure["low"],
                figure["high"],
            )
            found.setdefault(point.key, []).append(point)
    return found


def table(histories: Mapping[str, Sequence[Point]]) -> str:
    """A Markdown table: figure, when, commit, value, interval, ratio to the result before, mark."""
    lines = [
        "| figure | measured | commit | value | 90 % interval | bar | / before | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for history in histories.values():
        before: Point | None = None
        for at in history:
            interval = f"{number(at.low, at.unit)} to {number(at.high, at.unit)}"
            cells = (
                f"{at.title} (`{at.key}`)",
                at.measured_at,
                at.commit,
                number(at.value, at.unit),
                interval if at.low is not None else "—",
                str(at.bar) if at.bar else "—",
                f"{at.value / before.value:.2f}" if before and before.value else "—",
                "**regression**" if before and at.is_worse_than(before) else "",
            )
            lines.append("| " + " | ".join(cells) + " |")
            before = at
    return "\n".join(lines) + "\n"
