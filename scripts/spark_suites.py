"""Runs some of Spark's own test suites with and without the plugin for tiered storage, and
compares.

Usage: spark_suites.py [--spark 4|3.5] [--side with|without] [--kept] [SUITE...], by `make
test-spark-suites`; by default everything is run. Both sides have the same three local directories.
With the plugin, its first tier takes half of the files, whatever the free space
(`jvm/spark-suites`). A test with different results is run again, alone, on both sides, to find
failures by chance. The exit status is 1 if a test fails only with the plugin, or if a suite didn't
use the plugin.

The results of a suite on a side are kept in `target/spark-suites`, so that everything can be run in
parts: one `--side` runs without a comparison, and `--kept` reuses kept results unless the plugin,
the suites or Spark have changed since. A long suite runs in groups of tests, so that it continues
after a stop.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "jvm/spark-suites"
JARS = ROOT / "python/venturi/measure/engines/spark/jars"
FAST, SLOW = "venturi-fast", ("slow-0", "slow-1")
AGAIN = 3
_CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
# As Maven says it, or that it was so before.
_UNREACHABLE = re.compile("(could not|failed to) transfer", re.IGNORECASE)
_PLUGINS = "venturi.spark.tiers.TieredStoragePlugin,venturi.spark.tiers.TiersInTurn"
_TIMEOUT_S = 1800
_DONE = "done.json"
_LISTER = "venturi.spark.suites.Names"
# Most of the time processes start.
_SOON = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# By package. Those in our package are Spark's own, adapted to accept these settings.
SUITES = {
    "SortShuffleSuite": "venturi.spark.suites",
    "ExternalShuffleServiceSuite": "venturi.spark.suites",
    "ShuffleNettySuite": "venturi.spark.suites",
    "FallbackStorageSuite": "venturi.spark.suites",
    "HostLocalShuffleReadingSuite": "org.apache.spark.shuffle",
    "BlockManagerDecommissionIntegrationSuite": "org.apache.spark.storage",
    "DistributedSuite": "org.apache.spark",
}
# Of suites that take long, how many tests are run at a time.
AT_ONCE = {"DistributedSuite": 6}
SIDES = ("without", "with")
# As Spark's own build has them, for its tests.
_SETTINGS = {
    "spark.testing": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.master.rest.enabled": "false",
    "spark.memory.debugFill": "true",
    "spark.unsafe.exceptionOnMemoryLeak": "true",
}
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
_OPENS = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENED]


@dataclass(frozen=True, slots=True)
class Spark:
    """A version of Spark, as `jvm/spark-suites/pom.xml` has it."""

    scala: str
    profile: tuple[str, ...]


SPARKS = {"4": Spark("2.13", ()), "3.5": Spark("2.12", ("-Pspark-3.5",))}


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """A test by the name of its suite's class, without packages, and its own."""

    suite: str
    name: str


@dataclass(frozen=True, slots=True)
class Ran:
    """The results of a suite: each test's failure (None: passed), and the total seconds.

    `placed` counts files by tier; `tiered` are the processes with tiers, `stock` those with a
    plugin that had switched itself off. Killed processes report nothing.
    """

    tests: Mapping[Case, str | None]
    elapsed_s: float
    placed: Mapping[str, int]
    tiered: int
    stock: int

    def failed(self, test: Case) -> bool:
        """Whether it failed, or did not come."""
        return self.tests.get(test, "it was not run") is not None


class NotFetchedError(SystemExit):
    """Maven can't reach the repository with Spark's published files."""


class Suites:
    """Spark's published tests, ready to be run in `folder`."""

    def __init__(self, version: str, folder: Path) -> None:
        self._spark = SPARKS[version]
        self._folder = folder
        self._plugin = JARS / f"venturi-tiered-storage_{self._spark.scala}.jar"
        if not self._plugin.exists():
            sys.exit(f"{self._plugin} is not there: make setup builds it, if there is Maven")
        classes = folder / "classes"
        shutil.rmtree(classes, ignore_errors=True)
        classes.mkdir(parents=True)
        jars = f"{self._plugin}:{self._published()}"
        self._sources = sorted(SOURCES.rglob("*.java"))
        lint = "-Xlint:all,-processing,-classfile,-serial"
        compiler = ["javac", "--release", "17", lint, "-Werror", "-d", str(classes), "-cp", jars]
        subprocess.run([*compiler, *map(str, self._sources)], check=True)
        self._jars = f"{classes}:{jars}"

    def _published(self) -> str:
        """Return the class path that Maven makes from the pom; cached while that and all jars
        exist.
        """
        kept, pom = self._folder / "classpath", SOURCES / "pom.xml"
        if kept.exists() and kept.stat().st_mtime >= pom.stat().st_mtime:
            known = kept.read_text().strip()
            if all(Path(jar).exists() for jar in known.split(":")):
                return known
        maven = ["mvn", "--quiet", "--batch-mode", "--file", str(pom), *self._spark.profile]
        done = subprocess.run(
            [*maven, _CLASS_PATH, f"-Dmdep.outputFile={kept}"],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode == 0:
            return kept.read_text().strip()
        said = f"Maven makes no class path of {pom}:\n{done.stdout}"
        raise NotFetchedError(said) if _UNREACHABLE.search(said) else SystemExit(said)

    def _work(self, suite: str, side: str, only: Sequence[str]) -> Path:
        if not only:
            return self._folder / side / suite
        digest = hashlib.sha256("\n".join(only).encode()).hexdigest()
        return self._folder / f"{side}-some" / suite / digest[:16]

    def _made_of(self, side: str, only: Sequence[str]) -> str:
        """Return a digest of everything that determines the results."""
        whole = hashlib.sha256("\n".join([self._jars, *only]).encode())
        for each in (*self._sources, *([self._plugin] if side == "with" else [])):
            whole.update(each.read_bytes())
        return whole.hexdigest()

    def parts(self, suite: str) -> list[tuple[str, ...]]:
        """The names of the tests that are run at a time; none: all of them."""
        at_once = AT_ONCE.get(suite)
        if at_once is None:
            return [()]
        lister = ["java", *_OPENS, "-cp", self._jars, _LISTER, f"{SUITES[suite]}.{suite}"]
        listed = subprocess.run(lister, check=True, text=True, stdout=subprocess.PIPE).stdout
        names = listed.splitlines()
        return [tuple(names[at : at + at_once]) for at in range(0, len(names), at_once)]

    def kept(self, suite: str, side: str, *, only: Sequence[str] = ()) -> Ran | None:
        """Return the complete results of an earlier `run` with the same inputs; None without
        them.
        """
        work = self._work(suite, side, only)
        done = work / _DONE
        said = json.loads(done.read_bytes()) if done.exists() else {}
        if said.get("made_of") != self._made_of(side, only):
            return None
        return Ran(dict(_reported(work / "reports")), said["elapsed_s"], *_told(work / "told"))

    def run(self, suite: str, side: str, *, only: Sequence[str] = ()) -> Ran:
        """Run a suite, or only its tests in `only`, and keep the results."""
        work = self._work(suite, side, only)
        shutil.rmtree(work, ignore_errors=True)
        disks = [work / "disks" / name for name in (FAST, *SLOW)]
        for each in (*disks, work / "tmp", work / "home", work / "reports"):
            each.mkdir(parents=True)
        settings = {
            **_SETTINGS,
            "java.io.tmpdir": str(work / "tmp"),
            "spark.test.home": str(work / "home"),
            "spark.local.dir": ",".join(map(str, disks)),
        }
        if side == "with":
            settings |= {"spark.plugins": _PLUGINS, "spark.storage.hierarchyStore": f"{FAST} 0B"}
        command = [
            "java",
            "-Xmx1g",
            "-Xss4m",
            *_OPENS,
            *(f"-D{key}={value}" for key, value in settings.items()),
            "org.scalatest.tools.Runner",
            "-R",
            str(work),
            "-oW",
            "-u",
            str(work / "reports"),
            "-s",
            f"{SUITES[suite]}.{suite}",
            *(part for name in only for part in ("-t", name)),
        ]
        environment = {
            **os.environ,
            "CLASSPATH": self._jars,
            "JAVA_TOOL_OPTIONS": _SOON,
            "SPARK_DIST_CLASSPATH": self._jars,
            "SPARK_HOME": str(work / "home"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": self._spark.scala,
            "SPARK_TESTING": "1",
            "VENTURI_SUITES_TOLD": str(work / "told"),
        }
        began_s = time.monotonic()
        with (work / "out").open("wb") as out, (work / "log").open("wb") as log:
            try:
                # The status says that a test failed, as the reports do.
                subprocess.run(
                    command,
                    cwd=work,
                    env=environment,
                    stdout=out,
                    stderr=log,
                    check=False,
                    timeout=_TIMEOUT_S,
                )
            except subprocess.TimeoutExpired:
                sys.exit(f"{suite} {side}: stopped after {_TIMEOUT_S} s: see {work / 'out'}")
        found = Ran(
            dict(_reported(work / "reports")), time.monotonic() - began_s, *_told(work / "told")
        )
        if not found.tests:
            sys.exit(f"{suite} ran no test: see {work / 'out'} and {work / 'log'}")
        for folder in (work / "disks", work / "tmp"):
            shutil.rmtree(folder, ignore_errors=True)
        said = {"made_of": self._made_of(side, only), "elapsed_s": found.elapsed_s}
        (work / _DONE).write_text(json.dumps(said))
        return found


def _reported(folder: Path) -> Iterator[tuple[Case, str | None]]:
    """Yield each executed test with its failure; skipped tests are omitted."""
    for report in sorted(folder.glob("*.xml")):
        for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - made here
            test = Case(case.attrib["classname"].rpartition(".")[2], case.attrib["name"])
            wrong = [each for each in case if each.tag in {"failure", "error"}]
            if not any(each.tag == "skipped" for each in case):
                said = wrong[0].attrib.get("message", "") if wrong else ""
                yield test, " ".join(said.split())[:200] or wrong[0].tag if wrong else None


def _told(file: Path) -> tuple[dict[str, int], int, int]:
    """Return the counts recorded by the plugins of all processes: see TiersInTurn."""
    placed: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        match line.split():
            case ["placed", tier, files]:
                placed[tier] += int(files)
            case [kind]:
                processes[kind] += 1
    return dict(placed), processes["tiers"], processes["stock"]


def together(parts: Sequence[Ran]) -> Ran:
    """Combine the results of a suite that was run in parts."""
    placed: Counter[str] = Counter()
    for each in parts:
        placed.update(each.placed)
    return Ran(
        {test: wrong for each in parts for test, wrong in each.tests.items()},
        sum(each.elapsed_s for each in parts),
        dict(placed),
        sum(each.tiered for each in parts),
        sum(each.stock for each in parts),
    )


def compared(without: Ran, tiers: Ran) -> tuple[Case, ...]:
    """Return the tests with different results."""
    every = sorted({*without.tests, *tiers.tests})
    return tuple(test for test in every if without.failed(test) != tiers.failed(test))


def table(found: Mapping[str, tuple[Ran, Ran]]) -> Iterator[str]:
    """Yield a line for each suite, with the numbers of passed tests; then the tests that fail on
    both sides.
    """
    titles = ("without", "with", "s", "s", "fast files", "other files", "tiered", "stock")
    yield _row("suite", titles)
    for suite, (without, tiers) in found.items():
        every = {*without.tests, *tiers.tests}
        yield _row(
            suite,
            (
                *(f"{sum(not r.failed(t) for t in every)}/{len(every)}" for r in (without, tiers)),
                *(f"{r.elapsed_s:.0f}" for r in (without, tiers)),
                *(tiers.placed.get(tier, 0) for tier in (FAST, "last")),
                tiers.tiered,
                tiers.stock,
            ),
        )
    for without, tiers in found.values():
        for test in sorted({*without.tests, *tiers.tests}):
            if without.failed(test) and tiers.failed(test):
                yield f"fails on both sides: {test.suite}: {test.name}"
                yield f"    without: {without.tests.get(test)}"
                yield f"    with:    {tiers.tests.get(test)}"


def _row(name: str, cells: Iterable[object]) -> str:
    return f"{name:41}" + "".join(f" {cell:>11}" for cell in cells)


def is_used(ran: Ran) -> bool:
    """Whether files lay on the fast tier and on the other one."""
    return all(ran.placed.get(tier, 0) > 0 for tier in (FAST, "last"))


def _again(suites: Suites, suite: str, test: Case) -> tuple[int, int]:
    """How often it fails without the plugin and with it, of AGAIN runs of nothing else."""
    found = [0, 0]
    for _ in range(AGAIN):
        for at, side in enumerate(SIDES):
            found[at] += suites.run(suite, side, only=[test.name]).failed(test)
    return found[0], found[1]


def _differences(suites: Suites, found: Mapping[str, tuple[Ran, Ran]]) -> int:
    """Print the tests with different results; return the exit status."""
    status = 0
    for suite, (without, tiers) in found.items():
        if not is_used(tiers):
            print(f"THE PLUGIN WAS NOT IN USE: {suite}")
            status = 1
        for test in compared(without, tiers):
            stock, ours = _again(suites, suite, test)
            print(
                f"not alike: {test.suite}: {test.name}",
                f"    without: {without.tests.get(test, 'it was not run')}",
                f"    with:    {tiers.tests.get(test, 'it was not run')}",
                f"    again, alone: {stock} of {AGAIN} fail without, {ours} with",
                sep="\n",
                flush=True,
            )
            if ours > stock:
                status = 1
    return status


def _run(suites: Suites, names: Iterable[str], sides: Sequence[str], *, kept: bool) -> int:
    """Run the requested suites; with both sides, compare. Return the exit status."""
    found: dict[str, tuple[Ran, ...]] = {}
    for name in names:
        each = []
        parts = suites.parts(name)
        for side in sides:
            each.append(
                together(
                    [
                        (suites.kept(name, side, only=part) if kept else None)
                        or suites.run(name, side, only=part)
                        for part in parts
                    ]
                )
            )
            failed = sum(map(each[-1].failed, each[-1].tests))
            print(f"{name} {side}: {len(each[-1].tests)} tests, {failed} failed", flush=True)
        found[name] = tuple(each)
    if tuple(sides) != SIDES:
        return 0
    pairs = {name: (each[0], each[1]) for name, each in found.items()}
    print(*table(pairs), sep="\n", flush=True)
    return _differences(suites, pairs)


def main() -> int:
    """Run and compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--spark", choices=SPARKS)
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--kept", action="store_true")
    asked = parser.parse_args()
    if unknown := set(asked.suites) - SUITES.keys():
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    status = 0
    for version in [asked.spark] if asked.spark else SPARKS:
        print(f"\nSpark {version}", flush=True)
        suites = Suites(version, ROOT / "target/spark-suites" / version)
        sides = [asked.side] if asked.side else SIDES
        status |= _run(suites, asked.suites or SUITES, sides, kept=asked.kept)
    return status


if __name__ == "__main__":
    sys.exit(main())
