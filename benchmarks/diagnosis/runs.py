"""Running the programs and looking at their logs, each in a process of its own."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from backports.zstd import compress

from benchmarks.diagnosis.run_queue import RunQueue
from benchmarks.diagnosis.trimmed import trimmed
from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.record.importing.formats import Log

_LEVEL = 19
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: who loses its parent becomes a child of this process
_NO_SETTINGS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class DiagnosedLog:
    """The findings in the log of a program.

    `without_cause` is the unexplained share of the tasks' time, `waiting` the share of waiting to
    compute, `queued` the share of waiting for a core by the kernel's account (None without one).
    `others` is the share of CPU time that other programs took during the run.
    """

    line: Timeline
    diagnosis: Diagnosis
    elapsed_s: float
    without_cause: float
    waiting: float
    queued: float | None
    others: float


def looked_at(
    name: str,
    kind: str,
    settings: Mapping[str, str] = _NO_SETTINGS,
    keep: Path | None = None,
    cores: int | None = None,
) -> DiagnosedLog:
    """Run a program once and diagnose its log; keep the trimmed log as the file `keep`.

    With `cores` it has that number of this machine's cores and no others.
    """
    program = Path(__file__).with_name("programs.py")
    chosen = [f"{key}={value}" for key, value in settings.items()]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(program), name, kind, folder, *chosen]
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        before = _processors_s()
        with RunQueue() as queue:
            subprocess.run([*_bound_to(cores), *command], check=True, capture_output=True)
        _wait_for_orphans()
        in_use_s, own_s, whole_s = (b - a for a, b in zip(before, _processors_s(), strict=True))
        (log,) = (p for p in Path(folder).iterdir() if p.name.startswith(("local-", "app-")))
        if keep is not None:
            keep.parent.mkdir(parents=True, exist_ok=True)
            keep.write_bytes(compress(trimmed(log), _LEVEL))
        return _look(log, queue.waited_s, max(in_use_s - own_s, 0.0) / whole_s)


def _bound_to(cores: int | None) -> tuple[str, ...]:
    if cores is None:
        return ()
    there = sorted(os.sched_getaffinity(0))
    return ("taskset", "--cpu-list", ",".join(map(str, there[:cores])))


def _wait_for_orphans() -> None:
    """Wait for JVMs that outlive their program, so that their CPU time is counted."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _processors_s() -> tuple[float, float, float]:
    """Return CPU seconds so far: busy, busy with this process tree, and total."""
    # user, nice, system, idle, iowait, irq, softirq, steal: the time that a host took is in use.
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0].split()[1:9]
    ticks = [int(each) / os.sysconf("SC_CLK_TCK") for each in first]
    # Who looks at the threads is this process, and no other program.
    of = map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    own_s = sum(each.ru_utime + each.ru_stime for each in of)
    return sum(ticks) - ticks[3] - ticks[4], own_s, sum(ticks)


def _look(log: Path, queued_s: float | None, others: float) -> DiagnosedLog:
    account = spark.read(Log(log, (log,)))
    line = timeline(account)
    analysis = analyse(account, None, line)
    task_s = sum(stage.task_s for stage in analysis.stages)
    unknown_s = sum(stage.unattributed_s for stage in analysis.stages)
    waiting_s = float(line.tasks.times.causes[TO_COMPUTE].sum())

    def share(of_s: float) -> float:
        return of_s / task_s if task_s else 0.0

    return DiagnosedLog(
        line,
        diagnose(line, analysis),
        analysis.elapsed_s or 0.0,
        share(unknown_s),
        share(waiting_s),
        None if queued_s is None else share(queued_s),
        others,
    )
