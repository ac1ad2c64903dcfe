"""Name Rust files that use each other in a circle; neither Cargo nor Clippy checks this.

Usage: python scripts/rust_circles.py [ROOT]. A file counts with the modules inside it. Uses of a
parent module, and uses in tests, don't count. Exits with 1 if there is a circle.
"""

from __future__ import annotations

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_NOT_CODE = re.compile(r"//[^\n]*|#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
_PATH = re.compile(r"\b(crate|self|super(?:::super)*)((?:::\w+)+)")


def uses(crate: Path) -> dict[Path, set[Path]]:
    """Map each file of a crate to the files that it uses."""
    names = {path: path.relative_to(crate).with_suffix("").parts for path in crate.rglob("*.rs")}
    files = {name[:-1] if name[-1] == "mod" else name: path for path, name in names.items()}
    found: dict[Path, set[Path]] = {path: set() for path in files.values()}
    for module, path in files.items():
        if module[:-1] in files:
            found[files[module[:-1]]].add(path)
        for start, rest in _PATH.findall(_NOT_CODE.sub("", path.read_text(encoding="utf-8"))):
            outer = {"crate": (), "self": module}.get(start, module[: -start.count("super")])
            used = (*outer, *rest.split("::")[1:])
            while used and used not in files:
                used = used[:-1]
            if used != module[: len(used)]:
                found[path].add(files[used])
    return found


def main() -> int:
    """Print the circles; return 1 if there is one."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    status = 0
    for crate in sorted(root.glob("crates/*/src")):
        try:
            TopologicalSorter(uses(crate)).prepare()
        except CycleError as error:
            print(" -> ".join(str(path.relative_to(root)) for path in error.args[1]))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
