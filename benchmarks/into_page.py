"""Tables of figures in the documentation, written by the benchmark that measures them.

A table stands between two comments, `<!-- NAME -->` and `<!-- end of NAME -->`. The first cell of a
row identifies it, so that some rows can be measured again while the others stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

HEAD_LINES = 2


def first_cell(row: str) -> str:
    """Return the first cell of a row, which identifies it."""
    return row.split("|")[1].strip()


def write_table(page: Path, name: str, head: Sequence[str], rows: Iterable[str]) -> None:
    """Write a table with these `head` lines; existing rows that `rows` doesn't replace stay in
    place.

    ValueError if `page` has no such comments.
    """
    text = page.read_text(encoding="utf-8")
    between = re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)
    match = between.search(text)
    if match is None:
        raise ValueError(f"{page} has no place for {name}")
    there = [line for line in match[2].splitlines() if line.startswith("|")][HEAD_LINES:]
    new: dict[str, list[str]] = {}
    for row in rows:
        new.setdefault(first_cell(row), []).append(row)
    kept: dict[str, list[str]] = {}
    for row in there:
        kept.setdefault(first_cell(row), []).append(row)
    lines = [row for own in (kept | new).values() for row in own]
    table = "".join(f"{line}\n" for line in [*head, *lines])
    page.write_text(between.sub(lambda m: m[1] + table + m[3], text), encoding="utf-8")
