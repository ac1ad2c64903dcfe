"""Says which definitions of the product nothing but tests uses; see CONTRIBUTING.md.

Usage: python scripts/unused.py [ROOT]. Looks at what the modules of python/venturi define at their
top, and at the methods of their classes. A definition is used where the product, benchmarks,
scripts or packaging name it: in its own module, by an import of it, as an attribute of anything,
or in a text such as "module:name" or "name"; not by itself, and not by what is itself unused. What
has a decorator is taken to be used by it, and a method of a class that extends another library's by
that library. Prints what is not used and exits 1 if anything is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCT = "python/venturi"
USERS = ("python", "benchmarks", "scripts", "packaging")

# These make of a definition what it is, and use nothing.
PLAIN = {
    "abstractmethod",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "dataclass",
    "lru_cache",
    "property",
    "staticmethod",
}

# Folder, path, or path:name -> who uses it.
ALLOWED = {
    "python/venturi/python_api.py": "programs and notebooks",
    "python/venturi/record/migrations/versions": "Alembic",
    "python/venturi/measure/hosts/daemons.py:tail": "tests wait for what a daemon says",
    "python/venturi/record/importing/take_in.py:import_file": "programs that use no command line",
}


TEXT = "a text"


@dataclass(frozen=True)
class Definition:
    """A function, class or constant at the top of a module, or a method of a class there."""

    file: Path
    name: str
    first: int
    last: int
    """Lines, decorators with them."""
    method: bool


@dataclass(frozen=True)
class Use:
    """A name where it stands in a file."""

    file: Path
    line: int
    name: str
    module: str
    """Where the name is from: empty for attributes, TEXT for texts."""


def module_of(file: Path) -> str:
    """The module that a file is: `venturi.core.units`, `benchmarks.disk`."""
    parts = file.with_suffix("").parts
    return ".".join(parts[parts[0] == "python" :]).removesuffix(".__init__")


def extends_a_library(owner: ast.ClassDef, tree: ast.Module) -> bool:
    """Whether a class has a base that is neither of its own module nor of the product."""
    ours = {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("venturi")
        for each in node.names
    } | {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    bases = (each.value if isinstance(each, ast.Subscript) else each for each in owner.bases)
    return any(ast.unparse(base) not in ours for base in bases)


def definitions(file: Path, tree: ast.Module) -> Iterator[Definition]:
    """What is defined in `tree`, but for names between double underscores."""
    classes = (each for each in tree.body if isinstance(each, ast.ClassDef))
    for owner in (tree, *(each for each in classes if not extends_a_library(each, tree))):
        for node in owner.body:
            names: list[str] = []
            first = node.lineno
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                decorators = [
                    each.func if isinstance(each, ast.Call) else each
                    for each in node.decorator_list
                ]
                if all(ast.unparse(each).split(".")[-1] in PLAIN for each in decorators):
                    names = [node.name]
                first = min([first, *(each.lineno for each in decorators)])
            elif isinstance(node, ast.Assign | ast.AnnAssign) and owner is tree:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                stored = (each for target in targets for each in ast.walk(target))
                names = [each.id for each in stored if isinstance(each, ast.Name)]
            for name in names:
                if not name.startswith("__"):
                    last = node.end_lineno or first
                    yield Definition(file, name, first, last, owner is not tree)


def uses(file: Path, tree: ast.Module) -> Iterator[Use]:
    """The names that `tree` reads, and the attributes; an import in an `__init__` passes on."""
    here, imported = module_of(file), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                imported[each.asname or each.name] = (node.module or "", each.name)
                if file.name == "__init__.py":
                    yield Use(file, node.lineno, each.name, node.module or "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield Use(file, node.lineno, node.attr, "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if (named := node.value.rpartition(":")[2]).isidentifier():
                yield Use(file, node.lineno, named, TEXT)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            module, name = imported.get(node.id, (here, node.id))
            yield Use(file, node.lineno, name, module)


def unused(defined: list[Definition], used: list[Use]) -> list[Definition]:
    """What is not used, or only by what is not used."""
    found: list[Definition] = []
    while True:
        dead = {(one.file, line) for one in found for line in range(one.first, one.last + 1)}
        users: dict[tuple[str, str], set[tuple[Path, int]]] = {}
        for use in used:
            if (use.file, use.line) not in dead:
                users.setdefault((use.module, use.name), set()).add((use.file, use.line))
        now = []
        for one in defined:
            own = {(one.file, line) for line in range(one.first, one.last + 1)}
            places = users.get(("", one.name), set())
            if not one.method:
                for module in (module_of(one.file), TEXT):
                    places = places | users.get((module, one.name), set())
            if not places - own:
                now.append(one)
        if len(now) == len(found):
            return now
        found = now


def violations(root: Path) -> Iterator[str]:
    """One line for each definition that nothing but tests uses."""
    trees = {
        path.relative_to(root): ast.parse(path.read_text(encoding="utf-8"))
        for folder in USERS
        for path in sorted((root / folder).rglob("*.py"))
    }
    defined = [
        one
        for file, tree in trees.items()
        if file.is_relative_to(PRODUCT)
        for one in definitions(file, tree)
        if not ALLOWED.keys()
        & {file.parent.as_posix(), file.as_posix(), f"{file.as_posix()}:{one.name}"}
    ]
    used = [use for file, tree in trees.items() for use in uses(file, tree)]
    for one in unused(defined, used):
        yield f"{one.file.as_posix()}:{one.first}: {one.name} is used by tests only, or by nothing"


def main() -> int:
    """Exit status: 1 if anything is not used."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    found = list(violations(root))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
