"""Collects the pages of the web application: every `web/src/pages/TOPIC/NAME/page.json`.

`generated.py` writes them for Python (`web/pages.json`) and for the browser (`web/src/generated`).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from venturi.core.topics import TOPICS
from venturi.web.pages import Page, page_of

PAGES = Path(__file__).parents[1] / "web" / "src" / "pages"
_NOTE = "// Made from web/src/pages by scripts/generated.py: `make generated`.\n"
_SERVER = ("asks", "always", "order", "name")
"""The fields that the browser doesn't need."""


def all_pages() -> tuple[Page, ...]:
    """Return all pages, in the order of the topics and of the pages in each."""
    topics = list(TOPICS)
    found = map(_page, PAGES.glob("*/*/page.json"))
    return tuple(sorted(found, key=lambda page: (topics.index(page.topic), page.order, page.name)))


def _page(file: Path) -> Page:
    *_, topic, name = file.parent.parts
    fields = json.loads(file.read_text(encoding="utf-8"))
    return page_of({"name": name, "topic": topic, **fields})


def pages_json() -> str:
    """Return the pages for Python."""
    return json.dumps([asdict(page) for page in all_pages()], indent=1) + "\n"


def pages_ts() -> str:
    """Return the topics and the pages for the browser."""
    fields = {
        page.name: {name: value for name, value in asdict(page).items() if name not in _SERVER}
        for page in all_pages()
    }
    topics = {topic: {"name": topic.capitalize(), "question": TOPICS[topic]} for topic in TOPICS}
    return (
        f"{_NOTE}export const TOPICS = {json.dumps(topics, indent=2)};\n\n"
        f"export const PAGES = {json.dumps(fields, indent=2)};\n"
    )


def routes_ts() -> str:
    """Return the component of each page for the browser; it gets the id in the page's path."""
    routes = "".join(
        f'  "{page.path.replace("{id}", ":id")}": '
        f'() => import("../pages/{page.topic}/{page.name}/{page.name.capitalize()}"),\n'
        for page in all_pages()
    )
    return (
        f'{_NOTE}import type {{ ComponentType }} from "react";\n\n'
        "type Load = () => Promise<{ default: ComponentType<{ id: string }> }>;\n\n"
        f"export const ROUTES: Record<string, Load> = {{\n{routes}}};\n"
    )
