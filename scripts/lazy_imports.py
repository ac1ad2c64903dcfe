"""Says which imports inside functions could as well stand at the top; see CONTRIBUTING.md.

Usage: python scripts/lazy_imports.py [ROOT]. A verb's module is loaded when the verb is called,
also by `venturi VERB --help`. So an import stands inside a function only where it spares something:
a heavy library, or a part of Venturi of WORLD or more modules, that its own module does not load at
the top anyway. Prints every other one and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HEAVY = frozenset(
    {
        "alembic",
        "difflib",
        "fastapi",
        "fsspec",
        "httpx",
        "importlib.metadata",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "pydantic",
        "pydantic_core",
        "pyspark",
        "rich",
        "scipy",
        "sqlalchemy",
        "starlette",
        "ulid",
        "uvicorn",
    }
)
WORLD = 4

# Path:module -> why it is imported inside a function.
ALLOWED = {
    "python/venturi/cli/main.py:click.shell_completion": "only where a shell asks",
    "python/venturi/cli/html.py:venturi.web.document": "only for --html",
    "python/venturi/cli/measure/measuring.py:venturi.measure.hosts.lock": "only to measure",
    "python/venturi/cli/main.py:venturi.cli.options": "`venturi --help` has no error to print",
    "python/venturi/cli/share/serve.py:venturi.results.bottleneck": "before the first request",
    "python/venturi/measure/trial/runner.py:venturi": "its version is read from importlib.metadata",
    "python/venturi/measure/workloads/shared/spark_records.py:pyspark.sql.udf": "Spark's own",
    "python/venturi/measure/workloads/learning/on_spark.py:"
    "venturi.measure.workloads.learning.definition": "the driver's, not the executors'",
}

Import = ast.Import | ast.ImportFrom
Product = dict[str, tuple[Path, ast.Module]]
"""Every module of the product by its name."""


def product(root: Path) -> Product:
    """The modules under `root`."""
    return {
        ".".join(path.relative_to(root / "python").with_suffix("").parts).removesuffix(
            ".__init__"
        ): (path.relative_to(root), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted((root / "python").rglob("*.py"))
    }


def at_top(body: Iterable[ast.stmt]) -> Iterator[Import]:
    """The imports that take place when a module is loaded."""
    for node in body:
        if isinstance(node, Import):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from at_top([*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With):
            yield from at_top(node.body)


def in_functions(tree: ast.Module) -> Iterator[Import]:
    """The imports that take place when a function is called."""
    functions = (f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef))
    found = {
        node: None for each in functions for node in ast.walk(each) if isinstance(node, Import)
    }
    yield from found


def targets(node: Import, modules: Product) -> Iterator[str]:
    """The modules that an import names."""
    for each in node.names:
        if isinstance(node, ast.Import):
            yield each.name
        else:
            inner = f"{node.module}.{each.name}"
            yield inner if inner in modules else node.module or ""


def loaded(names: Iterable[str], modules: Product) -> set[str]:
    """What is loaded with the modules `names`: those that they import, and their packages."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if package := name.rpartition(".")[0]:
            waiting.append(package)
        if name in modules:
            for node in at_top(modules[name][1].body):
                waiting += targets(node, modules)
    return seen


def spares(node: Import, here: set[str], modules: Product) -> bool:
    """Whether `node` loads something heavy, or a part of the product, that is not `here`."""
    more = loaded(targets(node, modules), modules) - here
    return bool(more & HEAVY) or len(more & modules.keys()) >= WORLD


def needless(modules: Product) -> Iterator[tuple[str, Import]]:
    """The imports in functions that spare nothing, each with its module."""
    for name, (path, tree) in modules.items():
        here = loaded([name], modules)
        for node in in_functions(tree):
            keys = {f"{path.as_posix()}:{target}" for target in targets(node, modules)}
            if not keys <= ALLOWED.keys() and not spares(node, here, modules):
                yield name, node


def main() -> int:
    """Exit status: 1 if an import inside a function spares nothing."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    modules = product(root)
    found = [
        f"{modules[name][0].as_posix()}:{node.lineno}: `{ast.unparse(node)}` spares nothing inside "
        "a function\n"
        for name, node in needless(modules)
    ]
    sys.stdout.writelines(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
