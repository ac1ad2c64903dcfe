"""Tables: a row is a line into a pipe; a terminal is never too narrow."""

from __future__ import annotations

import io
import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from venturi.terminal.table import UNKNOWN, Paragraph, Table, pairs, table

words = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=8).map(" ".join)


def on_terminal(part: Table | Paragraph, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, force_terminal=True, color_system=None).print(part)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def of_trials(*rows: tuple[str, str, str]) -> Table:
    made = table("id", "why", "time", left=2, prose=("why",), spare=("time",))
    for row in rows:
        made.add(*row)
    return made


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_into_a_pipe_a_row_is_a_line_whose_cells_can_be_told_apart(
    rows: list[tuple[str, str, str]],
) -> None:
    header, *lines = of_trials(*rows).lines()
    assert re.split(" {2,}", header.strip()) == ["id", "why", "time"]
    assert [tuple(re.split(" {2,}", line.strip())) for line in lines] == rows


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=3), st.integers(30, 120))
@example([("a", "aaaaaaa a aa", "a"), ("a a a a a ab aaaa", "aaaaaaa a aa", "a")], 30)
def test_a_terminal_is_never_too_narrow_and_no_short_word_is_broken(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    shown = on_terminal(of_trials(*rows), width)
    assert max(map(len, shown)) <= width
    for row in rows:
        for word in " ".join(row[:2]).split():
            # A comma follows a column that is said once for all rows.
            assert any(word in line.replace(",", " ").split() for line in shown)


def test_spare_columns_give_way_and_are_named() -> None:
    made = of_trials(("01M8134YNH186QJBX12JXEYA3D", "slow", "1.0 s"))
    assert on_terminal(made, 80)[0].split() == ["id", "why", "time"]
    narrow = on_terminal(made, 34)
    assert narrow[0].split() == ["id", "why"]
    assert " ".join(narrow).endswith("column left out at this width: time")


def test_a_table_that_has_no_room_is_written_row_by_row() -> None:
    made = of_trials(("01M8134YNH186QJBX12JXEYA3D", "slow", "1.0 s"))
    assert on_terminal(made, 30)[0] == "id: 01M8134YNH186QJBX12JXEYA3D"


def test_no_cell_is_empty_in_a_pipe_and_nothing_commands_a_terminal() -> None:
    made = of_trials(("a", "", "\x1b[2Jb\nc"))
    assert list(made.lines())[1].split() == ["a", UNKNOWN, "[2Jb", "c"]
    assert "\x1b" not in "".join(on_terminal(Paragraph("\x1b[2J"), 80))
    for width in (80, 12):  # side by side, and row by row
        assert "\x1b" not in "".join(on_terminal(made, width))
    headed = table("a\x1b[31m", "b")
    headed.add("x\x1b]0;title\x07", "y")
    assert "\x1b" not in "".join([*headed.lines(), *on_terminal(headed, 80)])


def test_pairs_without_names_have_one_column() -> None:
    assert list(pairs([("", "a sentence")]).lines()) == ["a sentence"]
    assert list(pairs([]).lines()) == []
