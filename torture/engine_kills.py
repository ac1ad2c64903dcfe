"""The JVM of a Spark job killed at random instants of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from torture.plan_kills import wait_until_gone
from torture.play import Case, Play, Round, UnavailableError
from torture.stores import Store, Stores
from torture.verbs import Verbs, processes_of
from venturi.errors import FailureClass
from venturi.measure.engines.registry import engine
from venturi.measure.hosts.local import LocalHost
from venturi.record.trial import State

_START_S = 60.0
_LIFE_S = 10.0
"""More than the JVM of such a job lives; what is learnt on the way makes it less."""


def play(round_: Play) -> None:
    """Kills from the JVM's first instant to its end."""
    found = engine("spark", LocalHost(), home=Path(), environ=os.environ).available()
    if not found.usable:
        raise UnavailableError("; ".join(each.what for each in found.missing))
    stores = Stores(round_)
    with Verbs(round_.folder / "work") as verbs:
        (verbs.folder / "data").mkdir()
        life_s = _LIFE_S
        for case in round_.cases():
            with stores.one(case.number) as store, case:
                delay_s = round_.chance.uniform(0, life_s)
                case.label = f"{store.kind}, killed {delay_s:.3f} s after it began"
                if not _killed(case, verbs, store, delay_s):
                    life_s = min(life_s, delay_s)


def _begin(verbs: Verbs, store: Store) -> int | None:
    """The process of the JVM, once there is one; None if the verb ended before."""
    verbs.begin(
        store.settings, "run", "pi", "--engine", "spark", "--scale", "tiny", "--repeat", 1,
        "--warm-up", 0, "--dir", verbs.folder / "data",
        environment={"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
    )  # fmt: skip
    deadline_s = time.monotonic() + _START_S
    while time.monotonic() < deadline_s:
        for pid in processes_of(verbs.folder):
            if _is_jvm(pid):
                return pid
        time.sleep(0.01)
    return None


def _is_jvm(pid: int) -> bool:
    try:
        return b"org.apache.spark.deploy.SparkSubmit" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _killed(case: Case, verbs: Verbs, store: Store, delay_s: float) -> bool:
    """Whether the job had not ended before."""
    pid = _begin(verbs, store)
    time.sleep(delay_s)
    if pid is not None and _is_jvm(pid):
        os.kill(pid, 9)
    ran = verbs.end()
    wait_until_gone(verbs.folder)
    (trial,) = store.trials(tidy=True).values()
    left = [*(verbs.folder / "data").iterdir(), *verbs.temporary.glob("venturi-*")]
    assert not left, f"left: {left[0].name}"
    if trial.state is State.SUCCEEDED:
        assert ran.status == 0, ran.stderr
        case.saw("done before")
        return False
    assert (ran.status, trial.state) == (1, State.FAILED), f"{ran.status}, {trial.state}"
    assert trial.failure_class == FailureClass.ENGINE, f"{trial.failure}"
    assert "[VEN-ENGINE-" in ran.stderr, ran.stderr[:300]
    case.saw("killed, failed as its engine's failure")
    return True


ROUND = Round(
    name="engine-kills",
    question="The JVM of a Spark job is killed at a random instant: has its trial failed as the "
    "engine's failure, and is nothing left, neither files nor processes?",
    count=30,
    few=1,
    run=play,
)
