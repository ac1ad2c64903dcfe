"""The documentation as a site: every link leads somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MKDOCS = ROOT / ".tools/docs/bin/mkdocs"
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=[\"']?([^\"'\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built without a network."""
    if not MKDOCS.exists():
        pytest.skip("mkdocs is not installed: `make docs` installs it")
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_every_link_leads_somewhere(site: Path) -> None:
    pages = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert pages <= {path.relative_to(site).as_posix() for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = LOADED.findall(page.read_text())
        assert loaded, page
        assert [each for each in loaded if re.match(r"(https?:)?//", each)] == [], page
    for style in site.rglob("*.css"):
        assert "url(http" not in style.read_text(), style


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_every_link_of_the_pages_beside_the_code_leads_somewhere(page: Path) -> None:
    assert [to for to in LINK.findall(page.read_text()) if not (ROOT / to).exists()] == []


def test_every_picture_is_small_and_shown() -> None:
    pictures = {path.name: path.stat().st_size for path in (ROOT / "docs/images").iterdir()}
    assert {name: size for name, size in pictures.items() if size > 300_000} == {}
    text = "".join(
        path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    )
    assert {name for name in pictures if f"images/{name}" not in text} == set()
