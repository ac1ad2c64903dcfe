"""The audit's report on the answers of pip-audit, cargo-deny and npm, and on a missing answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from audit import Answer, crates_answer, npm_answer, python_answer, status  # noqa: E402


def _packages(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": list(packages), "fixes": []})


CLEAN = {"name": "click", "version": "8.2.0", "vulns": []}
BAD = {
    "name": "jinja2",
    "version": "2.10",
    "vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"]}],
}
SKIPPED = {"name": "six", "skip_reason": "Dependency not found on PyPI: six"}


def test_python_packages_without_faults() -> None:
    assert python_answer("p", _packages(CLEAN), "") == Answer("p")


def test_a_vulnerable_package_is_named_with_the_version_that_mends_it() -> None:
    answer = python_answer("p", _packages(CLEAN, BAD), "Found 1 known vulnerability")
    assert answer.found == ("jinja2 2.10: PYSEC-2019-217, mended in 2.10.1",)
    assert status([answer]) == 1


def test_a_package_that_was_skipped_is_not_one_without_faults() -> None:
    answer = python_answer("p", _packages(CLEAN, SKIPPED), "")
    assert answer.not_asked == "1 of 2 packages, first: Dependency not found on PyPI: six"
    assert status([answer]) == 3
    assert status([answer, python_answer("p", _packages(BAD), "")]) == 1


@pytest.mark.parametrize("output", ["", "null", "{}", "[1"])
def test_no_answer_is_said_to_be_none(output: str) -> None:
    answer = python_answer("p", output, "Traceback\nConnectionError: no network\n\n")
    assert answer.not_asked == "ConnectionError: no network"
    assert npm_answer("n", output, "").not_asked
    assert crates_answer("c", output, ["advisories"]).not_asked


def _summary(*checks: str) -> str:
    return json.dumps({"type": "summary", "fields": {check: {"errors": 0} for check in checks}})


def test_crates_are_in_order_only_if_every_check_was_made() -> None:
    talk = _summary("licenses", "bans")
    assert crates_answer("c", talk, ["licenses", "bans"]) == Answer("c")
    assert crates_answer("c", talk, ["licenses", "sources"]).not_asked


def test_a_crate_that_may_not_be_used_is_named() -> None:
    refused = {
        "type": "diagnostic",
        "fields": {
            "severity": "error",
            "message": "failed to satisfy license requirements",
            "graphs": [{"Krate": {"name": "left", "version": "1.0.0"}}],
        },
    }
    answer = crates_answer("c", f"{json.dumps(refused)}\n{_summary('licenses')}", ["licenses"])
    assert answer.found == ("left 1.0.0: failed to satisfy license requirements",)


def test_a_registry_without_advisories_is_named() -> None:
    refused = json.dumps({"message": "405 Method Not Allowed", "statusCode": 405})
    assert npm_answer("n", refused, "npm error").not_asked == "405 Method Not Allowed"
    asked = {"vulnerabilities": {"x": {"name": "x", "range": "<2", "severity": "high"}}}
    assert npm_answer("n", json.dumps(asked), "").found == ("x <2: high",)
    assert npm_answer("n", json.dumps({"vulnerabilities": {}}), "") == Answer("n")
    assert list(npm_answer("n", "", "").lines()) == ["NOT ASKED  n: no answer"]
