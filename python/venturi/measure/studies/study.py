"""A plan of trials: factors, order and progress. Pure: nothing is run.

A plan's *combinations* are numbered as the file gives them; a *place* is one repetition of one. A
place's number is the `repetition` of its trials: it identifies them within the experiment and is in
no group key. So the repository alone shows the progress of a plan.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from venturi.core.errors import FailureClass
from venturi.measure.clusters.cluster_record import cluster_record, host_record
from venturi.measure.clusters.cluster_spec import WORKER, ClusterSpec
from venturi.measure.engines.registry import ENGINES, on_hdfs, split_spec
from venturi.measure.lab.lab_spec import LabSpec
from venturi.measure.workloads.registry import space_factors, workload
from venturi.record.trial import DISK_ROLES, TERMINAL, ProvenanceKind, Scalar, State, Trial

Order = Literal["random", "blocked", "split-plot", "written"]
LOCAL = "local"
"""A plan's name for the machine on which Venturi runs."""
OF_WORKLOAD = "workload."  # how a workload's parameter begins, in plans and in records
UNSTEADY = 0.10  # a coefficient of variation that asks for a look: our own choice


# A usage error recurs, and an invalid result needs attention; interrupted trials are always
# repeated.
RETRYABLE = (
    FailureClass.ENVIRONMENT,
    FailureClass.CAPACITY,
    FailureClass.TIMEOUT,
    FailureClass.ENGINE,
)


@dataclass(frozen=True)
class Combination:
    """One value of every factor. None: not chosen. `disk` names a set of folders of the plan,
    `cluster` one of its clusters, or LOCAL.
    """

    workload: str
    engine: str
    scale: str | None = None
    bytes: int | None = None
    threads: int | None = None
    memory: int | None = None
    disk: str | None = None
    cluster: str | None = None
    instances: int | None = None
    workers: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    parameters: Mapping[str, Scalar] = field(default_factory=dict, hash=False)

    @property
    def place(self) -> str:
        """Where it is measured: the name of a cluster, or LOCAL."""
        return self.cluster or LOCAL

    @property
    def labels(self) -> dict[str, Scalar]:
        """The plan's names of the cluster and the disk, if it has them, for grouping trials."""
        named = {"cluster": self.cluster, "disk": self.disk}
        return {name: value for name, value in named.items() if value is not None}

    def values(self) -> dict[str, Scalar]:
        """Return its factors by name, including settings; factors without a choice are omitted."""
        named: dict[str, Scalar] = {
            "workload": self.workload,
            "engine": self.engine,
            "scale": self.scale,
            "bytes": self.bytes,
            "threads": self.threads,
            "memory": self.memory,
            "disk": self.disk,
            "cluster": self.cluster,
            "instances": self.instances,
            "workers": self.workers,
            **self.settings,
            **{f"{OF_WORKLOAD}{name}": value for name, value in self.parameters.items()},
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class PlannedTrial:
    """One repetition of one combination."""

    number: int
    combination: Combination
    repetition: int
    warm_up: bool


@dataclass(frozen=True)
class PlanCluster:
    """A cluster of a plan: existing hosts, or those of a `lab` made for its trials.

    `spec` is the content of the cluster's file; for a lab, that of the file that `lab up` will
    write, except for addresses. `file` is the one that the plan names, `digest` that of its
    content, `line` the place in the plan.
    """

    spec: ClusterSpec
    lab: LabSpec | None
    file: Path
    digest: str
    line: int


@dataclass(frozen=True)
class Plan:
    """A plan of measurements. `retries` is the number of retries per failure class; budgets may be
    unset.

    `default_dir` is the folder on this machine for combinations without a disk.
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
    traced: bool = False
    time_budget_s: float | None = None
    space_budget_bytes: int | None = None
    retries: Mapping[FailureClass, int] = field(default_factory=dict)
    failing_warnings: frozenset[str] = frozenset()
    clusters: Mapping[str, PlanCluster] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`plan-` and a digest of which trials, on which clusters and folders, in which order.

        Name, budgets, timeout and retries may change while a plan is under way.
        """
        disks = {
            name: {role: [str(path) for path in dirs] for role, dirs in roles.items()}
            for name, roles in self.disks.items()
        }
        meaning: list[object] = [
            [combination.values() for combination in self.combinations],
            disks,
            self.repeats,
            self.warm_ups,
            self.order,
            self.seed,
        ]
        if any(each.disk is None and each.place == LOCAL for each in self.combinations):
            meaning.append(str(self.default_dir))
        if self.traced:
            meaning.append("traced")
        if self.clusters:
            meaning.append({name: each.digest for name, each in self.clusters.items()})
        text = json.dumps(meaning, sort_keys=True)
        return f"plan-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def folders(self, combination: Combination) -> Mapping[str, tuple[Path, ...]]:
        """The folders on this machine of `combination` by role: of its disk, or the default one."""
        if combination.disk is not None:
            return self.disks[combination.disk]
        return {role: (self.default_dir,) for role in DISK_ROLES if role != "replica"}

    def cluster(self, combination: Combination) -> ClusterSpec | None:
        """Return the cluster of `combination` with its data on the combination's disk; None: LOCAL.

        Workers keep their data there, and so does any other host if its file names all of these
        folders; else it uses the folders in its file.
        """
        if combination.place == LOCAL:
            return None
        spec = self.clusters[combination.place].spec
        return spec if combination.disk is None else on_disk(spec, self.disks[combination.disk])

    def places(self) -> tuple[PlannedTrial, ...]:
        """Every repetition of every combination, by number."""
        return tuple(
            PlannedTrial(
                index * self.repeats + repetition,
                combination,
                repetition,
                repetition < self.warm_ups,
            )
            for index, combination in enumerate(self.combinations)
            for repetition in range(self.repeats)
        )

    def ordered(self) -> tuple[PlannedTrial, ...]:
        """Return the places in the order of execution; the same for the same plan.

        written: combination by combination. blocked: repetition by repetition, each with all
        combinations in a new random order. split-plot: like blocked, but grouped by cluster, with
        the clusters in random order, too. random: any order, but a combination's warm-ups right
        before the first of its places that counts.
        """
        places = self.places()
        if self.order == "written":
            return places
        draw = random.Random(self.seed)  # noqa: S311 - an order, no secret
        if self.order in {"blocked", "split-plot"}:
            blocks = [list(places[start :: self.repeats]) for start in range(self.repeats)]
            for block in blocks:
                draw.shuffle(block)
                if self.order == "split-plot":
                    turns = sorted({place.combination.place for place in block})
                    draw.shuffle(turns)
                    block.sort(key=lambda place, turns=turns: turns.index(place.combination.place))  # type: ignore[misc]
            return tuple(place for block in blocks for place in block)
        counted = [place for place in places if not place.warm_up]
        draw.shuffle(counted)
        taken: list[PlannedTrial] = []
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
class PlannedTrialState:
    """The progress of a place; `trial` is the one that counts, else its last."""

    place: PlannedTrial
    status: Literal["done", "failed", "running", "left"]
    trial: Trial | None = None
    failure: FailureClass | None = None


def standings(plan: Plan, trials: Iterable[Trial]) -> tuple[PlannedTrialState, ...]:
    """Return the state of every place, in the order of the plan, after `trials` of its experiment.

    Trials of an older definition of their workload don't count.
    """
    attempts: dict[tuple[int, str, str], list[Trial]] = {}
    for trial in sorted(trials, key=lambda each: each.id):
        key = (trial.repetition, trial.workload.name, trial.workload.version)
        attempts.setdefault(key, []).append(trial)

    names = {combination.workload for combination in plan.combinations}
    versions = {name: workload(name).version for name in names}

    def own(place: PlannedTrial) -> Sequence[Trial]:
        name = place.combination.workload
        return attempts.get((place.number, name, versions[name]), ())

    return tuple(_standing(plan, place, own(place)) for place in plan.ordered())


def _standing(plan: Plan, place: PlannedTrial, attempts: Sequence[Trial]) -> PlannedTrialState:
    classes: Counter[FailureClass] = Counter()
    for trial in attempts:
        failure = failure_class(trial, plan.failing_warnings)
        if failure is not None:
            classes[failure] += 1
        elif trial.state is State.SUCCEEDED:
            return PlannedTrialState(place, "done", trial)
    if not attempts:
        return PlannedTrialState(place, "left")
    last = attempts[-1]
    if last.state not in TERMINAL:
        return PlannedTrialState(place, "running", last)
    failure = failure_class(last, plan.failing_warnings)
    assert failure is not None
    again = failure is FailureClass.INTERRUPTED or classes[failure] <= plan.retries.get(failure, 0)
    return PlannedTrialState(place, "left" if again else "failed", last, failure)


def on_disk(spec: ClusterSpec, folders: Mapping[str, tuple[Path, ...]]) -> ClusterSpec:
    """A cluster with its data in `folders`, by role; see `Plan.cluster`."""
    wanted = {path for paths in folders.values() for path in paths}
    return replace(
        spec,
        hosts=tuple(
            replace(host, folders=dict(folders))
            if WORKER in host.roles or wanted <= set(host.all_folders)
            else host
            for host in spec.hosts
        ),
    )


def disks_by_role(plan: Plan, combination: Combination) -> dict[str, tuple[str, ...]]:
    """Return the folders of `combination` as its trials record them; on a cluster with the hosts'
    names.

    Default folders are unknown until the hosts are connected.
    """
    spec = plan.cluster(combination)
    if spec is None:
        folders = plan.folders(combination)
        return {role: tuple(map(str, dirs)) for role, dirs in folders.items()}
    return {
        role: found
        for role in DISK_ROLES
        if (
            found := tuple(
                f"{host.name}:{path}"
                for host in spec.taking_part
                for path in host.folders.get(role, ())
            )
        )
    }


def peak_bytes(plan: Plan, input_bytes: Mapping[Combination, int]) -> dict[str, int]:
    """Return the peak disk use in each place: inputs from first to last use, plus one trial's
    files. Inputs are removed before the next cluster.
    """
    ordered = [place.combination for place in plan.ordered()]
    keys = [input_key(combination) for combination in ordered]
    last = {key: at for at, key in enumerate(keys)}
    held: dict[object, int] = {}
    peaks: dict[str, int] = {}
    before = ordered[0].place if ordered else LOCAL
    for at, (combination, key) in enumerate(zip(ordered, keys, strict=True)):
        if combination.place != before:
            held.clear()
            before = combination.place
        hdfs = on_hdfs(combination.engine) or combination.place != LOCAL
        given, *beside = space_factors(workload(combination.workload), hdfs=hdfs)
        size_bytes = input_bytes[combination]
        held[key] = round(size_bytes * given)
        work_bytes = round(size_bytes * sum(beside)) * (combination.instances or 1)
        peaks[before] = max(peaks.get(before, 0), sum(held.values()) + work_bytes)
        if last[key] == at:
            del held[key]
    return peaks


def input_key(combination: Combination) -> tuple[object, ...]:
    """Return a key that is equal for combinations that can share input files."""
    parameters = tuple(sorted(combination.parameters.items()))
    return (
        combination.workload,
        combination.scale,
        combination.bytes,
        combination.disk,
        combination.place,
        parameters,
    )


def wall_s(trial: Trial) -> float | None:
    """From the start of a trial to the end of its last phase; None if it has none."""
    return max((phase.started_s + phase.elapsed_s for phase in trial.phases), default=None)


def matches_plan(
    trial: Trial, combination: Combination, input_bytes: int | None, plan: Plan
) -> bool:
    """Return whether `trial`, of any experiment, did the work of a place of `combination` in
    `plan`, on such hosts and disks. `input_bytes` is the size of the combination's input.
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
    records_defaults = ENGINES[engine].records_defaults
    if combination.threads is not None or not records_defaults:
        chosen["threads"] = combination.threads
    if combination.memory is not None or not records_defaults:
        chosen["memory_bytes"] = combination.memory
    return (
        trial.provenance.kind is ProvenanceKind.MEASURED
        and (trial.workload.name, trial.engine.name) == (combination.workload, engine)
        and trial.workload.version == workload(combination.workload).version
        and trial.workload.input_bytes == input_bytes
        and _on_such_hosts(trial, combination, plan)
        and all(trial.configuration.get(key) == value for key, value in chosen.items())
    )


def _on_such_hosts(trial: Trial, combination: Combination, plan: Plan) -> bool:
    """Whether `trial` had the hosts and folders of `combination`."""
    wanted, recorded = disks_by_role(plan, combination), trial.cluster.disks_by_role
    spec = plan.cluster(combination)
    if spec is None:
        # A workload that reads or writes nothing records no folders for it.
        return not trial.cluster.layout and recorded.items() <= wanted.items()
    hosts = [host_record(host, {}) for host in spec.taking_part]
    # Without a chosen folder, a host keeps its files in its folder for temporary files.
    known = {
        role: {each.name for each in spec.taking_part if each.folders.get(role)}
        for role in recorded
    }
    named = {
        role: tuple(each for each in dirs if each.partition(":")[0] in known[role])
        for role, dirs in recorded.items()
    }
    return (
        trial.cluster.layout == cluster_record(spec, hosts).layout
        and {role: set(dirs) for role, dirs in named.items() if dirs}.items()
        <= {role: set(dirs) for role, dirs in wanted.items()}.items()
    )


@dataclass(frozen=True)
class UnsteadyCombination:
    """A combination with a high variation between its counted trials."""

    combination: Combination
    trials: int
    variation: float  # standard deviation over mean


def unsteady(found: Iterable[PlannedTrialState]) -> tuple[UnsteadyCombination, ...]:
    """The combinations with three or more counted successes that vary by more than a tenth."""
    times: dict[int, tuple[Combination, list[float]]] = {}
    for each in found:
        if each.status == "done" and not each.place.warm_up and each.trial is not None:
            first = each.place.number - each.place.repetition
            elapsed = each.trial.elapsed_s
            if elapsed is not None:
                times.setdefault(first, (each.place.combination, []))[1].append(elapsed)
    out: list[UnsteadyCombination] = []
    for combination, values in times.values():
        mean = statistics.fmean(values)
        if len(values) >= 3 and mean > 0 and (v := statistics.stdev(values) / mean) > UNSTEADY:
            out.append(UnsteadyCombination(combination, len(values), v))
    return tuple(out)
