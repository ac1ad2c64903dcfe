"""Wording that all messages share: counted things, and suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

NAMES_SHOWN = 10


def count_of(count: int, noun: str, plural: str = "") -> str:
    """`1 trial`, `40,000 trials`; `plural` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def near(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Those of `known` that `name` may have meant, shortened or misspelt."""
    import difflib  # noqa: PLC0415 - only after a mistake

    by_lower = {each.lower(): each for each in known}
    lower = name.lower()
    alike = difflib.get_close_matches(lower, by_lower, most, 0.6)
    longer = sorted(each for each in by_lower if len(lower) > 1 and each.startswith(lower))
    return [by_lower[each] for each in dict.fromkeys((*longer, *alike))][:most]


def did_you_mean(name: str, known: Iterable[str], has: str = "there are") -> str:
    """A hint: the names that are similar to `name`, else the first of the `known` ones."""
    names = list(known)
    if close := near(name, names):
        return f"did you mean {' or '.join(close)}?"
    if not names:
        return f"{has}: none"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{has}: {', '.join(names[:NAMES_SHOWN])}{more}"


def joined(texts: Iterable[str]) -> str:
    """`a, b and c`; nothing of nothing."""
    *first, last = tuple(texts) or ("",)
    return f"{', '.join(first)} and {last}" if first else last


def percent(share: float) -> str:
    """A share for people: `12 %`, `3.4 %`."""
    value = 100 * abs(share)
    return f"{value:.1f} %" if value < 9.95 else f"{value:,.0f} %"
