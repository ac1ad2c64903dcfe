"""The build backend: maturin, preceded by the web pages, so that every wheel has them.

In a clone, npm builds the pages when they are missing or older than their sources. A source
distribution contains built pages, so it needs Rust but no Node. Maven, if installed, builds the
plugins for Spark; without them everything else works, and their users get an error. Uses only the
standard library and maturin: installers run this before anything else is installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
ASSETS = ROOT / "python/venturi/web/assets"
# The two results of `npm run build`: the pages of a file, and those that are served.
PAGES = (ASSETS / "page.js", ASSETS / "app/index.html")
PLUGINS = (ROOT / "jvm/tiered-storage", ROOT / "jvm/task-names")
JARS = ROOT / "python/venturi/measure/engines/spark/jars"
# Jar of each module that the first plugin's pom builds.
MODULES = {
    "scala-2.12": "venturi-tiered-storage_2.12.jar",
    "scala-2.13": "venturi-tiered-storage_2.13.jar",
    "service": "venturi-tiered-storage-service.jar",
    "../task-names": "venturi-task-names.jar",
}

Settings = Mapping[str, Any] | None


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Write a wheel with the agent and the pages into `folder`; return its file name."""
    build_pages()
    build_plugin()
    return maturin.build_wheel(folder, settings, metadata)


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Write a wheel that refers to this folder; return its file name."""
    build_pages()
    build_plugin()
    return maturin.build_editable(folder, settings, metadata)


def build_sdist(folder: str, settings: Settings = None) -> str:
    """Write the sources with the built pages into `folder`; return the archive's file name."""
    build_pages()
    build_plugin()
    return maturin.build_sdist(folder, settings)


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """Return no further requirements; fail early if Rust or Node is missing."""
    check_rust()
    if pages_are_old():
        check_node()
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def check_rust() -> None:
    """Refuse without cargo. Maturin alone would fetch a whole toolchain without asking."""
    if shutil.which("cargo") is None:
        refuse(
            "Venturi's agent is compiled from Rust, and there is no cargo on PATH: install Rust "
            "(a package of your system, or rustup), or install a wheel, which needs none"
        )


def check_node() -> None:
    """Refuse without npm, or with a Node older than the pages' build needs."""
    wanted = json.loads((WEB / "package.json").read_text("utf-8"))["engines"]["node"]
    if shutil.which("npm") is None or shutil.which("node") is None:
        refuse(
            f"the web pages are not built, and there is no npm on PATH to build them: install "
            f"Node {wanted}, or install from a wheel or a source distribution, which carry them"
        )
    found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    if _numbers(found.stdout) < _numbers(wanted):
        refuse(f"the web pages are built with Node {wanted}; this is {found.stdout.strip()}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip().lstrip(">=v").split("."))


def pages_are_old() -> bool:
    """Return whether the pages are missing, or older than their sources."""
    if any(not page.is_file() for page in PAGES):
        if not WEB.is_dir():
            refuse(f"{ROOT} has neither the built pages nor web/ to build them from: it is damaged")
        return True
    if not WEB.is_dir():  # a source distribution
        return False
    sources = [
        *WEB.glob("*.json"),
        *WEB.glob("*.html"),
        *WEB.glob("*.config.ts"),
        *(path for path in (WEB / "src").rglob("*") if path.is_file()),
    ]
    newest = max(path.stat().st_mtime for path in sources)
    return PAGES[0].stat().st_mtime < newest  # the one that the Makefile looks at, too


def build_pages() -> None:
    """Build the pages if they are old, with exactly the locked packages."""
    if not pages_are_old():
        return
    check_node()
    modules = WEB / "node_modules/.package-lock.json"
    if (
        not modules.is_file()
        or modules.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime
    ):
        _npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    _npm("run", "--silent", "build")
    for page in PAGES:
        page.touch()


def plugin_is_old() -> bool:
    """Whether a plugin for Spark is missing, or older than its sources."""
    if not PLUGINS[0].is_dir():  # a source distribution, which has it or was made without Maven
        return False
    jars = [JARS / name for name in MODULES.values()]
    if not all(jar.is_file() for jar in jars):
        return True
    names = ("pom.xml", "*.java")
    sources = (path for folder in PLUGINS for name in names for path in folder.rglob(name))
    newest = max(path.stat().st_mtime for path in sources)
    return min(jar.stat().st_mtime for jar in jars) < newest


def build_plugin() -> None:
    """Build the plugins for Spark if one is old and Maven is installed; `make test` runs their
    tests.
    """
    if not plugin_is_old() or shutil.which("mvn") is None:
        return
    command = ["mvn", "--quiet", "--batch-mode", "-DskipTests", "package"]
    done = subprocess.run(command, cwd=PLUGINS[0], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        said = "the plugins for Spark were not built: Maven's message stands above"
        sys.stderr.write(f"warning: {said}. All else is there\n")
        return
    JARS.mkdir(exist_ok=True)
    for module, name in MODULES.items():
        part = JARS / f"{name}.part"
        shutil.copyfile(PLUGINS[0] / module / "target" / name, part)
        part.replace(JARS / name)


def _npm(*arguments: str) -> None:
    # Standard output is the installer's: what npm says goes where people read.
    done = subprocess.run(["npm", *arguments], cwd=WEB, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        refuse(
            f"the web pages could not be built: `npm {arguments[0]}` in {WEB} ended with status "
            f"{done.returncode}; its own message stands above"
        )


def refuse(sentence: str) -> None:
    """End the build with one sentence instead of a traceback."""
    sys.exit(f"error: {sentence}")
