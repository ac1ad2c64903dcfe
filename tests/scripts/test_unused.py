"""What nothing but tests uses is found, and the product has nothing of the kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "unused.py", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_product_has_no_definition_that_only_tests_use() -> None:
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize(
    "planted",
    [
        "def planted() -> int:\n    return 1\n",
        "class planted:\n    pass\n",
        "planted = 1\n",
        "planted: int = 1\n",
        "def planted(n: int) -> int:\n    return planted(n - 1)\n",
        "@cache\ndef planted() -> int:\n    return 1\n",
    ],
)
def test_a_definition_that_only_a_test_uses_is_found(tmp_path: Path, planted: str) -> None:
    put(
        tmp_path,
        {
            "python/venturi/a.py": planted,
            "tests/test_a.py": "from venturi.a import planted\n\nplanted()\n",
        },
    )
    said = "python/venturi/a.py:1: planted is used by tests only, or by nothing\n"
    assert check(tmp_path) == (1, said)


def test_what_only_the_unused_uses_is_unused(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "python/venturi/a.py": "def _f(): ...\ndef g(): _f()\n",
            "python/venturi/b.py": "from venturi.a import g\n\ndef h(): g()\n",
        },
    )
    status, said = check(tmp_path)
    assert status == 1
    assert [line.split()[1] for line in said.splitlines()] == ["_f", "g", "h"]


def test_a_method_that_nothing_calls_is_found(tmp_path: Path) -> None:
    put(tmp_path, {"python/venturi/a.py": "class C:\n    def m(self): self.m()\nC()\n"})
    said = "python/venturi/a.py:2: m is used by tests only, or by nothing\n"
    assert check(tmp_path) == (1, said)


@pytest.mark.parametrize(
    "user",
    [
        {"python/venturi/a.py": "def f(): ...\nf()\n"},
        {"python/venturi/b.py": "from venturi.a import f as g\ng()\n"},
        {"python/venturi/b.py": "from venturi import a\na.f()\n"},
        {"python/venturi/b.py": 'NAMED = "venturi.a:f"\nprint(NAMED)\n'},
        {"python/venturi/__init__.py": "from venturi.a import f\n"},
        {"benchmarks/b.py": "from venturi.a import f\nf()\n"},
        {"python/venturi/a.py": "import click\n@click.command()\ndef f(): ...\n"},
        {"python/venturi/a.py": "import io\nclass C(io.RawIOBase):\n    def f(self): ...\nC()\n"},
    ],
)
def test_what_is_named_or_registered_is_used(tmp_path: Path, user: dict[str, str]) -> None:
    put(tmp_path, {"python/venturi/a.py": "def f(): ...\n", **user})
    assert check(tmp_path) == (0, "")
