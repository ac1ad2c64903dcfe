"""Checks that `venturi.measure` uses hosts: outside `hosts/`, only a `LiveHost` may call this
machine's file system or start a process; see CONTRIBUTING.md.

Usage: python scripts/host_calls.py [ROOT]. Prints the calls that bypass hosts and exits 1 if there
are any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

MEASURE = "python/venturi/measure"

# Pattern of a path below MEASURE -> why it may.
EXEMPT: dict[str, str] = {
    "hosts/*": "what a host is made of",
    "lab/*": "makes hosts of this machine: namespaces, loop devices, their journal",
    "workloads/*/on_spark.py": "runs inside Spark, whose workers have their own disks",
    "workloads/shared/spark_*.py": "runs inside Spark, whose workers have their own disks",
    "engines/*/driver.py": "runs inside the engine, on the host itself",
}

MODULES = frozenset(
    {
        "fcntl",
        "getpass",
        "glob",
        "mmap",
        "multiprocessing",
        "pty",
        "shutil",
        "socket",
        "subprocess",
        "tempfile",
    }
)
# Of `os`: what asks the machine nothing.
PURE = frozenset({"PathLike", "environ", "fspath", "linesep", "pathsep", "sep", "strerror"})
# Of pathlib.Path and of NumPy: what touches a disk.
METHODS = frozenset(
    {
        "chmod",
        "cwd",
        "exists",
        "expanduser",
        "fromfile",
        "glob",
        "hardlink_to",
        "home",
        "is_dir",
        "is_file",
        "is_mount",
        "is_symlink",
        "iterdir",
        "lchmod",
        "lstat",
        "memmap",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "readlink",
        "rename",
        "resolve",
        "rglob",
        "rmdir",
        "samefile",
        "stat",
        "symlink_to",
        "tofile",
        "touch",
        "unlink",
        "walk",
        "write_bytes",
        "write_text",
    }
)
# Objects with such methods: a host's files, this machine's own, files in HDFS.
FILES = frozenset({"files", "_files", "hdfs", "HERE"})
# To be made by the command line alone.
MADE_ELSEWHERE = frozenset({"LocalFiles", "LocalHost", "LocalProcess", "LocalSupervised"})


def calls(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each call, or import for one, that bypasses hosts."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.name.partition(".")[0] in MODULES:
                        yield node.lineno, each.name
            case ast.ImportFrom(module=str(module), names=names):
                for each in names:
                    forbidden = (
                        module.partition(".")[0] in MODULES
                        or (module == "os" and each.name not in PURE)
                        or module == "os.path"
                        or each.name in MADE_ELSEWHERE
                    )
                    if forbidden:
                        yield node.lineno, f"{module}.{each.name}"
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name not in PURE:
                yield node.lineno, f"os.{name}"
            case ast.Attribute(value=ast.Name(id="io"), attr="open" | "FileIO" as name):
                yield node.lineno, f"io.{name}"
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open()"
            case ast.Call(func=ast.Attribute(value=whose, attr=name)):
                if _of(whose) not in FILES and (name in METHODS or _is_path_replace(node)):
                    yield node.lineno, f".{name}()"


def _of(node: ast.expr) -> str | None:
    """Return the last name of a method's object."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _is_path_replace(call: ast.Call) -> bool:
    """Whether it is `replace` with one argument; that of a text has two."""
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "replace"
    return named and len(call.args) == 1 and not call.keywords


def violations(root: Path) -> Iterator[str]:
    """Yield one line for each call that bypasses hosts, and for each unused exemption."""
    used = set()
    for path in sorted((root / MEASURE).rglob("*.py")):
        name = path.relative_to(root / MEASURE).as_posix()
        exempt = next((pattern for pattern in EXEMPT if fnmatch(name, pattern)), None)
        if exempt is not None:
            used.add(exempt)
            continue
        for line, what in sorted(calls(path.read_text(encoding="utf-8"))):
            yield f"{MEASURE}/{name}:{line}: {what} goes round the host: see hosts/host.py"
    for pattern in EXEMPT.keys() - used:
        yield f"{MEASURE}/{pattern}: there is no such file to be exempt"


def main() -> int:
    """Return the exit status: 1 if any call bypasses hosts."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    found = list(violations(root))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
