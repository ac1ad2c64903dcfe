"""Declares the parameters of endpoints, and reads them from queries.

Functions declare them in their signatures, independent of a web framework: the server converts them
to FastAPI's (routing.py), and `arguments` reads a query without any framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter as Taken
from inspect import signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from venturi.core.errors import VenturiError

NAME_LENGTH_MAX = 300
"""Characters of a requested name."""


class Parameter:
    """A parameter of the query, or a part of the path of its name.

    `said` has the arguments that pydantic's `Field` and FastAPI's `Query` share: description,
    bounds, alias.
    """

    def __init__(self, **said: Any) -> None:
        self.said = said


@dataclass(frozen=True, slots=True)
class Dependency:
    """A value that `function` makes, which declares its own parameters."""

    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class RequestArguments:
    """A question: parts of the path and parameters of the query by name.

    `known` has the values that only the server can provide, by type.
    """

    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    known: Mapping[type, object]


def declared_parameters(
    function: Callable[..., Any],
) -> dict[str, tuple[Taken, Any, Parameter | Dependency | None]]:
    """The parameters of `function` by name: as declared, their type, and their annotation."""
    hints = get_type_hints(function, include_extras=True)
    found: dict[str, tuple[Taken, Any, Parameter | Dependency | None]] = {}
    for name, declared in signature(function).parameters.items():
        kind, said = hints[name], None
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            said = next((note for note in notes if isinstance(note, Parameter | Dependency)), None)
        found[name] = declared, kind, said
    return found


def arguments(function: Callable[..., Any], asked: RequestArguments) -> dict[str, Any]:
    """Return the arguments of `function` in `asked`; VEN-API-REQUEST for an invalid one."""
    made: dict[str, Any] = {}
    for name, (declared, kind, said) in declared_parameters(function).items():
        if isinstance(said, Dependency):
            made[name] = said.function(**arguments(said.function, asked))
        elif isinstance(kind, type) and kind in asked.known:
            made[name] = asked.known[kind]
        else:
            made[name] = _value(asked, declared, kind, {} if said is None else said.said)
    return made


def refused(errors: Sequence[Mapping[str, Any]]) -> VenturiError:
    """The first of pydantic's `errors`, with the parameter's name and its value."""
    first, more = errors[0], len(errors) - 1
    place = ".".join(str(part) for part in first["loc"])
    said = f"{place}: {first['msg'].removeprefix('Value error, ')}"
    where: dict[str, object] = {"field": place}
    if isinstance(first.get("input"), str | int | float | bool):
        where["value"] = first["input"]
    return VenturiError(
        "VEN-API-REQUEST",
        said + (f" (and {more} more)" if more else ""),
        where=where,
        hint="/api/openapi.json lists the parameters and their values",
    )


def _value(asked: RequestArguments, declared: Taken, kind: Any, said: Mapping[str, Any]) -> Any:
    bounds = dict(said)
    name = bounds.pop("alias", declared.name)
    in_path = name in asked.parts
    values = [asked.parts[name]] if in_path else asked.query.get(name, ())
    if not values:
        if declared.default is Taken.empty:
            raise refused([{"loc": ("query", name), "msg": "Field required"}])
        return declared.default
    several = list in (get_origin(kind), *map(get_origin, get_args(kind)))
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[kind, Field(**bounds)])
    try:
        return adapter.validate_python(list(values) if several else values[-1])
    except ValidationError as error:
        place = ("path" if in_path else "query", name)
        raise refused(
            [{**each, "loc": (*place, *each["loc"])} for each in error.errors()]
        ) from None
