"""A page of the web application with its data as one HTML file, without a server."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit

from venturi.present import document
from venturi.present.api.context import Services
from venturi.present.api.pages import canonical, requests_of
from venturi.present.api.twins import answer


def export_page(services: Services, url: str, written_at: datetime) -> str:
    """The page at `url` (path and query, as in the browser), with all that it asks for.

    Raises VEN-API-UNKNOWN if there is no such page, what the API refuses, and VEN-REPORT-ASSET
    when the pages were not built.
    """
    parts = urlsplit(url)
    page = canonical(parts.path or "/", parts.query)
    twins = {each: answer(services, each) for each in requests_of(url)}
    return document.page(page, f"Venturi {page}", twins, written_at=written_at)
