"""Start-up cost of each verb: `python -m benchmarks.start_up [--write]`.

Each verb that answers from the repository or a catalog gets one question, on 40,000 synthetic
trials in a SQLite database of its own, with everything compiled and in the page cache: median of
seven processes. The bars: 500 ms, and 150 ms for --help and --version. The table also lists the
heavy libraries that a verb loads, according to `-X importtime`. With --write it goes to
docs/reference/start-up.md; a test checks its libraries.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

import venturi
from benchmarks.repository import synthetic_trials
from venturi.core.settings import Settings
from venturi.record.query.paging import rows
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "start-up.md"
TRIALS, REPEATS = 40_000, 7
HEAVY = (
    "alembic",
    "fastapi",
    "httpx",
    "numpy",
    "polars",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "sqlalchemy",
)
# {trial}, {a} and {b} stand for a trial and for two repeat groups, {folder} for one to write into.
QUESTIONS: tuple[str, ...] = (
    "--help",
    "--version",
    "version",
    "ls",
    "ls --where disk=SSD --sort elapsed_s",
    "show {trial}",
    "compare {a} {b}",
    "rank --by disk --by net --where workload=terasort",
    "rank --by disk --by net --where workload=terasort --crude",
    "effect disk",
    "effect disk net --where workload=terasort",
    "scaling maps --where workload=terasort",
    "keys",
    "keys disk",
    "exclude ls",
    "export {trial} -o {folder}/trial.zip --overwrite",
    "report /compare?by=disk -o {folder}/page.html --overwrite",
    "workloads",
    "engines",
    "catalog ls",
    "catalog show ec2-2014 i2.8xlarge",
    "advise hardware --sort 100TB --deadline 30min",
    "predict --sort 100TB --on i2.8xlarge:178",
    "simulate --sort 100TB --on i2.8xlarge:178",
    "doctor",
)


@dataclass(frozen=True, slots=True)
class StartUpCost:
    """`elapsed_s` of one process, and the libraries of HEAVY that it loads."""

    question: str
    elapsed_s: float
    libraries: tuple[str, ...]


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a user with a repository in `home`."""
    return {**os.environ, "VENTURI_HOME": str(home), "COLUMNS": "100"}


def libraries_of(question: str, names: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """Return the names of the libraries in HEAVY that the verb loads to answer `question`."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "venturi",
        *filled(question, names),
    ]
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
        raise SystemExit(f"venturi {question}: exit {done.returncode}: {' '.join(said)}")
    loaded = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    return tuple(name for name in HEAVY if name in loaded)


def filled(question: str, names: Mapping[str, str]) -> list[str]:
    """The words of `question` with its placeholders replaced."""
    return [word.format_map(names) for word in question.split()]


def elapsed_s(question: str, names: Mapping[str, str], home: Path) -> float:
    """Seconds from the start to the end of one process; the median of REPEATS after a first."""
    command = [sys.executable, "-m", "venturi", *filled(question, names)]
    found = []
    for _ in range(1 + REPEATS):
        start_s = time.perf_counter()
        subprocess.run(command, env=environment(home), capture_output=True, check=True)
        found.append(time.perf_counter() - start_s)
    return statistics.median(found[1:])


def names_of(repository: TrialRepository, folder: Path) -> dict[str, str]:
    """A trial and two comparable groups to put into the questions."""
    found = rows(repository, Query(limit=1_000)).rows
    first = found[0]
    other = next(
        row
        for row in found
        if row.group != first.group
        and row.workload == first.workload
        and row.workload_version == first.workload_version
    )
    return {"trial": first.id, "a": first.group, "b": other.group, "folder": str(folder)}


def table(costs: list[StartUpCost], today: date) -> str:
    """The page of the reference."""
    lines = [
        "# Start-up of the commands",
        "",
        "<!-- Written by `python -m benchmarks.start_up --write`. -->",
        "",
        "The time that you wait for each command, and the heavy libraries that it loads: only "
        "those it uses.",
        f"Median of {REPEATS} processes on {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}, {today.isoformat()}.",
        f"The repository has {TRIALS:,} trials in SQLite. Everything is compiled and in the "
        "page cache.",
        "",
        "| `venturi ...` | ms | loads |",
        "|---|---|---|",
    ]
    for cost in costs:
        loads = ", ".join(cost.libraries) or "none"
        lines.append(f"| `{cost.question}` | {1e3 * cost.elapsed_s:.0f} | {loads} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    write = parser.parse_args().write
    for package in (Path(venturi.__file__).parent, *map(Path, sys.path[-1:])):
        compileall.compile_dir(package, quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        settings = Settings(home, None, None, allow_debug=False)
        with TrialRepository.open(settings) as repository:
            repository.add_many(islice(synthetic_trials(), TRIALS))
            names = names_of(repository, home)
        costs = []
        for question in QUESTIONS:
            cost = StartUpCost(
                question, elapsed_s(question, names, home), libraries_of(question, names, home)
            )
            costs.append(cost)
            print(f"{1e3 * cost.elapsed_s:6.0f} ms  {question}", file=sys.stderr)
    text = table(costs, date.today())
    if write:
        PAGE.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
