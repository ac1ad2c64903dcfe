"""Names by pattern, `node[01-16]` is node01 to node16; and names in a sentence."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

MOST_NAMES = 10_000
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?\Z")


def expand(pattern: str) -> tuple[str, ...]:
    """Return the names that match `pattern`, in its order: `r[1-2]n[01-03,7]` is r1n01, r1n02, ...

    Numbers have as many digits as the first of their range. ValueError: it isn't a pattern.
    """
    pieces = _RANGES.split(pattern)  # a text, the content of brackets, a text, ...
    if any(bracket in piece for piece in pieces[::2] for bracket in "[]"):
        raise ValueError(f"{pattern[:80]!r} has an unmatched bracket")
    choices = [
        [piece] if place % 2 == 0 else _numbers(piece, pattern)
        for place, piece in enumerate(pieces)
    ]
    count = 1
    for each in choices:
        count *= len(each)
        if count > MOST_NAMES:
            raise _too_many(pattern)
    return tuple("".join(chosen) for chosen in itertools.product(*choices))


def _numbers(ranges: str, pattern: str) -> list[str]:
    return [number for each in ranges.split(",") for number in _range(each, pattern)]


def _range(text: str, pattern: str) -> Iterator[str]:
    match = _RANGE.match(text)
    if match is None:
        raise ValueError(
            f"{pattern[:80]!r}: [{text[:40]}] is not a range of numbers, such as [01-16] or [1,3-5]"
        )
    first, last = match[1], match[2] or match[1]
    if int(last) < int(first):
        raise ValueError(f"{pattern[:80]!r}: [{text[:40]}] ends before it begins")
    if int(last) - int(first) >= MOST_NAMES:
        raise _too_many(pattern)
    for number in range(int(first), int(last) + 1):
        yield f"{number:0{len(first)}d}"


def _too_many(pattern: str) -> ValueError:
    return ValueError(f"{pattern[:80]!r} stands for more than {MOST_NAMES:,} names")


def names_of(hosts: Sequence[str], most: int = 5) -> str:
    """Some hosts by name: `h1, h2 and 3 more`."""
    if len(hosts) <= most:
        return ", ".join(hosts)
    return f"{', '.join(hosts[: most - 1])} and {len(hosts) - most + 1} more"
