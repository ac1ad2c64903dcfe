"""Parses untrusted JSON within limits, without constructs that two parsers read differently.

A text without any JSON is malformed as a whole. Values that JSON can write but a trial cannot hold
(NaN, infinity, a duplicate key, invalid characters, endless nesting) make only their own record
unusable.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeGuard

from venturi.core.wording import count_of
from venturi.record.importing.text import Origin, Refusal
from venturi.record.importing.text import lines as text_lines


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Limits of the resources that a file of JSON may use."""

    file_bytes: int = 64 << 20
    line_bytes: int = 1 << 20
    records: int = 200_000
    depth: int = 8
    entries: int = 2_000  # of one object or array
    text_characters: int = 8 << 10


LIMITS = JsonLimits()
_HUGE = 1e300
_WORD_CHARACTERS = 6  # of a cut `false`, with its colon
_DAMAGED_MOST = 100  # objects of one file: each is searched for where the next one begins
# An object right after another, perhaps in a list; else the next line that begins with one.
_BEGIN = re.compile(r"[\s,\[]*+\{")
_BEGIN_OF_LINE = re.compile(r"^\{", re.MULTILINE)
_BETWEEN = re.compile(r"[\s,]*")  # two values of a list
_NOT_FINITE = re.compile(r"(:\s*+)[-+]?(?:nan|inf)\b")  # as C prints them, which is no JSON
_PUNCTUATION = " \t\r\n,[]"
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


class UnusableError(ValueError):
    """A record that cannot become part of a trial: the field, its text, and why."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(reason)
        self.field, self.value, self.reason = shown(field), shown(value), reason

    def refusal(self, line: int) -> Refusal:
        """The refusal of the record in `line`."""
        return Refusal(line, self.field, self.value, self.reason)


def shown(value: object) -> str:
    """At most 100 characters of `value`, for a refusal; half surrogate pairs are escaped."""
    if isinstance(value, dict | list):  # perhaps too deep to be printed
        return "{...}" if isinstance(value, dict) else "[...]"
    text = value if isinstance(value, str) else repr(value)
    return text[:100].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def lines(
    file: BinaryIO, origin: Origin, limits: JsonLimits = LIMITS, *, ended: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of `file` with their numbers (from 1).

    VEN-IMPORT-FORMAT if one is too long or not UTF-8, if the file is empty or too large, or if the
    last line must have `ended` with a line end and doesn't.
    """
    found = 0
    for number, raw in text_lines(file, origin, limits.line_bytes):
        if file.tell() > limits.file_bytes:
            raise origin.malformed(f"more than {limits.file_bytes} bytes", line=number)
        if ended and not raw.endswith("\n"):
            why = "no line end after the last line: the file may be truncated"
            raise origin.malformed(why, line=number)
        if line := raw.strip():
            found += 1
            if found > limits.records:
                raise origin.malformed(f"more than {limits.records} records", line=number)
            yield number, line
    if not found:
        raise origin.malformed("the file is empty")


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One JSON object of a file: the line on which it begins, its text, and its value.

    A damaged or truncated object has a `problem` instead of a value. `after` is the text up to the
    next object that isn't JSON.
    """

    line: int
    text: str
    value: dict[str, Any]
    problem: str = ""
    after: str = ""


Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]
"""Makes an object of its keys and values."""


def documents(
    file: BinaryIO, origin: Origin, limits: JsonLimits = LIMITS, pairs: Pairs | None = None
) -> Iterator[JsonDocument]:
    """Yield the JSON objects of a file that a tool wrote, one after another or in one list.

    Other text before, between and after them is ignored: tools print warnings there. An object that
    isn't the first one begins at the start of a line or right after the one before. `pairs` makes
    each object of its keys and values.
    VEN-IMPORT-FORMAT if the file has no object, or more than `limits` allow.
    """
    data = file.read(limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise origin.malformed(f"more than {limits.file_bytes} bytes")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    found, damaged, line, counted = 0, 0, 1, 0
    for at, end, value, problem, after in _with_text_after(text, _objects(text, pairs)):
        found += 1
        damaged += bool(problem)
        line += text.count("\n", counted, at)
        counted = at
        if found > limits.records or damaged > _DAMAGED_MOST:
            raise origin.malformed("too many objects, or too many damaged ones", line=line)
        yield JsonDocument(line, text[at:end], value, problem, after)
    if not found:
        raise origin.malformed("the file contains no JSON object")


_Object = tuple[int, int, dict[str, Any], str]
"""Begin, end, value and problem of an object in a text."""


def _with_text_after(
    text: str, objects: Iterator[_Object]
) -> Iterator[tuple[int, int, dict[str, Any], str, str]]:
    """Add to each object the text before the next one, without punctuation of lists."""
    before = next(objects, None)
    while before is not None:
        following = next(objects, None)
        until = len(text) if following is None else following[0]
        yield *before, text[before[1] : until].strip(_PUNCTUATION)
        before = following


def _objects(text: str, pairs: Pairs | None) -> Iterator[_Object]:
    """Yield the objects in `text`."""
    position, decoder = 0, json.JSONDecoder(object_pairs_hook=pairs)
    while begin := _BEGIN.match(text, position) or _BEGIN_OF_LINE.search(text, position):
        at = begin.end() - 1
        try:
            value, position = decoder.raw_decode(text, at)
        except ValueError as error:
            after = _BEGIN_OF_LINE.search(text, at + 1)
            position = after.end() - 1 if after else len(text)
            try:
                repaired = _NOT_FINITE.sub(r"\1null", text[at:position])
                value, _ = decoder.raw_decode(repaired)
            except (ValueError, RecursionError):
                yield at, position, {}, _why_unreadable(error, text[at:position], at)
                continue
        except RecursionError:
            yield at, len(text), {}, "nested too deeply"
            return
        yield at, position, value, ""


def _why_unreadable(error: ValueError, text: str, start: int) -> str:
    """Whether an object, which begins at `start`, is cut off or damaged in its middle."""
    if _is_cut(error, text, start):
        lines = text.count("\n") + 1
        return f"the JSON is cut off after {count_of(lines, 'line')}"
    return f"not JSON: {error}"


def _is_cut(error: ValueError, text: str, start: int = 0) -> bool:
    """Whether the end of an object, which begins at `start`, is missing."""
    at = error.pos - start if isinstance(error, json.JSONDecodeError) else 0
    return "Unterminated" in str(error) or len(text[at:].strip()) < _WORD_CHARACTERS


def parsed_lines(
    file: BinaryIO, origin: Origin, limits: JsonLimits = LIMITS
) -> Iterator[tuple[int, Any]]:
    """Yield the values of lines of JSON with their numbers (from 1).

    A line that is damaged or truncated is a refusal. VEN-IMPORT-FORMAT if all lines are.
    """
    sound, first = False, None
    for number, text in lines(file, origin, limits):
        try:
            value = parse(text)
        except UnusableError as error:
            value, sound = error.refusal(number), True
        except ValueError as error:
            first = first or (number, error)
            cut = text.startswith("{") and _is_cut(error, text)
            reason = "the line is cut off" if cut else f"not JSON: {error}"
            value = Refusal(number, "", shown(text), reason)
        else:
            sound = True
        yield number, value
    if not sound and first is not None:
        raise origin.malformed(f"not JSON: {first[1]}", line=first[0]) from first[1]


def parse(text: str) -> Any:
    """Parse `text`. Raises ValueError if it isn't JSON, UnusableError for a duplicate key.

    NaN and infinities pass, so that `check` can name their field.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError as error:
        raise UnusableError("", text, "nested too deeply") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise UnusableError(twice, twice, "the key occurs twice")
    return found


def check(value: object, limits: JsonLimits = LIMITS, *, field: str = "", depth: int = 0) -> None:
    """Raise UnusableError if `value` or a part of it is beyond `limits` or can't be stored."""
    if isinstance(value, str):
        _check_text(value, field, limits)
    elif isinstance(value, float | int) and not isinstance(value, bool):
        if not is_finite(value):
            raise UnusableError(field, value, "not a number that can be stored")
    elif isinstance(value, dict | list):
        if depth >= limits.depth:
            raise UnusableError(field, value, f"nested deeper than {limits.depth}")
        if len(value) > limits.entries:
            raise UnusableError(field, len(value), f"more than {limits.entries} entries")
        if isinstance(value, dict):
            for key, each in value.items():
                _check_text(key, field, limits)
                check(each, limits, field=f"{field}.{key}" if field else key, depth=depth + 1)
        else:
            for place, each in enumerate(value):
                check(each, limits, field=f"{field}[{place}]", depth=depth + 1)


def _check_text(text: str, field: str, limits: JsonLimits) -> None:
    if len(text) > limits.text_characters:
        reason = f"a text longer than {limits.text_characters} characters"
        raise UnusableError(field, text, reason)
    if _NO_CHARACTER.search(text):
        raise UnusableError(field, text, "an invalid character: NUL or half a surrogate pair")


def is_finite(value: int | float) -> bool:
    """Whether all databases can store the number `value`: it isn't NaN, nor beyond 64 bits."""
    return abs(value) < 1 << 63 if isinstance(value, int) else abs(value) < _HUGE


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a finite number that all databases can store; a truth value isn't."""
    return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)


def number_in(fields: Mapping[str, Any], key: str) -> int | float | None:
    """The number under `key`; None if it is absent or not a number."""
    value = fields.get(key)
    return value if is_number(value) else None


def object_in(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under `key`; an empty one if it is absent or not an object."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def objects_in(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the list under `key`, without its other values; empty if it isn't a list."""
    value = fields.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def before_the_cut(
    text: str, start: int, listed: re.Match[str]
) -> tuple[dict[str, Any], list[Any]]:
    """The fields of a truncated object before one of its lists, and that list's whole values.

    The object begins at `start`; `listed` matches the list's key and its opening bracket. Both are
    empty if no value is whole, or if the fields can't be read.
    """
    decoder, values, at = json.JSONDecoder(), [], listed.end()
    try:
        head = decoder.decode(text[start : listed.start()].rstrip().rstrip(",") + "}")
        while gap := _BETWEEN.match(text, at):
            value, at = decoder.raw_decode(text, gap.end())
            values.append(value)
    except (ValueError, RecursionError):
        pass
    return (head, values) if values and isinstance(head, dict) else ({}, [])


def number(record: dict[str, Any], key: str) -> float:
    """The finite number under `key`; UnusableError if it is absent or none (a text, a truth)."""
    if key not in record:
        raise UnusableError(key, "", "absent")
    value = record[key]
    if not is_number(value):
        raise UnusableError(key, value, "not a number")
    return float(value)


def text(record: dict[str, Any], key: str) -> str:
    """The text under `key`, which must not be empty; UnusableError otherwise."""
    if key not in record:
        raise UnusableError(key, "", "absent")
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise UnusableError(key, value, "not a text, or an empty one")
    return value.strip()
