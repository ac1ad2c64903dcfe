"""Addresses that became another one: they keep answering, for bookmarks and programs."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

PREFIX = "/api"
# Page -> the page that answers now, and the new names of its parameters.
_KEPT = {"where": "where", "excluded": "excluded", "baseline": "baseline"}
LEGACY_ADDRESSES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "/speedup": ("/effect", {**_KEPT, "factor": "key"}),
    "/parameter": ("/effect", {**_KEPT, "key": "key"}),
    "/improvement": ("/effect", {**_KEPT, "by": "key"}),
}


def current_address(url: str) -> str:
    """`url` (path and query, of a page or of its data), or its replacement."""
    parts = urlsplit(url)
    page = parts.path.removeprefix(PREFIX)
    if page not in LEGACY_ADDRESSES or parts.netloc:
        return url
    path, names = LEGACY_ADDRESSES[page]
    asked = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(names[name], value) for name, value in asked if name in names])
    prefix = parts.path[: len(parts.path) - len(page)]
    return f"{prefix}{path}?{query}" if query else prefix + path
