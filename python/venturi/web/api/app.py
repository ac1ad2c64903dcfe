"""The application: routes, the web pages' files, the guard before them and the errors behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import TypeAdapter
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from venturi.core.settings import ServerLimits
from venturi.web.advice_page.data import SimulationPage
from venturi.web.api import files, problems, routing
from venturi.web.api.assets import FOLDER, Assets
from venturi.web.api.computing import Computing
from venturi.web.api.context import Services
from venturi.web.api.health import METRICS, Health, ServerState
from venturi.web.api.metrics import MEDIA_TYPE, metrics
from venturi.web.api.request_limits import RequestLimiter
from venturi.web.api.security import COOKIE, Access, Guard
from venturi.web.api.shapes import Problem
from venturi.web.api.share import changes
from venturi.web.io.page import TracePage
from venturi.web.legacy_addresses import LEGACY_ADDRESSES, PREFIX, current_address
from venturi.web.report.data import ReportData

# No more than the connections that a database's pool has.
_THREADS = 12
_WRITERS = 4  # of these threads: as many for uploads, as many for other changes
_LIMITS = ServerLimits()
# The data of pages that only commands write: in the document, so that their types are made of it.
_IN_FILES: dict[str, Any] = {
    "/api/report": ReportData,
    "/api/simulation": SimulationPage,
    "/api/trace": TracePage,
}
_ABOUT = (
    "Every page of the web application is a URL with its state in the query; the same path and "
    "query under /api is its data. Errors are problem documents (RFC 9457) with Venturi's codes. "
    "Quantities have their unit in their name; null means unknown and comes with a reason."
)


def create_app(
    services: Services,
    *,
    access: Access | None = None,
    assets: Path = FOLDER,
    limits: ServerLimits = _LIMITS,
    watch: ServerState | None = None,
) -> FastAPI:
    """The server for `services`, as `access` and `limits` allow.

    `assets` is the folder of the built pages, `watch` the state that the server updates.
    """
    app = FastAPI(
        title="Venturi",
        description=_ABOUT,
        version=version("venturi"),
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        lifespan=_lifespan,
    )
    app.state.services = services
    app.state.access = access or Access()
    app.state.limits = limits
    app.state.uploads = CapacityLimiter(_WRITERS)
    app.state.writers = CapacityLimiter(_WRITERS)
    app.state.watch = watch or ServerState(services.repository)
    app.state.readers, app.state.computers = _computing(limits, app.state.watch)
    app.router.routes.extend(_routes().routes)
    if app.state.watch.metrics:
        app.add_api_route(METRICS, _metrics, include_in_schema=False)
    app.router.default = Assets(assets)
    problems.handle(app)
    app.add_middleware(RequestLimiter, limits=limits, watch=app.state.watch)
    app.add_middleware(Guard, access=app.state.access, services=services)
    app.add_middleware(LegacyAddresses)
    app.add_middleware(Health, watch=app.state.watch)
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _documented(plain())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return app


@cache
def _routes() -> APIRouter:
    """The routes of every server of this process: analysing them takes as long as all else."""
    made = APIRouter(
        generate_unique_id_function=lambda route: route.name,
        # Instead of the framework's own error; `document` says what it looks like.
        responses={"4XX": {"description": "refused"}},
    )
    routing.add_endpoints(made)
    for router in (files.router, changes.router):
        made.include_router(router)
    return made


def _computing(limits: ServerLimits, watch: ServerState) -> tuple[Computing, Computing]:
    """The threads that read series, and those that compute."""
    timeout_s = limits.compute_timeout_s
    return (
        Computing(
            "series",
            watch,
            at_once=limits.series_at_once_max,
            waiting=limits.series_waiting_max,
            timeout_s=timeout_s,
        ),
        Computing(
            "computing",
            watch,
            at_once=limits.computing_at_once_max,
            waiting=limits.computing_waiting_max,
            timeout_s=timeout_s,
        ),
    )


def _metrics(request: Request) -> Response:
    return Response(metrics(request.app.state.watch), media_type=MEDIA_TYPE)


class LegacyAddresses:
    """Answers old addresses of data as the new ones, and sends browsers on to the new pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].removeprefix(PREFIX) not in LEGACY_ADDRESSES:
            await self._app(scope, receive, send)
            return
        url = current_address(f"{scope['path']}?{scope['query_string'].decode('latin-1')}")
        if scope["path"].startswith(PREFIX):
            path, _, query = url.partition("?")
            scope = {
                **scope,
                "path": path,
                "raw_path": path.encode(),
                "query_string": query.encode(),
            }
            await self._app(scope, receive, send)
            return
        await RedirectResponse(url, 308)(scope, receive, send)


@asynccontextmanager
async def _lifespan(_app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    yield


def _documented(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with the errors, the data of pages in files, and the ways to show a token."""
    components = schema.setdefault("components", {})
    _, made = TypeAdapter.json_schemas(
        [(each, "serialization", TypeAdapter(each)) for each in (Problem, *_IN_FILES.values())],
        ref_template="#/components/schemas/{model}",
    )
    schemas = components.setdefault("schemas", {})
    for name, shape in made["$defs"].items():
        if schemas.setdefault(name, shape) != shape:
            raise TypeError(f"two shapes of the interface have the name {name}")
    schema["x-in-files"] = {
        path: {"$ref": f"#/components/schemas/{shape.__name__}"}
        for path, shape in _IN_FILES.items()
    }
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    schema["security"] = [{}, {"token": []}, {"session": []}]
    problems.document(schema)
    return schema
