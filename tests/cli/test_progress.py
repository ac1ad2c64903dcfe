"""Progress: bars on a terminal while something is under way; elsewhere a line at times."""

from __future__ import annotations

import io
import re
import sys

import pytest

from venturi.cli import progress
from venturi.measure.hosts.agent import AgentProgress


def test_a_long_phase_is_a_line_at_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter((0.0, 3.0, 11.0, 11.0, 12.0, 30.0, 30.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with progress.progress_bars() as show:
        assert show is not None
        for done in (1, 2, 3, 4):
            show(AgentProgress("sort", done * 10**9, 10**10, "bytes", float(done)))
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in lines] == [
        "sort: 2.0 GB of 10.0 GB, 1,000 MB/s",
        "sort: 4.0 GB of 10.0 GB, 1,000 MB/s",
    ]


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    def shown_after(self, text: str) -> str:
        """Print `text` above the bars; return the output below it."""
        progress.step(text)
        return self.getvalue().rpartition(text)[2]


def test_a_bar_goes_when_what_it_shows_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.progress_bars() as show:
        assert show is not None
        show(AgentProgress("merging", 5 * 10**9, 10**10, "bytes", 1.0))
        assert "merging" in terminal.shown_after("half way")
        show(None)
        assert "merging" not in terminal.shown_after("the next thing")


def test_nothing_is_said_where_nobody_asks() -> None:
    with progress.progress_bars(enabled=False) as show:
        assert show is None
