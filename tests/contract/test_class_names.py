"""One word, one class: no class name occurs in more than one module."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_class_name_occurs_in_two_modules() -> None:
    modules: dict[str, set[str]] = defaultdict(set)
    for folder in ("python/venturi", "benchmarks", "torture"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    modules[node.name].add(path.relative_to(ROOT).as_posix())
    repeated = {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}
    assert len(modules) > 500
    assert repeated == {}
