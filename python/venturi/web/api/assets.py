"""The web application's files, as they were built."""

from __future__ import annotations

import html
import mimetypes
import re
from http import HTTPStatus
from pathlib import Path

from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from venturi.core.errors import VenturiError
from venturi.web.pages import is_page

FOLDER = Path(__file__).parent.parent / "assets" / "app"
_BUILD = "make setup"
# Names that the build derives from the content: app-3fK9_aB2.js.
_HASHED = re.compile(r".+[-.][0-9A-Za-z_-]{8,}\.[a-z0-9]+")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Assets:
    """Serves the application: its files by their names, and its one document on every page."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path == "/api" or path.startswith("/api/"):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if method not in {"GET", "HEAD"}:
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        for_people = "text/html" in Headers(scope=scope).get("accept", "")
        response = await run_in_threadpool(self._answer, path, for_people)
        await response(scope, receive, send)

    def _answer(self, path: str, for_people: bool) -> Response:
        # Paths are looked up among the existing files, and never followed.
        files = {
            f"/{file.relative_to(self._folder).as_posix()}": file
            for file in self._folder.rglob("*")
            if file.is_file() and not file.is_symlink()
        }
        if path in files and path != "/index.html":
            return _file(files[path])
        if not is_page(path) and not for_people:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        document = files.get("/index.html")
        if document is None:
            return _missing(for_people)
        # An address that is no page gets the application too, which says so to people.
        status = HTTPStatus.OK if is_page(path) else HTTPStatus.NOT_FOUND
        return HTMLResponse(document.read_bytes(), status)


def _file(file: Path) -> Response:
    kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0]
    forever = "public, max-age=31536000, immutable"
    headers = {"Cache-Control": forever} if _HASHED.fullmatch(file.name) else {}
    return Response(
        file.read_bytes(), media_type=kind or "application/octet-stream", headers=headers
    )


def _missing(for_people: bool) -> Response:
    error = VenturiError(
        "VEN-API-PAGES",
        "the web pages were not built",
        hint=f"install Venturi's wheel again; in a clone: {_BUILD}",
    )
    if not for_people:
        raise error
    return HTMLResponse(
        f"<!doctype html><title>Venturi</title><h1>{html.escape(error.message.capitalize())}</h1>"
        f"<p>Build them with <code>{_BUILD}</code>, then load this page again. The interface at "
        '<a href="/api/openapi.json">/api</a> works without them.</p>',
        HTTPStatus.SERVICE_UNAVAILABLE,
    )
