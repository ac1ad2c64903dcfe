"""Says which source files use each other in a circle; see CONTRIBUTING.md.

Usage: python scripts/circles.py rust|python [ROOT]. Prints for each file the shortest circle that
it is in, each circle once, and exits 1 if there is one. In both languages an import inside a
function counts like one at the top. In Rust what only tests use does not count, and a name that a
module passes on by `pub use` counts for the file that it comes from; a module inside another's file
and a method that one file adds to another's type are not seen.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from budgets import item_end, rust_code

Uses = dict[Path, dict[Path, int]]
"""Of each file those that it uses, each with the line of the first use."""


def circle(uses: Uses, start: Path) -> list[Path]:
    """The files of the shortest circle through `start`, beginning there; empty if there is none."""
    before: dict[Path, Path] = {}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there in uses.get(here, {}):
            if there == start:
                found = [here]
                while found[-1] != start:
                    found.append(before[found[-1]])
                return found[::-1]
            if there not in before:
                before[there] = here
                waiting.append(there)
    return []


def circles(uses: Uses) -> Iterator[list[Path]]:
    """For each file the shortest circle that it is in, without those that were there before."""
    seen = set()
    for start in sorted(uses):
        found = circle(uses, start)
        if found and frozenset(found) not in seen:
            seen.add(frozenset(found))
            yield found


@dataclass(frozen=True)
class Import:
    """One name of a `use` in Rust."""

    path: tuple[str, ...]
    name: str
    """What it is called here; `*` for all."""
    line: int
    passed_on: bool
    """By `pub use`."""


@dataclass
class Module:
    """A Rust module with a file of its own, and what its file says."""

    file: Path
    parent: Module | None
    body: str
    """The code without comments, strings, tests, `use` and `mod`."""
    imports: list[Import] = field(default_factory=list)
    children: dict[str, Module] = field(default_factory=dict)

    def definer(self, path: tuple[str, ...]) -> Module | None:
        """The module that defines what `path` means here; None if another crate does."""
        at: Module | None = self
        for place, name in enumerate(path):
            if at is None:
                break
            if name == "crate":
                while at.parent:
                    at = at.parent
            elif name == "super":
                at = at.parent
            elif name in at.children:
                at = at.children[name]
            elif name != "self":
                passed_on = [one.path for one in at.imports if one.name == name and at is not self]
                if passed_on:
                    return at.definer(passed_on[0] + path[place + 1 :])
                return at if place else None
        return at

    def family(self) -> Iterator[Module]:
        """This module and those inside it."""
        yield self
        for child in self.children.values():
            yield from child.family()


_TEST = re.compile(r"#\[cfg\(test\)\]")
_MODULE = re.compile(r"\bmod\s+(\w+)\s*;")
_USE = re.compile(r"(\bpub\b(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")


def blank(code: str, start: int, end: int) -> str:
    """`code` with spaces from `start` to `end`; lines keep their numbers."""
    return code[:start] + re.sub(r"[^\n]", " ", code[start:end]) + code[end:]


def use_paths(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths in what follows `use`, and what each is called here."""
    head, brace, inside = tree.partition("{")
    outer = tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        last, _, alias = outer[-1].partition(" as ")
        path = (*outer[:-1], last.strip())
        yield path, alias.strip() or next(part for part in path[::-1] if part != "self")
        return
    depth, start = 0, 0
    inside = inside[: inside.rindex("}")] + ","
    for place, letter in enumerate(inside):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            branch, start = inside[start:place].strip(), place + 1
            if branch:
                yield from use_paths("::".join((*outer, branch)))


def rust_module(file: Path, parent: Module | None) -> Module:
    """The module in `file` and, of the files below it, those inside it."""
    code = rust_code(file.read_text(encoding="utf-8"))
    while test := _TEST.search(code):
        code = blank(code, test.start(), item_end(code, test.end()) + 1)
    module = Module(file, parent, code)
    for use in _USE.finditer(code):
        line = code.count("\n", 0, use.start(2)) + 1
        for path, name in use_paths(use[2]):
            module.imports.append(Import(path, name, line, bool(use[1])))
        module.body = blank(module.body, *use.span())
    folder = file.parent if file.stem in ("lib", "main", "mod") else file.with_suffix("")
    for child in _MODULE.finditer(code):
        places = (folder / f"{child[1]}.rs", folder / child[1] / "mod.rs")
        inner = next(place for place in places if place.exists())
        module.children[child[1]] = rust_module(inner, module)
        module.body = blank(module.body, *child.span())
    return module


def rust_module_uses(module: Module) -> Iterator[tuple[Path, int]]:
    """The files that a module's file uses, each with a line."""
    paths = [
        (used.path, used.line)
        for used in module.imports
        if not used.passed_on or re.search(rf"\b{re.escape(used.name)}\b", module.body)
    ]
    for path in _PATH.finditer(module.body):
        paths.append((tuple(path[0].split("::")), module.body.count("\n", 0, path.start()) + 1))
    for names, line in sorted(paths, key=lambda path: path[1]):
        definer = module.definer(names)
        if definer and definer.file != module.file:
            yield definer.file, line


def rust_uses(root: Path) -> Uses:
    """Of the files of the crates under `root` those that each uses."""
    uses: Uses = {}
    for top in sorted(root.glob("crates/*/src/*.rs")):
        if top.name in ("lib.rs", "main.rs"):
            for module in rust_module(top, None).family():
                for used, line in rust_module_uses(module):
                    uses.setdefault(module.file, {}).setdefault(used, line)
    return uses


def python_imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[str, int]]:
    """What a file in `package` imports, wherever in it, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*outer, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def python_uses(root: Path) -> Uses:
    """Of the files of the package under `root`/python those that each uses."""
    files: dict[str, Path] = {}
    for path in sorted((root / "python").rglob("*.py")):
        parts = path.relative_to(root / "python").with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    uses: Uses = {}
    for name, path in files.items():
        package = name.split(".")[: None if path.name == "__init__.py" else -1]
        for imported, line in python_imports(ast.parse(path.read_text("utf-8")), package):
            used = files.get(imported) or files.get(imported.rpartition(".")[0])
            if used and used != path:
                uses.setdefault(path, {}).setdefault(used, line)
    return uses


def main() -> int:
    """Exit status: 1 if there is a circle."""
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent
    uses = {"rust": rust_uses, "python": python_uses}[sys.argv[1]](root)
    found = list(circles(uses))
    for files in found:
        ring = zip(files, [*files[1:], files[0]], strict=True)
        steps = (f"{one.relative_to(root)}:{uses[one][other]}" for one, other in ring)
        sys.stdout.write(f"{' -> '.join([*steps, str(files[0].relative_to(root))])}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
