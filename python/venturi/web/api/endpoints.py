"""The data of the pages: which function answers the requests for which path.

The server makes its routes of this table, and a page that is written to a file calls the functions
themselves: the same answer (`as_json`) either way, the second without a web framework.
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

from venturi.web.api.context import Requester, Services
from venturi.web.api.request_arguments import RequestArguments, arguments
from venturi.web.document import encode
from venturi.web.legacy_addresses import PREFIX, current_address


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint at `path` under /api: `name` in `module` of this package, imported when used.

    An `encoded` answer is written by `document.encode`, others by their type. One that `reads`
    whole series, or `computes` over many trials, takes time and memory: the server runs few of them
    concurrently.
    """

    path: str
    module: str
    name: str
    tag: str
    encoded: bool = False
    reads: bool = False
    computes: bool = False

    def function(self) -> Callable[..., Any]:
        """Import and return the function."""
        found: Callable[..., Any] = getattr(
            import_module(f"venturi.web.api.{self.module}"), self.name
        )
        return found


ENDPOINTS = (
    Endpoint("/start", "results.start", "start", "repository", computes=True),
    Endpoint("/fleet", "jobs.fleet", "fleet", "repository", computes=True),
    Endpoint("/status", "results.trials", "status", "repository"),
    Endpoint("/keys", "results.trials", "keys", "repository"),
    Endpoint("/trials", "results.trials", "trials", "repository"),
    Endpoint("/facets", "results.trials", "facets", "repository"),
    Endpoint("/trials/{id}", "results.trials", "trial", "repository"),
    Endpoint("/trials/{id}/series", "results.trials", "series", "repository", reads=True),
    Endpoint("/trials/{id}/hosts", "results.trials", "hosts", "repository", reads=True),
    Endpoint("/trials/{id}/job", "results.trials", "job", "repository", reads=True),
    Endpoint("/trials/{id}/tasks", "jobs.job_tasks", "tasks", "repository", reads=True),
    Endpoint("/trials/{id}/io", "results.trials", "io", "repository", reads=True),
    Endpoint("/trials/{id}/io/heat", "results.trials", "io_heat", "repository", reads=True),
    Endpoint("/clusters", "machines.clusters", "cluster", "repository"),
    Endpoint("/groups", "results.trials", "groups", "repository", computes=True),
    Endpoint("/cost", "results.cost", "cost", "analyses", computes=True),
    Endpoint("/compare", "results.compare", "compare", "analyses", computes=True),
    Endpoint("/jobs", "jobs.two_jobs", "two_jobs", "analyses", reads=True),
    Endpoint("/whatif", "jobs.whatif", "whatif", "analyses", computes=True),
    Endpoint("/effect", "results.effect", "effect", "analyses", computes=True),
    Endpoint("/predictions", "results.predictions", "prediction_errors", "analyses", computes=True),
    Endpoint("/scaling", "results.scaling", "scaling", "analyses", computes=True),
    Endpoint("/catalogs", "machines.advice", "catalogs", "advice"),
    Endpoint("/catalog", "machines.advice", "catalog", "advice", encoded=True),
    Endpoint("/advice", "machines.advice", "advice", "advice", encoded=True, computes=True),
    Endpoint("/predict", "machines.advice", "predictions", "advice", encoded=True, computes=True),
    Endpoint("/exclusions", "results.trials", "all_exclusions", "changes"),
    Endpoint("/views", "results.trials", "all_views", "changes"),
)


def answer(services: Services, url: str) -> Any:
    """Return the server's answer at `url` for a client that may read, as JSON values.

    Errors are those of the functions, and VEN-API-REQUEST. KeyError if `url` has no endpoint.
    """
    parts = urlsplit(current_address(url))
    endpoint, in_path = _at(parts.path.removeprefix(PREFIX))
    known = {Services: services, Requester: Requester("read", uploads=False)}
    asked = RequestArguments(in_path, parse_qs(parts.query, keep_blank_values=True), known)
    function = endpoint.function()
    return as_json(endpoint, function(**arguments(function, asked)))


def as_json(endpoint: Endpoint, value: Any) -> Any:
    """Convert an answer of `endpoint` to JSON values."""
    if endpoint.encoded:
        return encode(value)
    return _adapter(endpoint).dump_python(value, mode="json")


def shape_of(endpoint: Endpoint) -> Any:
    """The type of the answers of `endpoint`."""
    return get_type_hints(endpoint.function(), include_extras=True)["return"]


@cache
def _adapter(endpoint: Endpoint) -> TypeAdapter[Any]:
    return TypeAdapter(shape_of(endpoint))


def _at(path: str) -> tuple[Endpoint, dict[str, str]]:
    """The endpoint at `path`, and the parts of it that have names."""
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", endpoint.path)
        if found := re.fullmatch(pattern, path):
            return endpoint, found.groupdict()
    raise KeyError(path)
