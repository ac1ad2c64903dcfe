"""A page of the web application with its data as one HTML file, without a server."""

from __future__ import annotations

import asyncio
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient, Response

from venturi.errors import VenturiError
from venturi.present import document
from venturi.present.api.pages import canonical, requests_of

_HOST = "http://localhost"


def export_page(app: FastAPI, url: str, written_at: datetime) -> str:
    """The page at `url` (path and query, as in the browser) of `app`, with all that it asks for.

    Raises VEN-API-UNKNOWN if there is no such page, what the API refuses, and VEN-REPORT-ASSET
    when the pages were not built.
    """
    parts = urlsplit(url)
    page = canonical(parts.path or "/", parts.query)
    twins = asyncio.run(_answers(app, requests_of(url)))
    return document.page(page, f"Venturi {page}", twins, written_at=written_at)


async def _answers(app: FastAPI, urls: tuple[str, ...]) -> dict[str, Any]:
    # Asked in process, as the one who owns the repository: nothing listens anywhere.
    transport = ASGITransport(app=app)
    async with AsyncClient(transport=transport, base_url=_HOST) as client:
        return {url: _answer(await client.get(url)) for url in urls}


def _answer(response: Response) -> Any:
    """The answer, or the API's problem as an error."""
    said = response.json()
    if response.status_code == HTTPStatus.OK:
        return said
    raise VenturiError(said["code"], said["detail"], where=said["where"], hint=said["hint"])
