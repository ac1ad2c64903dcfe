"""The pictures of the documentation show today's pages."""

from __future__ import annotations

import json

import pytest

from scripts import screenshots


@pytest.mark.parametrize("picture", screenshots.PAGE_OF)
def test_picture_is_not_older_than_its_page(picture: str) -> None:
    assert (screenshots.IMAGES / f"{picture}.png").exists()
    taken_of = json.loads(screenshots.SOURCES.read_text())
    assert taken_of[picture] == screenshots.digests()[picture], (
        f"the page in docs/images/{picture}.png changed: `make screenshots` takes it again"
    )


def test_every_picture_names_its_page() -> None:
    wanted = screenshots.pictures(screenshots.ROOT, "http://localhost", "id")
    assert {each["name"] for each in wanted} == set(screenshots.PAGE_OF)
