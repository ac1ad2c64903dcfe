"""The common part of all suites: a folder, the agent, the raw iterations, and the rules of a
pair.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import process
from benchmarks.limits import memory_group, why_not_enforced
from benchmarks.verify import Content

REPOSITORY = Path(__file__).resolve().parent.parent
_FOLDER = "venturi-bench-"
TIMEOUT_S = 1800.0
_SETTLE_STEP_S, _SETTLE_AT_MOST_S = 0.2, 30.0


class Unavailable(Exception):  # noqa: N818 - a reason, not a fault
    """Something cannot be measured here; the message is the reason that the table shows."""


class Complaint(Exception):  # noqa: N818 - what the agent said
    """The agent's own error event: says more than its exit status or its stderr."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """`scale` multiplies the sizes of the table; 1 is the table itself."""

    pairs: int = 5
    scale: float = 1.0
    enforce: bool = True

    def size(self, size_bytes: float, unit_bytes: int = 1) -> int:
        """A size of the table at this scale, in whole units."""
        return max(1, round(size_bytes * self.scale / unit_bytes)) * unit_bytes


@dataclass(frozen=True, slots=True)
class Iteration:
    """One raw measurement, kept unchanged.

    Figures use `time_s` and `cpu_s`: the process's own wall clock and user+sys, unless a peer times
    only its query (then the rest of its process, such as imports, is omitted, to its advantage).
    `data` is the program's report.
    """

    suite: str
    case: str
    contender: str
    round: int
    command: tuple[str, ...]
    ending: str
    time_s: float
    cpu_s: float
    wall_s: float
    user_s: float
    system_s: float
    max_rss_bytes: int
    charged_peak_bytes: int | None
    data: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass
class Bench:
    """One execution of the benchmark."""

    options: BenchOptions
    work: Path
    agent_path: Path | None
    agent_why_not: str = ""
    iterations: list[Iteration] = field(default_factory=list)
    agent_identity: dict[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)

    @property
    def threads(self) -> int:
        """Cores of every contender; the harness has bound itself and its children to them."""
        return len(os.sched_getaffinity(0))

    def need(self, peak_bytes: float) -> None:
        """Refuse work that takes more than half of the free disk at its peak."""
        half = shutil.disk_usage(self.work).free // 2
        if peak_bytes > half:
            raise Unavailable(
                f"needs {peak_bytes / 1e9:.1f} GB at its peak; half of the free disk is "
                f"{half / 1e9:.1f} GB (--dir takes another disk)"
            )

    def agent(self) -> Path:
        """The agent binary."""
        if self.agent_path is None:
            raise Unavailable(self.agent_why_not)
        return self.agent_path

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """A folder for one suite, gone afterwards whatever happens."""
        path = self.work / name
        path.mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def run(
        self,
        label: tuple[str, str, str, int],
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        limit_bytes: int | None = None,
        then: Callable[[], None] | None = None,
        read: Callable[[str], Mapping[str, Any]] = lambda text: {},
    ) -> Iteration:
        """Run and record one process. `label` is suite, case, contender, round.

        `limit_bytes` is enforced by the kernel where possible. `read` turns stdout into `data`;
        `time_s` and `cpu_s` in it replace the process's own.
        """
        suite, case, contender, turn = label
        enforce = limit_bytes and self.options.enforce and why_not_enforced() is None
        with memory_group(limit_bytes or 0) if enforce else nullcontext() as group:
            outcome = process.run(
                [str(part) for part in command],
                env=env,
                group=group,
                timeout_s=TIMEOUT_S,
                then=then,
            )
            charged = group.peak_bytes() if group else None
        data: Mapping[str, Any] = {}
        problem = None if outcome.ending == "ok" else outcome.complaint
        try:
            data = read(outcome.stdout)
        except Complaint as complaint:
            # A process that was killed has no error event; then its ending is the reason.
            killed = outcome.ending in {"out of memory", "timed out"}
            problem = problem if killed and problem else str(complaint)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            problem = problem or f"unreadable output: {error!r}"
        cpu_s = outcome.user_s + outcome.system_s
        iteration = Iteration(
            *label,
            command=(*_as_prefix(env), *outcome.command),
            ending=outcome.ending,
            time_s=data.get("time_s", outcome.wall_s),
            cpu_s=data.get("cpu_s", cpu_s) if "time_s" in data else cpu_s,
            wall_s=outcome.wall_s,
            user_s=outcome.user_s,
            system_s=outcome.system_s,
            max_rss_bytes=outcome.max_rss_bytes,
            charged_peak_bytes=charged,
            data=data,
            problem=problem,
        )
        self.iterations.append(iteration)
        ended = f"{iteration.time_s:.2f} s" if problem is None else problem
        self.say(f"  {suite}: {case}: {contender} {turn + 1}: {ended}")
        return iteration

    def run_agent(
        self,
        label: tuple[str, str, str, int],
        *arguments: str | Path,
        limit_bytes: int | None = None,
        huge_pages: bool = True,
    ) -> Iteration:
        """Run the agent; `data` is the data of its result event. A failure is `Unavailable`."""

        def read(text: str) -> Mapping[str, Any]:
            identity, data = read_events(text)
            self.agent_identity = identity or self.agent_identity
            return data

        small = [] if huge_pages else [sys.executable, "-m", "benchmarks.no_huge_pages"]
        command = [*small, self.agent(), *arguments]
        env = None if huge_pages else python_env()
        iteration = self.run(label, command, env=env, limit_bytes=limit_bytes, read=read)
        if iteration.problem is not None:
            raise Unavailable(f"venturi-agent {arguments[0]}: {iteration.problem}")
        return iteration

    def settle_memory(self, size_bytes: int) -> float:
        """Touch memory before a timed round, so that no contender pays for the host's allocation of
        pages.

        The disks become idle first, because touched memory doesn't stay available for a long time.
        Returns the bytes per second at which the round will get it.

        A virtual machine's host may reclaim unused memory; the next first touch then costs seconds
        per GiB.
        """
        settle_disk()
        label = ("memory", "settle", "venturi", 0)
        touched = self.run_agent(label, "memory", "--bytes", str(size_bytes))
        return float(touched.data["second_touch_bytes_per_s"])

    def check(self, files: Sequence[Path], file_format: str) -> Content:
        """Return the content of `files`, as read by a program that isn't Venturi's engine."""
        command = [sys.executable, "-m", "benchmarks.verify", "--format", file_format]
        outcome = process.run([*command, *map(str, files)], env=python_env())
        if outcome.ending != "ok":
            raise Unavailable(f"check of {files[0].name}: {outcome.complaint}")
        return Content(**json.loads(outcome.stdout))

    def reject(self, iteration: Iteration, problem: str) -> None:
        """Mark an iteration with a wrong output."""
        at = self.iterations.index(iteration)
        self.iterations[at] = replace(iteration, problem=problem)


def settle_disk(path: Path = Path("/proc/diskstats")) -> None:
    """Wait until the disks have finished the work of the previous round.

    On ext4 mounted with `discard`, the kernel reports deleted gigabytes to the disk in the
    background. The disk is slower during that time, at the cost of the next contender.
    """
    os.sync()
    before, deadline_s = None, time.monotonic() + _SETTLE_AT_MOST_S
    while time.monotonic() < deadline_s:
        try:
            now = _pending(path.read_text())
        except OSError:
            return
        if now == before and now[0] == 0:
            return
        before = now
        time.sleep(_SETTLE_STEP_S)


def _pending(diskstats: str) -> tuple[int, int]:
    """Requests in flight, and discards done so far, over all disks (proc(5), diskstats)."""
    rows = [line.split() for line in diskstats.splitlines()]
    in_flight = sum(int(row[11]) for row in rows if len(row) > 11)
    return in_flight, sum(int(row[14]) for row in rows if len(row) > 14)


def _as_prefix(env: Mapping[str, str] | None) -> list[str]:
    """The settings a program got by its environment, as the command line that would give them."""
    settings = [f"{name}={value}" for name, value in (env or {}).items() if name != "PYTHONPATH"]
    return ["env", *settings] if settings else []


def python_env() -> dict[str, str]:
    """Return the environment in which a child with another working directory can import
    `benchmarks`.
    """
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{inherited}" if inherited else str(REPOSITORY)}


def read_events(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The agent's identity and its result, out of its NDJSON events; raises its `Complaint`."""
    identity: dict[str, Any] = {}
    data: dict[str, Any] | None = None
    for line in text.splitlines():
        event = json.loads(line)
        if event["event"] == "started":
            identity = event["agent"]
        elif event["event"] == "result":
            data = event["data"]
        elif event["event"] == "error":
            raise Complaint(f"{event['code']}: {event['message']}")
    if data is None:
        raise ValueError("no result event")
    return identity, data


def find_agent(environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """Return the agent binary, or why it is missing: from VENTURI_AGENT, next to the Python
    program, then on PATH.
    """
    named = environ.get("VENTURI_AGENT")
    if named:
        path = Path(named)
        return (path, "") if path.is_file() else (None, f"VENTURI_AGENT: no file {named}")
    beside = Path(sys.executable).parent / "venturi-agent"
    found = str(beside) if beside.is_file() else shutil.which("venturi-agent")
    return (Path(found), "") if found else (None, "venturi-agent is not installed: make setup")


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder under `parent` and remove it afterwards; remove those of killed processes,
    too.

    A lock marks a folder in use: the kernel releases it when the process ends.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for old in parent.glob(f"{_FOLDER}*"):
        _remove_if_orphan(old)
    path = parent / f"{_FOLDER}{os.getpid()}-{time.time_ns()}"
    path.mkdir()
    with (path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def _remove_if_orphan(path: Path) -> None:
    try:
        with (path / ".lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return  # alive, just being made, or not ours to remove
