"""The linters that pyproject.toml configures, and the small checks of `scripts`, find planted faults."""

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
