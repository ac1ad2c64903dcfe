"""A Java that lets JVMs of Hadoop and Spark read their classes from an archive: half the start-up.

The archive has the classes that the JVMs of one job on a cluster load: daemons, client, application
master and tasks. Java accepts it if the jars it was made of come first in the class path, but
Hadoop's begins with folders, those of configurations. So this Java puts these jars before them; no
jar with a configuration is among them. JVMs of Spark have the archive of `spark_classes`; this one
is for those without the environment of the tests: in containers and on the hosts of a lab.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from class_archives import ARCHIVE, BRIEF, FILL_S, QUIET, kept
from command_line import AGENT, PROGRAM
from this_host import FILES, HOST
from venturi.measure.engines.hadoop.install import installed
from venturi.measure.engines.java import Java, find_java

_JAVA = """\
#!/bin/sh
hadoop= spark= previous=
for argument do
  case $argument in
  org.apache.hadoop.*) hadoop=yes ;;
  org.apache.spark.launcher.*) ;;
  org.apache.spark.*) spark=yes ;;
  esac
  if [ "$previous" = -cp ]; then classes=$argument; fi
  previous=$argument
done
previous=
if [ "$spark" ] && [ -z "$hadoop$JAVA_TOOL_OPTIONS" ]; then
  export JAVA_TOOL_OPTIONS="{brief}"
  jars=$(echo "${{classes:-$CLASSPATH}}" | tr : '\\n' | grep -m 1 '/jars/[*]$')
  if [ -e "${{jars%/jars/*}}/{archive}" ]; then
    JAVA_TOOL_OPTIONS="{brief} -XX:SharedArchiveFile=${{jars%/jars/*}}/{archive} {quiet}"
    # A container's class path begins with folders; Spark's own programs begin with this jar.
    for first in "${{jars%/*}}"/slf4j-api-*.jar; do
      [ -z "$CLASSPATH" ] || CLASSPATH=$first:$jars:$CLASSPATH
    done
  fi
fi
if [ "$hadoop" ]; then
  # Neither a container nor another host has it of the tests.
  export JAVA_TOOL_OPTIONS="${{JAVA_TOOL_OPTIONS:-{brief}}} {options}"
  [ -z "$CLASSPATH" ] || CLASSPATH={jars}:$CLASSPATH
  for argument do
    shift
    [ "$previous" != -cp ] || argument={jars}:$argument
    previous=$argument
    set -- "$@" "$argument"
  done
fi
exec {java} "$@"
"""


@cache
def environment(engines_home: Path, folder: Path) -> Mapping[str, str]:
    """The variables that make JVMs of the Hadoop in `engines_home` use the archive, which is
    kept in `folder`; empty if this Java can't make one.
    """
    java = find_java(HOST, os.environ)
    place = installed(FILES, engines_home)
    if java is None or place is None:
        return {}
    # Those of tests have a configuration.
    found = sorted(jar.resolve() for jar in place.glob("*.jar") if "-tests" not in jar.name)
    jars = ":".join(map(str, found))
    made_of = (str(java.home), java.version, jars, _JAVA, BRIEF, QUIET)
    home = kept(folder, "hadoop", made_of, lambda home: _make(home, engines_home, java, jars))
    return {} if home is None else {"JAVA_HOME": str(home)}


def _make(home: Path, engines_home: Path, java: Java, jars: str) -> None:
    part = home / f"{ARCHIVE}.part"
    _put_java(home, java, jars, f"-XX:SharedArchiveFile={home / ARCHIVE} {QUIET}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lists, classes = folder / "lists", folder / "classes"
        for each in (lists, folder / "home", folder / "disk"):
            each.mkdir()
        _put_java(folder / "java", java, jars, f"-XX:DumpLoadedClassList={lists}/$$")
        unset = {key: each for key, each in os.environ.items() if not key.startswith("VENTURI_")}
        (folder / "home" / "engines").symlink_to(engines_home / "engines")
        subprocess.run(
            [
                *PROGRAM,
                "run",
                "terasort",
                "--engine",
                "mapreduce:cluster",
                "--bytes",
                "1MB",
                "--repeat",
                "1",
                "--warm-up",
                "0",
                "--dir",
                folder / "disk",
            ],
            env={
                **unset,
                "JAVA_HOME": str(folder / "java"),
                "VENTURI_AGENT": str(AGENT),
                "VENTURI_HOME": str(folder / "home"),
                "VENTURI_LOCK": str(folder / "lock"),
            },
            capture_output=True,
            check=False,
            timeout=FILL_S,
        )
        lines = (line for each in lists.iterdir() for line in each.read_text().splitlines())
        classes.write_text("\n".join(dict.fromkeys(lines)))
        subprocess.run(
            [
                java.program,
                "-Xshare:dump",
                f"-XX:SharedClassListFile={classes}",
                f"-XX:SharedArchiveFile={part}",
                "-cp",
                jars,
            ],
            env={key: value for key, value in os.environ.items() if key != "JAVA_TOOL_OPTIONS"},
            capture_output=True,
            check=False,
            timeout=FILL_S,
        )
    if part.exists():
        part.rename(home / ARCHIVE)


def _put_java(home: Path, java: Java, jars: str, options: str) -> None:
    """Makes `home` a JAVA_HOME of `java` that gives JVMs of Hadoop `options`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    with suppress(FileNotFoundError):  # some distributions have none
        shutil.copy(java.home / "release", home)
    paths = {"jars": shlex.quote(jars), "java": shlex.quote(str(java.program))}
    program.write_text(
        _JAVA.format(brief=BRIEF, archive=ARCHIVE, quiet=QUIET, options=options, **paths)
    )
    program.chmod(0o755)
