"""The native sort against GNU sort, DuckDB and Polars: same memory, same cores, durable output.

Each peer gets its own best shape of the same number of 100-byte records with 10-byte keys, its
own best share of the limit (tried first, untimed rounds) and its output checked once. A peer that
is killed for memory, fails, or sorts wrongly is reported and not timed.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import rows
from benchmarks.bench import Bench, Iteration, Unavailable, python_env, read_events
from benchmarks.figures import (
    Figure,
    FigureRow,
    core_ns_per_record,
    fastest,
    missing,
    ratio_figure,
    rotated,
)
from benchmarks.limits import why_not_enforced
from benchmarks.process import fsync_tree, make_cold
from benchmarks.verify import RECORD_BYTES, Content

_SIZES = dict(zip(rows.PEER_CASES, ((2e9, 1e9), (4 * 2**30, 2**30)), strict=True))
OURS = "venturi"
# The engine promises a peak of at most its budget and this much more: together they are the limit.
_OUR_OVERHEAD_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class SortTask:
    """A contender's task, with its own setting."""

    agent: Path
    source: Path
    output: Path
    scratch: Path
    memory_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Contender:
    """One program: its input's shape, its command line, and the reading of its output.

    `shares` are the fractions of the limit tried as its own memory setting; None is the limit minus
    the memory that the program needs in addition. `read` turns its stdout into data. `fsync` = the
    harness makes the output durable, inside the timer, because the program can't.
    """

    name: str
    shape: str
    shares: Sequence[float | None]
    command: Callable[[SortTask], Sequence[str | Path]]
    env: Callable[[SortTask], Mapping[str, str]] = lambda task: {}
    missing: Callable[[], str | None] = lambda: None
    read: Callable[[str], Mapping[str, Any]] = lambda text: {}
    fsync: bool = False

    @property
    def file_format(self) -> str:
        """How the checker reads its output."""
        return "parquet" if self.shape == "parquet" else "fixed"


def _ours(task: SortTask) -> list[str | Path]:
    return [
        task.agent,
        "sort",
        "--input",
        task.source,
        "--output",
        task.output,
        "--scratch",
        task.scratch,
        "--memory",
        str(task.memory_bytes),
        "--threads",
        str(task.threads),
    ]


def _gnu(task: SortTask) -> list[str | Path]:
    return [
        "sort",
        f"--buffer-size={task.memory_bytes}b",
        f"--parallel={task.threads}",
        "-T",
        task.scratch,
        "-o",
        task.output / "sorted",
        task.source,
    ]


def _duckdb(task: SortTask) -> list[str | Path]:
    return [
        sys.executable,
        "-m",
        "benchmarks.peers.duckdb_sort",
        task.source,
        task.output / "sorted",
        "--memory-bytes",
        str(task.memory_bytes),
        "--threads",
        str(task.threads),
        "--scratch",
        task.scratch,
    ]


def _polars(task: SortTask) -> list[str | Path]:
    module = "benchmarks.peers.polars_sort"
    return [sys.executable, "-m", module, task.source, task.output / "sorted"]


def _polars_env(task: SortTask) -> dict[str, str]:
    return {
        **python_env(),
        "POLARS_MAX_THREADS": str(task.threads),
        "POLARS_OOC_MEMORY_BUDGET_MB": str(task.memory_bytes // 2**20),
        "POLARS_OOC_SPILL_DIR": str(task.scratch),
        "POLARS_OOC_SPILL_COMPRESSION_LEVEL": "0",
    }


def _no_gnu_sort() -> str | None:
    return None if shutil.which("sort") else "sort (coreutils) is not installed"


def _no_module(name: str) -> Callable[[], str | None]:
    reason = f"the Python package {name} is not installed"
    return lambda: None if importlib.util.find_spec(name) else reason


CONTENDERS = (
    Contender(OURS, "binary", (None,), _ours, read=lambda text: read_events(text)[1]),
    # Whole lines compared byte by byte: no key to be found in them, its fastest way.
    Contender(
        "GNU sort",
        "ascii",
        (0.9, 0.7, 0.5),
        _gnu,
        lambda task: {"LC_ALL": "C"},
        _no_gnu_sort,
        fsync=True,
    ),
    Contender(
        "DuckDB",
        "parquet",
        (0.8, 0.65, 0.5),
        _duckdb,
        lambda task: python_env(),
        _no_module("duckdb"),
        read=json.loads,
    ),
    Contender(
        "Polars",
        "parquet",
        (0.75, 0.5, 0.35),
        _polars,
        _polars_env,
        _no_module("polars"),
        read=json.loads,
    ),
)


@dataclass
class SortCase:
    """One size under one limit, with its inputs on disk."""

    bench: Bench
    name: str
    folder: Path
    limit_bytes: int
    contents: Mapping[str, Content]

    def once(self, contender: Contender, memory_bytes: int, turn: int, case: str) -> Iteration:
        """One sort from a cold input into empty folders."""
        for name in ("output", "scratch"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        task = SortTask(
            self.bench.agent(),
            self.folder / contender.shape,
            self.folder / "output",
            self.folder / "scratch",
            memory_bytes,
            self.bench.threads,
        )
        make_cold(task.source)
        self.bench.settle_memory(self.limit_bytes)

        def make_durable() -> None:
            fsync_tree(task.output)

        return self.bench.run(
            ("peers", case, contender.name, turn),
            contender.command(task),
            env=contender.env(task),
            limit_bytes=self.limit_bytes,
            then=make_durable if contender.fsync else None,
            read=contender.read,
        )

    def wrong(self, contender: Contender, iteration: Iteration) -> str | None:
        """Why the output that `iteration` left is not right; None when it is."""
        parts = iteration.data.get("output", {}).get("files", [])
        files = [Path(part["path"]) for part in parts] or [self.folder / "output" / "sorted"]
        found = self.bench.check(files, contender.file_format)
        problem = found.problem_as_sorted(self.contents[contender.shape])
        return f"wrong output: {problem}" if problem else None


def run(bench: Bench) -> list[Figure]:
    """Both cases of the table."""
    bench.agent()
    figures: list[Figure] = []
    for name, (size, limit) in _SIZES.items():
        try:
            figures += _case(bench, name, bench.options.size(size), bench.options.size(limit))
        except Unavailable as reason:
            own = (rows.PEER_TIME[name], rows.PEER_CPU[name])
            figures += [missing(row, str(reason)) for row in own]
    return figures


def _case(bench: Bench, name: str, size_bytes: int, limit_bytes: int) -> list[Figure]:
    # Three shapes of the input, Parquet 8 % larger, then scratch and output of one contender.
    bench.need(5.5 * size_bytes)
    with bench.folder("peers") as folder:
        contents = _inputs(bench, folder, size_bytes // RECORD_BYTES)
        case = SortCase(bench, name, folder, limit_bytes, contents)
        memory_bytes, reasons = _tune(case)
        if OURS not in memory_bytes:
            raise Unavailable(f"our own sort: {reasons[OURS]}")
        contenders = {c.name: c for c in CONTENDERS}
        times: dict[str, list[Iteration]] = {each: [] for each in memory_bytes}
        for turn in range(bench.options.pairs):
            for each in rotated(list(memory_bytes), turn):
                if each in reasons:
                    continue
                iteration = case.once(contenders[each], memory_bytes[each], turn, name)
                if iteration.problem is None:
                    times[each].append(iteration)
                else:
                    reasons[each] = iteration.problem
    if OURS in reasons:
        raise Unavailable(f"our own sort: {reasons[OURS]}")
    kept = {each: runs for each, runs in times.items() if each not in reasons}
    return _figures(name, kept, reasons, size_bytes // RECORD_BYTES)


def _inputs(bench: Bench, folder: Path, count: int) -> dict[str, Content]:
    """Make the three forms of the input and return the content of each; not timed."""
    label = ("peers", "prepare", OURS, 0)
    for shape, flags in (("binary", ()), ("ascii", ("--ascii",))):
        target = folder / shape
        bench.run_agent(label, "gen", "--count", str(count), *flags, "--output", target)
    converter = [sys.executable, "-m", "benchmarks.peers.to_parquet"]
    command = [*converter, str(folder / "binary"), str(folder / "parquet")]
    converted = bench.run(("peers", "prepare", "parquet", 0), command, env=python_env())
    if converted.problem is not None:
        raise Unavailable(f"conversion to Parquet: {converted.problem}")
    contents = {shape: bench.check([folder / shape], "fixed") for shape in ("binary", "ascii")}
    return {**contents, "parquet": contents["binary"]}


def _tune(case: SortCase) -> tuple[dict[str, int], dict[str, str]]:
    """Each contender's fastest memory setting that survives and sorts rightly; else the reason."""
    chosen: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for contender in CONTENDERS:
        why = contender.missing()
        if why is not None:
            reasons[contender.name] = why
            continue
        best_s = float("inf")
        for turn, share in enumerate(contender.shares):
            if share is None:  # the second holds at small scales only
                memory = max(case.limit_bytes - _OUR_OVERHEAD_BYTES, case.limit_bytes * 3 // 4)
            else:
                memory = round(case.limit_bytes * share)
            iteration = case.once(contender, memory, turn, f"{case.name}, tuning")
            problem = iteration.problem or case.wrong(contender, iteration)
            if problem is not None:
                case.bench.reject(iteration, problem)
                reasons.setdefault(contender.name, problem)
            elif iteration.time_s < best_s:
                best_s, chosen[contender.name] = iteration.time_s, memory
        if contender.name in chosen:
            reasons.pop(contender.name, None)
    return chosen, reasons


def _figures(
    case: str, kept: Mapping[str, Sequence[Iteration]], reasons: Mapping[str, str], records: int
) -> list[Figure]:
    times_s = {name: [i.time_s for i in runs] for name, runs in kept.items()}
    cpu_ns = {
        name: [core_ns_per_record(i.cpu_s, records) for i in runs] for name, runs in kept.items()
    }
    peers = [name for name in kept if name != OURS]
    limit = why_not_enforced() or "limit enforced by a memory cgroup, page cache included"
    absent = "".join(f"; {name} not timed: {why}" for name, why in reasons.items())
    if not peers:
        why = "no peer could be timed" + absent
        return [missing(rows.PEER_TIME[case], why), missing(rows.PEER_CPU[case], why)]
    best = fastest({name: times_s[name] for name in peers})
    time_note = f"{_comparison(times_s, best, 's')}; {limit}{absent}"
    figures = [
        ratio_figure(rows.PEER_TIME[case], times_s[best], times_s[OURS], time_note),
        ratio_figure(
            rows.PEER_CPU[case], cpu_ns[best], cpu_ns[OURS], _comparison(cpu_ns, best, "ns")
        ),
    ]
    for name in peers:
        for values, what, unit in ((times_s, "time", "s"), (cpu_ns, "CPU per record", "ns")):
            row = FigureRow(
                f"peers.{case}.{name}.{what}", f"sort {case}: {name} / ours, {what}", "x"
            )
            figures.append(
                ratio_figure(row, values[name], values[OURS], _comparison(values, name, unit))
            )
    return figures


def _comparison(values: Mapping[str, Sequence[float]], name: str, unit: str) -> str:
    return f"{name} {median(values[name]):.3g} {unit}, ours {median(values[OURS]):.3g} {unit}"
