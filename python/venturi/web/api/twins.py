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
from venturi.web.document import encode
from venturi.web.moved import PREFIX, moved


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
    Twin("/start", "results.start", "start", "repository", computes=True),
    Twin("/status", "results.trials", "status", "repository"),
    Twin("/keys", "results.trials", "keys", "repository"),
    Twin("/trials", "results.trials", "trials", "repository"),
    Twin("/facets", "results.trials", "facets", "repository"),
    Twin("/trials/{id}", "results.trials", "trial", "repository"),
    Twin("/trials/{id}/series", "results.trials", "series", "repository", reads=True),
    Twin("/trials/{id}/hosts", "results.trials", "hosts", "repository", reads=True),
    Twin("/trials/{id}/job", "results.trials", "job", "repository", reads=True),
    Twin("/trials/{id}/tasks", "jobs.job_tasks", "tasks", "repository", reads=True),
    Twin("/trials/{id}/io", "results.trials", "io", "repository", reads=True),
    Twin("/trials/{id}/io/heat", "results.trials", "io_heat", "repository", reads=True),
    Twin("/clusters", "machines.clusters", "cluster", "repository"),
    Twin("/groups", "results.trials", "groups", "repository", computes=True),
    Twin("/cost", "results.cost", "cost", "analyses", computes=True),
    Twin("/compare", "results.compare", "compare", "analyses", computes=True),
    Twin("/jobs", "jobs.two_jobs", "two_jobs", "analyses", reads=True),
    Twin("/effect", "results.effect", "effect", "analyses", computes=True),
    Twin("/scaling", "results.scaling", "scaling", "analyses", computes=True),
    Twin("/catalogs", "machines.advice", "catalogs", "advice"),
    Twin("/catalog", "machines.advice", "catalog", "advice", encoded=True),
    Twin("/advice", "machines.advice", "advice", "advice", encoded=True, computes=True),
    Twin("/predict", "machines.advice", "predictions", "advice", encoded=True, computes=True),
    Twin("/exclusions", "results.trials", "all_exclusions", "changes"),
    Twin("/views", "results.trials", "all_views", "changes"),
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
