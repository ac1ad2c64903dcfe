"""The budgets are kept, and a file or function over them is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "budgets.py", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
def test_this_project_keeps_its_budgets() -> None:
    assert check(ROOT) == (0, "")


def test_long_files_are_named(tmp_path: Path) -> None:
    for name in ("python/a.py", "crates/x/src/b.rs", "web/src/c.ts", "web/src/d.tsx"):
        put(tmp_path, name, "\n" * 601)
    put(tmp_path, "python/fits.py", "\n" * 600)
    for name in ("python/data.csv", "web/node_modules/x.ts", "target/x.rs", ".venv/x.py"):
        put(tmp_path, name, "\n" * 601)
    status, said = check(tmp_path)
    assert status == 1
    assert [line.split(":")[0] for line in said.splitlines()] == [
        "python/a.py",
        "crates/x/src/b.rs",
        "web/src/c.ts",
        "web/src/d.tsx",
    ]


def test_long_python_functions_are_named(tmp_path: Path) -> None:
    body = "    pass\n" * 79
    put(tmp_path, "python/fits.py", f"def fits():\n{body}")
    put(
        tmp_path,
        "python/long.py",
        f"\nclass C:\n    def long(self):\n{body.replace('pass', '    pass')}        pass\n",
    )
    assert check(tmp_path) == (1, "python/long.py:3: long has 81 lines, at most 80\n")


def test_long_rust_functions_are_named(tmp_path: Path) -> None:
    odd = """    let _ = ("}", '}', '\\'', b'{', r#"}"}"#, "\\"}"); // }
    /* } */ let f: fn(u8) -> u8 = |x: u8| { x };
"""
    body = odd + "    step();\n" * 76
    generic = "fn fits<'a, const N: usize>(x: [u8; 4]) -> &'a str where [(); N]: Sized {\n"
    put(
        tmp_path, "crates/x/src/fits.rs", f"{generic}{body}}}\ntrait T {{ fn head(x: [u8; 4]); }}\n"
    )
    put(
        tmp_path,
        "crates/x/src/long.rs",
        f"/* fn no() {{ */\npub fn long() {{\n{body}    step();\n}}\n",
    )
    assert check(tmp_path) == (1, "crates/x/src/long.rs:2: long has 81 lines, at most 80\n")
