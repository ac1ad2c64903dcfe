"""Checks the files of `make wheel`: each is complete, and runs on the platform in its name.

Usage: check_dist.py FOLDER. One line per file; faults go to stderr, with exit status 1.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from notices import carried

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("venturi/web/assets/page.js", "venturi/web/assets/app/index.html")
SCRIPTS = ("data/scripts/venturi", "data/scripts/venturi-agent")
# The plugins for Spark, which are built only where there is Maven.
JARS = tuple(
    f"venturi/measure/engines/spark/jars/venturi-{name}.jar"
    for name in (
        "tiered-storage_2.12",
        "tiered-storage_2.13",
        "tiered-storage-service",
        "task-names",
    )
)
# The wheel's dependencies and their licenses.
TOLD = (
    "licenses/LICENSE",
    "licenses/THIRD-PARTY.txt",
    "sboms/venturi-agent.cyclonedx.json",
    "sboms/venturi.python.cdx.json",
    "sboms/venturi.pages.cdx.json",
)
SOURCES = (
    "Cargo.lock",
    "crates/agent/src/main.rs",
    "packaging/venturi_build.py",
    "packaging/venturi.data/scripts/venturi",
    *(f"python/{page}" for page in PAGES),
)
# The oldest C library that the wheel may ask for: that of systems of 2014.
MANYLINUX = "manylinux_2_17"


def main() -> int:
    folder = Path(sys.argv[1])
    faults = []
    for kind, check in (("*.whl", wheel_faults), ("*.tar.gz", sdist_faults)):
        found = sorted(folder.glob(kind))
        if len(found) != 1:
            faults.append(f"{folder} has {len(found)} files {kind}, not one")
        for path in found:
            faults += [f"{path.name}: {fault}" for fault in check(path)]
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
            twine = subprocess.run(
                [sys.executable, "-m", "twine", "check", "--strict", path],
                capture_output=True,
                text=True,
                check=False,
            )
            if twine.returncode:
                faults.append(f"{path.name}: {twine.stdout.strip() or twine.stderr.strip()}")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


def wheel_faults(path: Path) -> Iterator[str]:
    """Yield the faults of a wheel: missing files, a wrong platform in its name."""
    with zipfile.ZipFile(path) as wheel:
        yield from missing(wheel.namelist(), (*PAGES, *SCRIPTS, *JARS, *TOLD))
        yield from bill_faults(wheel)
    if MANYLINUX not in path.name:
        yield f"its name does not say {MANYLINUX}"
        return
    audit = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", path],
        capture_output=True,
        text=True,
        check=False,
    )
    if audit.returncode:
        yield f"auditwheel cannot read it: {audit.stderr.strip()}"
        return
    needs = json.loads(audit.stdout)["overall_tag"]
    if older_than(MANYLINUX, needs):
        yield f"its programs need {needs}, which is newer than the {MANYLINUX} of its name"


def bill_faults(wheel: zipfile.ZipFile) -> Iterator[str]:
    """The packages of the locks that the wheel's bills of materials do not list."""
    bills = [name for name in wheel.namelist() if name.endswith(TOLD[2:])]
    locked = packages_locked() if bills else {}
    for name in bills:
        listed = {
            unquote(each.get("purl", "")).partition("?")[0]
            for each in json.loads(wheel.read(name))["components"]
        }
        bill = name.rpartition("/")[2]
        yield from (f"{bill} does not list {each}" for each in sorted(locked[bill] - listed))


def packages_locked() -> dict[str, set[str]]:
    """By the bill that has to list them, the packages that the wheel is made of, as `pkg:` URLs."""
    linked, packages = carried()
    text = (ROOT / "requirements.lock").read_text("utf-8")
    installed = re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE)
    agent, python, pages = (bill.rpartition("/")[2] for bill in TOLD[2:])
    return {
        agent: {f"pkg:cargo/{each.name}@{each.version}" for each in linked},
        python: {f"pkg:pypi/{name}@{version}" for name, version in installed},
        pages: {f"pkg:npm/{each.name}@{each.version}" for each in packages},
    }


def older_than(named: str, needed: str) -> bool:
    """Return whether a system of tag `named` may lack a part that `needed` requires; linux_* may
    require anything.

    `named` is like manylinux_2_17, `needed` like manylinux_2_34_x86_64.
    """
    versions = [re.match(r"manylinux_(\d+)_(\d+)", tag) for tag in (named, needed)]
    if versions[1] is None:
        return True
    first, second = (tuple(map(int, found.groups())) for found in versions if found)
    return first < second


def sdist_faults(path: Path) -> Iterator[str]:
    """Yield the files missing in a source distribution for building a wheel without Node."""
    with tarfile.open(path) as sdist:
        yield from missing([name.partition("/")[2] for name in sdist.getnames()], SOURCES)


def missing(names: Collection[str], wanted: Collection[str]) -> Iterator[str]:
    """The files of `wanted` with which no name ends."""
    for each in wanted:
        if not any(name.endswith(each) for name in names):
            yield f"{each} is not in it"


if __name__ == "__main__":
    sys.exit(main())
