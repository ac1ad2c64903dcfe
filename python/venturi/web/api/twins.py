"""The data of the pages: which function answers what is asked at which path.

The server makes its routes of this table, and a page that is written to a file calls the functions
themselves: the same answer (`said`) either way, the second without a web framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter

from venturi.web.api.asking import Asked, arguments
from venturi.web.api.context import Asker, Services
from venturi.web.api.moved import PREFIX, moved
from venturi.web.document import encode


@dataclass(frozen=True, slots=True)
class Twin:
    """What answers at `path` under /api: `name` in `module` of this package, imported when used.

    An `encoded` answer leaves as `document.encode` writes it, others as their shape says. One that
    `reads` whole series, or `computes` over many trials, takes time and memory: the server makes
    few of them at once.
    """

    path: str
    module: str
    name: str
    tag: str
    encoded: bool = False
    reads: bool = False
    computes: bool = False

    def function(self) -> Callable[..., Any]:
        """What answers."""
        found: Callable[..., Any] = getattr(
            import_module(f"venturi.web.api.{self.module}"), self.name
        )
        return found


TWINS = (
    Twin("/start", "start", "start", "repository", computes=True),
    Twin("/status", "trials", "status", "repository"),
    Twin("/keys", "trials", "keys", "repository"),
    Twin("/trials", "trials", "trials", "repository"),
    Twin("/facets", "trials", "facets", "repository"),
    Twin("/trials/{id}", "trials", "trial", "repository"),
    Twin("/trials/{id}/series", "trials", "series", "repository", reads=True),
    Twin("/trials/{id}/hosts", "trials", "hosts", "repository", reads=True),
    Twin("/trials/{id}/job", "trials", "job", "repository", reads=True),
    Twin("/trials/{id}/tasks", "job_tasks", "tasks", "repository", reads=True),
    Twin("/trials/{id}/io", "trials", "io", "repository", reads=True),
    Twin("/trials/{id}/io/heat", "trials", "io_heat", "repository", reads=True),
    Twin("/clusters", "clusters", "cluster", "repository"),
    Twin("/groups", "trials", "groups", "repository", computes=True),
    Twin("/cost", "analysis.cost", "cost", "analyses", computes=True),
    Twin("/compare", "analysis.compare", "compare", "analyses", computes=True),
    Twin("/jobs", "two_jobs", "two_jobs", "analyses", reads=True),
    Twin("/effect", "analysis.effect", "effect", "analyses", computes=True),
    Twin("/scaling", "analysis.scaling", "scaling", "analyses", computes=True),
    Twin("/catalogs", "advice", "catalogs", "advice"),
    Twin("/catalog", "advice", "catalog", "advice", encoded=True),
    Twin("/advice", "advice", "advice", "advice", encoded=True, computes=True),
    Twin("/predict", "advice", "predictions", "advice", encoded=True, computes=True),
    Twin("/exclusions", "trials", "all_exclusions", "changes"),
    Twin("/views", "trials", "all_views", "changes"),
)


def answer(services: Services, url: str) -> Any:
    """What the server says at `url` to one who may read, as JSON values.

    Errors are those of the functions, and VEN-API-REQUEST. KeyError if no twin is there.
    """
    parts = urlsplit(moved(url))
    twin, in_path = _at(parts.path.removeprefix(PREFIX))
    known = {Services: services, Asker: Asker("read", uploads=False)}
    asked = Asked(in_path, parse_qs(parts.query, keep_blank_values=True), known)
    function = twin.function()
    return said(twin, function(**arguments(function, asked)))


def said(twin: Twin, value: Any) -> Any:
    """What `twin` answered as JSON values."""
    if twin.encoded:
        return encode(value)
    return _adapter(twin).dump_python(value, mode="json")


def shape_of(twin: Twin) -> Any:
    """The type of what `twin` answers."""
    return get_type_hints(twin.function(), include_extras=True)["return"]


@cache
def _adapter(twin: Twin) -> TypeAdapter[Any]:
    return TypeAdapter(shape_of(twin))


def _at(path: str) -> tuple[Twin, dict[str, str]]:
    """The twin at `path`, and the parts of it that have names."""
    for twin in TWINS:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", twin.path)
        if found := re.fullmatch(pattern, path):
            return twin, found.groupdict()
    raise KeyError(path)
