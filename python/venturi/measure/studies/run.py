"""Runs the places of a plan one after the other; its only state is in the repository."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Protocol

from venturi.core.errors import Interrupted, VenturiError
from venturi.core.units import format_duration
from venturi.measure.engines.protocol import Resources, TrialSpec, WorkloadEngine
from venturi.measure.engines.registry import split_spec
from venturi.measure.studies.study import (
    LOCAL,
    Combination,
    Plan,
    PlannedTrial,
    PlannedTrialState,
    disks_by_role,
    input_key,
    standings,
    wall_s,
)
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices, TrialJob
from venturi.measure.trial.runner import Session, run_trial
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import Inputs, inputs_of
from venturi.measure.workloads.registry import size_of, size_of_bytes, workload
from venturi.record.store.trial_store import TrialStore
from venturi.record.trial import Engine as EngineRecord
from venturi.record.trial import Scalar, Trial, Workload

DEFAULT_SCALE = "tiny"


def size_for(combination: Combination) -> tuple[Definition, Size]:
    """Return the workload of `combination` and its size."""
    definition = workload(combination.workload)
    if combination.bytes is not None:
        return definition, size_of_bytes(definition, combination.bytes, combination.parameters)
    return definition, size_of(
        definition, combination.scale or DEFAULT_SCALE, combination.parameters
    )


class Site(Protocol):
    """Where trials are run: this machine, or the hosts of a cluster."""

    @property
    def session(self) -> Session:
        """In which they are recorded."""

    def engine(self, combination: Combination) -> WorkloadEngine:
        """Return the engine of `combination` there; raise the error of a site that failed to
        open.
        """

    def resources(self, combination: Combination) -> Resources:
        """Return the engine's resources; the folders are those of the host that submits jobs."""


Open = Callable[[str], AbstractContextManager[Site]]
"""Opens the site of a plan's cluster, or of LOCAL, and removes at its end everything made for it. A
site that can't be made opens, too, but its trials fail.
"""


def take(
    plan: Plan,
    repository: TrialStore,
    site: Open,
    *,
    again: bool = False,
    on_trial: Callable[[PlannedTrialState], None] | None = None,
) -> tuple[PlannedTrialState, ...]:
    """Run the missing places of `plan`, and return the state of every place.

    A failed trial doesn't stop the plan. With `again`, places that failed for good get one more
    trial. Raises Interrupted after Ctrl-C; the running trial is recorded as interrupted by then.
    """
    begun_s = time.monotonic()

    def look() -> dict[int, PlannedTrialState]:
        found = repository.trials_of(plan.id)
        return {each.place.number: each for each in standings(plan, found)}

    before = look()
    wanted = {"left", "failed"} if again else {"left"}
    queue = deque(each.place for each in before.values() if each.status in wanted)
    with _Sites(plan, site) as sites:
        while queue:
            place = queue.popleft()
            typical_s = _typical_s(before.values(), place)
            left_s = _time_left_s(plan, begun_s)
            if left_s is not None and (left_s <= 0 or left_s < typical_s):
                continue  # a shorter one may still fit
            bench = sites.bench(place.combination.place)
            try:
                run_trial(bench.session, bench.job(place))
            except Interrupted:
                raise
            except Exception:
                last = before[place.number].trial
                standing = look()[place.number]
                if standing.trial is None or (last is not None and standing.trial.id == last.id):
                    raise  # it could not even be recorded: nothing can be from here on
                sites.doubt()
            before = look()
            standing = before[place.number]
            if on_trial is not None:
                on_trial(standing)
            if standing.status == "left":
                queue.append(place)
            bench.release(queue)
    return tuple(look().values())


def _time_left_s(plan: Plan, begun_s: float) -> float | None:
    if plan.time_budget_s is None:
        return None
    return plan.time_budget_s - (time.monotonic() - begun_s)


def _typical_s(found: Iterable[PlannedTrialState], place: PlannedTrial) -> float:
    """Return the duration of the combination's longest trial so far; 0 without one."""
    walls = [
        wall_s(each.trial) or 0.0
        for each in found
        if each.trial is not None and each.place.combination == place.combination
    ]
    return max(walls, default=0.0)


class _Sites:
    """The one open site: two concurrent clusters would disturb each other."""

    def __init__(self, plan: Plan, open_site: Open) -> None:
        self._plan, self._open_site = plan, open_site
        self._open: tuple[str, ExitStack, _SharedEngine] | None = None

    def __enter__(self) -> _Sites:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def bench(self, name: str) -> _SharedEngine:
        """The bench of the site of `name`; any other is closed first."""
        if self._open is None or self._open[0] != name:
            self._close()
            with ExitStack() as stack:
                site = stack.enter_context(self._open_site(name))
                bench = stack.enter_context(_SharedEngine(self._plan, site))
                self._open = name, stack.pop_all(), bench
        assert self._open is not None
        return self._open[2]

    def doubt(self) -> None:
        """Close the site after a failure, which its hosts may have caused: the next trial connects
        or makes them again.
        """
        if self._open is not None and self._open[0] != LOCAL:
            self._close()

    def _close(self) -> None:
        closed, self._open = self._open, None
        if closed is not None:
            closed[1].close()


class _SharedEngine:
    """The engine and the inputs that trials at a site share: made when needed, gone at the end."""

    def __init__(self, plan: Plan, site: Site) -> None:
        self._plan, self._site, self.session = plan, site, site.session
        self._up: tuple[tuple[object, ...], WorkloadEngine] | None = None
        self._inputs: dict[tuple[object, ...], tuple[DataFolders, Inputs]] = {}

    def __enter__(self) -> _SharedEngine:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            for folders, _inputs in self._inputs.values():
                folders.__exit__()

    def job(self, place: PlannedTrial) -> TrialJob:
        """Return the job of `place`; an obstacle fails its trial, not the plan."""
        combination = place.combination
        definition, size = size_for(combination)
        try:
            resources = self._site.resources(combination)
            engine = self._engine(combination, resources)
            folders, inputs = self._input(combination, resources, definition, size)
        except (VenturiError, OSError) as error:
            return _FailedJob(self._spec(place, definition, size), error)
        spec = TrialSpec(
            definition=definition,
            size=size,
            inputs=inputs,
            folders=folders,
            agent_version=self.session.software.others["agent"],
            scale=None if combination.bytes is not None else combination.scale or DEFAULT_SCALE,
            experiment=self._plan.id,
            repetition=place.number,
            warm_up=place.warm_up,
            seed=0,
            threads=resources.threads,
            memory_bytes=resources.memory_bytes,
            settings=combination.settings,
            instances=combination.instances or 1,
            workers=combination.workers,
            timeout_s=self._plan.timeout_s,
        )
        job = engine.job(spec)
        return _TimedJob(job, inputs, folders, self._plan.timeout_s, combination.labels)

    def release(self, places: Iterable[PlannedTrial]) -> None:
        """Remove the inputs that none of `places` needs."""
        needed = {input_key(place.combination) for place in places}
        for key in [key for key in self._inputs if key not in needed]:
            self._inputs.pop(key)[0].__exit__()

    def _engine(self, combination: Combination, resources: Resources) -> WorkloadEngine:
        """Return the engine of `combination`, started unless the last trial used it.

        Ends any other first: idle daemons would take memory and time from the measurement. After a
        failed start the next trial that needs the engine tries again.
        """
        key = (
            combination.engine,
            combination.disk,
            resources.threads,
            resources.memory_bytes,
            resources.workers,
        )
        if self._up is None or self._up[0] != key:
            self._end()
            engine = self._site.engine(combination)
            self._up = key, engine  # before it is: half a start has to be ended, too
            try:
                engine.start(resources)
            except BaseException:
                self._end()
                raise
        return self._up[1]

    def _end(self) -> None:
        ended, self._up = self._up, None
        if ended is not None:
            ended[1].stop()

    def _input(
        self, combination: Combination, resources: Resources, definition: Definition, size: Size
    ) -> tuple[DataFolders, Inputs]:
        key, files = input_key(combination), self.session.agent.host.files
        if key not in self._inputs:
            folders = DataFolders(files, resources.dirs).__enter__()
            self._inputs[key] = folders, inputs_of(folders, definition, size)
        return self._inputs[key]

    def _spec(self, place: PlannedTrial, definition: Definition, size: Size) -> TrialChoices:
        combination = place.combination
        return TrialChoices(
            workload=Workload(
                definition.name, definition.version, combination.scale, size.bytes, size.records
            ),
            engine=EngineRecord(split_spec(combination.engine)[0], "unknown"),
            configuration=combination.values(),
            disks_by_role=disks_by_role(self._plan, combination),
            experiment=self._plan.id,
            repetition=place.number,
            warm_up=place.warm_up,
            series=False,
        )


@dataclass
class _FailedJob:
    """A trial that cannot even be prepared: its record says why."""

    chosen: TrialChoices
    error: VenturiError | OSError

    def prepare(self, step: StepContext) -> StepReport:
        raise self.error

    def execute(self, step: StepContext) -> StepReport:
        raise self.error

    def validate(self, step: StepContext) -> StepReport:
        raise self.error

    def clean(self) -> None:
        pass


@dataclass
class _TimedJob:
    """A job of a plan, with a limit on all of its steps together, whatever its engine knows of
    time.
    """

    job: TrialJob
    inputs: Inputs
    folders: DataFolders
    timeout_s: float | None
    labels: Mapping[str, Scalar]
    _used_s: float = field(default=0.0, init=False)

    @property
    def chosen(self) -> TrialChoices:
        """The job's choices with the plan's names of cluster and disk, for grouping trials."""
        chosen = self.job.chosen
        return replace(chosen, configuration={**chosen.configuration, **self.labels})

    def prepare(self, step: StepContext) -> StepReport:
        with self._limited("being prepared"):
            return self.job.prepare(step)

    def execute(self, step: StepContext) -> StepReport:
        with self._limited("executing"):
            return self.job.execute(step)

    def validate(self, step: StepContext) -> StepReport:
        with self._limited("being validated"):
            return self.job.validate(step)

    def clean(self) -> None:
        self.job.clean()
        if self.inputs.missing_bytes:  # useless when incomplete, and takes space from the next
            self.folders.empty(("input",))

    @contextmanager
    def _limited(self, doing: str) -> Iterator[None]:
        if self.timeout_s is None:
            yield
            return
        late = False

        def ring(signum: int, frame: FrameType | None) -> None:
            # As Ctrl-C does: everything below cleans up after that.
            nonlocal late
            late = True
            raise KeyboardInterrupt

        begun_s = time.monotonic()
        former = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self.timeout_s - self._used_s))
        try:
            yield
        except (KeyboardInterrupt, Interrupted):
            if not late:
                raise
            raise VenturiError(
                "VEN-ENGINE-TIMEOUT",
                f"the trial was stopped after {format_duration(self.timeout_s)}, while {doing}",
                hint="give the plan a longer timeout",
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
            self._used_s += time.monotonic() - begun_s


def summary_of(found: Iterable[PlannedTrialState]) -> dict[str, int]:
    """Count the places that are done, failed, running and left."""
    counts = {"done": 0, "failed": 0, "running": 0, "left": 0}
    for each in found:
        counts[each.status] += 1
    return counts


def describe(trial: Trial | None) -> str:
    """Why `trial` failed, in its own words."""
    if trial is None or trial.failure is None:
        return ""
    return f"{trial.failure.message} ({trial.failure.code})"
