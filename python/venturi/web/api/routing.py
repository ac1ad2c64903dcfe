"""Twins as FastAPI's routes, and the values that its other routes share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import cache, partial, wraps
from inspect import Signature
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse

from venturi.record.access import tokens
from venturi.web.api.computing import Computing
from venturi.web.api.context import Requester, Selection, Services, selection
from venturi.web.api.endpoints import ENDPOINTS, Endpoint, as_json, shape_of
from venturi.web.api.request_arguments import Dependency, Parameter, declared_parameters
from venturi.web.api.security import Access, caller_of
from venturi.web.legacy_addresses import PREFIX

_THREADS = "threads_"  # no parameter of an endpoint


def add_endpoints(router: APIRouter) -> None:
    """Add all endpoints. Those that read series, and those that compute, have their own threads:
    `readers` and `computers` in the state of the application.

    Routes of an included router are analyzed twice, the second time by the first request.
    """
    for endpoint in ENDPOINTS:
        answered: Callable[..., Any] = _answering(endpoint)
        if endpoint.reads or endpoint.computes:
            threads = _readers if endpoint.reads else _computers
            answered = _in_turn(endpoint.path, threads, answered)
        router.add_api_route(
            PREFIX + endpoint.path,
            answered,
            methods=["GET"],
            response_model=shape_of(endpoint),
            tags=[endpoint.tag],
        )


def _in_turn(
    path: str,
    threads_of: Callable[[Request], Computing],
    answered: Callable[..., JSONResponse],
) -> Callable[..., Awaitable[JSONResponse]]:
    @wraps(answered)
    async def waited(**arguments: Any) -> JSONResponse:
        threads: Computing = arguments.pop(_THREADS)
        return await threads.answer(path, partial(answered, **arguments))

    own = Signature.from_callable(answered)
    threads = Annotated[Computing, Depends(threads_of)]
    added = inspect.Parameter(_THREADS, inspect.Parameter.KEYWORD_ONLY, annotation=threads)
    waited.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), added]
    )
    return waited


def _answering(endpoint: Endpoint) -> Callable[..., JSONResponse]:
    function = endpoint.function()

    @wraps(function)
    def answered(**arguments: Any) -> JSONResponse:
        return JSONResponse(as_json(endpoint, function(**arguments)))

    in_path = frozenset(re.findall(r"\{(\w+)\}", endpoint.path))
    answered.__signature__ = _signature(function, in_path)  # type: ignore[attr-defined]
    return answered


@cache
def _made_by(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as FastAPI takes a dependency."""

    @wraps(function)
    def made(**arguments: Any) -> Any:
        return function(**arguments)

    made.__signature__ = _signature(function, frozenset())  # type: ignore[attr-defined]
    return made


def _signature(function: Callable[..., Any], in_path: frozenset[str]) -> Signature:
    def as_fastapi_has_it(name: str, kind: Any, how: Parameter | Dependency | None) -> Any:
        if isinstance(how, Dependency):
            return Annotated[kind, Depends(_made_by(how.function))]
        if kind in _KNOWN:
            return Annotated[kind, Depends(_KNOWN[kind])]
        said = {} if how is None else how.said
        return Annotated[kind, Path(**said) if name in in_path else Query(**said)]

    return Signature(
        [
            declared.replace(annotation=as_fastapi_has_it(name, kind, how))
            for name, (declared, kind, how) in declared_parameters(function).items()
        ]
    )


def _readers(request: Request) -> Computing:
    found: Computing = request.app.state.readers
    return found


def _computers(request: Request) -> Computing:
    found: Computing = request.app.state.computers
    return found


def _services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def _requester(request: Request) -> Requester:
    access: Access = request.app.state.access
    who = caller_of(request)
    services: Services = request.app.state.services
    uploads = access.write_token is not None or tokens.any_writer(services.repository)
    return Requester(who.role, uploads, who.author.name)


_KNOWN: dict[Any, Callable[..., Any]] = {Services: _services, Requester: _requester}
ServicesDep = Annotated[Services, Depends(_services)]
SelectionDep = Annotated[Selection, Depends(_made_by(selection))]
