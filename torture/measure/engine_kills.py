"""The JVM of a TeraSort in Spark or in MapReduce killed in all stages of the job."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from torture.changes import Changes, Kill, follow
from torture.measure.plan_kills import wait_until_gone
from torture.play import Play, Round, TortureCase, UnavailableError
from torture.record.stores import Store, Stores
from torture.verbs import VerbResult, VerbRunner, processes_of
from venturi.core.errors import FailureClass
from venturi.core.settings import load
from venturi.measure.engines.registry import engine
from venturi.measure.hosts.local import LocalHost
from venturi.record.trial import State

_START_S = 300.0
_END_S = 600.0
_LOOK_S = 0.005
_MAINS = {
    "spark": b"org.apache.spark.deploy.SparkSubmit",
    "mapreduce": b"org.apache.hadoop.examples.terasort.TeraSort",
}
_BRIEF = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def play(round_: Play) -> None:
    """Each engine that is there in turn, from its JVM's first instant to its end: see `Changes`."""
    found = _engines(round_.folder)
    stores = Stores(round_)
    changes: dict[str, Changes] = {}
    with VerbRunner(round_.folder / "work") as verbs:
        (verbs.folder / "data").mkdir()
        for case in round_.cases():
            name = list(found)[case.number % len(found)]
            number = case.number // len(found)
            if name not in changes:
                with stores.one(number) as store:
                    job = _KilledJob(verbs, store, name, found[name])
                    changes[name] = job.follow(None)
                    assert job.end().status == 0
            with stores.one(number) as store, case:
                kill = changes[name].draw(round_.chance)
                case.label = f"{name}, {store.kind}, {kill}"
                _kill(case, _KilledJob(verbs, store, name, found[name]), kill, changes[name])


def _engines(folder: Path) -> dict[str, Mapping[str, str]]:
    """Return the installed engines, with the environment variables to find them."""
    found: dict[str, Mapping[str, str]] = {}
    missing = []
    for name in _MAINS:
        available = engine(name, LocalHost(), home=load().home, environ=os.environ).available()
        if available.usable:
            found[name] = {} if name == "spark" else _hadoop(Path(available.parts["home"]), folder)
        missing += [each.what for each in available.missing]
    if not found:
        raise UnavailableError("; ".join(missing))
    return found


def _hadoop(home: Path, folder: Path) -> dict[str, str]:
    """Where the stores of a round find the Hadoop at `home`, which may be in a VENTURI_HOME."""
    if not (home / "share").is_dir():
        (folder / "hadoop/share/hadoop").mkdir(parents=True)
        (folder / "hadoop/share/hadoop/mapreduce").symlink_to(home)
        home = folder / "hadoop"
    return {"HADOOP_HOME": str(home)}


class _KilledJob:
    """A job after its start, in a JVM unless its verb ended before that."""

    def __init__(self, verbs: VerbRunner, store: Store, name: str, more: Mapping[str, str]) -> None:
        self.verbs, self.store, self._name = verbs, store, name
        self.data = verbs.folder / "data"
        verbs.begin(
            store.settings,
            "run",
            "terasort",
            "--engine",
            name,
            "--bytes",
            "1MB",
            "--repeat",
            1,
            "--warm-up",
            0,
            "--dir",
            self.data,
            environment={**_BRIEF, **more},
            end_s=_END_S,
        )
        self._pid = self._wait()

    def _wait(self) -> int | None:
        deadline_s = time.monotonic() + _START_S
        while time.monotonic() < deadline_s:
            for pid in processes_of(self.verbs.folder):
                if self._is_jvm(pid):
                    return pid
            time.sleep(_LOOK_S)
        return None

    def _is_jvm(self, pid: int) -> bool:
        try:
            return _MAINS[self._name] in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def stage(self) -> str:
        """Return the job's stage according to its files."""
        for output in self.data.glob("*/output/*"):
            whole = [path for path in output.glob("*") if not path.name.startswith((".", "_"))]
            return "with output in its place" if whole else "writing its output"
        return "before its output"

    def follow(self, kill: Kill | None) -> Changes:
        """Until its JVM has ended, or was killed."""
        pid = self._pid
        assert pid is not None, "no JVM began"
        by = lambda: os.kill(pid, signal.SIGKILL)  # noqa: E731
        return follow(self.stage, lambda: self._is_jvm(pid), kill, by, every_s=_LOOK_S)

    def end(self) -> VerbResult:
        """Wait for its verb; leave neither running."""
        ran = self.verbs.end()
        wait_until_gone(self.verbs.folder)
        left = [*self.data.iterdir(), *self.verbs.temporary.glob("venturi-*")]
        assert not left, f"left: {left[0].name}"
        return ran


def _kill(case: TortureCase, job: _KilledJob, kill: Kill, changes: Changes) -> None:
    seen = job.follow(kill)
    ran = job.end()
    (trial,) = job.store.trials(tidy=True).values()
    killed = trial.state is not State.SUCCEEDED
    changes.learn(seen, killed=killed)
    if not killed:
        assert ran.status == 0, ran.stderr
        case.saw("done before")
        return
    assert (ran.status, trial.state) == (1, State.FAILED), f"{ran.status}, {trial.state}"
    assert trial.failure_class == FailureClass.ENGINE, f"{trial.failure}"
    assert "[VEN-ENGINE-" in ran.stderr, ran.stderr[:300]
    case.saw(f"killed {seen.last or 'before its output'}, failed as its engine's failure")


ROUND = Round(
    name="engine-kills",
    question="The JVM of a TeraSort in Spark or MapReduce is killed at a random instant. Is its "
    "trial recorded as a failure of the engine, and are no files or processes left?",
    count=30,
    few=1,
    run=play,
)
