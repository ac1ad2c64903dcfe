"""Which Java an engine would get, without starting it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.hosts import threads
from venturi.measure.hosts.host import LiveHost

ANSWER_S = 20.0
_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)([^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation; `home` is its JAVA_HOME."""

    home: Path
    version: str
    major: int

    @property
    def program(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"


def find_java(host: LiveHost, environ: Mapping[str, str]) -> Java | None:
    """Find the Java of JAVA_HOME, else the one on PATH; None if it is missing or broken."""
    named = environ.get("JAVA_HOME")
    program = Path(named, "bin", "java") if named else None
    if program is None:
        found = host.which("java", environ.get("PATH"))
        if found is None:
            return None
        program = host.files.resolve(Path(found))
    if not host.files.is_file(program):
        return None
    home = program.parent.parent
    try:
        text = host.files.read(home / "release").decode(errors="replace")
    except OSError:
        text = _asked(host, program)
    match = _VERSION.search(text)
    return Java(home, match[1] + match[2], int(match[1])) if match else None


def _asked(host: LiveHost, program: Path) -> str:
    """Return the output of `java -version`, which takes a tenth of a second: some distributions
    lack a `release` file.
    """
    try:
        process = host.start([program, "-version"])
    except VenturiError:
        return ""
    late = threading.Timer(ANSWER_S, process.stop, (0.0,))
    try:
        threads.start(late)
        process.wait()
    except BaseException:
        process.stop(0.0)
        raise
    finally:
        late.cancel()
    return "\n".join(process.stderr_tail())
