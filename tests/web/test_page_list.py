"""A page is a folder with its `page.json`; nothing else in the browser's code names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from venturi.core.topics import TOPICS
from venturi.web.pages import page_of, pages

PAGES = pages()
SOURCES = Path(__file__).parents[2] / "web" / "src"


def written_by_hand() -> Iterator[Path]:
    """The browser's code without generated files."""
    for path in sorted(SOURCES.rglob("*.ts*")):
        if path.parent.name != "generated":
            yield path


def test_every_page_is_a_folder_with_its_component_and_every_folder_a_page() -> None:
    components = {f"{page.topic}/{page.name}/{page.name.capitalize()}.tsx" for page in PAGES}
    assert components <= {
        path.relative_to(SOURCES / "pages").as_posix()
        for path in SOURCES.rglob("*.tsx")
        if path.is_relative_to(SOURCES / "pages")
    }
    folders = {(path.parent.name, path.name) for path in (SOURCES / "pages").glob("*/*")}
    assert folders == {(page.topic, page.name) for page in PAGES}


def test_every_page_has_its_topic_and_a_place_in_it() -> None:
    topics = list(TOPICS)
    places = [(topics.index(page.topic), page.order, page.name) for page in PAGES]
    assert places == sorted(places)
    assert {page.topic for page in PAGES if page.menu} == set(topics)
    assert all(page.menu and page.about for page in PAGES if page.question)


def test_a_misspelt_field_of_a_page_is_refused() -> None:
    fields = {"name": "new", "topic": "share", "path": "/new", "title": "New"}
    assert page_of(fields).asks == ()
    assert page_of({**fields, "asks": ["/api/new"]}).asks == ("/api/new",)
    with pytest.raises(TypeError, match="qestion"):
        page_of({**fields, "qestion": "What is new?"})


def test_no_page_is_named_in_the_browser_s_code() -> None:
    paths = "|".join({page.path.split("/")[1] for page in PAGES} - {""})
    titles = "|".join(re.escape(page.title) for page in PAGES)
    named = re.compile(rf"""["'`](?:\.\.)?/(?:{paths})[/?"'`]|<Page\s+title="(?:{titles})\"""")
    found = {path.name: named.findall(path.read_text("utf-8")) for path in written_by_hand()}
    assert {name: each for name, each in found.items() if each} == {}


def test_a_page_does_not_use_the_parts_of_another() -> None:
    """Code shared by two pages is in parts/ or charts/."""
    for page in PAGES:
        others = "|".join(f"{other.topic}/{other.name}" for other in PAGES if other is not page)
        for path in (SOURCES / "pages" / page.topic / page.name).rglob("*.ts*"):
            assert not re.search(rf'from "(?:\.\./)+(?:{others})/', path.read_text("utf-8")), path


@pytest.mark.parametrize("field", ["name", "path", "title"])
def test_what_names_a_page_is_its_own(field: str) -> None:
    values = [getattr(page, field) for page in PAGES]
    assert len(set(values)) == len(values)
