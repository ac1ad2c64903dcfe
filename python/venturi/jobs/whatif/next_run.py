"""The time of a planned Spark run, from a recorded run with other settings or data.

The what-if model predicts the application. The rest of the run, such as the start of Spark, takes
as long as in the recorded one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import VenturiError
from venturi.jobs.whatif.answer import RecordedJob, distances_of
from venturi.jobs.whatif.changes import CORES, INSTANCES, MEMORY, MODELED, JobChanges
from venturi.jobs.whatif.setup import SetupChange
from venturi.jobs.whatif.task_plan import size_setting
from venturi.jobs.whatif.validation import OWN_SETTINGS
from venturi.record.account_tables import has_account
from venturi.record.prediction import StoredPrediction
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

WHAT_IF = "what-if model"
_MASTER, _LOCAL_HEAP = "spark.master", "spark.driver.memory"
_MOST_CORES = "spark.cores.max"
_SETUP = frozenset(
    {
        *(_MASTER, _LOCAL_HEAP, _MOST_CORES, INSTANCES, CORES, MEMORY),
        *("spark.executor.memoryOverhead", "threads", "memory_bytes", "input_bytes", "workers"),
    }
)
"""Configuration that is the setup or the size of the data, which the model knows."""


@dataclass(frozen=True, slots=True)
class _Executors:
    """How many executors, each with so many cores; of a local mode one, the driver's."""

    local: bool
    count: int
    cores: int

    @property
    def slots(self) -> int:
        return self.count * self.cores


@dataclass(frozen=True, slots=True)
class _RunChange:
    """Factors of slots and data from a recorded run to the planned one, and modeled settings."""

    executors: _Executors
    slot_factor: float
    data: float
    heap_bytes: float | None
    settings: tuple[tuple[str, str], ...]

    @property
    def size(self) -> tuple[int, float]:
        """How large the change is: kinds of change, then the factors together."""
        kinds = (self.slot_factor != 1, self.data != 1, bool(self.heap_bytes or self.settings))
        return sum(kinds), abs(math.log(self.slot_factor)) + abs(math.log(self.data))


def predict_from_job(
    repository: TrialRepository, planned: Trial, past: Sequence[Trial]
) -> StoredPrediction | None:
    """The prediction from the run of `past` with the smallest change, the newest of several.

    None if every run differs in something that isn't modeled, or if its log can't be used.
    """
    known = [(change, trial) for trial in past if (change := _change(trial, planned)) is not None]
    if not known:
        return None
    change, trial = min(known, key=lambda each: each[0].size)
    try:
        job = RecordedJob(repository, trial)
        asked = JobChanges(
            SetupChange(
                executors=None if change.executors.local else change.executors.count,
                cores_per_executor=_cores(change, job),
                heap_bytes=change.heap_bytes,
            ),
            change.data,
            dict(change.settings),
        )
        target = replace(job.target(asked), hosts=job.setup.hosts)
        time_s = job.predict(asked, target, baselines=False).time_s
    except VenturiError:
        return None
    if trial.elapsed_s is None or job.line.elapsed_s is None:
        return None
    rest_s = max(trial.elapsed_s - job.line.elapsed_s, 0.0)
    factors = distances_of(job.setup, target, asked).values()
    return StoredPrediction(
        time_s.value + rest_s,
        time_s.low + rest_s,
        time_s.high + rest_s,
        WHAT_IF,
        trials=1,
        distance=max((max(each, 1 / each) for each in factors), default=1.0),
    )


def _cores(change: _RunChange, job: RecordedJob) -> int | None:
    """Cores of each executor; None as recorded. In local mode, a thread is a slot."""
    if change.executors.local:
        return None if change.slot_factor == 1 else change.executors.slots * job.setup.task_cpus
    return change.executors.cores


def _change(trial: Trial, planned: Trial) -> _RunChange | None:
    """The change from `trial` to `planned`; None if the model doesn't know all of it."""
    there, here = _executors(planned), _executors(trial)
    sizes = planned.workload.input_bytes, trial.workload.input_bytes
    if (
        trial.state is not State.SUCCEEDED
        or trial.warm_up
        or not has_account(trial)
        or there is None
        or here is None
        or here.local != there.local
        or not all(sizes)
        or _place(trial) != _place(planned)
    ):
        return None
    before, after = trial.configuration, planned.configuration
    differ = {
        key: after.get(key)
        for key in before.keys() | after.keys()
        if before.get(key) != after.get(key)
        and key not in _SETUP
        and not key.startswith(OWN_SETTINGS)
    }
    if any(key not in MODELED or value is None for key, value in differ.items()):
        return None
    own = _LOCAL_HEAP if there.local else MEMORY
    heap = after.get(own)
    changed = heap is not None and heap != before.get(own)
    data = float(sizes[0] or 0) / float(sizes[1] or 1)
    return _RunChange(
        there,
        there.slots / here.slots,
        data,
        size_setting({own: str(heap)}, own) if changed else None,
        tuple(sorted((key, str(value)) for key, value in differ.items())),
    )


def _place(trial: Trial) -> tuple[object, ...]:
    """The work and the machines, which must be the same."""
    return (
        (trial.workload.name, trial.workload.version),
        trial.engine,
        [host.name for host in trial.cluster.hosts],
        {role: tuple(dirs) for role, dirs in trial.cluster.disks_by_role.items()},
        trial.cluster.layout,
    )


def _executors(trial: Trial) -> _Executors | None:
    """The executors of a Spark in local mode, or of a cluster; None if not configured."""
    chosen = trial.configuration
    master = str(chosen.get(_MASTER) or "")
    if master.startswith("local"):
        count = _number(master.removeprefix("local[").removesuffix("]").partition(",")[0])
        return None if count is None else _Executors(True, 1, count)
    cores = _number(chosen.get(CORES))
    if cores is None:
        return None
    most = _number(chosen.get(_MOST_CORES))
    count = _number(chosen.get(INSTANCES)) or (most and most // cores)
    return _Executors(False, count, cores) if count else None


def _number(value: object) -> int | None:
    """A number above 0, which a setting may have as text."""
    text = str(value)
    return int(text) if text.isdecimal() and int(text) else None
