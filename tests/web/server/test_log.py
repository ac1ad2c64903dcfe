"""The server's log has few lines a second, whatever clients do."""

from __future__ import annotations

import io
import logging
import time

import pytest

from venturi.web.api.log import SeldomHandler


def test_of_a_second_only_so_many_lines_are_written_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    told = io.StringIO()
    handler = SeldomHandler(told, lines_max=3)

    def log(*texts: str) -> list[str]:
        told.seek(0)
        told.truncate()
        for text in texts:
            handler.handle(logging.LogRecord("x", logging.WARNING, "", 0, text, None, None))
        return told.getvalue().splitlines()

    lines = [f"WARNING: line {number}" for number in range(3)]
    assert log(*(f"line {number}" for number in range(1_000))) == lines
    assert log(*["line 0"] * 50) == []
    now_s += 1.5
    assert log("line 5") == [
        "WARNING: line 0 (50 more of this)",
        "WARNING: 997 more lines are left out",
        "WARNING: line 5",
    ]
    (long,) = log("x" * 100_000)
    assert len(long) == 16_000
    handler.close()
