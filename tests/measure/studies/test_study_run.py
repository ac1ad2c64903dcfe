"""Executing a plan on stand-in engines: the engines running during a trial, and the effect of its
failure.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from venturi.core.errors import FailureClass, VenturiError
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.engines.protocol import Availability, Resources, TrialSpec, WorkloadEngine
from venturi.measure.engines.registry import split_spec
from venturi.measure.hosts.kinds.here import LocalAccess
from venturi.measure.studies.run import take
from venturi.measure.studies.study import LOCAL, Combination, Plan, PlanCluster, PlannedTrialState
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.trial.runner import Session
from venturi.record.trial import Engine as EngineRecord
from venturi.record.trial import State, Workload

NOWHERE = ClusterSpec(
    "c", Path("c.toml"), (HostSpec("h", LocalAccess(), ("master", "worker"), {}),), {}, "data"
)
CLUSTERS = {name: PlanCluster(NOWHERE, None, NOWHERE.file, "", 1) for name in ("one", "two")}
Faults = dict[str, deque[Exception]]


@dataclass
class StandInJob:
    """Does nothing, after the next fault of `execute NAME`."""

    spec: TrialSpec
    name: str
    faults: Faults
    log: list[str]

    @property
    def chosen(self) -> TrialChoices:
        spec = self.spec
        return TrialChoices(
            workload=Workload(spec.definition.name, spec.definition.version),
            engine=EngineRecord(self.name, "1"),
            configuration={},
            experiment=spec.experiment,
            repetition=spec.repetition,
            series=False,
        )

    def prepare(self, step: StepContext) -> StepReport:
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        self.log.append(f"execute {self.name}")
        raise_next(self.faults, f"execute {self.name}")
        return StepReport(elapsed_s=1.0)

    def validate(self, step: StepContext) -> StepReport:
        return StepReport()

    def clean(self) -> None:
        pass


@dataclass
class StandIn:
    """An engine that logs what is asked of it."""

    spec: str
    faults: Faults
    log: list[str]
    prefixes: tuple[str, ...] = ()
    workloads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return split_spec(self.spec)[0]

    @property
    def deployment(self) -> str | None:
        return split_spec(self.spec)[1] or None

    def available(self) -> Availability:
        return Availability(self.name, "1")

    def start(self, resources: Resources) -> None:
        self.log.append(f"start {self.spec}")
        raise_next(self.faults, f"start {self.spec}")

    def job(self, spec: TrialSpec) -> StandInJob:
        return StandInJob(spec, self.spec, self.faults, self.log)

    def stop(self) -> None:
        self.log.append(f"stop {self.spec}")


def raise_next(faults: Faults, what: str) -> None:
    if faults.get(what):
        raise faults[what].popleft()


@dataclass
class Hall:
    """Takes plans in a session on stand-ins; `faults` are raised one after the other."""

    session: Session
    folder: Path
    faults: Faults = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def fail(self, what: str, *errors: Exception) -> None:
        self.faults[what] = deque(errors)

    def take(
        self, *combinations: Combination, repeats: int = 1, retries: int = 0
    ) -> tuple[PlannedTrialState, ...]:
        plan = Plan(
            name="",
            combinations=combinations,
            disks={},
            default_dir=self.folder,
            repeats=repeats,
            warm_ups=0,
            order="written",
            seed=0,
            clusters=CLUSTERS,
            retries=dict.fromkeys((FailureClass.ENVIRONMENT, FailureClass.CAPACITY), retries),
        )
        return take(plan, self.session.repository, self._site)

    @contextmanager
    def _site(self, name: str) -> Iterator[StandInSite]:
        if name == LOCAL:
            yield StandInSite(self)
            return
        self.log.append(f"up {name}")
        yield StandInSite(self)
        self.log.append(f"down {name}")


@dataclass
class StandInSite:
    """Stand-ins on this machine, whatever it is called."""

    hall: Hall

    @property
    def session(self) -> Session:
        return self.hall.session

    def engine(self, combination: Combination) -> WorkloadEngine:
        return StandIn(combination.engine, self.hall.faults, self.hall.log)

    def resources(self, combination: Combination) -> Resources:
        dirs = dict.fromkeys(("input", "scratch", "output"), (self.hall.folder,))
        return Resources(dirs, combination.threads, combination.memory, combination.workers)


@pytest.fixture
def hall(session: Session, tmp_path: Path) -> Hall:
    return Hall(session, tmp_path)


def on(engine: str, memory: int | None = None) -> Combination:
    return Combination("pi", engine, scale="tiny", memory=memory)


def port_taken() -> VenturiError:
    return VenturiError("VEN-ENGINE-PORT", "port 9 is taken")


def test_nothing_of_another_engine_is_up_beside_a_trial(hall: Hall) -> None:
    found = hall.take(
        on("spark:yarn"), on("native"), on("spark:yarn", 1), on("spark:yarn", 2), repeats=2
    )
    assert {each.status for each in found} == {"done"}
    ups = ["spark:yarn", "native", "spark:yarn", "spark:yarn"]
    assert hall.log == [
        f"{what} {up}" for up in ups for what in ("start", "execute", "execute", "stop")
    ]


def test_an_engine_that_could_not_start_is_tried_again(hall: Hall) -> None:
    hall.fail("start spark:yarn", port_taken())
    found = hall.take(on("spark:yarn"), repeats=2, retries=1)
    assert [each.status for each in found] == ["done", "done"]
    start = ["start spark:yarn"]
    # A failed start is ended immediately.
    assert hall.log[:3] == [*start, "stop spark:yarn", *start]
    assert hall.log.count("start spark:yarn") == 2


def test_every_place_tries_to_start_its_engine(hall: Hall) -> None:
    errors = [port_taken(), port_taken()]
    hall.fail("start spark:yarn", *errors)
    found = hall.take(on("spark:yarn"), repeats=2)
    assert [each.status for each in found] == ["failed", "failed"]
    # Each error names its own trial.
    assert [error.where["trial"] for error in errors] == [
        each.trial.id for each in found if each.trial
    ]


@pytest.mark.parametrize(
    ("number", "code", "expected"),
    [
        (errno.ENOSPC, "VEN-MEASURE-SPACE", FailureClass.CAPACITY),
        (errno.EDQUOT, "VEN-MEASURE-SPACE", FailureClass.CAPACITY),
        (errno.EACCES, "VEN-MEASURE-DIR", FailureClass.ENVIRONMENT),
    ],
)
def test_what_the_system_refuses_to_an_engine_stops_no_plan(
    hall: Hall, number: int, code: str, expected: FailureClass
) -> None:
    hall.fail("start spark:yarn", OSError(number, "refused", "/a/file"))
    failed, done = hall.take(on("spark:yarn"), on("native"))
    assert (failed.status, failed.failure, done.status) == ("failed", expected, "done")
    assert failed.trial is not None
    assert failed.trial.failure is not None
    assert failed.trial.failure.code == code
    assert failed.trial.cluster.disks_by_role["scratch"] == (str(hall.folder),)
    assert failed.trial.state is State.FAILED


def at(cluster: str) -> Combination:
    return replace(on("spark:yarn"), cluster=cluster)


def test_one_cluster_is_up_at_a_time_and_none_at_the_end(hall: Hall) -> None:
    found = hall.take(at("one"), at("two"), repeats=2)
    assert {each.status for each in found} == {"done"}
    trial = ["start spark:yarn", "execute spark:yarn", "execute spark:yarn", "stop spark:yarn"]
    assert hall.log == ["up one", *trial, "down one", "up two", *trial, "down two"]
    assert [each.trial.configuration for each in found if each.trial] == [
        *[{"cluster": "one"}] * 2,
        *[{"cluster": "two"}] * 2,
    ]


def test_after_a_failure_a_cluster_is_had_anew(hall: Hall) -> None:
    hall.fail("execute spark:yarn", VenturiError("VEN-HOST-LOST", "the connection was lost"))
    found = hall.take(at("one"), repeats=2)
    assert [(each.status, each.failure) for each in found] == [
        ("failed", FailureClass.ENVIRONMENT),
        ("done", None),
    ]
    assert [each for each in hall.log if "one" in each] == ["up one", "down one"] * 2
