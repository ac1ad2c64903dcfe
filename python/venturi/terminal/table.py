"""Tables and lines of text: whole lines into a pipe, fitted to the width of a terminal.

Into a pipe a row is one line whatever its length, its cells two or more spaces apart, none of them
empty. On a terminal a table that is too wide first gives up its spare columns, then wraps its prose
between words, then states the values common to all rows once above it; if it is still too wide, it
is written row by row, a cell a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
    from rich.text import Text

GAP = 2  # spaces between columns
PROSE_WIDTH_MIN = 12  # of a column with text that may be wrapped
NAME_WIDTH = 40
SCREEN_WIDTH = 80
"""The columns of a first screen."""
UNKNOWN = "—"

TableCell = str | tuple[str, str]
"""A text, or a text and the style that it has on a terminal."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; on a terminal it has a style, and all its lines begin `indent` columns in."""

    text: str
    style: str = ""
    indent: int = 0

    def lines(self) -> Iterator[str]:
        """As a pipe gets it."""
        for line in self.text.split("\n"):
            yield " " * self.indent + plain(line)

    def __rich__(self) -> RenderableType:
        from rich.padding import Padding

        text = "\n".join(plain(line) for line in self.text.split("\n"))
        told = _text((text, self.style))
        return Padding(told, (0, 0, 0, self.indent), expand=False) if self.indent else told


@dataclass(slots=True)
class Table:
    """Rows of text under headings; `numeric` columns are flush right, `prose` may be wrapped.

    `spare` are the headings of columns that a narrow terminal need not show, the first one first.
    `notes` explain columns by their headings, below the table, where they are shown.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    prose: frozenset[str]
    spare: tuple[str, ...]
    header: bool = True
    rows: list[tuple[TableCell, ...]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def add(self, *cells: TableCell) -> None:
        """Add a row, a cell for each heading."""
        assert len(cells) == len(self.headings), (self.headings, cells)
        self.rows.append(cells)

    def lines(self) -> Iterator[str]:
        """As a pipe gets it."""
        from rich.cells import cell_len

        if not self.rows:
            return
        used = [n for n, name in enumerate(self.headings) if name or any(r[n] for r in self.rows)]
        texts = [[plain(_words(row[n])) or UNKNOWN for n in used] for row in self.rows]
        if self.header:
            texts.insert(0, [plain(self.headings[n]) for n in used])
        widths = [max(cell_len(cells[place]) for cells in texts) for place in range(len(used))]
        for cells in texts:
            padded = []
            for place, cell in enumerate(cells):
                space = " " * (widths[place] - cell_len(cell))
                padded.append(space + cell if self.numeric[used[place]] else cell + space)
            yield (" " * GAP).join(padded).rstrip()
        if told := self._notes(self.headings):
            yield from told.lines()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[object]:
        if not self.rows:
            return
        widths, same = self._fitted(options.max_width), {}
        if widths is None and self.header:
            same = self._same()
            widths = self._fitted(options.max_width, frozenset(same))
        if widths is None:
            yield from self._stacked()
            return
        if same:
            shared = ", ".join(f"{self.headings[n]} {words}" for n, words in same.items())
            yield _text((f"all of them: {shared}", "dim"))
        yield self._side_by_side(widths)
        left_out = [name for n, name in enumerate(self.headings) if n not in widths | same]
        if left_out:
            names = ", ".join(f'"{name}"' if " " in name else name for name in left_out)
            columns = "column" if len(left_out) == 1 else "columns"
            yield _text((f"{columns} left out at this width: {names}", "dim"))
        if told := self._notes(name for n, name in enumerate(self.headings) if n in widths | same):
            yield told

    def _notes(self, shown: Iterable[str]) -> Paragraph | None:
        names = set(shown)
        told = "; ".join(text for name, text in self.notes if name in names)
        return Paragraph(told, "dim", GAP) if told else None

    def _same(self) -> dict[int, str]:
        """The columns that have one text in all of several rows, but not all columns."""
        columns = [{plain(_words(row[n])) for row in self.rows} for n in range(len(self.headings))]
        same = {n: texts.pop() for n, texts in enumerate(columns) if len(texts) == 1}
        return same if len(self.rows) > 1 and len(same) < len(columns) else {}

    def _fitted(self, width: int, without: frozenset[int] = frozenset()) -> dict[int, int] | None:
        """The widths of the shown columns, without `without`; None if even the required ones don't
        fit.
        """
        from rich.cells import cell_len

        natural, least = {}, {}
        for n, name in enumerate(self.headings):
            if n in without:
                continue
            texts = [plain(_words(row[n])) for row in self.rows] + [name] * self.header
            natural[n] = max(map(cell_len, texts))
            least[n] = natural[n]
            if name in self.prose:
                longest = max(cell_len(word) for text in texts for word in text.split() or [""])
                least[n] = min(natural[n], max(PROSE_WIDTH_MIN, min(longest, 3 * PROSE_WIDTH_MIN)))
        going = [n for name in self.spare for n in least if self.headings[n] == name]
        while _needed(least.values()) > width and going:
            del least[going.pop(0)]
        room = width - _needed(least.values())
        if room < 0:
            return None
        # The rest of the width goes to the prose, the narrowest column first as it needs the least
        # of it.
        wrapped = sorted((n for n in least if least[n] < natural[n]), key=lambda n: natural[n])
        for place, n in enumerate(wrapped):
            more = min(natural[n] - least[n], room // (len(wrapped) - place))
            least[n] += more
            room -= more
        return least

    def _side_by_side(self, widths: dict[int, int]) -> RenderableType:
        from rich.table import Table as RichTable

        made = RichTable(
            box=None,
            pad_edge=False,
            padding=(0, GAP, 0, 0),
            header_style="dim",
            show_header=self.header,
        )
        for n, width in widths.items():
            justify: JustifyMethod = "right" if self.numeric[n] else "left"
            heading = _text(plain(self.headings[n]))
            made.add_column(heading, justify=justify, width=width, overflow="fold")
        for row in self.rows:
            made.add_row(*(_text(_plain(row[n])) for n in widths))
        return made

    def _stacked(self) -> Iterator[object]:
        """One line per cell, row by row, for a terminal that is too narrow for a table."""
        for number, row in enumerate(self.rows):
            if number:
                yield _text("")
            for name, cell in zip(self.headings, row, strict=True):
                if _words(cell):
                    yield Paragraph(f"{name}: {_words(cell)}" if name else _words(cell))
        if told := self._notes(self.headings):
            yield told


def table(
    *headings: str, left: int = 1, prose: Iterable[str] = (), spare: Sequence[str] = ()
) -> Table:
    """An empty table; from column `left` on they hold numbers, unless they are prose."""
    texts = frozenset(prose)
    numeric = tuple(n >= left and name not in texts for n, name in enumerate(headings))
    return Table(headings, numeric, texts, tuple(spare))


def table_of(
    rows: Iterable[Mapping[str, TableCell]],
    *,
    left: int = 1,
    prose: Iterable[str] = (),
    spare: Sequence[str] = (),
) -> Table:
    """Return a table of rows by heading; a row without a heading has an empty cell there."""
    found = list(rows)
    made = table(*dict.fromkeys(chain.from_iterable(found)), left=left, prose=prose, spare=spare)
    for row in found:
        made.add(*(row.get(heading, "") for heading in made.headings))
    return made


def pairs(rows: Iterable[tuple[str, TableCell]]) -> Table:
    """Names and values, without a header."""
    made = Table(("", "value"), (False, False), frozenset({"value"}), (), header=False)
    for row in rows:
        made.add(*row)
    return made


def format_count(value: int | None) -> str:
    """Return a count with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def at_least(text: str, applies: bool = True) -> str:
    """Return a figure with a mark that it is a lower bound, if that `applies`."""
    return f"≥ {text}" if applies and text != UNKNOWN else text


def at_most(text: str, applies: bool = True) -> str:
    """Return a figure with a mark that it is an upper bound, if that `applies`."""
    return f"≤ {text}" if applies and text != UNKNOWN else text


def format_share(value: float | None) -> str:
    """Return a share as a whole percentage."""
    return UNKNOWN if value is None else f"{value:.0%}"


def shorten(name: str) -> str:
    """Return a name cut to the width of its column."""
    return shorten_to(name, NAME_WIDTH)


def shorten_to(name: str, width: int) -> str:
    """Return `name` cut to `width` characters, the last of them "…" if something is missing."""
    return name if len(name) <= width else name[: width - 1] + "…"


def plain(text: str) -> str:
    """`text` as one line without control characters for the terminal; it may be untrusted."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _plain(cell: TableCell) -> TableCell:
    return plain(cell) if isinstance(cell, str) else (plain(cell[0]), cell[1])


def _needed(widths: Iterable[int]) -> int:
    found = tuple(widths)
    return sum(found) + GAP * (len(found) - 1)


def _words(cell: TableCell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _text(cell: TableCell) -> Text:
    from rich.text import Text

    # Text: a unit such as [s] is no markup.
    return Text(cell) if isinstance(cell, str) else Text(*cell)
