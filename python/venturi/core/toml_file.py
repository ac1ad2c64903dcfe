"""TOML files that people write: parsed strictly, with all mistakes in one report, by line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from venturi.core import units
from venturi.core.errors import UsageError, VenturiError
from venturi.core.wording import did_you_mean

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
KeyPath = tuple[str | int, ...]


class Strict(BaseModel):
    """A table of a file: a key that it does not have is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Strict)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a file."""

    line: int
    message: str


def _quantity(parse: Callable[[str], float], like: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"write it as text with its unit, such as {like}")
        try:
            return parse(str(value))  # the parser also asks for the unit of a number like 30
        except VenturiError as error:
            raise ValueError(f"{error.message}: {error.hint}") from error

    return read


def _bytes(value: Any) -> Any:
    """A size as text; a number is one of bytes already."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else _quantity(units.parse_bytes, '"4GiB"')(value)


def _above_nothing(bytes_per_s: float) -> float:
    if not bytes_per_s > 0:
        raise ValueError("a rate of 0 is not allowed; leave it out if it is unknown")
    return bytes_per_s


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("it contains a NUL character")
    return text


Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Seconds = Annotated[
    float,
    BeforeValidator(_quantity(units.parse_duration_s, '"90s"')),
    Field(gt=0, allow_inf_nan=False),
]
BytesPerS = Annotated[
    float,
    BeforeValidator(_quantity(units.parse_rate, '"10Gbit/s"')),
    AfterValidator(_above_nothing),
]
Count = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(min_length=1, strict=True), AfterValidator(_without_nul)]


class KeyLines:
    """The line of every key of a TOML text (tomllib does not say)."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._arrays: dict[KeyPath, int] = {}
        """The place of the last table of each array of tables."""
        table: KeyPath = ()
        for number, line in enumerate(text.splitlines(), start=1):
            if header := _HEADER.match(line):
                parts = _parts(header[2])
                table = (*self._placed(parts[:-1]), parts[-1]) if parts else ()
                if header[1] == "[[":
                    self._arrays[table] = self._arrays.get(table, -1) + 1
                    self._note(table, number)
                table = self._placed(parts)
                self._note(table, number)
            elif key := _KEY.match(line):
                self._note((*table, *_parts(key[1])), number)

    def of(self, path: Sequence[str | int]) -> int:
        """The line of `path`, or of the nearest key above it; 1 without any."""
        for length in range(len(path), 0, -1):
            line = self._lines.get(tuple(path[:length]))
            if line is not None:
                return line
        return 1

    def sorted(self, mistakes: Iterable[tuple[KeyPath, str]]) -> tuple[Mistake, ...]:
        """Mistakes by key as mistakes by line, in order, none twice."""
        found = dict.fromkeys(Mistake(self.of(at), said) for at, said in mistakes)
        return tuple(sorted(found, key=lambda each: each.line))

    def _placed(self, parts: KeyPath) -> KeyPath:
        """`parts`, with the place of the last table behind each name of an array of tables."""
        path: KeyPath = ()
        for part in parts:
            path = (*path, part)
            if path in self._arrays:
                path = (*path, self._arrays[path])
        return path

    def _note(self, path: KeyPath, line: int) -> None:
        self._lines.setdefault(path, line)


def parse(
    model: type[Model], text: str, what: str, parts: Mapping[str, str] | None = None
) -> tuple[Model | None, KeyLines, tuple[Mistake, ...]]:
    """Parse `text` as `model`; return it with the lines of its keys, or with every mistake.

    `what` is the user's word for it (`a plan`), `parts` has those for the tables of some keys:
    `hosts`, `a host`.
    """
    lines = KeyLines(text)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        return None, lines, (Mistake(line, str(error)[:500]),)
    try:
        return model.model_validate(table), lines, ()
    except ValidationError as error:
        told = (each for each in error.errors() if not _follows(each))
        mistakes = ((each["loc"], _sentence(each, model, what, parts or {})) for each in told)
        return None, lines, lines.sorted(mistakes)


def refused(
    code: str, what: str, file: Path, mistakes: Sequence[Mistake], hint: str
) -> VenturiError:
    """The error of a file, `what` (`the plan`), that has `mistakes`."""
    where: dict[str, object] = {"file": str(file)}
    for each in mistakes:
        key = f"line {each.line}"
        where[key] = f"{where[key]}; {each.message}" if key in where else each.message
    count = "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    return UsageError(code, f"{what} has {count}", where=where, hint=hint)


def _follows(error: Any) -> bool:
    """Whether a list is too short only because its items have mistakes, which are reported."""
    if error["type"] != "too_short":
        return False
    return len(error["input"]) > int(error["ctx"]["actual_length"])


def _sentence(error: Any, model: type[BaseModel], what: str, parts: Mapping[str, str]) -> str:
    names = [str(part) for part in error["loc"] if isinstance(part, str) and part not in _NO_KEYS]
    place = ".".join(names)
    if error["type"] == "extra_forbidden":
        hint = did_you_mean(names[-1], _keys_at(model, error["loc"][:-1]), "keys here are")
        whose = next((parts[name] for name in reversed(names[:-1]) if name in parts), what)
        return f"{place} is not a key that {whose} has; {hint}"
    if error["type"] == "missing":
        return f"{place} is missing"
    return _wanted(error, model, place)


def _wanted(error: Any, model: type[BaseModel], place: str) -> str:
    """The expected value at `place`, in the file's words and not in Python's."""
    path, kind = error["loc"], error["type"]
    if kind in {"tuple_type", "list_type"}:
        is_of_tables = _keys_at(model, (*path, 0))
        form = f"a list of tables: [[{place}]]" if is_of_tables else f"a list: {path[-1]} = [...]"
        return f"{place} is {form}"
    if kind in {"dict_type", "model_type", "model_attributes_type"}:
        return f"{place} is a table: {_table_form(path, place, model)}"
    if (said := _SAID.get(kind)) is not None:
        return f"{place}: {said.format(**error['ctx'])}"
    if (value := _VALUES.get(kind.partition("_")[0])) is not None:
        return f"{place}: write {value}"
    told = error["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    return f"{place}: {told}"


_NO_KEYS = frozenset({"[key]", ""})
"""Parts of a mistake's place that aren't in the file."""
_VALUES = {
    "string": "text, in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "date": "a date, such as 2026-05-01",
}
_SAID = {
    "string_too_short": "it needs at least {min_length} character",
    "string_pattern_mismatch": "it must look like {pattern}",
    "too_short": "it needs at least {min_length}, not {actual_length}",
    "too_long": "it may have {max_length} at most, not {actual_length}",
}
"""Plain messages in place of pydantic's, which use Python's terms."""


def _table_form(path: KeyPath, place: str, model: type[BaseModel]) -> str:
    """How a table at `path` is written."""
    if isinstance(path[-1], int):
        return f"[[{place}]]"
    if _keys_at(model, path):
        return f"[{place}]"
    if _keys_at(model, (*path, "NAME")):
        return f"[{place}.NAME]"
    return f"{path[-1]} = {{ NAME = ... }}"


def _keys_at(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys that the table at `path` may have."""
    at: Any = model
    for name in path:
        inner = get_args(at)
        if isinstance(at, type) and issubclass(at, BaseModel):
            at = at.model_fields[str(name)].annotation
        elif get_origin(at) is dict:
            at = inner[1]
        else:
            at = inner[0]
        while get_origin(at) in {Annotated, Union, UnionType}:
            at = get_args(at)[0]
    return list(at.model_fields) if isinstance(at, type) and issubclass(at, BaseModel) else []


def _parts(text: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_PART, text))
