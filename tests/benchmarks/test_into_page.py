"""Tables of benchmarks in pages of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.into_page import write_table

HEAD = ("| program | took |", "|---|--:|")


def test_rows_that_are_measured_anew_are_replaced_and_the_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- times -->\n<!-- end of times -->\nafter\n")
    write_table(page, "times", HEAD, ["| a | 1 s |", "| a | 2 s |", "| b | 3 s |"])
    write_table(page, "times", HEAD, ["| a | 4 s |"])
    assert page.read_text() == (
        "before\n<!-- times -->\n| program | took |\n|---|--:|\n| a | 4 s |\n| b | 3 s |\n"
        "<!-- end of times -->\nafter\n"
    )
    with pytest.raises(ValueError, match="no place for speeds"):
        write_table(page, "speeds", HEAD, [])
