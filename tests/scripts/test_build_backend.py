"""The build backend builds the pages when they are old, and says in a sentence what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NPM = """#!/bin/sh
echo "$@" >> "$0.log"
cd ../python/venturi/web/assets
if [ "$1" = run ]; then mkdir -p app; touch page.js app/index.html; fi
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone without pages; tools in its `bin` stand for npm, Node and cargo."""
    root = tmp_path / "clone"
    for name in ("packaging", "web/src", "python/venturi/web/assets"):
        (root / name).mkdir(parents=True)
    shutil.copy(ROOT / "packaging/venturi_build.py", root / "packaging")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "web" / name, root / "web")
    (root / "web/src/page.tsx").touch()
    tool(root, "npm", NPM)
    tool(root, "node", "#!/bin/sh\necho v22.1.0\n")
    tool(root, "cargo", "#!/bin/sh\n")
    return root


def tool(root: Path, name: str, script: str) -> None:
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin" / name).write_text(script)
    (root / "bin" / name).chmod(0o755)


def call(root: Path, hook: str) -> subprocess.CompletedProcess[str]:
    for each in ("sh", "mkdir", "touch"):
        link = root / "bin" / each
        if not link.exists():
            link.symlink_to(str(shutil.which(each)))
    return subprocess.run(
        [sys.executable, "-c", f"import venturi_build; print(venturi_build.{hook}())"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(root / "bin"), "PYTHONPATH": str(root / "packaging")},
    )


def npm_calls(root: Path) -> list[str]:
    log = root / "bin/npm.log"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def test_missing_pages_are_built_once(clone: Path) -> None:
    for _ in range(2):
        done = call(clone, "build_pages")
        assert (done.returncode, done.stderr) == (0, "")
    assert npm_calls(clone) == ["ci", "run"]


def test_pages_older_than_their_sources_are_built_again(clone: Path) -> None:
    call(clone, "build_pages")
    later = time.time() + 10
    os.utime(clone / "web/src/page.tsx", (later, later))
    assert call(clone, "pages_are_old").stdout == "True\n"
    call(clone, "build_pages")
    assert npm_calls(clone).count("run") == 2


def test_a_source_distribution_needs_no_node(clone: Path) -> None:
    call(clone, "build_pages")
    shutil.rmtree(clone / "web")
    for name in ("npm", "node"):
        (clone / "bin" / name).unlink()
    done = call(clone, "get_requires_for_build_wheel")
    assert (done.returncode, done.stdout) == (0, "[]\n")


@pytest.mark.parametrize(
    ("lacking", "said"),
    [("cargo", "compiled from Rust"), ("npm", "there is no npm on PATH"), ("node", "Node >=20")],
)
def test_what_is_missing_is_said_in_a_sentence(clone: Path, lacking: str, said: str) -> None:
    (clone / "bin" / lacking).unlink()
    done = call(clone, "get_requires_for_build_wheel")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_old_node_is_refused(clone: Path) -> None:
    tool(clone, "node", "#!/bin/sh\necho v18.20.4\n")
    done = call(clone, "build_pages")
    assert done.returncode == 1
    assert "this is v18.20.4" in done.stderr
    assert npm_calls(clone) == []


def test_pages_that_cannot_be_built_end_the_build(clone: Path) -> None:
    tool(clone, "npm", "#!/bin/sh\necho broken\nexit 3\n")
    done = call(clone, "build_pages")
    assert done.returncode == 1
    assert "`npm ci` in" in done.stderr
    assert "status 3" in done.stderr


def test_neither_pages_nor_sources_is_a_damaged_source_distribution(clone: Path) -> None:
    shutil.rmtree(clone / "web")
    done = call(clone, "build_pages")
    assert done.returncode == 1
    assert "damaged" in done.stderr


MVN = """#!/bin/sh
echo "$@" >> "$0.log"
for module in scala-2.12/_2.12 scala-2.13/_2.13 service/-service; do
  mkdir -p ${module%/*}/target
  echo jar > ${module%/*}/target/venturi-tiered-storage${module#*/}.jar
done
mkdir -p ../task-names/target
echo jar > ../task-names/target/venturi-task-names.jar
"""


@pytest.fixture
def with_plugin(clone: Path) -> Path:
    """The clone with the sources of the plugins for Spark."""
    (clone / "jvm/tiered-storage").mkdir(parents=True)
    (clone / "jvm/tiered-storage/pom.xml").touch()
    (clone / "python/venturi/measure/engines/spark").mkdir(parents=True)
    return clone


def jars(root: Path) -> list[str]:
    return sorted(each.name for each in (root / "python").rglob("*.jar*"))


def test_the_plugin_is_built_when_it_is_old(with_plugin: Path) -> None:
    tool(with_plugin, "mvn", MVN)
    for _ in range(2):
        assert call(with_plugin, "build_plugin").returncode == 0
    names = ("task-names", "tiered-storage-service", "tiered-storage_2.12", "tiered-storage_2.13")
    assert jars(with_plugin) == [f"venturi-{each}.jar" for each in names]
    log = with_plugin / "bin/mvn.log"
    assert len(log.read_text().splitlines()) == 1
    later = time.time() + 10
    os.utime(with_plugin / "jvm/tiered-storage/pom.xml", (later, later))
    call(with_plugin, "build_plugin")
    assert len(log.read_text().splitlines()) == 2


def test_without_maven_all_else_is_built(with_plugin: Path) -> None:
    done = call(with_plugin, "build_plugin")
    assert (done.returncode, done.stderr, jars(with_plugin)) == (0, "", [])


def test_a_plugin_that_cannot_be_built_is_a_warning(with_plugin: Path) -> None:
    tool(with_plugin, "mvn", "#!/bin/sh\nexit 1\n")
    done = call(with_plugin, "build_plugin")
    assert done.returncode == 0
    assert "warning: the plugins for Spark were not built" in done.stderr
    assert jars(with_plugin) == []
