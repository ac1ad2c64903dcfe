"""The pages of the web application, and what each of them asks for."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from venturi.errors import ExitCode, VenturiError

# Path of a page -> the paths it asks with the page's own query.
PAGES: dict[str, tuple[str, ...]] = {
    "/": (),
    "/trials": ("/api/trials", "/api/facets"),
    "/cost": ("/api/cost", "/api/facets"),
    "/compare": ("/api/compare", "/api/facets"),
    "/speedup": ("/api/speedup", "/api/facets"),
    "/parameter": ("/api/parameter", "/api/facets"),
    "/scaling": ("/api/scaling", "/api/facets"),
    "/improvement": ("/api/improvement", "/api/facets"),
    "/advice": ("/api/advice", "/api/catalogs"),
    "/catalog": ("/api/catalog", "/api/catalogs"),
    "/exclusions": ("/api/exclusions",),
}
_TRIAL = re.compile(r"/trials/[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
# What all pages share, whatever their query.
_SHARED = ("/api/status", "/api/keys")
_START = ("/api/status", "/api/views")


def is_page(path: str) -> bool:
    """Whether `path` is one of the application's pages."""
    return path in PAGES or _TRIAL.fullmatch(path) is not None


def requests_of(page_url: str) -> tuple[str, ...]:
    """Everything that the page at `page_url` (path and query) asks for, as `canonical` writes it.

    VEN-API-UNKNOWN if there is no such page.
    """
    parts = urlsplit(page_url)
    path = parts.path or "/"
    if parts.scheme or parts.netloc or not is_page(path):
        raise VenturiError(
            "VEN-API-UNKNOWN",
            f"{page_url!r} is no page",
            where={"page": page_url},
            hint=f"pages are {', '.join(PAGES)} and /trials/ID, with a query as in the browser",
            exit_code=ExitCode.USAGE,
        )
    if path == "/":
        return _START
    twins = PAGES.get(path, (f"/api{path}", f"/api{path}/series", f"/api{path}/job"))
    return (*_SHARED, *(canonical(twin, parts.query) for twin in twins))


def canonical(path: str, query: str) -> str:
    """`path` with `query` sorted by name, written as the browser's URLSearchParams does."""
    pairs = sorted(parse_qsl(query, keep_blank_values=True), key=lambda pair: pair[0])
    text = urlencode(pairs, safe="*").replace("~", "%7E")
    return f"{path}?{text}" if text else path
