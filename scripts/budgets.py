"""Holds every source file to 600 lines and every function to 80; see CONTRIBUTING.md.

Usage: python scripts/budgets.py [ROOT]. Prints what is too long and exits 1 if anything is.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 600
FUNCTION_LINES = 80
FOLDERS = ("python", "crates", "tests", "scripts", "benchmarks", "web", "packaging")
SUFFIXES = {".py", ".rs", ".ts", ".tsx"}
SKIPPED = {"node_modules", "target", "dist", "assets", "corpus", "__pycache__"}

# Path, or path:function -> why it may be longer.
ALLOWED: dict[str, str] = {}

Function = tuple[str, int, int]
"""Name, line of its head, number of lines."""


def python_functions(text: str) -> Iterator[Function]:
    """The functions of a Python file, nested ones too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


# What braces may stand in without meaning anything: comments, strings, characters.
_RUST_OPAQUE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | b?r(\#*)".*?"\1 | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^\n]+?|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
_RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)")


def rust_code(text: str) -> str:
    """A Rust file with spaces for comments, strings and characters; lines keep their numbers."""
    return _RUST_OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def item_end(code: str, start: int) -> int:
    """Where the Rust item around `start` ends: at its `;` or the brace that closes its body."""
    depth = 0
    for place in range(start, len(code)):
        letter = code[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and letter in ";}":
            return place
    return len(code) - 1


def rust_functions(text: str) -> Iterator[Function]:
    """The functions of a Rust file that have a body, nested ones too."""
    code = rust_code(text)
    for head in _RUST_FUNCTION.finditer(code):
        end = item_end(code, head.end())
        if code[end] == "}":
            first = code.count("\n", 0, head.start()) + 1
            yield head[1], first, code.count("\n", head.start(), end) + 1


def sources(root: Path) -> Iterator[Path]:
    """The source files under `root` that people write."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            hidden = any(part in SKIPPED or part.startswith(".") for part in parts)
            if path.suffix in SUFFIXES and not hidden and path.is_file():
                yield path


def violations(root: Path) -> Iterator[str]:
    """One line for each file and function over its budget."""
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > FILE_LINES and name not in ALLOWED:
            yield f"{name}: {lines} lines, at most {FILE_LINES}"
        found: Iterator[Function] = iter(())
        if path.suffix == ".py":
            found = python_functions(text)
        elif path.suffix == ".rs":
            found = rust_functions(text)
        for function, line, length in found:
            if length > FUNCTION_LINES and f"{name}:{function}" not in ALLOWED:
                yield f"{name}:{line}: {function} has {length} lines, at most {FUNCTION_LINES}"


def main() -> int:
    """Exit status: 1 if anything is over its budget."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    found = list(violations(root))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
