"""Finds comparisons with an engine's name outside `measure/engines`; see CONTRIBUTING.md.

Usage: python scripts/engine_names.py [ROOT]. The names are those of the engines in ROOT. Prints
each comparison, table or look-up by such a name and exits 1 if there is one. An engine's
capabilities are in its KIND, the contents of its accounts in their `AccountKind`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

PACKAGE = "python/venturi"
ENGINES = f"{PACKAGE}/measure/engines"
# Their tables say what the words of other tools mean.
TRANSLATORS = f"{PACKAGE}/results/importers"
LOOK_UPS = frozenset({"endswith", "get", "removeprefix", "startswith"})


def engine_names(root: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The engines' names and aliases; the constants that are an account's kind."""
    sys.path.insert(0, str(root / "python"))
    kinds = import_module("venturi.measure.engines.registry").ENGINES.values()
    accounts = import_module("venturi.record.account_kind")
    return (
        frozenset(name for kind in kinds for name in (kind.name, *kind.aliases)),
        frozenset(
            name for name, value in vars(accounts).items() if type(value) is accounts.AccountKind
        ),
    )


class Finder(ast.NodeVisitor):
    """Collects the lines of a module that depend on which engine it is."""

    def __init__(
        self,
        names: frozenset[str],
        accounts: frozenset[str],
        tree: ast.Module,
        *,
        tables: bool,
    ) -> None:
        self.found: list[tuple[int, str]] = []
        self._names = names
        self._accounts = accounts
        self._tables = tables
        self._constants: dict[str, str] = {}
        for node in tree.body:  # resolve constants
            if isinstance(node, ast.Assign) and (name := self._named(node.value)):
                self._constants |= {t.id: name for t in node.targets if isinstance(t, ast.Name)}
        self.visit(tree)

    def _named(self, node: ast.AST | None) -> str | None:
        """The engine that an expression names: a text, a name of a KIND, a collection with one."""
        found: str | None = None
        match node:
            case ast.Constant(value=str(text)):
                name, _, deployment = text.partition(":")
                found = name if name in self._names and not deployment.startswith("//") else None
            case ast.Name(id=name):
                known = name == "NAME" or name in self._accounts
                found = name if known else self._constants.get(name)
            case ast.Attribute(attr="engine", value=ast.Name(id=name)) if name in self._accounts:
                found = f"{name}.engine"
            case (
                ast.Attribute(attr="NAME")
                | ast.Attribute(attr="name", value=ast.Name(id="KIND") | ast.Attribute(attr="KIND"))
            ):
                found = ast.unparse(node)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                found = next(filter(None, map(self._named, parts)), None)
            case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=[inner]):
                found = self._named(inner)
        return found

    def _look(self, line: int, *nodes: ast.AST | None) -> None:
        if name := next(filter(None, map(self._named, nodes)), None):
            self.found.append((line, name))

    def visit_Compare(self, node: ast.Compare) -> None:
        self._look(node.lineno, node.left, *node.comparators)
        self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        self._look(node.lineno, node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._look(node.lineno, node.slice)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        if self._tables:
            self._look(node.lineno, *node.keys)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in LOOK_UPS:
            self._look(node.lineno, *node.args)
        self.generic_visit(node)


def violations(root: Path) -> Iterator[str]:
    """One line for each place that depends on an engine's name."""
    names, accounts = engine_names(root)
    for path in sorted((root / PACKAGE).rglob("*.py")):
        if path.is_relative_to(root / ENGINES):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        finder = Finder(names, accounts, tree, tables=not path.is_relative_to(root / TRANSLATORS))
        for line, name in sorted(set(finder.found)):
            where = f"{path.relative_to(root)}:{line}"
            yield f"{where}: {name} is an engine's name: ask its KIND or the account's kind"


def main() -> int:
    """Exit status: 1 if an engine's name is compared."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    found = list(violations(root))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
