"""Which Java an engine would get, without starting it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)([^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation; `home` is what JAVA_HOME should be."""

    home: Path
    version: str
    major: int

    @property
    def program(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"


def find_java(environ: Mapping[str, str]) -> Java | None:
    """The Java of JAVA_HOME, else the one on PATH; None if there is none or it is broken."""
    named = environ.get("JAVA_HOME")
    program = Path(named, "bin", "java") if named else None
    if program is None:
        found = shutil.which("java", path=environ.get("PATH"))
        if found is None:
            return None
        program = Path(found).resolve()
    if not program.is_file():
        return None
    home = program.parent.parent
    try:
        text = (home / "release").read_text()
    except OSError:
        text = _asked(program)
    match = _VERSION.search(text)
    return Java(home, match[1] + match[2], int(match[1])) if match else None


def _asked(program: Path) -> str:
    """What it says itself: some distributions have no `release` file. Takes a tenth of a second."""
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr
