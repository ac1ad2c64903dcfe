"""The obstacles to a release, and the errors in its files."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "packaging")]

from check_dist import (  # noqa: E402
    bill_faults,
    older_than,
    packages_locked,
    sdist_faults,
    wheel_faults,
)
from release import obstacles_to, topmost, version_of  # noqa: E402
from venturi_build import MODULES  # noqa: E402

CHANGELOG = "# Changelog\n\n## 0.2.0 (2026-11-22)\n\n- One.\n- Two.\n\n## 0.1.0 (2026-01-01)\n"


def test_nothing_is_in_the_way() -> None:
    assert obstacles_to("0.2.0", tags=["v0.1.0"], changelog=CHANGELOG, changed=[]) == []


@pytest.mark.parametrize(
    ("version", "tags", "changelog", "changed", "said"),
    [
        ("0.2.0", ["v0.9.0", "v0.10.0"], CHANGELOG, [], "not above 0.10.0"),
        ("0.2.0", ["v0.2.0"], CHANGELOG, [], "raise it in Cargo.toml"),
        ("0.3.0", [], CHANGELOG, [], 'call it "0.3.0 (YYYY-MM-DD)"'),
        ("0.2.0", [], CHANGELOG.replace("2026-11-22", "unreleased"), [], "0.2.0 (unreleased)"),
        ("0.2.0", [], CHANGELOG.replace("- ", ""), [], "no entry"),
        ("0.2.0", [], CHANGELOG, [" M README.md"], "1 files differ"),
    ],
)
def test_what_is_in_the_way_is_said(
    version: str, tags: list[str], changelog: str, changed: list[str], said: str
) -> None:
    (obstacle,) = obstacles_to(version, tags=tags, changelog=changelog, changed=changed)
    assert said in obstacle


def test_the_version_stands_in_one_place() -> None:
    version = version_of((ROOT / "Cargo.toml").read_text("utf-8"))
    heading, entries = topmost((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert heading.startswith(version)
    assert entries
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert "version.workspace = true" in manifest.read_text("utf-8")
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in pyproject
    for name in ("package.json", "package-lock.json"):  # the pages have no version of their own
        web = json.loads((ROOT / "web" / name).read_text("utf-8"))
        assert web["version"] == "0.0.0"


def test_a_rehearsal_says_what_is_in_the_way_and_tags_nothing() -> None:
    def tags() -> str:
        return subprocess.run(
            ["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    before = tags()
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/release.py", "--no-build"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("release ")
    assert done.returncode == (1 if "in the way: " in done.stderr else 0), done.stderr
    assert tags() == before


@pytest.mark.parametrize(
    ("needed", "older"),
    [
        ("manylinux_2_17_x86_64", False),
        ("manylinux_2_5_x86_64", False),
        ("manylinux_2_34_x86_64", True),
        ("linux_x86_64", True),
    ],
)
def test_tags_promise_no_more_than_the_programs_keep(needed: str, older: bool) -> None:
    assert older_than("manylinux_2_17", needed) is older


def test_a_wheel_without_pages_or_agent_is_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / "venturi-0-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("venturi/__init__.py", "")
    faults = list(wheel_faults(path))
    assert any("page.js is not in it" in fault for fault in faults)
    assert any("venturi-agent is not in it" in fault for fault in faults)
    assert faults[-1] == "its name does not say manylinux_2_17"


@pytest.mark.parametrize("lost", [None, *MODULES.values()])
def test_a_wheel_has_every_plugin_for_spark(tmp_path: Path, lost: str | None) -> None:
    """Those that the build backend makes, which goes on without Maven."""
    path = tmp_path / "venturi-0-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in MODULES.values():
            if name != lost:
                wheel.writestr(f"venturi/measure/engines/spark/jars/{name}", "")
    said = [fault for fault in wheel_faults(path) if ".jar" in fault]
    folder = "venturi/measure/engines/spark/jars"
    assert said == ([] if lost is None else [f"{folder}/{lost} is not in it"])


@pytest.mark.parametrize("place", range(3))
def test_a_bill_of_materials_lists_every_package_of_its_lock(tmp_path: Path, place: int) -> None:
    locked = packages_locked()
    bill, lost = list(locked)[place], sorted(list(locked.values())[place])[-1]
    for without, said in ((None, []), (lost, [f"{bill} does not list {lost}"])):
        path = tmp_path / f"{without is None}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, packages in locked.items():
                parts = [{"purl": f"{quote(each, safe=':/')}?a=b"} for each in packages - {without}]
                wheel.writestr(f"v.dist-info/sboms/{name}", json.dumps({"components": parts}))
        with zipfile.ZipFile(path) as wheel:
            assert list(bill_faults(wheel)) == said


def test_a_source_distribution_without_pages_is_none(tmp_path: Path) -> None:
    path = tmp_path / "venturi-0.tar.gz"
    with tarfile.open(path, "w:gz") as sdist:
        sdist.add(ROOT / "Cargo.lock", "venturi-0/Cargo.lock")
    faults = list(sdist_faults(path))
    assert "Cargo.lock is not in it" not in faults
    assert "python/venturi/web/assets/page.js is not in it" in faults


def test_the_containerfile_copies_what_is_there_and_ends_as_a_user() -> None:
    lines = (ROOT / "Containerfile").read_text("utf-8").splitlines()
    copied = [
        name for line in lines if line.startswith("COPY ") for name in shlex.split(line)[1:-1]
    ]
    kept = (ROOT / ".containerignore").read_text("utf-8").splitlines()
    assert kept == ["*", *(f"!{name}" for name in copied)]
    for name in copied:
        assert name.startswith("dist/venturi-") or (ROOT / name).is_file()
    assert sum(line.startswith("RUN pip ") for line in lines) == 2
    order = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert 'ENTRYPOINT ["venturi"]' in lines
