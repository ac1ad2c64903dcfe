"""The configured linters and the small checks of `scripts` find planted faults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(*command: str | Path, cwd: Path = ROOT, text: str = "") -> tuple[int, str]:
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_vulture_finds_functions_and_constants_that_nothing_uses(tmp_path: Path) -> None:
    put(tmp_path, {"a.py": "LEFT, USED = 1, 2\n\n\ndef left():\n    return USED\n"})
    status, output = run(BIN / "vulture", "--config", ROOT / "pyproject.toml", tmp_path)
    assert status == 3
    assert "unused variable 'LEFT'" in output
    assert "unused function 'left'" in output
    assert len(output.splitlines()) == 2


def test_a_circle_of_rust_files_is_found(tmp_path: Path) -> None:
    crate = tmp_path / "crates/x/src"
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::b::{B, b};\n",
        "b.rs": "//! [`crate::a::A`]\nfn b() { super::c::d::f() }\n",
        "c.rs": "mod d;\npub use d::f;\n",
        "c/d.rs": "use super::C;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
    }
    put(crate, files)
    command = (sys.executable, ROOT / "scripts" / "rust_circles.py", tmp_path)
    assert run(*command) == (0, "")
    put(crate, {"c/d.rs": "use crate::a::A;\n"})
    status, output = run(*command)
    assert status == 1
    assert set(output.strip().split(" -> ")) == {
        "crates/x/src/a.rs",
        "crates/x/src/b.rs",
        "crates/x/src/c/d.rs",
    }


def test_what_is_too_long_is_named(tmp_path: Path) -> None:
    run("git", "init", "--quiet", cwd=tmp_path)
    body = "    pass\n"
    fits, long = (
        f"def fits():\n{body * 79}",
        f"class A:\n    def long(self):\n{('    ' + body) * 80}",
    )
    put(tmp_path, {"a.py": fits, "b.py": fits + long, "c.ts": "\n" * 601, "d.java": "\n" * 600})
    put(tmp_path, {f"many/{number}.rs": "" for number in range(21)} | {"many/data.csv": "\n" * 601})
    status, output = run(sys.executable, ROOT / "scripts" / "budgets.py", cwd=tmp_path)
    assert status == 1
    assert sorted(output.splitlines()) == [
        "b.py:82: long has 81 lines",
        "c.ts: 601 lines",
        "many: 21 files",
    ]
