"""The pages of the web application, and which requests each of them makes.

A page is a folder, `web/src/pages/TOPIC/NAME`, with a `page.json` that has the fields of `Page`.
`scripts/generated.py` collects these files into `pages.json` here, and into the browser's routes,
navigation and titles (`web/src/generated`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from venturi.core.errors import UsageError
from venturi.web.legacy_addresses import current_address

FILE = Path(__file__).with_name("pages.json")


@dataclass(frozen=True, slots=True)
class Page:
    """A page. Its component is `web/src/pages/TOPIC/NAME/Name.tsx`."""

    name: str
    topic: str
    path: str
    title: str
    order: int = 100
    """Its place among the pages of its topic."""
    menu: str | None = None
    """Its name in the navigation; None: not listed."""
    selects: bool = True
    """Whether the navigation keeps the conditions of the previous page."""
    question: str = ""
    """The question that it answers; a page with a question is on the start page."""
    about: str = ""
    served: bool = True
    """Whether a server has it; others exist only as files that a command writes."""
    asks: tuple[str, ...] = ()
    """The API paths that it requests with its own query, and so the content of an exported file.
    Data that only its controls request, such as facets, is not listed."""
    always: tuple[str, ...] = ()
    """The API paths that it requests whatever its query is."""


def page_of(fields: dict[str, Any]) -> Page:
    """Return the page with these JSON fields; an unknown one is a TypeError."""
    lists = {name: tuple(fields.get(name, ())) for name in ("asks", "always")}
    return Page(**{**fields, **lists})


@cache
def pages() -> tuple[Page, ...]:
    """Return all pages, in the order of the topics and of the pages in each."""
    return tuple(map(page_of, json.loads(FILE.read_text(encoding="utf-8"))))


_ID = r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}"


def _found(path: str) -> tuple[Page, dict[str, str]] | None:
    """Return the served page at `path`, and the named parts of the path."""
    for page in pages():
        pattern = page.path.replace("{id}", f"(?P<id>{_ID})")
        if page.served and (match := re.fullmatch(pattern, path)):
            return page, match.groupdict()
    return None


def is_page(path: str) -> bool:
    """Whether `path` is one of the application's pages."""
    return _found(path) is not None


def requests_of(page_url: str) -> tuple[str, ...]:
    """Return the requests of the page at `page_url` (path and query), as `canonical` writes them.

    VEN-API-UNKNOWN if there is no such page.
    """
    parts = urlsplit(current_address(page_url))
    found = None if parts.scheme or parts.netloc else _found(parts.path or "/")
    if found is None:
        paths = (page.path.replace("{id}", "ID") for page in pages() if page.served)
        raise UsageError(
            "VEN-API-UNKNOWN",
            f"{page_url!r} is not a page",
            where={"page": page_url},
            hint=f"pages are {', '.join(paths)}, with a query as in the browser",
        )
    page, in_path = found
    asked = (canonical(each.format(**in_path), parts.query) for each in page.asks)
    return (*page.always, *asked)


def canonical(path: str, query: str) -> str:
    """Return `path` with `query` sorted by name, encoded as the browser's URLSearchParams does."""
    pairs = sorted(parse_qsl(query, keep_blank_values=True), key=lambda pair: pair[0])
    text = urlencode(pairs, safe="*").replace("~", "%7E")
    return f"{path}?{text}" if text else path
