"""The results of one execution as JSON (complete) and as a Markdown table (summary)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.figures import Figure, verdict
from benchmarks.host import shorten

SCHEMA_VERSION = 1


def number(value: float | None, unit: str) -> str:
    """A value with as many digits as it carries."""
    if value is None:
        return "—"
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return text if unit == "x" else f"{text} {unit}"


def table(figures: Sequence[Figure], scale: float) -> str:
    """Return the Markdown table: figure, value, interval, bar, verdict, note."""
    lines = [
        "| figure | value | 90 % interval | bar | verdict | note |",
        "|---|---|---|---|---|---|",
    ]
    for fig in figures:
        unit = fig.row.unit
        interval = (
            f"{number(fig.low, unit)} to {number(fig.high, unit)}" if fig.low is not None else "—"
        )
        bar = str(fig.row.bar) if fig.row.bar else "—"
        cells = (fig.row.title, number(fig.value, unit), interval, bar, verdict(fig, scale))
        lines.append("| " + " | ".join(_cell(text) for text in (*cells, fig.note)) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def document(
    bench: Bench, figures: Sequence[Figure], context: dict[str, Any], scale: float
) -> dict[str, Any]:
    """Everything that was measured, ready for JSON; paths of this machine shortened."""
    whole = {
        "schema_version": SCHEMA_VERSION,
        **context,
        "figures": [{**asdict(fig), "verdict": verdict(fig, scale)} for fig in figures],
        "iterations": [asdict(iteration) for iteration in bench.iterations],
    }
    text = json.dumps(whole, ensure_ascii=False)
    shortened: dict[str, Any] = json.loads(shorten(text, bench))
    return shortened


def write(folder: Path, name: str, whole: dict[str, Any], text: str) -> tuple[Path, Path]:
    """Write `name`.json and `name`.md, each completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"{name}.json", folder / f"{name}.md"
    contents = json.dumps(whole, indent=1, ensure_ascii=False) + "\n", text
    for path, content in zip(paths, contents, strict=True):
        draft = path.with_name(f".{path.name}.tmp")
        draft.write_text(content, encoding="utf-8")
        draft.rename(path)
    return paths
