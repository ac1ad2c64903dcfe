"""Fetches Apache Hadoop from Maven Central: a pinned pom.xml, every jar pinned by its SHA-256.

Maven's own folder is kept until all jars are complete, so a killed download resumes. The engine
appears under its final name only when it is complete and checked.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from venturi.core.errors import Interrupted, VenturiError, refused
from venturi.measure.engines.java import Java, find_java
from venturi.measure.engines.protocol import Fetched, MissingRequirement
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.hosts.local import HERE, locked
from venturi.record.access.owner import current_owner

HADOOP_VERSION = "3.4.2"
JAVA = range(8, 23)  # Subject.getSubject, which Hadoop 3.4 calls, is gone from 23 on
PINNED = Path(__file__).parent
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_NEEDED_BYTES = 700 * 10**6
_GRACE_S = 5.0
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Hadoop:
    """An installation and a Java that suits it. `jars` are entries of a class path (`DIR/*`)."""

    home: Path
    version: str
    jars: tuple[str, ...]
    java: Java


@dataclass(frozen=True, slots=True)
class HadoopLookup:
    """The Hadoop found on a host; `hadoop` is None if something is missing."""

    hadoop: Hadoop | None
    version: str | None
    parts: Mapping[str, str]
    missing: tuple[MissingRequirement, ...]


def look_for_hadoop(
    host: LiveHost, home: Path, environ: Mapping[str, str], *, coming: bool = False
) -> HadoopLookup:
    """Find Hadoop of HADOOP_HOME, else the one installed below `home` (VENTURI_HOME), and its Java.

    With `coming` the latter counts as installed, because it is about to be.
    """
    missing: list[MissingRequirement] = []
    parts: dict[str, str] = {}
    version, place, jars = _find(host.files, home, environ, coming=coming)
    if place is None:
        missing.append(
            MissingRequirement("Hadoop is not installed", "venturi engines install mapreduce")
        )
    elif version is None:
        missing.append(
            MissingRequirement(f"{place} has no MapReduce examples and tests", "unset HADOOP_HOME")
        )
    if place is not None:
        parts["home"] = str(place)
    java = find_java(host, environ)
    mend = "apt-get install openjdk-17-jre-headless"
    if java is None:
        missing.append(MissingRequirement("no Java is installed", mend))
    else:
        parts["java"] = java.version
        if java.major not in JAVA:
            missing.append(
                MissingRequirement(
                    f"Java {java.version} is not one of {JAVA.start} to {JAVA.stop - 1}",
                    f"{mend}; export JAVA_HOME=...",
                    "VEN-ENGINE-JAVA",
                )
            )
    if missing or place is None or version is None or java is None:
        return HadoopLookup(None, version, parts, tuple(missing))
    return HadoopLookup(Hadoop(place, version, jars, java), version, parts, ())


def _find(
    files: Files, venturi_home: Path, environ: Mapping[str, str], *, coming: bool
) -> tuple[str | None, Path | None, tuple[str, ...]]:
    """Version, place and class path."""
    named = environ.get("HADOOP_HOME")
    if not named:
        place = place_of(venturi_home) if coming else installed(files, venturi_home)
        if place is None:
            return None, None, ()
        return HADOOP_VERSION, place, (f"{place}/*",)
    home = Path(named)
    share = home / "share" / "hadoop"
    jars = files.find(share / "mapreduce", "hadoop-mapreduce-examples-*.jar")
    tests = files.find(share / "mapreduce", "hadoop-mapreduce-client-jobclient-*-tests.jar")
    if not jars or not tests:
        return None, home, ()
    folders = (
        "common",
        "common/lib",
        "hdfs",
        "hdfs/lib",
        "mapreduce",
        "mapreduce/lib",
        "yarn",
        "yarn/lib",
        "yarn/timelineservice",
    )
    version = jars[0].path.stem.rpartition("-")[2]
    return version, home, tuple(f"{share / folder}/*" for folder in folders)


def pins() -> dict[str, str]:
    """SHA-256 of each jar by its name."""
    lines = HERE.read(PINNED / "jars.sha256").decode().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def place_of(home: Path) -> Path:
    """Where the jars of this version of the pins go below VENTURI_HOME."""
    digest = hashlib.sha256(HERE.read(PINNED / "jars.sha256")).hexdigest()[:8]
    return home / "engines" / f"hadoop-{HADOOP_VERSION}-{digest}"


def installed(files: Files, home: Path) -> Path | None:
    """The folder with Hadoop's jars, None if they were not installed."""
    place = place_of(home)
    return place if files.is_folder(place) else None


def install(
    host: LiveHost, home: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> Fetched:
    """Install Hadoop below `home` on this machine, after any other installation there has ended."""
    folder, anew = _install(host, home, environ, say)
    return Fetched("Hadoop", HADOOP_VERSION, folder, anew)


def _install(
    host: LiveHost, home: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> tuple[Path, bool]:
    place, files = place_of(home), host.files
    if files.is_folder(place):
        return place, False
    maven = host.which("mvn", environ.get("PATH"))
    if maven is None or find_java(host, environ) is None:
        raise VenturiError(
            "VEN-ENGINE-MISSING",
            "Maven (mvn) and Java are needed to download Hadoop",
            where={"engine": "mapreduce"},
            hint="apt-get install maven, or set HADOOP_HOME to an existing Hadoop",
        )
    try:
        files.mkdir(place.parent, parents=True, exist_ok=True)
        files.require_writable(place.parent)
    except OSError as error:
        raise refused(
            error,
            f"Hadoop cannot be installed in {place.parent}",
            where={"dir": str(place.parent)},
            hint="set VENTURI_HOME to a folder that you can write to",
        ) from error
    cache = place.parent / "maven"
    part = place.with_name(f".{place.name}.part")
    with _alone(place.parent / ".install.lock", say):
        if files.is_folder(place):
            return place, False
        if files.free_bytes(place.parent) < 2 * _NEEDED_BYTES:
            raise VenturiError(
                "VEN-ENGINE-SPACE",
                f"Hadoop needs {_NEEDED_BYTES / 1e6:.0f} MB while it is installed",
                where={"dir": str(place.parent)},
                hint="free some space, or set VENTURI_HOME to a folder on another disk",
            )
        files.remove(part)
        files.mkdir(part)
        files.put(PINNED / "pom.xml", part / "pom.xml")
        _fetch(host, maven, part, cache, environ=environ, say=say)
        _check(files, part / "jars")
        files.rename(part / "jars", place)
        files.remove(part)
        files.remove(cache)  # a copy of every jar
    return place, True


@contextmanager
def _alone(lock: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the file `lock`, after any other installation into the same home has ended."""
    told = False
    while True:
        with ExitStack() as stack:
            try:
                holder = stack.enter_context(locked(lock, f"process {current_owner().pid}"))
            except OSError as error:
                raise refused(
                    error,
                    f"Hadoop cannot be installed in {lock.parent}",
                    where={"file": str(lock)},
                    hint="set VENTURI_HOME to a folder on a file system that supports locks",
                ) from error
            if holder is None:
                yield
                return
        if not told:
            say(f"waits for another `venturi engines install` ({holder})")
        told = True
        time.sleep(_LOOK_AGAIN_S)


def _fetch(
    host: LiveHost,
    maven: str,
    part: Path,
    cache: Path,
    *,
    environ: Mapping[str, str],
    say: Callable[[str], None],
) -> None:
    command: list[str | Path] = [
        maven,
        "-B",
        "--strict-checksums",
        "-f",
        part / "pom.xml",
        f"-Dmaven.repo.local={cache}",
        _COPY,
        f"-DoutputDirectory={part / 'jars'}",
        "-DincludeScope=runtime",
    ]
    fetched, complaints = 0, []
    total = len(pins())
    process = host.start(command, cwd=part, env=environ)
    try:
        for line in process.lines():
            if b"Downloaded from" in line and b".jar" in line:
                fetched += 1
                if fetched % 20 == 0:
                    say(f"{fetched} jars (Hadoop has {total}, Maven needs some for itself)")
            elif b"[ERROR]" in line:
                complaints.append(line.decode(errors="replace").strip())
        status = process.wait()
    except KeyboardInterrupt:
        process.stop(_GRACE_S)
        raise Interrupted from None
    if status != 0:
        raise VenturiError(
            "VEN-ENGINE-INSTALL",
            f"Maven could not fetch Hadoop: {complaints[0] if complaints else f'status {status}'}",
            where={"command": " ".join(map(str, command))},
            hint="retry when Maven Central is reachable (configure a proxy or mirror in "
            "~/.m2/settings.xml); fetched files are kept",
        )


def _check(files: Files, jars: Path) -> None:
    """VEN-ENGINE-INSTALL unless the jars are exactly those pinned."""
    expected = pins()
    found = {}
    for each in files.entries(jars):
        with files.open(each.path) as file:
            found[each.path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    wrong = sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )
    if wrong:
        raise VenturiError(
            "VEN-ENGINE-INSTALL",
            f"{len(wrong)} jars differ from their pinned digests; the first is {wrong[0]}",
            where={"jar": wrong[0], "dir": str(jars)},
            hint="a mirror may have changed them; nothing was installed",
        )
