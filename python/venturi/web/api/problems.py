"""Errors as problem documents (RFC 9457), without the server's internals."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from venturi.core.errors import FULL, MACHINE, VenturiError
from venturi.core.errors import refused as refused_by_os
from venturi.web.api.request_arguments import refused
from venturi.web.api.shapes import Problem, Scalar

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("venturi.api")
_SHOWN_CHARACTERS = 200
_STATUS = {
    "VEN-API-TOKEN": HTTPStatus.UNAUTHORIZED,
    "VEN-API-FORBIDDEN": HTTPStatus.FORBIDDEN,
    "VEN-API-UNKNOWN": HTTPStatus.NOT_FOUND,
    "VEN-API-SIZE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "VEN-API-HOST": HTTPStatus.MISDIRECTED_REQUEST,
    "VEN-API-INTERNAL": HTTPStatus.INTERNAL_SERVER_ERROR,
    "VEN-API-PAGES": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-API-BUSY": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-API-TIME": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-RECORD-BUSY": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-MEASURE-SPACE": HTTPStatus.INSUFFICIENT_STORAGE,
    "VEN-SYSTEM": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-RECORD-UNKNOWN": HTTPStatus.NOT_FOUND,
    "VEN-RECORD-ARTIFACT": HTTPStatus.NOT_FOUND,
    "VEN-RECORD-DUPLICATE": HTTPStatus.CONFLICT,
    "VEN-RECORD-STATE": HTTPStatus.CONFLICT,
    "VEN-RECORD-REMOVED": HTTPStatus.CONFLICT,
    "VEN-EXCLUSION-REVOKED": HTTPStatus.CONFLICT,
    "VEN-VIEW-DUPLICATE": HTTPStatus.CONFLICT,
    "VEN-RECORD-DATABASE": HTTPStatus.SERVICE_UNAVAILABLE,
    "VEN-EXCLUSION-UNKNOWN": HTTPStatus.NOT_FOUND,
    "VEN-VIEW-UNKNOWN": HTTPStatus.NOT_FOUND,
}
_RETRY_AFTER_S = {"VEN-API-BUSY": "1", "VEN-RECORD-BUSY": "5"}
# An error's own files and addresses of the server are only for its log.
_INSIDE = {"file", "folder", "database", "writing"}


def response(error: VenturiError, status: int | None = None) -> Response:
    """`error` as a problem document; `status` is by its code unless given."""
    found = HTTPStatus(status or _STATUS.get(error.code, HTTPStatus.UNPROCESSABLE_ENTITY))
    detail, hint = error.message, error.hint
    if error.code == "VEN-RECORD-DATABASE":
        detail, hint = "the repository does not answer", "the server's log says why; try again"
    problem = Problem(
        type=f"urn:venturi:{error.code}",
        title=found.phrase,
        status=found.value,
        detail=detail,
        code=error.code,
        where={key: _scalar(value) for key, value in error.where.items() if key not in _INSIDE},
        hint=hint,
    )
    headers = {"WWW-Authenticate": "Bearer"} if found is HTTPStatus.UNAUTHORIZED else {}
    if error.code in _RETRY_AFTER_S:
        headers["Retry-After"] = _RETRY_AFTER_S[error.code]
    return Response(
        json.dumps(asdict(problem), allow_nan=False), found, headers, media_type=MEDIA_TYPE
    )


def internal(error: Exception) -> Response:
    """Answer an internal error: the client gets no details. They go to the log."""
    LOG.error("a request failed", exc_info=error)
    return response(VenturiError("VEN-API-INTERNAL", "the server failed", hint="its log says how"))


def handle(app: FastAPI) -> None:
    """Convert every error of `app` to a problem document."""
    app.add_exception_handler(VenturiError, _known)
    app.add_exception_handler(OSError, _machine)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def document(schema: dict[str, Any]) -> None:
    """Declare in the OpenAPI document `schema` that every error is a problem."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in schema["paths"].values():
        for operation in operations.values():
            for status, text in (("4XX", "The request is refused."), ("5XX", "The server fails.")):
                operation["responses"][status] = {"description": text, "content": content}


async def _known(_request: Request, error: Exception) -> Response:
    assert isinstance(error, VenturiError)
    if error.code == "VEN-RECORD-DATABASE":
        LOG.error("the repository: %s %s", error.message, error.where)
    return response(error)


async def _machine(_request: Request, error: Exception) -> Response:
    """A full disk, or another fault of the machine: its files are only for the log."""
    assert isinstance(error, OSError)
    if error.errno not in FULL | MACHINE:
        return internal(error)
    LOG.error("the machine: %s", error)
    return response(refused_by_os(error, "the server can't store it"))


async def _invalid(_request: Request, error: Exception) -> Response:
    """The first error of a request, with the parameter's name and its value."""
    assert isinstance(error, RequestValidationError)
    return response(refused(error.errors()))


async def _http(request: Request, error: Exception) -> Response:
    """Errors of the framework itself: no such path, no such method, an unreadable body."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:_SHOWN_CHARACTERS]
    if error.status_code == HTTPStatus.NOT_FOUND:
        told = VenturiError(
            "VEN-API-UNKNOWN",
            f"nothing is at {path}",
            where={"path": path},
            hint="/api/openapi.json lists the addresses",
        )
    else:
        big = error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        code = "VEN-API-SIZE" if big else "VEN-API-REQUEST"
        told = VenturiError(code, str(error.detail), where={"path": path})
    answer = response(told, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def _scalar(value: object) -> Scalar:
    """`value` as short JSON."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    text = str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
