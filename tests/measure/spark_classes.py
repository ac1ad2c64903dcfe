"""A Spark whose JVMs read their classes from an archive, not from 280 jars: a third of their start.

Java takes the archive only if the jars are where they were when it was made. So it is kept in the
user's cache folder with a Spark of its own, of links where links can be.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

PROGRAM = Path(__file__).with_name("spark_classes_program.py")
ARCHIVE = "classes.jsa"


def environment(spark: Path, java: str, cache: Path) -> Mapping[str, str]:
    """What lets JVMs of a copy of `spark` use the archive; nothing where this Java makes none."""
    jars = sorted((jar.name, jar.stat().st_size) for jar in (spark / "jars").iterdir())
    digest = hashlib.sha256(repr((java, jars, PROGRAM.read_text())).encode()).hexdigest()[:16]
    home = cache / f"spark-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ARCHIVE).exists():
            shutil.rmtree(home, ignore_errors=True)
            for part in ("bin", "jars", "python"):
                shutil.copytree(spark / part, home / part, copy_function=_linked)
            _make(home)
    if not (home / ARCHIVE).exists():
        return {}
    # Java would warn each time that the archive is not of the jars of Hadoop.
    options = f"-XX:SharedArchiveFile={home / ARCHIVE} -Xlog:disable -Xlog:all=error:stderr"
    own = os.environ.get("JAVA_TOOL_OPTIONS", "")
    return {"SPARK_HOME": str(home), "JAVA_TOOL_OPTIONS": f"{own} {options}"}


def _make(home: Path) -> None:
    part = home / f"{ARCHIVE}.part"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [home / "bin" / "spark-submit", "--conf", "spark.ui.enabled=false",
             "--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.eventLog.enabled=true",
             "--conf", f"spark.eventLog.dir={folder}", PROGRAM, folder],
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                # Of the driver alone.
                "SPARK_SUBMIT_OPTS": "-XX:+IgnoreUnrecognizedVMOptions -Xlog:disable "
                f"-XX:ArchiveClassesAtExit={part}",
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": folder,
                "PYSPARK_PYTHON": sys.executable,
            },
            cwd=folder, capture_output=True, check=False, timeout=280,
        )  # fmt: skip
    shutil.rmtree(home / "work", ignore_errors=True)  # of the Worker
    if part.exists():
        part.rename(home / ARCHIVE)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
