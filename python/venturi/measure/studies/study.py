"""A plan of trials: what is varied, in which order, how far it has come. Pure: nothing is run.

A plan's *combinations* are numbered as the file gives them; a *place* is one repetition of one. A
place's number is the `repetition` of its trials, which tells the trials of an experiment apart and
is in no group key: so the repository alone says what of a plan is done.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from venturi.errors import FailureClass
from venturi.measure.engines.registry import on_hdfs, split_spec
from venturi.measure.workloads.registry import space_factors, workload
from venturi.record.trial import DISK_ROLES, TERMINAL, ProvenanceKind, Scalar, State, Trial

Order = Literal["random", "blocked", "written"]
OF_WORKLOAD = "workload."  # how a workload's parameter begins, in plans and in records
UNSTEADY = 0.10  # a coefficient of variation that asks for a look: our own choice


# A mistake stays one, and what is wrong must be looked at; interrupted trials are always repeated.
RETRYABLE = (
    FailureClass.ENVIRONMENT, FailureClass.CAPACITY, FailureClass.TIMEOUT, FailureClass.ENGINE,
)  # fmt: skip


@dataclass(frozen=True)
class Combination:
    """One value of every factor. None: not chosen. `disk` names a set of folders of the plan."""

    workload: str
    engine: str
    scale: str | None = None
    bytes: int | None = None
    threads: int | None = None
    memory: int | None = None
    disk: str | None = None
    host: str = "local"
    instances: int | None = None
    workers: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    parameters: Mapping[str, Scalar] = field(default_factory=dict, hash=False)

    def values(self) -> dict[str, Scalar]:
        """Its factors by name, settings among them; those that were not chosen are left out."""
        named: dict[str, Scalar] = {
            "workload": self.workload,
            "engine": self.engine,
            "scale": self.scale,
            "bytes": self.bytes,
            "threads": self.threads,
            "memory": self.memory,
            "disk": self.disk,
            "host": self.host,
            "instances": self.instances,
            "workers": self.workers,
            **self.settings,
            **{f"{OF_WORKLOAD}{name}": value for name, value in self.parameters.items()},
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Place:
    """One repetition of one combination."""

    number: int
    combination: Combination
    repetition: int
    warm_up: bool


@dataclass(frozen=True)
class Plan:
    """What to measure. `retries` says how often a class is tried again; budgets may be None.

    `default_dir` is where combinations without a disk have their data.
    """

    name: str
    combinations: tuple[Combination, ...]
    disks: Mapping[str, Mapping[str, tuple[Path, ...]]]
    default_dir: Path
    repeats: int
    warm_ups: int
    order: Order
    seed: int
    timeout_s: float | None = None
    time_budget_s: float | None = None
    space_budget_bytes: int | None = None
    retries: Mapping[FailureClass, int] = field(default_factory=dict)
    failing_warnings: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """`plan-` and a digest of which trials, on which folders, in which order.

        Name, budgets, timeout and retries may change while a plan is under way.
        """
        disks = {
            name: {role: [str(path) for path in dirs] for role, dirs in roles.items()}
            for name, roles in self.disks.items()
        }
        meaning: list[object] = [
            [combination.values() for combination in self.combinations],
            disks, self.repeats, self.warm_ups, self.order, self.seed,
        ]  # fmt: skip
        if any(combination.disk is None for combination in self.combinations):
            meaning.append(str(self.default_dir))
        text = json.dumps(meaning, sort_keys=True)
        return f"plan-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def folders(self, combination: Combination) -> Mapping[str, tuple[Path, ...]]:
        """The folders of `combination` by role: those of its disk, else the default one."""
        if combination.disk is not None:
            return self.disks[combination.disk]
        return {role: (self.default_dir,) for role in DISK_ROLES if role != "replica"}

    def places(self) -> tuple[Place, ...]:
        """Every repetition of every combination, by number."""
        return tuple(
            Place(index * self.repeats + repetition, combination, repetition,
                  repetition < self.warm_ups)
            for index, combination in enumerate(self.combinations)
            for repetition in range(self.repeats)
        )  # fmt: skip

    def ordered(self) -> tuple[Place, ...]:
        """The places as they are to be taken; the same for the same plan.

        written: combination by combination. blocked: repetition by repetition, each with all
        combinations in an order drawn anew. random: any place after any other, but a combination's
        warm-ups right before the first of its places that counts.
        """
        places = self.places()
        if self.order == "written":
            return places
        draw = random.Random(self.seed)  # noqa: S311 - an order, no secret
        if self.order == "blocked":
            blocks = [list(places[start :: self.repeats]) for start in range(self.repeats)]
            for block in blocks:
                draw.shuffle(block)
            return tuple(place for block in blocks for place in block)
        counted = [place for place in places if not place.warm_up]
        draw.shuffle(counted)
        taken: list[Place] = []
        begun: set[int] = set()
        for place in counted:
            first = place.number - place.repetition
            if first not in begun:
                begun.add(first)
                taken += places[first : first + self.warm_ups]
            taken.append(place)
        return tuple(taken)


def failure_class(trial: Trial, failing_warnings: Iterable[str] = ()) -> FailureClass | None:
    """Why `trial` is no success; None if it is one, or has not ended.

    A success with one of `failing_warnings` was measured under conditions that do not count.
    """
    if trial.state is State.SUCCEEDED:
        bad = set(failing_warnings) & {warning.code for warning in trial.warnings}
        return FailureClass.ENVIRONMENT if bad else None
    return trial.failure_class


@dataclass(frozen=True)
class PlaceState:
    """How far a place has come; `trial` is the one that counts, else its last."""

    place: Place
    status: Literal["done", "failed", "running", "left"]
    trial: Trial | None = None
    failure: FailureClass | None = None


def standings(plan: Plan, trials: Iterable[Trial]) -> tuple[PlaceState, ...]:
    """Where every place stands, in the order of the plan, after `trials` of its experiment.

    Trials of a workload whose definition has changed since measured something else.
    """
    attempts: dict[tuple[int, str, str], list[Trial]] = {}
    for trial in sorted(trials, key=lambda each: each.id):
        key = (trial.repetition, trial.workload.name, trial.workload.version)
        attempts.setdefault(key, []).append(trial)

    names = {combination.workload for combination in plan.combinations}
    versions = {name: workload(name).version for name in names}

    def own(place: Place) -> Sequence[Trial]:
        name = place.combination.workload
        return attempts.get((place.number, name, versions[name]), ())

    return tuple(_standing(plan, place, own(place)) for place in plan.ordered())


def _standing(plan: Plan, place: Place, attempts: Sequence[Trial]) -> PlaceState:
    classes: Counter[FailureClass] = Counter()
    for trial in attempts:
        failure = failure_class(trial, plan.failing_warnings)
        if failure is not None:
            classes[failure] += 1
        elif trial.state is State.SUCCEEDED:
            return PlaceState(place, "done", trial)
    if not attempts:
        return PlaceState(place, "left")
    last = attempts[-1]
    if last.state not in TERMINAL:
        return PlaceState(place, "running", last)
    failure = failure_class(last, plan.failing_warnings)
    assert failure is not None
    again = failure is FailureClass.INTERRUPTED or classes[failure] <= plan.retries.get(failure, 0)
    return PlaceState(place, "left" if again else "failed", last, failure)


def peak_bytes(plan: Plan, input_bytes: Mapping[Combination, int]) -> int:
    """Disk used at the peak: inputs from first to last use, and one trial's work beside them."""
    ordered = [place.combination for place in plan.ordered()]
    keys = [input_key(combination) for combination in ordered]
    last = {key: at for at, key in enumerate(keys)}
    held: dict[object, int] = {}
    peak = 0
    for at, (combination, key) in enumerate(zip(ordered, keys, strict=True)):
        hdfs = on_hdfs(combination.engine)
        given, *beside = space_factors(workload(combination.workload), hdfs=hdfs)
        size_bytes = input_bytes[combination]
        held[key] = round(size_bytes * given)
        work_bytes = round(size_bytes * sum(beside)) * (combination.instances or 1)
        peak = max(peak, sum(held.values()) + work_bytes)
        if last[key] == at:
            del held[key]
    return peak


def input_key(combination: Combination) -> tuple[object, ...]:
    """What two combinations share if they can have the same input files."""
    parameters = tuple(sorted(combination.parameters.items()))
    return (
        combination.workload, combination.scale, combination.bytes, combination.disk, parameters,
    )  # fmt: skip


def wall_s(trial: Trial) -> float | None:
    """From the start of a trial to the end of its last phase; None if it has none."""
    return max((phase.started_s + phase.elapsed_s for phase in trial.phases), default=None)


def alike(
    trial: Trial,
    combination: Combination,
    input_bytes: int | None,
    disks: Mapping[str, tuple[Path, ...]],
) -> bool:
    """Whether `trial`, of whatever experiment, did what a place of `combination` is to do.

    `input_bytes` and `disks` are what the combination comes to.
    """
    engine, deployment = split_spec(combination.engine)
    chosen: dict[str, Scalar] = {
        **combination.settings,
        **{f"{OF_WORKLOAD}{name}": value for name, value in combination.parameters.items()},
    }
    if deployment:
        chosen["deployment"] = deployment
    if combination.instances is not None:
        chosen["instances"] = combination.instances
    if combination.workers is not None:
        chosen["workers"] = combination.workers
    # The native engine records what was chosen only, the others what they took by default, too.
    if combination.threads is not None or combination.engine == "native":
        chosen["threads"] = combination.threads
    if combination.memory is not None or combination.engine == "native":
        chosen["memory_bytes"] = combination.memory
    return (
        trial.provenance.kind is ProvenanceKind.MEASURED
        and (trial.workload.name, trial.engine.name) == (combination.workload, engine)
        and trial.workload.version == workload(combination.workload).version
        and trial.workload.input_bytes == input_bytes
        # A workload that reads or writes nothing records no folders for it.
        and trial.cluster.disks_by_role.items()
        <= {role: tuple(str(path) for path in dirs) for role, dirs in disks.items()}.items()
        and all(trial.configuration.get(key) == value for key, value in chosen.items())
    )


@dataclass(frozen=True)
class Unsteady:
    """A combination whose counted trials differ more than they should."""

    combination: Combination
    trials: int
    variation: float  # standard deviation over mean


def unsteady(found: Iterable[PlaceState]) -> tuple[Unsteady, ...]:
    """The combinations with three or more counted successes that vary by more than a tenth."""
    times: dict[int, tuple[Combination, list[float]]] = {}
    for each in found:
        if each.status == "done" and not each.place.warm_up and each.trial is not None:
            first = each.place.number - each.place.repetition
            elapsed = each.trial.elapsed_s
            if elapsed is not None:
                times.setdefault(first, (each.place.combination, []))[1].append(elapsed)
    out: list[Unsteady] = []
    for combination, values in times.values():
        mean = statistics.fmean(values)
        if len(values) >= 3 and mean > 0 and (v := statistics.stdev(values) / mean) > UNSTEADY:
            out.append(Unsteady(combination, len(values), v))
    return tuple(out)
