"""Files that use each other in a circle are found, and Rust has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(language: str, root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "circles.py", language, root],
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


def test_the_crates_of_this_project_have_no_circles() -> None:
    assert check("rust", ROOT) == (0, "")


LIBRARY = "mod a;\nmod b;\nmod c;\n"


@pytest.mark.parametrize(
    "back",
    [
        "use crate::a::f;\n",
        "use crate::{c, a};\n",
        "use crate::{a::*, c::*};\n",
        "use super::{c::{self}, a::{self as other}};\n",
        "fn g() { crate::a::f() }\n",
        "fn g(x: &Vec<super::a::T>) {}\n",
        "pub use crate::a::T;\nfn g(x: T) {}\n",
    ],
)
def test_a_circle_of_two_rust_files_is_found(tmp_path: Path, back: str) -> None:
    put(
        tmp_path,
        {
            "crates/x/src/lib.rs": LIBRARY,
            "crates/x/src/a.rs": "//! Says.\n\nuse crate::b::g;\n",
            "crates/x/src/b.rs": back,
            "crates/x/src/c.rs": "use crate::a::f;\n",
        },
    )
    status, said = check("rust", tmp_path)
    a, b = "crates/x/src/a.rs", "crates/x/src/b.rs"
    assert (status, said.splitlines()[0]) == (1, f"{a}:3 -> {b}:1 -> {a}")


def test_a_long_circle_is_said_once(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "crates/x/src/main.rs": LIBRARY,
            "crates/x/src/a.rs": "use crate::b;\n",
            "crates/x/src/b.rs": "\nuse crate::c;\n",
            "crates/x/src/c.rs": "\n\nuse crate::a;\n",
        },
    )
    circle = (
        "crates/x/src/a.rs:1 -> crates/x/src/b.rs:2 -> crates/x/src/c.rs:3 -> crates/x/src/a.rs"
    )
    assert check("rust", tmp_path) == (1, f"{circle}\n")


def test_a_name_passed_on_counts_for_the_file_that_it_comes_from(tmp_path: Path) -> None:
    files = {
        "crates/x/src/lib.rs": "mod low;\npub mod high;\npub use low::{L, low};\npub struct Top;\n",
        "crates/x/src/low.rs": "use crate::Top;\n",
        "crates/x/src/high.rs": "mod inner;\npub use inner::f;\nuse crate::{L, Top};\n",
        "crates/x/src/high/inner.rs": "use super::L;\nuse crate::Top;\n",
    }
    put(tmp_path, files)
    assert check("rust", tmp_path) == (0, "")
    put(tmp_path, {"crates/x/src/low.rs": "use crate::high::f;\n"})
    inner, low = "crates/x/src/high/inner.rs", "crates/x/src/low.rs"
    assert check("rust", tmp_path) == (1, f"{inner}:1 -> {low}:1 -> {inner}\n")


def test_a_file_and_the_folder_of_its_name_can_be_a_circle(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "crates/x/src/lib.rs": "mod a;\n",
            "crates/x/src/a/mod.rs": "mod b;\npub fn f() {\n    b::g();\n}\n",
            "crates/x/src/a/b.rs": "pub fn g() { super::f() }\n",
        },
    )
    circle = "crates/x/src/a/b.rs:1 -> crates/x/src/a/mod.rs:3 -> crates/x/src/a/b.rs"
    assert check("rust", tmp_path) == (1, f"{circle}\n")


def test_tests_comments_and_other_crates_make_no_circle(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "crates/x/src/lib.rs": "mod a;\nmod b;\n#[cfg(test)]\nmod gone;\n",
            "crates/x/src/a.rs": "use crate::b::g;\n",
            "crates/x/src/b.rs": "// use crate::a;\n/// See [`crate::a::f`].\n"
            'fn g() -> &\'static str { "crate::a::f" }\nfn h() { other::a::f() }\n'
            "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::a::f;\n}\n"
            "#[cfg(test)]\nuse crate::a::t;\n",
        },
    )
    assert check("rust", tmp_path) == (0, "")


@pytest.mark.parametrize(
    "back",
    [
        "import venturi.a\n",
        "from venturi import a\n",
        "from venturi.a import f\n",
        "from .a import f\n",
        "def g():\n    from venturi.a import f\n",
        "if TYPE_CHECKING:\n    from venturi.a import T\n",
    ],
)
def test_a_circle_of_python_files_is_found(tmp_path: Path, back: str) -> None:
    put(
        tmp_path,
        {
            "python/venturi/__init__.py": "",
            "python/venturi/a.py": "\nfrom venturi.b import g\n",
            "python/venturi/b.py": back,
        },
    )
    a, b, line = "python/venturi/a.py", "python/venturi/b.py", back.count("\n")
    assert check("python", tmp_path) == (1, f"{a}:2 -> {b}:{line} -> {a}\n")


def test_a_package_and_a_module_in_it_can_be_a_circle(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "python/venturi/part/__init__.py": "from venturi.part.one import f\n",
            "python/venturi/part/one.py": "import json\n",
            "python/venturi/part/two.py": "from . import one\nfrom ..part import f\n",
        },
    )
    assert check("python", tmp_path) == (0, "")
    put(tmp_path, {"python/venturi/part/one.py": "from venturi.part import g\n"})
    part, one = "python/venturi/part/__init__.py", "python/venturi/part/one.py"
    assert check("python", tmp_path) == (1, f"{part}:1 -> {one}:1 -> {part}\n")
