"""Writes THIRD-PARTY.txt: the third-party code in the wheel, its licenses, and their texts.

Usage: python scripts/notices.py [--check]. The agent contains Rust crates, the pages contain npm
packages; Python packages are installed separately, with their own notices. Needs the files fetched
by `make setup`. With --check nothing is written; the exit status is 1 if the file is stale.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTICES = ROOT / "THIRD-PARTY.txt"
_RULE = "=" * 80
_HEAD = """Venturi is under the licence in LICENSE. Its wheel carries the work of others:

- the agent (`venturi-agent`) is linked with the Rust crates below and with Rust's standard library,
  which is under MIT OR Apache-2.0;
- the pages are built with the packages of npm below.

Each is listed with the licence that it names; the texts that come with it follow.
Written by scripts/notices.py."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A package that the wheel carries, with the folder of its files."""

    kind: str
    name: str
    version: str
    licence: str
    folder: Path

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    def texts(self) -> Iterator[str]:
        """Yield its licenses and notices from its folder."""
        for path in sorted(self.folder.iterdir()):
            stem = path.name.upper()
            if path.is_file() and stem.startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE")):
                lines = path.read_text("utf-8").expandtabs().splitlines()
                yield "\n".join(line.rstrip() for line in lines).strip()


def crates(metadata: Mapping[str, Any], agent: str = "venturi-agent") -> list[Part]:
    """The crates of others that the agent is linked with, of `cargo metadata`; no macros of its
    compiler.
    """
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [key for key, package in packages.items() if package["name"] == agent]
    reached = set(todo)
    while todo:
        for uses in nodes[todo.pop()]["deps"]:
            linked = any(kind["kind"] is None for kind in uses["dep_kinds"])
            if linked and uses["pkg"] not in reached and not _is_macro(packages[uses["pkg"]]):
                reached.add(uses["pkg"])
                todo.append(uses["pkg"])
    return sorted(
        Part(
            "Rust crates",
            package["name"],
            package["version"],
            package["license"],
            Path(package["manifest_path"]).parent,
        )
        for package in (packages[key] for key in reached)
        if package["source"] is not None
    )


def _is_macro(package: Mapping[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def npm_packages(lock: Mapping[str, Any], web: Path) -> list[Part]:
    """Return the packages of package-lock.json except tools and their dependencies (types)."""
    return sorted(
        Part(
            "Packages of npm",
            path.rpartition("node_modules/")[2],
            package["version"],
            package["license"],
            web / path,
        )
        for path, package in lock["packages"].items()
        if path and not package.get("dev") and not package.get("devOptional")
    )


def notices(parts: Iterable[Part]) -> str:
    """The list of parts, then each text once with the parts that it came with."""
    owners: dict[str, list[str]] = {}
    lines = [_HEAD]
    kind = None
    for part in parts:
        if part.kind != kind:
            kind = part.kind
            lines.append(f"\n{kind}\n")
        texts = list(part.texts())
        remark = "" if texts else " (it comes without a text)"
        lines.append(f"  {part.title}: {part.licence}{remark}")
        for text in texts:
            owners.setdefault(text, []).append(part.title)
    for text, titles in owners.items():
        lines.append(f"\n{_RULE}\n{', '.join(titles)}\n{_RULE}\n\n{text}")
    return "\n".join(lines) + "\n"


def carried() -> tuple[list[Part], list[Part]]:
    """The crates in the agent and the packages of npm in the pages."""
    metadata = subprocess.run(
        [
            "cargo",
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))
    return crates(json.loads(metadata.stdout)), npm_packages(lock, ROOT / "web")


def main() -> int:
    linked, packages = carried()
    text = notices([*linked, *packages])
    if "--check" not in sys.argv[1:]:
        NOTICES.write_text(text, "utf-8")
    elif not NOTICES.is_file() or NOTICES.read_text("utf-8") != text:
        print("THIRD-PARTY.txt is stale: run `make generated`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
