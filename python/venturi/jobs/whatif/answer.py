"""Answers to what-if questions about a recorded job: its time and cost on other machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.units import SECONDS_PER_HOUR, format_bytes_decimal
from venturi.core.wording import joined
from venturi.jobs.stages.memory import heap_bytes, is_local
from venturi.jobs.stages.stage import label_of
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.jobs.whatif.cached import cached_bytes
from venturi.jobs.whatif.changes import MEMORY, JobChanges, codec_change
from venturi.jobs.whatif.demand import JobDemand, demand_of
from venturi.jobs.whatif.model import (
    DRIVER,
    LONGEST,
    JobModel,
    ModeledJob,
    StageEffects,
    unified_bytes,
)
from venturi.jobs.whatif.outlook import MOST_TASKS, why_unpredictable
from venturi.jobs.whatif.probed import cpu_factors, probed_capacities
from venturi.jobs.whatif.setup import (
    Setup,
    SetupChange,
    at_own_price,
    priced,
    recorded_setup,
    target_setup,
)
from venturi.jobs.whatif.task_plan import (
    ADAPTIVE,
    ADVISORY,
    MOST_BYTES,
    PARTITIONS,
    setting,
    split_rules,
    task_plan,
)
from venturi.jobs.whatif.uncertainty import (
    EXTRAPOLATED,
    CapacityEffect,
    capacity_effects,
    interval,
    interval_origin,
)
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.job_prices import TYPE_LABEL, JobPrices
from venturi.machines.cost.price import billed, metered, one_currency
from venturi.record.job_account import load
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

REPLAY, AMDAHL, PROPORTIONAL = "recorded replay", "Amdahl's law", "proportional to slots"
BASELINES: Mapping[str, str] = {
    REPLAY: "recorded task times on the new slots, as Sparklens does",
    AMDAHL: "driver time stays, task time is divided evenly",
    PROPORTIONAL: "the whole time by the number of slots",
}
"""Simpler predictions that are shown next to the model's; none knows about hardware or data."""


@dataclass(frozen=True, slots=True)
class StagePrediction:
    """A stage alone on all slots, before and after; `limit` is its bottleneck then."""

    stage: str
    name: str
    before_s: float
    after_s: float
    tasks_before: int
    tasks_after: int
    limit: str


@dataclass(frozen=True, slots=True)
class WhatIfPrediction:
    """A job on a setup. `usd` is None if `unpriced` says why; bounds are 90 % intervals.

    `limits` divides the time by bottleneck, the largest first. `assumes` lists the other
    assumptions, `interval_from` the measured pairs behind the interval. `extrapolated`: a change is
    beyond 4 times the recorded size.
    """

    name: str
    hosts: int
    executors: int
    slots: int
    time_s: Bounds
    usd: Bounds | None
    unpriced: str
    core_hours: float
    limits: Mapping[str, float]
    baselines_s: Mapping[str, float]
    rests_on: tuple[CapacityEffect, ...]
    assumes: tuple[str, ...]
    interval_from: str
    extrapolated: bool
    stages: tuple[StagePrediction, ...] = ()

    @property
    def limit(self) -> str:
        """The bottleneck that takes most of the time."""
        return next(iter(self.limits))


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """The recorded job `today`, and predictions for each target in question.

    `replay_error` is how far the replay of the recorded job is from its time, as a share.
    """

    trial: str
    job: str
    today: WhatIfPrediction
    targets: tuple[WhatIfPrediction, ...]
    not_modeled: tuple[str, ...]
    replay_error: float


GROWTH = Quantity(
    1.0,
    0.7,
    1.3,
    ValueKind.ASSUMED,
    "Assumes work in proportion to data: distinct keys grow less, joins more",
)
"""Chosen by us: the power of the data by which work grows."""


_MOST_KEPT = 16


class RecordedJob:
    """A recorded job that questions can be asked about; loads and checks it once.

    `prices` are the user's: they count more than those of catalogs. `kept` are rankings, by
    question.
    """

    def __init__(
        self,
        repository: TrialRepository,
        trial: Trial,
        ran_on: InstanceType | None = None,
        prices: JobPrices | None = None,
    ) -> None:
        self.trial, self.ran_on = trial, ran_on
        self.prices = prices or JobPrices()
        if trial.state is not State.SUCCEEDED:
            running = trial.state is State.RUNNING
            how = "it is still running" if running else f"it ended as {trial.state.value}"
            raise _refused(trial, how, "give a trial that succeeded")
        if not any(each.name == "job-account.json" for each in trial.artifacts):
            raise _refused(
                trial,
                "no event log is kept with it",
                "import one: venturi import spark-eventlog FILE",
            )
        self.line: Timeline = timeline(load(repository, trial))
        if (reason := why_unpredictable(self.line, MOST_TASKS)) is not None:
            raise _refused(trial, reason, "give the event log of a Spark application that ended")
        self.demand: JobDemand = demand_of(self.line)
        if not len(self.demand.starts) or not self.demand.recorded.warm_s:
            raise _refused(trial, "no task has a recorded time", "give a job that ran tasks")
        self._rules = split_rules(self.demand)
        self.setup: Setup = self._recorded_setup(repository)
        self._unchanged: dict[Setup, WhatIfPrediction] = {}
        self._models: dict[tuple[object, ...], JobModel] = {}
        self.kept: dict[tuple[object, ...], Any] = {}
        self.settings: Mapping[str, str] = self.line.account.configuration
        if ADAPTIVE not in self.settings and not _adaptive_by_default(self.line):
            self.settings = {**self.settings, ADAPTIVE: "false"}

    def again(
        self,
        repository: TrialRepository,
        ran_on: InstanceType | None = None,
        prices: JobPrices | None = None,
    ) -> RecordedJob:
        """The same job for another question: its machines and prices as they are known now."""
        other = copy(self)
        other.ran_on, other.prices = ran_on, prices or JobPrices()
        other.setup = other._recorded_setup(repository)
        other._models = {}
        return other

    def _recorded_setup(self, repository: TrialRepository) -> Setup:
        known = probed_capacities(repository, self.trial)
        made = recorded_setup(self.line, self.trial, self.ran_on, known)
        recorded = self.ran_on.name if self.ran_on else self.trial.cluster.instance_type
        self.cpu_factors = cpu_factors(repository, self.trial, recorded)
        name = self.trial.cluster.instance_type or self.trial.labels.get(TYPE_LABEL, "")
        if self.ran_on is not None:
            name = self.ran_on.name
        return at_own_price(made, self.trial, name, self.prices)

    def model(self, changes: JobChanges, target: Setup) -> JobModel:
        """The model of the job with `changes` on `target`."""
        key = (changes.data, tuple(sorted(changes.settings.items())), target.slots)
        if (found := self._models.get(key)) is None:
            found = self._models[key] = self._model(changes, target.slots)
        return found

    def _model(self, changes: JobChanges, slots: int) -> JobModel:
        settings = self.settings, {**self.settings, **changes.settings}
        both = self.setup.slots, slots
        plan = task_plan(self.demand, self._rules, changes.data, both, settings)
        codecs, _ = codec_change(self.settings, changes.settings)
        return JobModel(ModeledJob(self.demand, plan, codecs, self._memory_fraction), self.setup)

    @property
    def _memory_fraction(self) -> float:
        return float(self.settings.get("spark.memory.fraction") or 0.6)

    def target(self, changes: JobChanges) -> Setup:
        """The setup after `changes`, at the user's price of a node if there is one."""
        change = changes.setup
        if change.type is not None and change.usd_per_host_hour is None:
            own = self.prices.nodes.get(change.type.name)
            change = replace(change, usd_per_host_hour=own)
        cpu = None if change.type is None else self.cpu_factors.get(change.type.name)
        return target_setup(self.setup, change, self.ran_on, cpu)

    def predict(
        self, changes: JobChanges, target: Setup | None = None, *, baselines: bool = True
    ) -> WhatIfPrediction:
        """The prediction for `changes`, by replay."""
        target = target or self.target(changes)
        model = self.model(changes, target)
        time_s, effects = model.time_s(target)
        rests_on = capacity_effects(model, target)
        if changes.data != 1:
            rests_on = (self._growth(changes, target), *rests_on)
        distances = distances_of(self.setup, target, changes)
        bounds = interval(time_s, distances, rests_on, model.rough_s(target))
        usd, unpriced = cost_of(target, bounds)
        return WhatIfPrediction(
            target.name,
            target.hosts,
            target.executors,
            target.slots,
            bounds,
            usd,
            unpriced,
            target.slots * target.task_cpus * time_s / SECONDS_PER_HOUR,
            _limits(model, effects, target),
            self._baselines(target.slots) if baselines else {},
            rests_on,
            (
                *model.plan.assumes,
                *self._assumes(changes, same_tasks=model.plan.as_recorded),
                *self._cache_assumes(changes, target),
            ),
            interval_origin(distances),
            any(not 1 / EXTRAPOLATED <= each <= EXTRAPOLATED for each in distances.values()),
            _stages(model, effects, target),
        )

    def _growth(self, changes: JobChanges, target: Setup) -> CapacityEffect:
        """The effect of work that grows less or more than the data."""
        ends = (
            self.model(replace(changes, data=changes.data**power), target).rough_s(target)
            for power in (GROWTH.low, GROWTH.high)
        )
        fast_s, slow_s = sorted(ends)
        measure = "venturi whatif TRIAL --validate TRIAL2, a trial with other data"
        return CapacityEffect("growth", "both", GROWTH, fast_s, slow_s, measure)

    def today(self, price: SetupChange | None = None) -> WhatIfPrediction:
        """The job as recorded, on the model's terms; at a `price` that replaces the catalog's."""
        bare = replace(self.setup, tariff=None, unpriced="")
        if (found := self._unchanged.get(bare)) is None:
            if len(self._unchanged) >= _MOST_KEPT:
                self._unchanged.clear()
            found = self.predict(JobChanges(), bare, baselines=False)
            self._unchanged[bare] = found
        setup = self.setup if price is None else priced(self.setup, price)
        usd, unpriced = cost_of(setup, found.time_s)
        return replace(found, rests_on=(), assumes=(), usd=usd, unpriced=unpriced)

    def _baselines(self, slots: int) -> dict[str, float]:
        return {REPLAY: self.demand.replayed_s(slots), **self.laws_s(slots)}

    def laws_s(self, slots: int) -> dict[str, float]:
        """The baselines that need no replay."""
        assert self.line.elapsed_s is not None
        elapsed_s = self.line.elapsed_s
        serial_s = self.demand.serial_s
        return {
            AMDAHL: serial_s + (elapsed_s - serial_s) * self.setup.slots / slots,
            PROPORTIONAL: elapsed_s * self.setup.slots / slots,
        }

    def _assumes(self, changes: JobChanges, *, same_tasks: bool) -> Iterable[str]:
        account = self.line.account
        local = is_local(account)
        memory = "spark.driver.memory" if local else MEMORY
        known = memory in account.configuration and heap_bytes(account, local=local)
        if not known and MEMORY not in changes.settings:
            yield f"the log doesn't set {memory}: Spark's default of 1 GiB"
        if (unknown := codec_change(self.settings, changes.settings)[1]) is not None:
            yield f"the ratio of codec {unknown} is unknown: compression stays"
        splits = [key for key in (PARTITIONS, ADVISORY, MOST_BYTES) if key in changes.settings]
        if splits and same_tasks:
            yield f"no stage follows {joined(splits)}, so all tasks stay as recorded"
        elif PARTITIONS in splits and setting(self.settings, ADAPTIVE) != "false":
            yield "adaptive execution merges partitions, so their number may not follow the setting"
        if changes.data != 1 and self.demand.growing.min(initial=1.0) < 1:
            yield "task time below 1 MB/s is overhead that doesn't grow with the data"
        if changes.setup.type is not None:
            yield "starting the machines isn't included; the driver is as fast as recorded"
        if not self.demand.cpu_known:
            yield "the log has no CPU times: tasks waited for disks only while these had to be busy"
        if self.demand.lacks:
            yield f"not in the log, counted as 0: {', '.join(self.demand.lacks)}"

    def _cache_assumes(self, changes: JobChanges, target: Setup) -> Iterable[str]:
        """A warning if cached data that fit in memory don't on the target."""
        largest = cached_bytes(self.demand)
        needed = changes.data * largest
        kept, keeps = (
            each.executors * unified_bytes(each, self._memory_fraction)
            for each in (self.setup, target)
        )
        if needed > keeps and largest <= kept:
            yield (
                f"{format_bytes_decimal(needed)} of cached data don't fit in the memory of the "
                f"executors ({format_bytes_decimal(keeps)}); reading or computing the rest again "
                "isn't modeled"
            )


def answer(job: RecordedJob, changes: Sequence[JobChanges]) -> WhatIfAnswer:
    """The answer for each of `changes`."""
    model = job.model(JobChanges(), job.setup)
    not_modeled = dict.fromkeys(each for change in changes for each in change.not_modeled)
    own = next((each.setup for each in changes if each.setup.type is None), None)
    return WhatIfAnswer(
        job.trial.id,
        job.line.account.application.name,
        job.today(own),
        tuple(job.predict(each) for each in changes),
        tuple(not_modeled),
        model.replay_error,
    )


def fastest(answer: WhatIfAnswer) -> int:
    """The place of the fastest target."""
    times_s = [each.time_s.value for each in answer.targets]
    return times_s.index(min(times_s))


def _adaptive_by_default(line: Timeline) -> bool:
    """Whether this Spark is 3.2 or later."""
    parts = line.account.application.engine_version.split(".")[:2]
    return all(map(str.isdecimal, parts)) and tuple(map(int, parts)) >= (3, 2)


def _refused(trial: Trial, why: str, hint: str) -> VenturiError:
    return VenturiError(
        "VEN-MODEL-INPUT",
        f"can't predict trial {trial.id} on other machines: {why}",
        where={"trial": trial.id},
        hint=hint,
    )


def distances_of(recorded: Setup, target: Setup, changes: JobChanges) -> dict[str, float]:
    """The factor of each kind of change; kinds that don't change are left out."""
    found = {}
    if target.slots != recorded.slots:
        found["slots"] = target.slots / recorded.slots
    if changes.data != 1:
        found["data"] = changes.data
    change = changes.setup
    if any((change.type, change.disk, change.network_bytes_per_s)):
        found["machines"] = 1.0
    if changes.settings or change.heap_bytes:
        found["settings"] = 1.0
    return found


def cost_of(setup: Setup, time_s: Bounds) -> tuple[Bounds | None, str]:
    """The cost of `time_s` on `setup` in US dollars, or the reason for none."""
    if setup.tariff is None:
        return None, setup.unpriced
    if setup.tariff.currency != "USD":
        one_currency([setup.tariff.currency, "USD"])
    amounts = []
    for each in (time_s.value, time_s.low, time_s.high):
        paid = billed(setup.tariff, each, setup.hosts)
        amounts.append(metered(setup.tariff, each, setup.hosts) if paid is None else paid)
    return Bounds(*amounts), ""


def _limits(model: JobModel, effects: StageEffects, target: Setup) -> dict[str, float]:
    """Shares of the time by bottleneck, the largest first; the driver's is one."""
    shares = {DRIVER: model.demand.serial_s}
    limits = model.limits(effects, target)
    # Of stages that overlap, each takes its part of the slots.
    for limit, alone_s, task_s in zip(limits, effects.stage_s, effects.task_s, strict=True):
        part = alone_s if limit == LONGEST else task_s / target.slots
        shares[limit] = shares.get(limit, 0.0) + float(part)
    whole = sum(shares.values()) or 1.0
    ordered = sorted(shares.items(), key=lambda each: -each[1])
    return {name: time_s / whole for name, time_s in ordered if time_s > 0}


def _stages(model: JobModel, effects: StageEffects, target: Setup) -> tuple[StagePrediction, ...]:
    demand = model.demand
    names = {(row[0], row[1]): row[2] for row in demand.line.account.stages.rows()}
    before = model.recorded_s
    limits = model.limits(effects, target)
    counts = np.diff(demand.starts), np.diff(model.plan.starts)
    return tuple(
        StagePrediction(
            label_of(key),
            demand.line.plans.name(key, names.get(key) or ""),
            float(before[place]),
            float(effects.stage_s[place]),
            int(counts[0][place]),
            int(counts[1][place]),
            limits[place],
        )
        for place, key in enumerate(demand.keys)
        if counts[0][place]
    )
