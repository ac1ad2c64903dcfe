"""The server's log, limited to a few lines per second: clients could cause any number."""

from __future__ import annotations

import logging
import time
from typing import TextIO

_LINE_CHARACTERS_MAX = 16_000


class SeldomHandler(logging.Handler):
    """Writes up to `lines_max` different lines per second, and counts the others."""

    def __init__(self, stream: TextIO, lines_max: int) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        self._stream, self._lines_max = stream, lines_max
        self._since_s = time.monotonic()
        self._again: dict[str, int] = {}
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Writes `record` or counts it."""
        self._turn()
        text = self.format(record)[:_LINE_CHARACTERS_MAX]
        if text in self._again:
            self._again[text] += 1
        elif len(self._again) < self._lines_max:
            self._again[text] = 0
            self._write(text)
        else:
            self._left_out += 1

    def turn(self) -> None:
        """Log the counts, if their second is over."""
        with self.lock:  # type: ignore[union-attr]
            self._turn()

    def close(self) -> None:
        """Log the counts."""
        self._since_s = float("-inf")
        self.turn()
        super().close()

    def _turn(self) -> None:
        now_s = time.monotonic()
        if now_s - self._since_s < 1:
            return
        for text, count in self._again.items():
            if count:
                self._write(f"{text.splitlines()[-1]} ({count:,} more of this)")
        if self._left_out:
            self._write(f"WARNING: {self._left_out:,} more lines are left out")
        self._since_s, self._left_out = now_s, 0
        self._again.clear()

    def _write(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()
