"""A Spark with JVMs that read their classes from an archive, not from 280 jars: a third of their
start time.

It is a separate Spark, made of links where possible.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from class_archives import ARCHIVE, FILL_S, QUIET, kept

PROGRAM = Path(__file__).with_name("spark_classes_program.py")


def environment(spark: Path, java: str, cache: Path) -> Mapping[str, str]:
    """The variables that make JVMs of a copy of `spark` use the archive; empty if this Java
    can't make one.
    """
    jars = sorted((jar.name, jar.stat().st_size) for jar in (spark / "jars").iterdir())
    made_of = (java, jars, PROGRAM.read_text())
    home = kept(cache, "spark", made_of, lambda home: _make(home, spark))
    if home is None:
        return {}
    options = f"-XX:SharedArchiveFile={home / ARCHIVE} {QUIET}"
    own = os.environ.get("JAVA_TOOL_OPTIONS", "")
    return {"SPARK_HOME": str(home), "JAVA_TOOL_OPTIONS": f"{own} {options}"}


def _make(home: Path, spark: Path) -> None:
    for part in ("bin", "jars", "python"):
        shutil.copytree(spark / part, home / part, copy_function=_linked)
    archive = home / f"{ARCHIVE}.part"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                home / "bin" / "spark-submit",
                "--conf",
                "spark.ui.enabled=false",
                "--conf",
                "spark.sql.shuffle.partitions=2",
                "--conf",
                "spark.eventLog.enabled=true",
                "--conf",
                f"spark.eventLog.dir={folder}",
                PROGRAM,
                folder,
            ],
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                # For the driver only.
                "SPARK_SUBMIT_OPTS": "-XX:+IgnoreUnrecognizedVMOptions -Xlog:disable "
                f"-XX:ArchiveClassesAtExit={archive}",
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": folder,
                "PYSPARK_PYTHON": sys.executable,
            },
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=FILL_S,
        )
    shutil.rmtree(home / "work", ignore_errors=True)  # of the Worker
    if archive.exists():
        archive.rename(home / ARCHIVE)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
