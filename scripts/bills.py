"""Writes Venturi's bills of materials into FOLDER, in CycloneDX: its Python packages, and its
pages'.

Usage: bills.py FOLDER. Runs in the environment of requirements-release.lock. Maturin lists the
agent's crates: `make wheel` puts all three into the wheel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "venturi.python.cdx.json"
PAGES = "venturi.pages.cdx.json"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            str(Path(sys.executable).with_name("cyclonedx-py")),
            "requirements",
            "requirements.lock",
            "--pyproject",
            "pyproject.toml",
            "--output-reproducible",
            "--of",
            "JSON",
            "-o",
            str(folder / PYTHON),
        ],
        cwd=ROOT,
        check=True,
    )
    pages = subprocess.run(
        ["npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"],
        cwd=ROOT / "web",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    (folder / PAGES).write_text(pages.stdout, "utf-8")


if __name__ == "__main__":
    main()
