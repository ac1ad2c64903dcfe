"""Third-party code in the wheel is listed with its licenses and their texts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from notices import NOTICES, Part, crates, notices, npm_packages  # noqa: E402


@pytest.mark.parametrize("name", ["io-uring", "clap", "echarts", "react-dom", "wouter"])
def test_what_agent_and_pages_are_made_of_is_listed(name: str) -> None:
    assert f"\n  {name} " in NOTICES.read_text("utf-8")


@pytest.mark.parametrize("name", ["tempfile", "proptest", "serde_derive", "vite", "typescript"])
def test_what_only_builds_or_tests_them_is_not(name: str) -> None:
    assert f"\n  {name} " not in NOTICES.read_text("utf-8")


def test_a_text_that_many_share_stands_once(tmp_path: Path) -> None:
    for name, text in (("one", "Be free.\n"), ("two", "Be free. \n"), ("three", None)):
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "LICENSE-MIT").write_text(text, "utf-8")
    parts = [Part("Kind", name, "1.0", "MIT", tmp_path / name) for name in ("one", "two", "three")]
    text = notices(parts)
    assert text.count("Be free.") == 1
    assert "\none 1.0, two 1.0\n" in text
    assert "  three 1.0: MIT (it comes without a text)\n" in text


def test_crates_are_followed_through_what_is_linked_only(tmp_path: Path) -> None:
    def package(name: str, *, ours: bool = False, kind: str = "lib") -> dict[str, object]:
        return {
            "id": name,
            "name": name,
            "version": "1.0",
            "license": "MIT",
            "manifest_path": str(tmp_path / "Cargo.toml"),
            "targets": [{"kind": [kind]}],
            "source": None if ours else "registry",
        }

    def uses(name: str, kind: str | None = None) -> dict[str, object]:
        return {"pkg": name, "dep_kinds": [{"kind": kind}]}

    metadata = {
        "packages": [
            package("venturi-agent", ours=True),
            package("ours", ours=True),
            package("far"),
            package("tested", kind="lib"),
            package("derive", kind="proc-macro"),
        ],
        "resolve": {
            "nodes": [
                {"id": "venturi-agent", "deps": [uses("ours"), uses("tested", "dev")]},
                {"id": "ours", "deps": [uses("far"), uses("derive")]},
                *({"id": name, "deps": []} for name in ("far", "tested", "derive")),
            ]
        },
    }
    assert [part.name for part in crates(metadata)] == ["far"]


def test_packages_of_npm_are_those_that_are_no_tools(tmp_path: Path) -> None:
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))
    names = {part.name for part in npm_packages(lock, tmp_path)}
    wanted = set(json.loads((ROOT / "web/package.json").read_text("utf-8"))["dependencies"])
    assert wanted <= names
    assert not any(name.startswith("@types/") for name in names)
