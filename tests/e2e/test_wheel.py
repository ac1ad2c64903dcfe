"""The wheel, installed by an ordinary user who has no network, no Rust and no Node, works.

It is installed with the very lines of the Containerfile. As root the tests become such a user, in a
network of its own that goes nowhere; otherwise the user who runs them is one already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools/uv/bin/uv"
NOBODY = 65534
INSTALLED_BYTES_MAX = 420 << 20  # all packages, compiled
# In a network of its own, with nothing but the loopback, as a user who owns nothing. The second
# shell is there because setpriv itself still starts programs with the rights of root.
APART = (
    "unshare",
    "--net",
    "sh",
    "-c",
    "ip link set lo up && "
    'exec setpriv --reuid="$0" --regid="$0" --clear-groups sh -c \'exec "$@"\' sh "$@"',
    str(NOBODY),
)
TOOLS = ("sh", "id", "ip", "mkdir", "setpriv", "unshare")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take itself off the network")
pytestmark = [pytest.mark.release, pytest.mark.slow, pytest.mark.timeout(600)]
DIST = "VENTURI_TEST_DIST"

Done = subprocess.CompletedProcess[str]


def must(*command: object, **options: Any) -> Done:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this tree.

    `make release` names the folder of those that it has built; otherwise they are built here.
    """
    if given := os.environ.get(DIST):
        return Path(given)
    if not UV.is_file():
        pytest.fail(f"there is no {UV}: `make setup` installs it")
    folder = tmp_path_factory.mktemp("dist")
    # The same target folder as `make setup`: what is built already is not built again.
    must(
        UV,
        "build",
        "--quiet",
        "--wheel",
        "--sdist",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        folder,
        cwd=ROOT,
    )
    return folder


@dataclass(frozen=True)
class User:
    """A user who owns `place` and nothing else, and runs the programs in `place`/venv."""

    place: Path

    def run(self, *command: object, **environment: str) -> Done:
        """Runs a command in a folder of the user's, with nothing of this checkout in reach."""
        return must(*self._apart(), *command, cwd=self.place, env=self._variables(environment))

    def fails(self, *command: object, **environment: str) -> Done:
        done = subprocess.run(
            [*self._apart(), *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.place,
            env=self._variables(environment),
        )
        assert done.returncode != 0, done.stdout
        return done

    def _apart(self) -> tuple[str, ...]:
        return APART if os.geteuid() == 0 else ()

    def _variables(self, more: dict[str, str]) -> dict[str, str]:
        path = f"{self.place}/venv/bin:{self.place}/bin"
        # It waits for nobody else who measures on this host.
        own = {"HOME": str(self.place), "VENTURI_LOCK": str(self.place / "measuring.lock")}
        return {**own, "PATH": path, "LANG": "C.UTF-8", **more}


def put_tools(folder: Path) -> None:
    """Links to the few tools that tests use, so that the user has no others."""
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        if found is None:
            pytest.skip(f"there is no {name}")
        (folder / name).symlink_to(found)


def python_for_all() -> str:
    """A Python that every user may run and make environments with."""
    base = getattr(sys, "_base_executable", sys.executable)
    for python in (base, "/usr/bin/python3"):
        probe = subprocess.run(
            [
                *(APART if os.geteuid() == 0 else ()),
                python,
                "-c",
                "import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))",
            ],
            capture_output=True,
            check=False,
        )
        if probe.returncode == 0:
            return python
    pytest.skip("no Python 3.11 with venv that another user may run (python3-venv)")


@pytest.fixture(scope="module")
def user(built: Path) -> Iterator[User]:
    """A user who has installed the wheel, with the lines of the Containerfile and no network."""
    python = python_for_all()
    place = Path(tempfile.mkdtemp(prefix="venturi-wheel-"))
    try:
        somebody = User(place)
        put_tools(place / "bin")
        (wheel,) = built.glob("venturi-*.whl")
        shutil.copy(wheel, place)
        shutil.copy(ROOT / "requirements.lock", place)
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        somebody.run(python, "-m", "venv", place / "venv")
        must(
            place / "venv/bin/python",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "-r",
            ROOT / "requirements.lock",
            "-d",
            place / "wheels",
        )
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place / "wheels")}
        for line in pip_lines():
            somebody.run("sh", "-c", line, PYTHONDONTWRITEBYTECODE="1", **offline)
        shutil.rmtree(place / "wheels")
        yield somebody
    finally:
        shutil.rmtree(place)


def pip_lines() -> list[str]:
    """The commands with which the Containerfile installs."""
    lines = (ROOT / "Containerfile").read_text("utf-8").splitlines()
    return [line.removeprefix("RUN ") for line in lines if line.startswith("RUN pip ")]


@as_root
def test_the_user_is_nobody_without_network_rust_and_node(user: User) -> None:
    assert user.run("id", "-u").stdout.strip() == str(NOBODY)
    assert "default" not in user.run("ip", "route").stdout
    for tool in ("cargo", "rustc", "npm", "node"):
        user.fails("sh", "-c", f"command -v {tool}")


def test_it_is_light_and_compiled(user: User) -> None:
    (packages,) = (user.place / "venv/lib").glob("python3.*/site-packages")
    files = [path for path in packages.rglob("*") if path.is_file() and "pip" not in path.parts]
    names = {path.relative_to(packages).parts[0] for path in files}
    assert not names & {"pyarrow", "scipy", "pyspark", "psycopg", "numba"}
    size = sum(path.stat().st_blocks * 512 for path in files)
    assert size <= INSTALLED_BYTES_MAX, f"{size >> 20} MiB are installed"
    # Also where PYTHONDONTWRITEBYTECODE is set, as in many containers: pip compiles all the same.
    assert list((packages / "venturi/cli/__pycache__").glob("main.*.pyc"))


def test_it_finds_its_own_agent_built_for_speed(user: User) -> None:
    answer = json.loads(user.run("venturi", "version", "--json").stdout)
    assert answer["warnings"] == []
    agent = answer["data"]["agent"]
    assert agent["path"] == str(user.place / "venv/bin/venturi-agent")
    assert agent["build_profile"] == "release"
    assert agent["version"] == answer["data"]["venturi"]


def test_it_does_the_main_job(user: User) -> None:
    done = user.run("venturi", "quickstart", "--time-budget", "15s", "--json")
    data = json.loads(done.stdout)["data"]
    states = {trial["workload"]["name"]: trial["state"] for trial in data["trials"]}
    assert states["diskbench"] == "succeeded", data["skipped"]
    assert states.get("terasort") == "succeeded", data["skipped"]
    assert "<html" in (user.place / "report.html").read_text()


def test_it_sorts_validates_and_shows(user: User) -> None:
    made = json.loads(
        user.run("venturi", "gen", "in", "--bytes", "20MB", "--checksum", "--json").stdout
    )
    user.run("mkdir", "out")
    sort = user.run("venturi", "sort", "in", "-o", "out", "--verify", "--validate", "--json")
    trial = json.loads(sort.stdout)["data"]
    assert trial["state"] == "succeeded"
    parts = sorted((user.place / "out").glob("part-*"))
    seen = json.loads(user.run("venturi", "validate", *parts, "--json").stdout)["data"]
    assert (seen["ordered"], seen["records"]) == (True, 200_000)
    assert seen["checksum"] == made["data"]["checksum"]
    assert "map+shuffle" in user.run("venturi", "show", trial["id"]).stdout


def test_every_verb_and_model_loads_without_the_extras(user: User) -> None:
    program = """
import importlib, pkgutil, venturi
for found in pkgutil.walk_packages(venturi.__path__, "venturi."):
    parts = found.name.split(".")
    apart = {"on_spark", "driver", "spark_records", "spark_levels", "data", "check",
             "migrations", "__main__"}
    if not apart & set(parts):
        importlib.import_module(found.name)
"""
    user.run("venv/bin/python", "-c", program)
    assert "quickstart" in user.run("venturi", "--help").stdout
    assert "kmeans" in user.run("venturi", "workloads").stdout


def test_logs_of_every_compression_are_read_without_the_extras(user: User) -> None:
    logs = ROOT / "tests/data/spark/4.3.0"
    for name in ("tiny.zstd", "tiny.lz4", "tiny-xerial.snappy"):
        shutil.copy(logs / name, user.place)
        (user.place / name).chmod(0o644)
        user.run("venturi", "import", "spark-eventlog", name)


def test_what_an_extra_is_missed_for_names_it(user: User) -> None:
    spark = user.fails("venturi", "run", "kmeans", "--engine", "spark", "--scale", "tiny")
    assert "pip install 'venturi[spark]'" in spark.stderr
    url = "postgresql://nobody@localhost/none"
    database = user.fails("venturi", "ls", VENTURI_DATABASE_URL=url)
    assert "VEN-RECORD-DATABASE" in database.stderr
    assert "pip install 'venturi[postgresql]'" in database.stderr


def test_the_source_distribution_has_all_that_the_wheel_is_made_of(
    built: Path, tmp_path: Path
) -> None:
    """It needs no Node: the pages are in it. Rust reads its locked workspace as it is."""
    (packed,) = built.glob("venturi-*.tar.gz")
    with tarfile.open(packed) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    (wheel,) = built.glob("venturi-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = [name for name in archive.namelist() if name.startswith("venturi/")]
    assert "venturi/web/assets/page.js" in shipped
    assert "venturi/web/assets/app/index.html" in shipped
    assert [name for name in shipped if not (source / "python" / name).is_file()] == []
    assert (source / "packaging/venturi.data/scripts/venturi").is_file()
    assert not (source / "web").exists()
    must("cargo", "metadata", "--locked", "--offline", "--format-version=1", cwd=source)
