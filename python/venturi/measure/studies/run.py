"""Takes the places of a plan one after the other; what it knows is in the repository alone."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from venturi.errors import Interrupted, VenturiError
from venturi.measure.engines.protocol import Engine, Resources, TrialSpec
from venturi.measure.engines.registry import split_spec
from venturi.measure.hosts.owned import sweep
from venturi.measure.studies.study import (
    Combination,
    Place,
    PlaceState,
    Plan,
    input_key,
    standings,
    wall_s,
)
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import Chosen, Report, Step, TrialJob
from venturi.measure.trial.runner import Session, run_trial
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import Inputs, inputs_of
from venturi.measure.workloads.registry import size_of, size_of_bytes, workload
from venturi.record.trial import Engine as EngineRecord
from venturi.record.trial import Trial, Workload
from venturi.units import format_duration

DEFAULT_SCALE = "tiny"


def size_for(combination: Combination) -> tuple[Definition, Size]:
    """The workload of `combination` and how much of it."""
    definition = workload(combination.workload)
    if combination.bytes is not None:
        return definition, size_of_bytes(definition, combination.bytes, combination.parameters)
    return definition, size_of(
        definition, combination.scale or DEFAULT_SCALE, combination.parameters
    )


def take(
    plan: Plan,
    session: Session,
    engine: Callable[[str], Engine],
    *,
    again: bool = False,
    on_trial: Callable[[PlaceState], None] | None = None,
) -> tuple[PlaceState, ...]:
    """Runs what is missing of `plan`, and returns where every place then stands.

    A trial that fails stops nothing. With `again`, places that failed for good get one more trial.
    Raises Interrupted after Ctrl-C; the trial under way is recorded as interrupted by then.
    """
    repository = session.repository
    begun_s = time.monotonic()

    def look() -> dict[int, PlaceState]:
        found = repository.trials_of(plan.id)
        return {each.place.number: each for each in standings(plan, found)}

    before = look()
    wanted = {"left", "failed"} if again else {"left"}
    queue = deque(each.place for each in before.values() if each.status in wanted)
    with _Bench(plan, session, engine) as bench:
        while queue:
            place = queue.popleft()
            typical_s = _typical_s(before.values(), place)
            left_s = _time_left_s(plan, begun_s)
            if left_s is not None and (left_s <= 0 or left_s < typical_s):
                continue  # a shorter one may still fit
            try:
                run_trial(session, bench.job(place))
            except Interrupted:
                raise
            except Exception:
                last = before[place.number].trial
                standing = look()[place.number]
                if standing.trial is None or (last is not None and standing.trial.id == last.id):
                    raise  # it could not even be recorded: nothing can be from here on
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


def _typical_s(found: Iterable[PlaceState], place: Place) -> float:
    """How long the longest trial of the combination took so far; 0 if there was none."""
    walls = [
        wall_s(each.trial) or 0.0
        for each in found
        if each.trial is not None and each.place.combination == place.combination
    ]
    return max(walls, default=0.0)


class _Bench:
    """The engine and the inputs that trials share: made when needed, gone at the end."""

    def __init__(self, plan: Plan, session: Session, engine: Callable[[str], Engine]) -> None:
        self._plan, self._session, self._find = plan, session, engine
        self._up: tuple[tuple[object, ...], Engine] | None = None
        self._inputs: dict[tuple[object, ...], tuple[DataFolders, Inputs]] = {}

    def __enter__(self) -> _Bench:
        """Removes what killed commands left, also where nothing is left to be run."""
        for parent in {
            folder
            for place in self._plan.ordered()
            for folders in self._plan.folders(place.combination).values()
            for folder in folders
        }:
            sweep(self._session.agent.host.files, parent)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            for folders, _inputs in self._inputs.values():
                folders.__exit__()

    def job(self, place: Place) -> TrialJob:
        """The work of `place`; what keeps it from being done fails its trial, not the plan."""
        combination = place.combination
        definition, size = size_for(combination)
        try:
            engine = self._engine(combination)
            folders, inputs = self._input(combination, definition, size)
        except (VenturiError, OSError) as error:
            return _Impossible(self._spec(place, definition, size), error)
        spec = TrialSpec(
            definition=definition,
            size=size,
            inputs=inputs,
            folders=folders,
            agent_version=self._session.software.others["agent"],
            scale=None if combination.bytes is not None else combination.scale or DEFAULT_SCALE,
            experiment=self._plan.id,
            repetition=place.number,
            warm_up=place.warm_up,
            seed=0,
            threads=combination.threads,
            memory_bytes=combination.memory,
            settings=combination.settings,
            instances=combination.instances or 1,
            workers=combination.workers,
            timeout_s=self._plan.timeout_s,
        )
        return _Timed(engine.job(spec), inputs, folders, self._plan.timeout_s)

    def release(self, places: Iterable[Place]) -> None:
        """Removes the inputs that none of `places` needs."""
        needed = {input_key(place.combination) for place in places}
        for key in [key for key in self._inputs if key not in needed]:
            self._inputs.pop(key)[0].__exit__()

    def _engine(self, combination: Combination) -> Engine:
        """The engine of `combination`, started unless it is up from the trial before.

        Any other is ended first: idle daemons would take memory and time from what is measured.
        One that cannot be started is tried anew by the next trial that needs it.
        """
        resources = Resources(
            self._plan.folders(combination),
            combination.threads,
            combination.memory,
            combination.workers,
        )
        key = (combination.engine, combination.disk, resources.threads, resources.memory_bytes,
               resources.workers)  # fmt: skip
        if self._up is None or self._up[0] != key:
            self._end()
            engine = self._find(combination.engine)
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
        self, combination: Combination, definition: Definition, size: Size
    ) -> tuple[DataFolders, Inputs]:
        key, files = input_key(combination), self._session.agent.host.files
        if key not in self._inputs:
            folders = DataFolders(files, self._plan.folders(combination)).__enter__()
            self._inputs[key] = folders, inputs_of(folders, definition, size)
        return self._inputs[key]

    def _spec(self, place: Place, definition: Definition, size: Size) -> Chosen:
        combination = place.combination
        return Chosen(
            workload=Workload(
                definition.name, definition.version, combination.scale, size.bytes, size.records
            ),
            engine=EngineRecord(split_spec(combination.engine)[0], "unknown"),
            configuration=combination.values(),
            disks_by_role={
                role: tuple(str(path) for path in dirs)
                for role, dirs in self._plan.folders(combination).items()
            },
            experiment=self._plan.id,
            repetition=place.number,
            warm_up=place.warm_up,
            series=False,
        )


@dataclass
class _Impossible:
    """A trial that cannot even be prepared: its record says why."""

    chosen: Chosen
    error: VenturiError | OSError

    def prepare(self, step: Step) -> Report:
        raise self.error

    def execute(self, step: Step) -> Report:
        raise self.error

    def validate(self, step: Step) -> Report:
        raise self.error

    def clean(self) -> None:
        pass


@dataclass
class _Timed:
    """A job with a limit on all of its steps together, whatever its engine knows of time."""

    job: TrialJob
    inputs: Inputs
    folders: DataFolders
    timeout_s: float | None
    _used_s: float = field(default=0.0, init=False)

    @property
    def chosen(self) -> Chosen:
        return self.job.chosen

    def prepare(self, step: Step) -> Report:
        with self._limited("being prepared"):
            return self.job.prepare(step)

    def execute(self, step: Step) -> Report:
        with self._limited("executing"):
            return self.job.execute(step)

    def validate(self, step: Step) -> Report:
        with self._limited("being validated"):
            return self.job.validate(step)

    def clean(self) -> None:
        self.job.clean()
        if self.inputs.missing_bytes:  # half an input is none, and takes space from the next
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
                f"the trial was still {doing} after {format_duration(self.timeout_s)} "
                "and was stopped",
                hint="give the plan a longer timeout",
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
            self._used_s += time.monotonic() - begun_s


def summary_of(found: Iterable[PlaceState]) -> dict[str, int]:
    """How many places are done, failed, running and left."""
    counts = {"done": 0, "failed": 0, "running": 0, "left": 0}
    for each in found:
        counts[each.status] += 1
    return counts


def describe(trial: Trial | None) -> str:
    """Why `trial` failed, in its own words."""
    if trial is None or trial.failure is None:
        return ""
    return f"{trial.failure.message} ({trial.failure.code})"
