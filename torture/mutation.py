"""Data changed a little: bytes at random places, JSON where its values and keys are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = (
    b"0",
    b"-1",
    b"-0",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"NaN",
    b"Infinity",
    b"9007199254740993",
    b"2147483648",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1" * 400,
    b"1" * 5000,
    b"0x10",
    b"1_000",
    b"0.1e",
    b"00012",
)
BYTES = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\x1b[2J",
    b"\r\n",
    b"\n",
    b"'",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"../",
    b"%s",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b";",
    b"\t",
    "\u202e\u2066".encode(),
    b"<script>",
    b"A" * 1000,
    b"[" * 300,
    b'{"a":' * 300,
)
TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "\U0010ffff",
    "\n",
    "..",
    "../../etc",
    "-",
    "=",
    "latest",
    "null",
    "NaN",
    "'; DROP TABLE trials; --",
    "<script>alert(1)</script>",
    "x" * 70,
    "x" * 5_000,
    "x" * 1_100_000,
    "\u00e9" * 300,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00",
    "1970-01-01T00:00:00Z",
    "2026-01-02T03:04:05.678901Z",
    "succeeded",
    "failed",
    "planned",
)
_RAW = "\ue000"
"""The prefix of a text that is inserted into JSON literally, without quotes."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**30,
    -(10**400),
    0.5,
    -0.5,
    1e308,
    -1e308,
    5e-324,
    [],
    {},
    [None],
    {"": None},
    [[]],
    [0] * 3_000,
    *(_RAW + number.decode() for number in NUMBERS),
    _RAW + '"\\ud800"',
    _RAW + '"\\ud83d\\u0000"',
    _RAW + "[" * 250 + "]" * 250,
    _RAW + "[" * 20_000,
    _RAW + '{"a":' * 200 + "1" + "}" * 200,
    *TEXTS,
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def changed_bytes(chance: Random, data: bytes) -> bytes:
    """`data` with one to four changes anywhere."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = _changed_once(chance, data)
    return data


def _changed_once(chance: Random, data: bytes) -> bytes:
    kind, at = chance.randrange(8), chance.randrange(len(data) + 1)
    size = chance.choice((1, 1, 2, 4, 16, 100))
    if kind == 0 and at < len(data):
        return data[:at] + bytes((data[at] ^ (1 << chance.randrange(8)),)) + data[at + 1 :]
    if kind == 1:
        return data[:at] + chance.choice(BYTES) + data[at + chance.choice((0, size)) :]
    if kind == 2:
        return data[:at] + data[at + size :]
    if kind == 3:
        again = data[at : at + size] * chance.choice((2, 3, 50))
        return data[:at] + again + data[at + size :]
    if kind == 4:
        return data[:at]
    if kind == 5:
        other = chance.randrange(len(data) + 1)
        return data[:at] + data[other : other + size] + data[at:]
    if kind == 6 and (found := _NUMBER.search(data, at)):
        return data[: found.start()] + chance.choice(NUMBERS) + data[found.end() :]
    return data[:at] + chance.randbytes(size) + data[at + size :]


def changed_json(chance: Random, value: Any) -> bytes:
    """`value`, an object, as JSON, with one to three changes of its values and keys."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        value = _changed_at_some_place(chance, value)
    text = json.dumps(value)
    if "\\ue000" in text:
        text = re.sub(
            r'"\\ue000((?:[^"\\]|\\.)*)"', lambda found: json.loads(f'"{found[1]}"'), text
        )
    if chance.random() < 0.03 and text.startswith("{") and len(text) > 2:
        text = "{" + json.dumps(chance.choice(list(value))) + ":1," + text[1:]  # a key twice
    return text.encode("utf-8", "surrogatepass")


def _changed_at_some_place(chance: Random, value: Any) -> Any:
    """Return a copy of `value` with one change; unchanged parts are shared."""
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        kind = chance.randrange(12) if _deeper(value[key]) else chance.randrange(4)
        if kind == 0:
            return {each: value[each] for each in value if each != key}
        if kind == 1:
            return {chance.choice(TEXTS) if each == key else each: value[each] for each in value}
        if kind == 2:
            return {**value, chance.choice(TEXTS): value[key]}
        made = _some_value(chance) if kind == 3 else _changed_at_some_place(chance, value[key])
        return {**value, key: made}
    if isinstance(value, list) and value:
        at, kind = chance.randrange(len(value)), chance.randrange(8)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            times = chance.choice((2, 3, 300))
            # Repeat long values rarely: a million letters 300 times take all memory.
            again = [value[at]] * (2 if len(str(value[at])) > 10_000 else times)
            return value[:at] + again + value[at:]
        made = _some_value(chance) if kind == 2 else _changed_at_some_place(chance, value[at])
        return [*value[:at], made, *value[at + 1 :]]
    return _some_value(chance)


def _deeper(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _some_value(chance: Random) -> Any:
    value = chance.choice(VALUES)
    # Long values take long to make and to read, so they are rare.
    if isinstance(value, str | list) and len(value) > 1_000 and chance.random() > 0.02:
        return chance.choice(VALUES[:10])
    return value


def changed_lines(chance: Random, lines: Sequence[bytes], most: int) -> bytes:
    """Some of `lines`, the first and at most `most` others, with one change of one or of their
    order.
    """
    most = chance.randrange(1, min(len(lines), most) + 1)
    first = chance.randrange(1, len(lines)) if len(lines) > 1 else 1
    some = [lines[0], *lines[first : first + most]]
    at = chance.randrange(len(some))
    kind = chance.randrange(6)
    if kind == 0:
        some = [*some[:at], some[at], *some[at:]]
    elif kind == 1:
        some[at], some[-1] = some[-1], some[at]
    elif kind == 2 and some[at].startswith(b"{"):
        some[at] = changed_json(chance, json.loads(some[at]))
    else:
        some[at] = changed_bytes(chance, some[at])
    return b"\n".join(some) + b"\n" * chance.choice((1, 1, 1, 0, 2))
