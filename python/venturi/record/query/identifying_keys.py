"""Settings that only identify a trial, such as a path with a process ID.

No two trials match in such a setting. Unique values alone don't show it: each value of a factor may
have been measured once. So the values must also look like identifiers:

- texts that are equal except for UUIDs, digests, times, random names or arbitrary numbers;
- times of day with a date, as text, or in seconds (or ms, us, ns) since 1970 under a key of time;
- whole numbers under a key of processes or runs, such as `pid`.

A number in a text is arbitrary if it has three digits or more and isn't round, neither in decimal
(`1500`) nor in binary (`1536`). So `/data/1000`, `/data/5000` is a factor, `/tmp/run-4711` isn't.
Keys of revisions and versions are never identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice

from venturi.core.wording import NAMES_SHOWN
from venturi.record.store.tables import number_of
from venturi.record.trial import Scalar

_SAME_MOST = 0.02  # share of trials with the value of another one: process IDs return
_LOOKED_AT = 1_000
_PROCESSES = re.compile(
    r"(?:.*[\W_])?(?:p?pid|process|(?:process|job|run|task|session|request|trace|trial|attempt)"
    r"[\W_]?id)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r".*(?:time|date|stamp|start|started|begin|began|end|ended|created|when|epoch).*", re.IGNORECASE
)
_REVISIONS = re.compile(
    r"(?:.*[\W_])?(?:commit|sha|revision|rev|version|branch|checksum)(?:[\W_].*)?", re.IGNORECASE
)
_TIME = r"\d{4}-\d\d-\d\d[T_ ]?\d\d[:.-]?\d\d(?:[:.-]?\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_DAY = r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}"
_PARTS = re.compile(
    r"(?P<sure>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rf"|{_TIME}|(?:{_DAY})[T ]\d\d?:\d\d(?::\d\d)?"
    r"|(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,128}(?![0-9a-z])"
    r"|(?<=tmp)[a-z0-9_]{8}(?![a-z0-9_])|(?<=tmp\.)[a-z0-9]{6,12}(?![a-z0-9]))"
    r"|(?P<number>\d{3,})",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"[0-9a-f]{12,128}", re.IGNORECASE)
_DATE = re.compile(_DAY)
_EPOCHS_S = (1e9, 4e9)  # from 2001 to 2096
_SCALES = (1.0, 1e3, 1e6, 1e9)


def may_identify(key: str, value: Scalar) -> bool:
    """Whether a value under `key` could be an identifier: a quick look before `identifies`."""
    if isinstance(value, bool) or value is None or _REVISIONS.fullmatch(key):
        return False
    value = _number_or_text(value)
    if isinstance(value, str):
        return bool(_PARTS.search(value) or _DIGEST.fullmatch(value) or _DATE.fullmatch(value))
    return bool(_PROCESSES.fullmatch(key)) or _is_time(key, value)


def identifies(key: str, values: Collection[Scalar], trials: int) -> bool:
    """Whether the different `values` that `trials` trials have under `key` identify them."""
    if len(values) < 2 or len(values) < (1 - _SAME_MOST) * trials:
        return False
    some = list(islice(values, 0, None, max(1, len(values) // _LOOKED_AT)))
    if not all(may_identify(key, value) for value in some):
        return False
    read = [_number_or_text(value) for value in some]
    if any(isinstance(value, str) for value in read):
        return _are_identifiers([str(value) for value in some])
    return all(float(value).is_integer() or _is_time(key, value) for value in read)


def note_of(keys: Iterable[str]) -> str:
    """The line that says which keys are ignored."""
    names = sorted(keys)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"ignores {', '.join(names[:NAMES_SHOWN])}{more}: unique per trial"


def _number_or_text(value: Scalar) -> float | str:
    """The number that a value is or states, else its text."""
    if isinstance(value, int | float):
        return value
    found = number_of(value) if isinstance(value, str) else None
    return str(value) if found is None else found


def _are_identifiers(texts: Collection[str]) -> bool:
    if all(map(_DATE.fullmatch, texts)) or all(map(_DIGEST.fullmatch, texts)):
        return True
    forms = {_PARTS.sub("#", text) for text in texts}
    if 2 * len(forms) > len(texts):
        return False  # they differ in more than identifiers
    found = [match for text in texts for match in _PARTS.finditer(text)]
    if any(match["sure"] for match in found):
        return True
    # A number and its unit is an amount.
    if any(re.fullmatch(r"#\W*\w{0,8}", form) for form in forms):
        return False
    numbers = {match["number"] for match in found}
    return 2 * sum(map(_is_round, numbers)) < len(numbers)


def _is_round(digits: str) -> bool:
    """Whether a number has at most two digits before its zeros, or is small times a power of two.

    A number with leading zeros is a counter, and not round.
    """
    if digits.startswith("0") and len(digits) > 3:
        return False
    number = int(digits)
    return len(str(number).rstrip("0")) <= 2 or number // (number & -number or 1) < 16


def _is_time(key: str, value: float | str) -> bool:
    """Whether a number is a time since 1970 under a key of time."""
    if isinstance(value, str) or not _TIMES.fullmatch(key):
        return False
    return any(_EPOCHS_S[0] <= value / scale < _EPOCHS_S[1] for scale in _SCALES)
