"""Draws the results of a study as its page states them: the median and the interval of each layout
and, if the page has them, published figures, as multiples of each column's least.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

MEDIAN, INTERVAL, LEAST = "median (s)", "interval", "of the least: here"
RANGE = re.compile(r"([0-9.]+) to ([0-9.]+)")
WIDTH, LABELS, RIGHT, LINE, TOP, BOTTOM = 760, 230, 24, 26, 40, 44
# Text of a cell without its column's head; derived columns have none.
SAID = {
    "machines a host": "{} a host",
    "ports": "ports {}",
    "disks a DataNode": "",
    "second copies": "second copies: {}",
}
# Legible on white and on black, and with color blindness: shapes differ as well.
STYLE = """text{font:13px system-ui,sans-serif;fill:#777}.label{fill:#888;font-weight:600}
.grid{stroke:#8886;stroke-width:1}.interval{stroke:#3b7dd8;stroke-width:3;stroke-linecap:round}
.here{fill:#3b7dd8}.published{fill:none;stroke:#d9822b;stroke-width:2}
.corrected{fill:none;stroke:#2e9e6b;stroke-width:2}"""


@dataclass(frozen=True)
class _Line:
    """A layout: its median, in s or as a multiple; its interval in the same; published figures."""

    label: str
    median: float
    interval: tuple[float, float] | None
    others: Mapping[str, float]


def picture(page: str) -> str:
    """The first table among a page's results, in SVG."""
    return _drawn(*_lines(page))


def _table(page: str) -> tuple[list[str], list[list[str]]]:
    """The heads and the cells of the first table of the results."""
    results = page.partition("<!-- results -->")[2]
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in re.findall(r"(?:^\|.*\|\n)+", results, re.MULTILINE)[0].splitlines()
    ]
    return rows[0], rows[2:]


def _lines(page: str) -> tuple[str, list[_Line]]:
    """Return the lines to draw, and their unit."""
    heads, rows = _table(page)
    multiples = LEAST in heads
    others = ("published", "corrected") if multiples else ()
    labels = heads[: heads.index("trials")]
    least_s = min(float(row[heads.index(MEDIAN)]) for row in rows)
    scale = least_s if multiples else 1.0
    found = []
    for row in rows:
        cells = dict(zip(heads, row, strict=True))
        ends = RANGE.match(cells[INTERVAL])
        found.append(
            _Line(
                ", ".join(
                    filter(None, (SAID.get(head, "{}").format(cells[head]) for head in labels))
                ),
                float(cells[MEDIAN]) / scale,
                (float(ends[1]) / scale, float(ends[2]) / scale) if ends else None,
                {name: float(cells[name]) for name in others},
            )
        )
    return ("time, as a multiple of the shortest" if multiples else "time in s"), found


def _drawn(unit: str, found: Sequence[_Line]) -> str:
    """The picture, in SVG."""
    most = max(
        value
        for each in found
        for value in (each.median, *(each.interval or ()), *each.others.values())
    )
    step = next(s for s in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if most / s <= 8)
    ticks = [step * i for i in range(int(most / step) + 2)]
    height = TOP + LINE * len(found) + BOTTOM

    def x(value: float) -> float:
        return LABELS + value / ticks[-1] * (WIDTH - LABELS - RIGHT)

    parts = [_legend(found)]
    foot = TOP + LINE * len(found)
    for tick in ticks:
        parts.append(_stroke("grid", (x(tick), TOP), (x(tick), foot)))
        parts.append(_text(x(tick), foot + 16, f"{tick:g}", anchor="middle"))
    parts.append(_text(WIDTH - RIGHT, foot + 36, unit, anchor="end"))
    for i, each in enumerate(found):
        y = TOP + LINE * (i + 0.5)
        parts.append(_text(LABELS - 10, y + 4, each.label, anchor="end", kind="label"))
        if each.interval is not None:
            low, high = each.interval
            parts.append(_stroke("interval", (x(low), y), (x(high), y)))
        parts.extend(_mark(name, x(value), y) for name, value in each.others.items())
        parts.append(_mark("here", x(each.median), y))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<style>{STYLE}</style>" + "\n".join(parts) + "</svg>\n"
    )


def _text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    at = f'class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {at}>{escape(words)}</text>"


def _stroke(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _mark(name: str, x: float, y: float) -> str:
    if name == "here":
        return f'<circle class="here" cx="{x:.1f}" cy="{y}" r="5"/>'
    if name == "published":
        return f'<circle class="published" cx="{x:.1f}" cy="{y}" r="6"/>'
    return f'<rect class="{name}" x="{x - 5:.1f}" y="{y - 5}" width="10" height="10"/>'


def _legend(found: Sequence[_Line]) -> str:
    words = {"here": "here: median and interval", **{name: name for name in found[0].others}}
    parts, left = [], float(LABELS)
    for name, word in words.items():
        parts.append(_mark(name, left + 6, 16) + _text(left + 18, 20, word))
        left += 40 + 7 * len(word)
    return "".join(parts)
