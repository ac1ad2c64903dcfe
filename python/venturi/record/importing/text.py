"""Reads untrusted text within limits, as the basis for tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from venturi.core.errors import VenturiError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that isn't a trial: its line (from 1), the field and its text, and the reason.

    `code` is the error code of a damaged trial; empty for other rows.
    """

    line: int
    field: str
    value: str
    reason: str
    code: str = ""


class Origin(Protocol):
    """The file that is read, as far as its faults go."""

    def malformed(
        self,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> VenturiError:
        """The error of a file that cannot be read as a whole; to be raised by a reader."""


def lines(file: BinaryIO, origin: Origin, line_bytes: int) -> Iterator[tuple[int, str]]:
    """The lines of `file` with their ends and numbers (from 1), without a byte order mark.

    One that is longer than `line_bytes` or no UTF-8 makes the file malformed.
    """
    number = 0
    while raw := file.readline(line_bytes + 1):
        number += 1
        if len(raw) > line_bytes:
            raise origin.malformed(f"a line longer than {line_bytes} bytes", line=number)
        yield number, decoded(raw, origin, number)


def decoded(raw: bytes, origin: Origin, line: int) -> str:
    """`raw` as text without a byte order mark; the file is malformed if it is no UTF-8."""
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise origin.malformed("not UTF-8 text; save it as UTF-8", line=line) from error
