"""Archives of the classes that an engine's JVMs load, kept in the user's cache folder.

Java accepts an archive only if the jars are where they were when it was made, so each lies in a
folder named after its inputs.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

ARCHIVE = "classes.jsa"
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVMs of seconds repay neither a second compiler nor collecting threads: half the time."""
FILL_S = 2400
"""How long a job that loads the classes may take on a machine with much else to do."""
# At a place of its own choice, Java would change all addresses in an archive at each start. And it
# would warn each time that an archive is of other jars.
QUIET = (
    "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0 "
    "-XX:+IgnoreUnrecognizedVMOptions -Xlog:disable -Xlog:all=error:stderr"
)


def kept(cache: Path, engine: str, made_of: object, make: Callable[[Path], None]) -> Path | None:
    """The folder of `engine` with an archive, which `make` puts into a new one if there is none
    `made_of` the same yet; None where this Java makes none.
    """
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    home = cache / f"{engine}-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{engine}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ARCHIVE).exists():
            shutil.rmtree(home, ignore_errors=True)
            make(home)
        return home if (home / ARCHIVE).exists() else None
