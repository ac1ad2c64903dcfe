"""Every command of the guides, the tutorials and the README does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import Block, blocks, check, check_parses, parse, steps

from venturi.core.topics import TOPICS, heading
from venturi.measure.lab.lab import down, labs

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    if path.parent.name not in {"reference", "method"}
)
DATA = {"text", "toml", "csv", "json", "nginx", "python", "tsx", "yaml"}


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page.read_text()):
        assert block.kind in {"sh", "console", *DATA}, f"line {block.line}: kind {block.kind!r}"
        if block.kind == "console":
            assert next(steps(block), None), f"line {block.line}: no command after `$ `"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_does_what_its_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("tests", "docs"):
        (folder / name).symlink_to(ROOT / name)
    try:
        for block in blocks(page.read_text()):
            if block.title and block.title.startswith(("python/", "web/")):
                continue  # test_how_to_add puts it into a copy of the package
            if block.title:
                (folder / block.title).write_text(block.text)
            elif block.kind in {"sh", "console"}:
                follow(block, folder)
    finally:
        for name in labs(tmp_path / "home"):
            down(tmp_path / "home", name)


@pytest.mark.parametrize("folder", ["tutorial", "guide"])
def test_every_page_begins_with_the_question_that_it_answers(folder: str) -> None:
    for page in (ROOT / "docs" / folder).rglob("*.md"):
        assert re.match(r"# [^\n]+\n\n\*[^*]+\?\*\n", page.read_text()), page.name


def follow(block: Block, folder: Path) -> None:
    for step in steps(block):
        if block.not_run:
            check_parses(step.command)
        elif not step.command.startswith("export VENTURI_HOME="):  # ours is as good
            check(step, folder)


def test_every_question_of_the_readme_has_a_command() -> None:
    table = re.findall(r"^\| [^|]+\? \| (.+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    commands = [each for row in table for each in re.findall(r"`venturi ([^`]*)`", row)]
    assert len(commands) > 20
    for command in commands:
        parse(re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command))


def test_documents_have_the_five_topics_with_their_questions() -> None:
    headings = [heading(topic) for topic in TOPICS]
    readme = (ROOT / "README.md").read_text().splitlines()
    assert [line[4:] for line in readme if line[4:] in headings] == headings
    index = (ROOT / "docs/index.md").read_text().replace("**", "").splitlines()
    assert [line[2:] for line in index if line[2:] in headings] == headings
    sidebar = re.findall(r"^  - (\w+):$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    names = [topic.capitalize() for topic in TOPICS]
    assert [each for each in sidebar if each in names] == names
    for topic in TOPICS:
        assert (ROOT / "docs/guide" / topic).is_dir()


def test_every_target_of_make_that_a_page_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / ".pre-commit-config.yaml"]:
        named_targets = set(re.findall(r"(?:`|^|: )make ([a-z-]+)", page.read_text(), re.MULTILINE))
        assert named_targets <= targets, page.name
