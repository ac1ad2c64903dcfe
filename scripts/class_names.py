"""Counts class names that occur in more than one module: `class_names.py [ROOT]`."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

FOLDERS = ("python/venturi", "benchmarks", "torture")


def classes(root: Path) -> dict[str, list[str]]:
    """Returns the modules that define each class, by the class's name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(root)))
    return found


def repeated(root: Path) -> dict[str, list[str]]:
    """Returns the class names that several modules define."""
    return {name: paths for name, paths in classes(root).items() if len(set(paths)) > 1}


def main() -> int:
    """Prints the repeated names; fails if a public one is among them."""
    names = repeated(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    public = [name for name in names if not name.startswith("_")]
    for name in sorted(names, key=lambda name: (-len(names[name]), name)):
        print(f"{name}: {len(names[name])}: {', '.join(names[name])}")
    print(f"{len(public)} public class names and {len(names) - len(public)} private ones repeat")
    return 1 if public else 0


if __name__ == "__main__":
    sys.exit(main())
