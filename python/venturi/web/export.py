"""A page of the web application with its data as one HTML file, without a server."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from urllib.parse import urlsplit

from venturi.web import document
from venturi.web.api.context import Services
from venturi.web.api.endpoints import answer
from venturi.web.legacy_addresses import PREFIX, current_address
from venturi.web.pages import canonical, requests_of


class PageData(Protocol):
    """The data of a page that a command computed: a dataclass of the interface's document."""

    @property
    def title(self) -> str:
        """The page's title."""


def data_page(path: str, data: PageData) -> str:
    """The page at `path` with `data` in place of the server's answer.

    Raises VEN-REPORT-ASSET when the pages were not built.
    """
    return document.page(path, data.title, {PREFIX + path: document.encode(data)})


def export_page(services: Services, url: str, written_at: datetime) -> str:
    """The page at `url` (path and query, as in the browser), with the answers to all of its
    requests.

    Raises VEN-API-UNKNOWN if the page doesn't exist, errors of the API, and VEN-REPORT-ASSET when
    the pages were not built.
    """
    parts = urlsplit(current_address(url))
    page = canonical(parts.path or "/", parts.query)
    twins = {each: answer(services, each) for each in requests_of(url)}
    return document.page(page, f"Venturi {page}", twins, written_at=written_at)
