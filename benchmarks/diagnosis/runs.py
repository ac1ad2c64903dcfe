"""Running the programs, each in its own process, and reading their logs."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from backports.zstd import compress

from benchmarks.diagnosis.program import PREPARE, load
from benchmarks.diagnosis.run_queue import RunQueue
from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.stage import Analysis
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.record.importing.formats import Log

_LEVEL = 10
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans become children of this process
_ROOT = Path(__file__).parents[2]
LOGS = _ROOT / "build" / "faults"
_NO_SETTINGS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class HostLoad:
    """`others` is the share of CPU time that other programs took during a run, `queued_s` the time
    that task threads waited for a core by the kernel's account (None if it reports no threads).
    """

    others: float
    queued_s: float | None


@dataclass(frozen=True, slots=True)
class DiagnosedLog:
    """The findings in the log of a program, the first sentence, and shares of its tasks' time.

    `without_cause` is the unexplained share, `waiting` the share of waiting to compute, `queued`
    that of waiting for a core by the kernel's account (None without one).
    """

    line: Timeline
    analysis: Analysis
    diagnosis: Diagnosis
    sentence: str
    elapsed_s: float
    without_cause: float
    waiting: float
    queued: float | None
    others: float


class Programs:
    """Runs programs with the pyspark in the folder `spark`, by default the installed one.

    `folder` keeps the compressed log of each run, the load of the host next to it, and the input
    of programs that have one. A run with an existing log doesn't start again.
    """

    def __init__(self, folder: Path, spark: Path | None = None) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        path = [str(each) for each in (spark, _ROOT) if each is not None]
        self._environ = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        self.version = self._python("-c", "import pyspark; print(pyspark.__version__)").strip()

    def log_of(self, name: str, variant: str) -> Path:
        """Return the file of the compressed log, existing or not."""
        return self._folder / f"{name}-{variant}-{self.version}.zst"

    def diagnosed(self, name: str, variant: str) -> DiagnosedLog:
        """Run a variant of a program once, unless its log exists, and diagnose the log."""
        log = self.log_of(name, variant)
        if not log.exists():
            with tempfile.TemporaryDirectory() as folder:
                written, host = self._run(name, variant, Path(folder))
                log.with_suffix(".json").write_text(json.dumps(asdict(host)), encoding="ascii")
                part = log.with_suffix(".part")
                part.write_bytes(compress(written.read_bytes(), _LEVEL))
                part.rename(log)
        host = HostLoad(**json.loads(log.with_suffix(".json").read_text(encoding="ascii")))
        return _read(log, host)

    def measured(
        self, name: str, variant: str, settings: Mapping[str, str], cores: int | None = None
    ) -> DiagnosedLog:
        """Run a variant once with these settings and keep nothing; with `cores`, on that many of
        this machine's cores.
        """
        with tempfile.TemporaryDirectory() as folder:
            return _read(*self._run(name, variant, Path(folder), settings, cores))

    def _run(
        self,
        name: str,
        variant: str,
        folder: Path,
        settings: Mapping[str, str] = _NO_SETTINGS,
        cores: int | None = None,
    ) -> tuple[Path, HostLoad]:
        module = ("-m", "benchmarks.diagnosis.program", name)
        data = self._folder / "data" / self.version / name
        if load(name).prepare is not None and not data.exists():
            data.parent.mkdir(parents=True, exist_ok=True)
            part = data.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)  # of an interrupted run
            part.mkdir()
            self._python(*module, PREPARE, str(folder), str(part))
            part.rename(data)
        chosen = [f"{key}={value}" for key, value in settings.items()]
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        before = _processors_s()
        with RunQueue() as queue:
            self._python(*module, variant, str(folder), str(data), *chosen, cores=cores)
        _wait_for_orphans()
        in_use_s, own_s, whole_s = (b - a for a, b in zip(before, _processors_s(), strict=True))
        (log,) = (p for p in folder.iterdir() if p.name.startswith(("local-", "app-")))
        return log, HostLoad(max(in_use_s - own_s, 0.0) / whole_s, queue.waited_s)

    def _python(self, *words: str, cores: int | None = None) -> str:
        bound: tuple[str, ...] = ()
        if cores is not None:
            there = sorted(os.sched_getaffinity(0))
            bound = ("taskset", "--cpu-list", ",".join(map(str, there[:cores])))
        command = [*bound, sys.executable, *words]
        done = subprocess.run(
            command, env=self._environ, cwd=_ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise click.ClickException(f"{' '.join(command)}: {done.stderr[-4000:]}")
        return done.stdout


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


def _read(log: Path, host: HostLoad) -> DiagnosedLog:
    account = spark.read(Log(log, (log,)))
    line = timeline(account)
    analysis = analyse(account, None, line)
    found = diagnose(line, analysis)
    task_s = sum(stage.task_s for stage in analysis.stages)
    unknown_s = sum(stage.unattributed_s for stage in analysis.stages)
    waiting_s = float(line.tasks.times.causes[TO_COMPUTE].sum())

    def share(of_s: float) -> float:
        return of_s / task_s if task_s else 0.0

    return DiagnosedLog(
        line,
        analysis,
        found,
        found.sentence,
        analysis.elapsed_s or 0.0,
        share(unknown_s),
        share(waiting_s),
        None if host.queued_s is None else share(host.queued_s),
        host.others,
    )
