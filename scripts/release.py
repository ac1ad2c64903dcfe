"""Prepares a release: checks for obstacles, then builds it with its bills of materials.

Without --tag it is a rehearsal: only dist/ changes. With --tag, and without obstacles, it makes the
tag at the end. It never sends anything; it prints the commands to type. The version is in
Cargo.toml ([workspace.package]) and nowhere else.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WHEEL_TESTS = (str(ROOT / ".venv/bin/python"), "-m", "pytest", "-m", "release")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", action="store_true", help="Make the tag (default: a rehearsal)")
    parser.add_argument("--no-build", action="store_true", help="Only say what is in the way")
    parser.add_argument("--skip-tests", action="store_true", help="Don't install and try the wheel")
    options = parser.parse_args()
    version = version_of((ROOT / "Cargo.toml").read_text("utf-8"))
    obstacles = obstacles_to(
        version,
        tags=git("tag", "--list", "v*").split(),
        changelog=(ROOT / "CHANGELOG.md").read_text("utf-8"),
        changed=git("status", "--porcelain").splitlines(),
    )
    print(f"release {version}")
    if not options.no_build:
        run("make", "--no-print-directory", "wheel")
        for path in sorted(DIST.iterdir()):
            print(f"  {path.relative_to(ROOT)}")
        if not options.skip_tests:
            run(*WHEEL_TESTS, environment={"VENTURI_TEST_DIST": str(DIST)})
    for obstacle in obstacles:
        print(f"in the way: {obstacle}", file=sys.stderr)
    if obstacles:
        return 1
    if not options.tag:
        print(f"ready; `make release TAG=1` makes the tag v{version}")
        return 0
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Venturi {version}")
    print(f"tagged v{version}; send it with `git push origin v{version}`")
    return 0


def version_of(cargo: str) -> str:
    """The version in the text of Cargo.toml."""
    version = tomllib.loads(cargo)["workspace"]["package"]["version"]
    assert isinstance(version, str)
    return version


def obstacles_to(version: str, *, tags: list[str], changelog: str, changed: list[str]) -> list[str]:
    """Return the obstacles to releasing `version`, each with its remedy.

    `tags` are the existing ones, like v0.1.0; `changed` are lines of `git status --porcelain`.
    """
    found = []
    newest = max((tag[1:] for tag in tags), key=_numbers, default=None)
    if newest is not None and _numbers(version) <= _numbers(newest):
        found.append(
            f"version {version} is not above {newest}, which is tagged: raise it in Cargo.toml, "
            "then `cargo update --workspace`"
        )
    heading, entries = topmost(changelog)
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d{{2}}-\d{{2}}\)", heading):
        found.append(
            f'the topmost section of CHANGELOG.md is "{heading}": call it "{version} (YYYY-MM-DD)"'
        )
    if not entries:
        found.append(f'the section "{heading}" of CHANGELOG.md has no entry')
    if changed:
        found.append(f"{len(changed)} files differ from the last commit: commit them")
    return found


def topmost(changelog: str) -> tuple[str, int]:
    """Return the heading of the first section, and its number of entries."""
    _, _, rest = f"\n{changelog}".partition("\n## ")
    heading, _, body = rest.partition("\n")
    section = body.partition("\n## ")[0]
    return heading.strip(), sum(line.startswith("- ") for line in section.splitlines())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def run(*command: str, environment: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **(environment or {})})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: `{' '.join(error.cmd)}` ended with status {error.returncode}")
