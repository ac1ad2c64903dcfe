"""Audits Venturi's dependencies: vulnerabilities, licenses, sources.

Usage: audit.py, by `make audit`. Prints one line per question. The exit status is 0 if everything
was checked without findings, 1 with findings, 3 without findings but with unanswered questions (no
network, a registry without advisories): those remain open.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PIP_AUDIT = ROOT / ".tools/audit/bin/pip-audit"
CARGO_DENY = ROOT / ".tools/cargo/bin/cargo-deny"
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """The findings; `not_asked` says why there may be more, None if there can't be."""

    question: str
    found: tuple[str, ...] = ()
    not_asked: str | None = None

    def lines(self) -> Iterator[str]:
        """The answer first, then a line for each thing found."""
        if self.found:
            yield f"{len(self.found)} found   {self.question}"
        elif self.not_asked is None:
            yield f"none found {self.question}"
        if self.not_asked is not None:
            yield f"NOT ASKED  {self.question}: {self.not_asked}"
        for each in self.found:
            yield f"             {each}"


def main() -> int:
    answers = []
    for answer in _answers():
        print("\n".join(answer.lines()), flush=True)
        answers.append(answer)
    return status(answers)


def _answers() -> Iterator[Answer]:
    """One at a time, for each takes seconds."""
    yield from map(_python, sorted(path.name for path in ROOT.glob("requirements*.lock")))
    yield _crates(
        "licences, sources and versions of the Rust crates", "licenses", "bans", "sources"
    )
    yield _crates("vulnerabilities of the Rust crates", "advisories")
    yield _npm("vulnerabilities of the packages of npm")


def status(answers: Iterable[Answer]) -> int:
    """Return the exit status; findings outweigh unanswered questions."""
    answers = list(answers)
    if any(answer.found for answer in answers):
        return 1
    return 3 if any(answer.not_asked is not None for answer in answers) else 0


def _python(lock: str) -> Answer:
    output, complaint = _run(
        [
            str(PIP_AUDIT),
            "-r",
            lock,
            "--disable-pip",
            "--require-hashes",
            "--format",
            "json",
            "--progress-spinner",
            "off",
        ],
        ROOT,
    )
    return python_answer(f"vulnerabilities of the Python packages in {lock}", output, complaint)


def python_answer(question: str, output: str, complaint: str) -> Answer:
    """Read pip-audit's JSON. Skipped packages count as unanswered, because its status is then 0,
    too.
    """
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Answer(question, not_asked=_last(complaint) or "pip-audit gave no answer")
    found = tuple(
        f"{package['name']} {package['version']}: {fault['id']}"
        + (f", mended in {', '.join(fault['fix_versions'])}" if fault["fix_versions"] else "")
        for package in packages
        for fault in package.get("vulns", ())
    )
    skipped = [package for package in packages if "skip_reason" in package]
    if not skipped:
        return Answer(question, found)
    reason = f"{len(skipped)} of {len(packages)} packages, first: {skipped[0]['skip_reason']}"
    return Answer(question, found, reason)


def _crates(question: str, *checks: str) -> Answer:
    _, talk = _run([str(CARGO_DENY), "--format", "json", "check", *checks], ROOT)
    return crates_answer(question, talk, checks)


def crates_answer(question: str, talk: str, checks: Sequence[str]) -> Answer:
    """Of cargo-deny's lines of JSON: errors are found things, no summary means it did not ask."""
    found, complaints, answered = [], [], False
    for line in talk.splitlines():
        try:
            said = json.loads(line)
            kind, fields = said["type"], said["fields"]
        except (ValueError, KeyError, TypeError):
            complaints.append(line)
            continue
        if kind == "diagnostic" and fields["severity"] == "error":
            crate = next(iter(fields.get("graphs", ())), {}).get("Krate", {})
            of = f"{crate['name']} {crate['version']}: " if crate else ""
            found.append(f"{of}{fields['message']}")
        elif kind == "log" and fields["level"] == "ERROR":
            complaints.append(fields["message"])
        elif kind == "summary":
            answered = set(checks) <= set(fields)
    if answered:
        return Answer(question, tuple(found))
    reason = complaints[0].splitlines()[0] if complaints else "cargo-deny gave no answer"
    return Answer(question, tuple(found), reason)


def _npm(question: str) -> Answer:
    output, complaint = _run(["npm", "audit", "--json", "--package-lock-only"], ROOT / "web")
    return npm_answer(question, output, complaint)


def npm_answer(question: str, output: str, complaint: str) -> Answer:
    """Of npm's JSON, which has `vulnerabilities` only where the registry answered."""
    try:
        told: Mapping[str, Any] = json.loads(output)
        packages = told["vulnerabilities"].values()
    except (ValueError, KeyError, TypeError, AttributeError):
        told = json.loads(output) if output.startswith("{") else {}
        return Answer(question, not_asked=told.get("message") or _last(complaint) or "no answer")
    found = tuple(f"{p['name']} {p['range']}: {p['severity']}" for p in packages)
    return Answer(question, found)


def _run(command: Sequence[str], folder: Path) -> tuple[str, str]:
    """stdout and stderr; the exit status says less than they do."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except FileNotFoundError:
        return "", f"{command[0]} is not installed"
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_TIMEOUT_S} s"
    return done.stdout, done.stderr


def _last(text: str) -> str:
    """The last line with words in it."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main())
