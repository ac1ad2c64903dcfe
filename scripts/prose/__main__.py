"""Checks the project's English against `terms.toml`, as a ratchet: findings may only become fewer.

Usage: python scripts/prose [--write | --stats | --list KIND [PATH]] [--root ROOT]. Kinds are `text`
(what users see: help, errors, rules, pages), `docs`, `docstring`, `comment`, `name`, `sentence`
(over 30 words in docs, help and pages), `class` (the name of several classes) and `commit`
(subjects over 72 characters since the last tag). `counts.json` records how many there are of each
kind in each folder. Exits 1 if there are more than recorded.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tomllib import loads
from typing import Any

from sources import HELP, PAGE, Passage, passages

HERE = Path(__file__).parent
TERMS = HERE / "terms.toml"
COUNTS = "scripts/prose/counts.json"
SUFFIXES = "*.py *.md *.toml *.ts *.tsx *.rs *.java"
LEFT_OUT = re.compile(
    r"(^|/)(generated|tests/data|tests/golden|node_modules|migrations)/|^scripts/prose/|^LICENSE|^CLAUDE"
)
KINDS = ("text", "docs", "docstring", "comment", "name", "sentence", "class", "commit")
LONGEST = 30  # words in a sentence
SUBJECT = 72  # characters of a commit's subject
SHOWN = 20  # findings of one kind in one folder
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])|\n\s*\n")
TOKEN = re.compile(r"[\w'’-]*\w")
STATS = {
    "told": re.compile(r"\b(?:told|tells?|telling|foret(?:old|ells?)|untold)\b", re.IGNORECASE),
    "whose": re.compile(r"\bwhose\b", re.IGNORECASE),
    "what": re.compile(r"\bwhat\b(?![ -]if\b)(?![^.!?]*\?)", re.IGNORECASE),
    "you": re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE),
}


@dataclass(frozen=True, order=True)
class Finding:
    """One place where the English is not the project's."""

    kind: str
    file: str
    line: int
    found: str
    advice: str

    @property
    def folder(self) -> str:
        """The folder under which it is counted: a room, a topic of the docs, or the file."""
        parts = self.file.split("/")
        return "/".join(parts[: min(len(parts) - 1, 3 if parts[0] == "python" else 2)] or parts)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found!r}: {self.advice}"


class Terms:
    """The table of terms, searched through one expression first."""

    def __init__(self, text: str) -> None:
        self._table = [
            (re.compile(term["find"], re.IGNORECASE), term) for term in loads(text)["term"]
        ]

        self._any = self._one_of(term for _, term in self._table)
        self._names = self._one_of(term for _, term in self._table if term.get("names"))

    @staticmethod
    def _one_of(terms: Iterable[dict[str, Any]]) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{term['find']})" for term in terms), re.IGNORECASE)

    def find(self, passage: Passage) -> Iterator[Finding]:
        """Yield each term in a passage; of two at one place only the first."""
        text = re.sub(r"\s", " ", passage.text) if passage.kind == "docs" else passage.text
        flat = re.sub(r"[ \t]*\n[ \t]*", " ", text)
        if passage.kind == "name":
            flat = flat.removeprefix("test ")
        if not (self._names if passage.kind == "name" else self._any).search(flat):
            return
        taken: list[tuple[int, int]] = []
        for pattern, term in self._table:
            if passage.kind == "name" and not term.get("names"):
                continue
            if passage.kind not in term.get("only", KINDS):
                continue
            for match in pattern.finditer(flat):
                span = match.span()
                if any(span[0] < end and begin < span[1] for begin, end in taken):
                    continue
                taken.append(span)
                line = passage.line + _lines_before(passage.text, match[0])
                yield Finding(passage.kind, passage.file, line, match[0].strip(), term["write"])


def _lines_before(text: str, found: str) -> int:
    """How many lines above a term; 0 if it goes over the end of one."""
    at = text.find(found)
    return text.count("\n", 0, at) if at >= 0 else 0


def long_sentences(passage: Passage) -> Iterator[Finding]:
    """Yield the sentences of docs, help and pages that are too long."""
    if passage.kind != "docs" and passage.part not in (HELP, PAGE):
        return
    for sentence in END.split(passage.text):
        words = len(TOKEN.findall(sentence))
        if words > LONGEST:
            start = " ".join(sentence.split()[:8])
            line = passage.line + _lines_before(passage.text, sentence[:20])
            advice = f"{words} words: at most {LONGEST}; split it"
            yield Finding("sentence", passage.file, line, start + " …", advice)


def same_classes(root: Path, files: Iterable[str]) -> Iterator[Finding]:
    """Yield the classes of the package whose name another class has."""
    where: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for file in files:
        if file.startswith("python/") and file.endswith(".py"):
            for number, line in enumerate((root / file).read_text("utf-8").splitlines(), 1):
                if match := re.match(r"class (\w+)", line):
                    where[match[1]].append((file, number))
    for name, places in where.items():
        for file, number in places[1:]:
            other = f"also a class in {places[0][0]}: two concepts need two names"
            yield Finding("class", file, number, name, other)


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(("git", *args), cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def long_subjects(root: Path) -> Iterator[Finding]:
    """Yield the subjects of commits since the last release's tag that are too long.

    Without such a tag there are none: what was committed before the first release stays.
    """
    tag = _git(root, "describe", "--tags", "--match", "v*", "--abbrev=0").strip()
    log = _git(root, "log", "--format=%h %s", "--no-merges", f"{tag}..HEAD") if tag else ""
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > SUBJECT:
            advice = f"{len(subject)} characters: at most {SUBJECT}"
            yield Finding("commit", "commits", 0, f"{commit} {subject}", advice)


def listed(root: Path) -> list[str]:
    """Return the files that are checked."""
    names = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", *SUFFIXES.split())
    return [f for f in names.splitlines() if not LEFT_OUT.search(f) and (root / f).is_file()]


def _in_file(root: Path, terms: Terms, file: str) -> list[Finding]:
    found = []
    for passage in passages(file, (root / file).read_text("utf-8")):
        found += [*terms.find(passage), *long_sentences(passage)]
    return found


def findings(root: Path) -> list[Finding]:
    """Return all findings, sorted."""
    terms = Terms(TERMS.read_text("utf-8"))
    files = listed(root)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        by_file = list(pool.map(partial(_in_file, root, terms), files, chunksize=40))
    found = [finding for some in by_file for finding in some]
    return sorted([*found, *same_classes(root, files), *long_subjects(root)])


def stats(root: Path) -> Iterator[str]:
    """Yield figures of the language per 10,000 words, by part."""
    parts: dict[str, list[str]] = {"docs": [], "help": [], "CHANGELOG": [], "docstrings": []}
    said = (p for file in listed(root) for p in passages(file, (root / file).read_text("utf-8")))
    for passage in said:
        if passage.part == HELP:
            parts["help"].append(passage.text)
        elif passage.file == "CHANGELOG.md":
            parts["CHANGELOG"].append(passage.text)
        elif passage.kind == "docs" and passage.file.startswith("docs/"):
            parts["docs"].append(passage.text)
        elif passage.kind == "docstring" and passage.file.startswith("python/"):
            parts["docstrings"].append(passage.text)
    yield f"{'per 10,000 words':18}{'words':>9}" + "".join(f"{name:>9}" for name in STATS)
    for part, texts in parts.items():
        words = sum(len(TOKEN.findall(text)) for text in texts)
        counts = (sum(len(p.findall(text)) for text in texts) for p in STATS.values())
        rates = "".join(f"{1e4 * count / max(words, 1):9.1f}" for count in counts)
        yield f"{part:18}{words:9,}{rates}"


def count(found: Iterable[Finding]) -> dict[str, dict[str, int]]:
    """Return the number of findings of each kind in each folder."""
    numbers = Counter((finding.kind, finding.folder) for finding in found)
    return {
        kind: {folder: n for (k, folder), n in sorted(numbers.items()) if k == kind}
        for kind in KINDS
    }


def check(root: Path, found: list[Finding], recorded: dict[str, dict[str, int]]) -> Iterator[str]:
    """Yield a line for each finding that may be new: more of its kind than recorded."""
    last = _git(root, "log", "-1", "--format=%H", "--", COUNTS).strip()
    changed = set(_git(root, "diff", "--name-only", last or "HEAD").splitlines())
    changed |= set(_git(root, "ls-files", "--others", "--exclude-standard").splitlines())
    for kind, folders in count(found).items():
        for folder, now in folders.items():
            before = recorded.get(kind, {}).get(folder, 0)
            if now <= before:
                continue
            these = [f for f in found if (f.kind, f.folder) == (kind, folder)]
            recent = [f for f in these if f.file in changed] or these
            yield f"{folder}: {now} findings of kind {kind}, {before} recorded; among these:"
            yield from (f"  {finding}" for finding in recent[:SHOWN])
            if len(recent) > SHOWN:
                yield f"  and {len(recent) - SHOWN} more: scripts/prose --list {kind} {folder}"


def main() -> int:
    """Exit status: 1 if there are more findings than recorded."""
    parser = argparse.ArgumentParser(description="Check the project's English.")
    parser.add_argument("--root", type=Path, default=HERE.parents[1])
    parser.add_argument("--write", action="store_true", help="record the present counts")
    parser.add_argument("--stats", action="store_true", help="print figures per 10,000 words")
    parser.add_argument("--list", choices=KINDS, help="list the findings of a kind")
    parser.add_argument("path", nargs="?", default="", help="list only files under this path")
    options = parser.parse_args()
    root = options.root.resolve()
    gc.disable()  # trees are dropped file by file
    if options.stats:
        print("\n".join(stats(root)))
        return 0
    found = findings(root)
    if options.list:
        for finding in found:
            if finding.kind == options.list and finding.file.startswith(options.path):
                print(finding)
        return 0
    counts = count(found)
    file = root / COUNTS
    recorded = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if options.write:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(counts, indent=2) + "\n", "utf-8")
        return 0
    if worse := list(check(root, found, recorded)):
        print("\n".join(worse))
        return 1
    fewer = sum(
        number - counts.get(kind, {}).get(folder, 0)
        for kind, folders in recorded.items()
        for folder, number in folders.items()
    )
    if fewer:
        print(f"prose: {fewer} findings fewer than recorded; run scripts/prose --write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
