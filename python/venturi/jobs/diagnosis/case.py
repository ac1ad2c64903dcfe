"""The view of a job that rules get, and the hits that they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.jobs.diagnosis.table import DiagnosisRule
from venturi.jobs.stages.causes import PYTHON, TO_COMPUTE, Seconds, TaskTimes, total
from venturi.jobs.stages.stage import Analysis
from venturi.jobs.stages.timeline import Key, Timeline

MOST_STAGES = 1_000
SHOWN = 5
"""Places of a kind that a finding names at most."""
_TELLS_S = 2.0  # of task time: less says little of how long tasks wait for a core
_MOST_WAITING = 0.5
_ADAPTIVE_SINCE = 3, 2  # the default of spark.sql.adaptive.enabled
_DEPLOYMENTS = (
    ("local", "local"),
    ("yarn", "yarn"),
    ("k8s://", "k8s"),
    ("spark://", "standalone"),
)
_MANAGERS = ("yarn", "k8s://", "spark://", "mesos://")
Places = npt.NDArray[np.intp]
Values = npt.NDArray[Any]


class Confidence(StrEnum):
    """Confidence in a saving: recorded, estimated, or by elimination alone."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class FindingScope:
    """The part of a job that evidence is about; None where a field doesn't apply."""

    stage: str | None = None
    task: str | None = None
    host: str | None = None
    executor: str | None = None
    query: int | None = None
    operator: str | None = None


@dataclass(frozen=True, slots=True)
class SparedResources:
    """Resources other than time that an advice saves at most, such as "1.2 core-hours", and
    their share of the total.
    """

    what: str
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule's hit at one place, and how much sooner the job would have ended by the replay.

    `variant` selects the advice of the rule that fits, `values` fills in its names. Hits that save
    no time state the resources that they save.
    """

    says: str
    where: tuple[FindingScope, ...]
    saves_s: float
    confidence: Confidence
    variant: str = "any"
    values: Mapping[str, str] = field(default_factory=dict)
    spares: SparedResources | None = None


class Case:
    """An application: its timeline, its analysis, its plans."""

    def __init__(
        self,
        line: Timeline,
        analysis: Analysis,
        rules: Mapping[str, DiagnosisRule],
        worker_cpu_s: Mapping[Key, float] | None = None,
    ) -> None:
        self.line = line
        self.analysis = analysis
        self.plans = line.plans
        self._rules = rules
        self._worker_cpu_s = worker_cpu_s or {}
        self.managed = (self.setting("spark.master") or "").startswith(_MANAGERS)
        """Whether a cluster manager starts its executors."""
        self._on_path_s: dict[Key, float] = {}
        for step in analysis.path:
            if step.key is not None:
                self._on_path_s[step.key] = self._on_path_s.get(step.key, 0.0) + step.elapsed_s
        self._stages = {stage.key: stage for stage in analysis.stages}
        self._ran: dict[Key, tuple[Places, TaskTimes]] = {}
        self._columns: dict[str, Values] = {}
        there = [
            stage
            for stage in analysis.stages
            if self._on_path_s.get(stage.key) and stage.task_s > 0 and stage.elapsed_s
        ]
        there.sort(key=lambda stage: -self._on_path_s[stage.key])
        self.stages = tuple(sorted(there[:MOST_STAGES], key=lambda stage: stage.key))
        """Those on the critical path in which tasks ran, of very many the longest there: no other
        can make the end come sooner."""
        self.n_left_out = len(there) - len(self.stages)

    def limit(self, rule: str, name: str) -> float:
        """A threshold of a rule."""
        return self._rules[rule].thresholds[name].default

    def variant(self, rule: str) -> str:
        """Which advice of a rule fits: the one of a capability of the account, else `any`."""
        advice = self._rules[rule].do
        return next((each for each in self.line.account.kind.capabilities if each in advice), "any")

    def applicable(self, rule: DiagnosisRule, variant: str) -> str:
        """The variant of an advice that applies to this engine's version and deployment."""
        while (where := rule.applies.get(variant)) is not None:
            if not (where.since and self.before(*where.since)) and (
                self.deployment not in where.not_on
            ):
                break
            variant = where.otherwise
        return variant

    @property
    def deployment(self) -> str:
        """Where executors run, by `spark.master`: local, yarn, k8s, standalone, or unknown."""
        master = self.setting("spark.master") or ""
        return next((name for start, name in _DEPLOYMENTS if master.startswith(start)), "unknown")

    def setting(self, key: str) -> str | None:
        """A setting of the application, None if it was not made."""
        return self.line.account.configuration.get(key)

    def since(self, *version: int) -> bool:
        """Whether the engine is of `version`, major and minor, or a later one."""
        parts = self.line.account.application.engine_version.split(".")[:2]
        return all(map(str.isdecimal, parts)) and tuple(map(int, parts)) >= version

    def before(self, *version: int) -> bool:
        """Whether the engine is known to be older than `version`."""
        known = self.line.account.application.engine_version.partition(".")[0].isdecimal()
        return known and not self.since(*version)

    @property
    def adaptive(self) -> bool:
        """Whether adaptive execution was on when the application began."""
        made = self.setting("spark.sql.adaptive.enabled")
        return self.since(*_ADAPTIVE_SINCE) if made is None else made != "false"

    def ran(self, key: Key) -> tuple[Places, TaskTimes]:
        """A stage's attempts with a known time: their places in all tasks, and their times."""
        if key not in self._ran:
            tasks = self.line.tasks
            here = tasks.of(key)
            places = here.start + np.flatnonzero(~np.isnan(tasks.times.at(here).elapsed_s))
            self._ran[key] = places, tasks.times.at(places)
        return self._ran[key]

    def python_computed(self, key: Key) -> float | None:
        """The share of the time of a stage's Python workers in which they used a CPU.

        In the rest, they waited, such as for a disk. None where the host's CPU wasn't sampled.
        """
        cpu_s = self._worker_cpu_s.get(key)
        workers_s = total(self.ran(key)[1].causes.get(PYTHON, np.zeros(0)))
        return None if cpu_s is None or not workers_s else min(cpu_s / workers_s, 1.0)

    def column(self, name: str) -> Values:
        """A column of all attempts: numbers as floats, NaN where not known; texts as they are."""
        if name not in self._columns:
            rows = self.line.tasks.rows
            if name not in rows.columns:  # the engine has no such metric
                return np.full(len(rows), np.nan)
            numeric = rows[name].dtype.is_numeric()
            self._columns[name] = (rows[name].cast(float) if numeric else rows[name]).to_numpy()
        return self._columns[name]

    @cached_property
    def waiting(self) -> float:
        """The share of its time for which a task waits to compute where all slots are taken.

        It is that of stages which filled all slots and only computed; without any, a default.
        """
        waited_s = all_s = 0.0
        told = self.plans.fully_explained()
        for stage in self.analysis.stages:
            full = (stage.n_tasks or 0) >= stage.slots and not stage.spilled_bytes
            if full and stage.key in told:
                _, times = self.ran(stage.key)
                waited_s += total(times.causes[TO_COMPUTE])
                all_s += total(times.elapsed_s)
        if all_s < _TELLS_S:
            return self.limit("one-task", "waiting")
        return min(waited_s / all_s, _MOST_WAITING)

    def saved_s(self, key: Key, shorter_s: Seconds) -> float:
        """Upper bound on the time saved if attempts of a stage were shorter by `shorter_s`.

        `shorter_s` has a value for each attempt of `ran`. Replays the stage on its slots; the bound
        is at most the stage's part of the critical path.
        """
        plan = self.line.schedules.get(key)
        return 0.0 if plan is None else self.at_most_s(key, plan.whole_s - plan.stage_s(shorter_s))

    def without_pauses_s(self, key: Key, least_s: float) -> tuple[int, float]:
        """Effect of launch pauses of `least_s` or more after a slot became free.

        Returns the number of such attempts of a stage, and an upper bound on the time saved without
        those pauses.
        """
        plan = self.line.schedules.get(key)
        if plan is None:
            return 0, 0.0
        paused = plan.paused(least_s, self.line.tasks.speculative[self.ran(key)[0]])
        return int(paused.sum()), self.at_most_s(key, plan.whole_s - plan.without_pauses_s(paused))

    def without_s(self, vain: Places) -> float:
        """The time saved if the attempts at the places `vain` had never started."""
        saved_s = 0.0
        for stage in self.stages:
            plan = self.line.schedules.get(stage.key)
            here = np.isin(self.ran(stage.key)[0], vain)
            if plan is None or not here.any():
                continue
            spared_s = plan.whole_s - plan.without_s(here)
            if stage.key in self.line.gaps.stages:  # missing attempts would leave no idle slots
                elapsed_s = self.line.tasks.times.elapsed_s[self.ran(stage.key)[0][here]]
                spared_s = min(spared_s, float(np.nansum(elapsed_s)) / (stage.slots or 1))
            saved_s += self.at_most_s(stage.key, spared_s)
        return saved_s

    def merged_s(self, key: Key, work_s: Seconds, n_tasks: int) -> float:
        """The time saved if `n_tasks` tasks of a stage did the `work_s` of all its attempts."""
        plan = self.line.schedules.get(key)
        return (
            0.0
            if plan is None
            else self.at_most_s(key, plan.whole_s - plan.merged_s(work_s, n_tasks))
        )

    def longest(self, places: Places) -> tuple[FindingScope, ...]:
        """Where those of the attempts at `places` were that took the longest."""
        tasks = self.line.tasks
        elapsed_s = np.nan_to_num(tasks.times.elapsed_s[places])
        found = (tasks.who(int(place)) for place in places[np.argsort(-elapsed_s)[:SHOWN]])
        return tuple(
            FindingScope(who.stage, who.task_id, who.host, who.executor_id) for who in found
        )

    def at_most_s(self, key: Key, saved_s: float) -> float:
        """`saved_s` of a stage, limited to its time on the critical path."""
        return max(min(saved_s, self._on_path_s.get(key, 0.0)), 0.0)

    def spread_s(self, key: Key) -> float:
        """How much sooner a stage would have ended if its work had always filled all slots."""
        stage = self._stages[key]
        whole_s = stage.task_s / max(stage.slots, 1)
        return self.at_most_s(key, (stage.elapsed_s or 0.0) - whole_s)
