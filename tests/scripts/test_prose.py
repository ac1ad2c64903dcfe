"""The check of prose finds terms in each kind of text, and only lets their number fall."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLI = "python/venturi/cli/show.py"


def git(root: Path, *args: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    subprocess.run(("git", *who, *args), cwd=root, check=True, capture_output=True)


def prose(root: Path, *args: str) -> tuple[int, list[str]]:
    command = (sys.executable, ROOT / "scripts" / "prose", "--root", root, *args)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "file", "text", "line", "found"),
    [
        ("text", CLI, '@x.command()\ndef f():\n    """Show.\n\n    In vain."""\n', 5, "In vain"),
        ("text", CLI, 'X = option("-x", help="Take as alike " "what")\n', 1, "alike"),
        ("text", CLI, 'raise VenturiError(f"{n} hosts work at once")\n', 1, "at once"),
        ("text", "python/venturi/jobs/a.toml", 'a = 1\nb = "waits beside it"\n', 2, "beside"),
        ("text", "python/venturi/a.toml", 'example = "told it"\nfix = "told us"\n', 2, "told"),
        ("text", "web/src/A.tsx", "const a = (\n  <p>Colour of it</p>\n);\n", 2, "Colour"),
        ("text", "web/src/a.ts", 'const a = "they are told apart";\n', 1, "told apart"),
        ("text", "crates/x/src/a.rs", '// c\nlet a = "it is none.";\n', 2, "is none"),
        ("docs", "docs/a.md", "# A\n\nThe cost\nof what it reads.\n", 4, "of what"),
        ("docs", "docs/a.md", "Of a job the time is shown.\n", 1, "Of a"),
        ("docs", "docs/a.md", "| a |\n|---|\n| is foretold |\n", 3, "foretold"),
        ("docstring", "tests/a.py", 'def f():\n    """Mend it."""\n', 2, "Mend"),
        ("comment", "tests/a.py", 'A = "#"  # nobody reads it\n', 1, "nobody"),
        ("comment", "web/src/a.ts", "// a\n// takes some 30 s\n", 2, "some"),
        ("name", "tests/test_a.py", "def test_what_is_left(): pass\n", 1, "what"),
        ("name", "tests/a.py", "def told(): pass\n", 1, "told"),
    ],
)  # fmt: skip
def test_prose_lists_terms_by_kind(
    project: Path, kind: str, file: str, text: str, line: int, found: str
) -> None:
    put(project, file, text)
    status, lines = prose(project, "--list", kind)
    assert status == 0
    assert [said.rpartition("': ")[0] for said in lines] == [f"{file}:{line}: '{found}"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("docs/a.md", "What is a trial? You can't tell what if helps: `told`.\n"),
        ("docs/a.md", "```\nnothing told\n```\n\n> It was told in vain.\n\nIt says \"told\".\n"),
        ("docs/a.md", "Some of the job. Modern analyses, of course.\n"),
        (CLI, 'A = "SELECT told FROM whose"\nB = "told"\n'),
        ("web/src/a.ts", "const told = 1;\n"),
        ("tests/data/a.md", "told\n"),
    ],
)  # fmt: skip
def test_prose_ignores_code_quotations_and_plain_english(
    project: Path, file: str, text: str
) -> None:
    put(project, file, text)
    for kind in ("text", "docs", "docstring", "comment", "name"):
        assert prose(project, "--list", kind) == (0, [])


def test_prose_finds_long_sentences_same_classes_and_long_subjects(project: Path) -> None:
    put(project, "docs/a.md", f"{'word ' * 30}end.\n\n{'word ' * 29}end.\n")
    put(project, "python/venturi/a.py", "class A: pass\n")
    put(project, "python/venturi/b.py", "class A: pass\n")
    git(project, "add", ".")
    git(project, "commit", "-m", "x" * 73)
    git(project, "tag", "v1")
    git(project, "commit", "--allow-empty", "-m", "y" * 73)
    assert len(prose(project, "--list", "sentence")[1]) == 1
    assert prose(project, "--list", "class")[1][0].startswith("python/venturi/b.py:1: 'A'")
    (found,) = prose(project, "--list", "commit")[1]
    assert "y" * 73 in found
    git(project, "tag", "v2")
    assert prose(project, "--list", "commit") == (0, [])


def test_prose_is_a_ratchet(project: Path) -> None:
    put(project, "docs/guide/a.md", "It was in vain.\n")
    assert prose(project, "--write") == (0, [])
    counts = json.loads((project / "scripts/prose/counts.json").read_text())
    assert counts["docs"] == {"docs/guide": 1}
    assert prose(project) == (0, [])

    put(project, "docs/guide/b.md", "\nNobody knows.\n")
    status, lines = prose(project)
    assert status == 1
    assert lines[0] == "docs/guide: 2 findings of kind docs, 1 recorded; among these:"
    assert any("docs/guide/b.md:2: 'Nobody': name the role" in line for line in lines)

    put(project, "docs/guide/a.md", "It was wasted.\n")
    put(project, "docs/guide/b.md", "Unknown.\n")
    assert prose(project) == (
        0,
        ["prose: 1 findings fewer than recorded; run scripts/prose --write"],
    )


def test_stats_prints_rates_per_10000_words(project: Path) -> None:
    put(project, "docs/a.md", "You are told what it is.\n")
    status, lines = prose(project, "--stats")
    assert status == 0
    assert lines[1].split() == ["docs", "6", "1666.7", "0.0", "1666.7", "1666.7"]
