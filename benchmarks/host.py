"""The environment of a benchmark: the host's facts and the version of every program."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks.bench import REPOSITORY, Bench, Unavailable
from benchmarks.process import run

_PROGRAMS = {"fio": ["fio", "--version"], "iperf3": ["iperf3", "--version"]}
_PROGRAMS["GNU sort"] = ["sort", "--version"]
_PACKAGES = ("duckdb", "polars", "pyarrow", "numpy", "venturi")


def facts(bench: Bench) -> dict[str, Any]:
    """Return the agent's facts about this host, and the benchmark's share of it."""
    own: dict[str, Any] = {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cores_used": bench.threads,
        "cores_online": os.cpu_count(),
        "file_system_free_bytes": shutil.disk_usage(bench.work).free,
    }
    try:
        own["agent_facts"] = dict(bench.run_agent(("host", "facts", "venturi", 0), "facts").data)
    except Unavailable as reason:
        own["agent_facts"] = None
        own["agent_facts_missing_reason"] = str(reason)
    return own


def versions(bench: Bench) -> dict[str, str | None]:
    """First line of every program's `--version`; None = not installed."""
    found: dict[str, str | None] = {}
    for name, command in _PROGRAMS.items():
        installed = shutil.which(command[0]) is not None
        lines = run(command).stdout.splitlines() if installed else []
        found[name] = lines[0] if lines else None
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    if shutil.which("git") and (REPOSITORY / ".git").exists():
        described = run(["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"])
        found["git"] = described.stdout.strip() or None
    agent = bench.agent_identity
    found["venturi-agent"] = " ".join(str(value) for value in agent.values()) if agent else None
    return found


def shorten(text: str, bench: Bench) -> str:
    """`text` without where things lie on this machine: results are compared across machines."""
    names = {str(bench.work): "$DIR", str(bench.work.parent): "$PARENT", sys.executable: "python"}
    if bench.agent_path is not None:
        names[str(bench.agent_path)] = "venturi-agent"
    names |= {str(REPOSITORY): "$REPOSITORY", str(Path.home()): "~"}
    for path, name in names.items():
        text = text.replace(path, name) if len(path) > 1 else text
    return text
