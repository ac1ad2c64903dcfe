"""The time of a recorded job on other machines: docs/method/whatif.md has the equations.

Each task's parts are scaled by the ratio of the machines' capacities. If the tasks of a host share
a resource that limits a stage, they are stretched. The result is replayed on the target's slots,
and compared with the same replay of the recorded job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from venturi.jobs.stages.causes import Floats
from venturi.jobs.whatif.demand import (
    CPU,
    DISK,
    FIXED,
    NETWORK,
    PARTS,
    SPILL,
    WAIT,
    JobDemand,
    TaskSums,
    sums_of,
)
from venturi.jobs.whatif.setup import Setup
from venturi.jobs.whatif.task_plan import TaskPlan

HEAP_RESERVED_BYTES = 300 * 2**20
"""Of Spark's heap: UnifiedMemoryManager.RESERVED_SYSTEM_MEMORY_BYTES."""
SPILL_BYTES_PER_CORE_S = 100e6
"""Chosen by us: how fast a core serializes, sorts and reads back what it spills."""
_COMPRESSED = 0.4
"""Chosen by us: bytes on disk by bytes in memory of a spill, where none was recorded."""
LONGEST, DRIVER = "longest task", "driver"
_IDLE_CORES = 0.5
_ALONE = 1.25
"""Chosen by us: so many times the even share of its tasks a stage takes that waits for one."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec's ratio, and its core-seconds for an uncompressed byte."""

    ratio: float
    compress_s: float
    decompress_s: float


@dataclass(frozen=True, slots=True)
class ModeledJob:
    """The job as the model sees it: demands, tasks, and changes beyond machines.

    `codecs` are those before and after, None if the codec stays or is unknown.
    `memory_fraction` is `spark.memory.fraction`.
    """

    demand: JobDemand
    plan: TaskPlan
    codecs: tuple[Codec, Codec] | None = None
    memory_fraction: float = 0.6


@dataclass(frozen=True, slots=True)
class StageEffects:
    """Effects of a setup on each stage, as arrays over the stages of the demand.

    `factors` scales each of `PARTS`; `stretch` all of a task but its fixed part. `stage_s` is the
    time of the stage alone on all slots, `task_s` the time of all its tasks. `shared_s` has the
    least time by the hosts' CPUs, disks and networks.
    """

    factors: Floats
    stretch: Floats
    stage_s: Floats
    task_s: Floats
    shared_s: Floats


class JobModel:
    """Predicts a workload's times on setups, from the recorded setup `source`."""

    def __init__(self, job: ModeledJob, source: Setup) -> None:
        self.job, self.source = job, source
        self.demand, self.plan = job.demand, job.plan
        assert self.demand.line.elapsed_s is not None
        self.elapsed_s = self.demand.line.elapsed_s

    @cached_property
    def _before(self) -> TaskSums:
        return self.demand.recorded_sums

    @cached_property
    def _after(self) -> TaskSums:
        plan = self.plan
        if plan.as_recorded:
            return self._before
        return sums_of(self.demand, plan.starts, plan.rows, plan.size)

    @property
    def _replayed_s(self) -> float:
        return self.demand.replayed_s(self.source.slots)

    @cached_property
    def _rough_s(self) -> float:
        return self._rough(self.source, *self._recorded[1:])

    @cached_property
    def _recorded(self) -> tuple[Floats, Floats, Floats]:
        """The stages alone on the recorded slots, as `_stage_s` has them."""
        same = np.ones((len(PARTS), len(self.demand.keys)))
        return _stage_s(self._before, same, self.source.slots)

    @property
    def recorded_s(self) -> Floats:
        """Each stage's likely time alone on the recorded slots."""
        return self._recorded[1]

    @property
    def replay_error(self) -> float:
        """How far the replay of the recorded job is from its recorded time, as a share."""
        return self._replayed_s / self.elapsed_s - 1

    def effects(self, target: Setup, source: Setup | None = None) -> StageEffects:
        """The effects of `target` on each stage."""
        source = source or self.source
        before, after = self._before, self._after
        alone_s = np.maximum(self._recorded[0], 1e-9)
        spill = self._spill(target)
        disk = _DiskChange(before, after, source, target, self._bytes_ratio)
        factors = np.ones((len(PARTS), len(before.n)))
        cpu = 1 / target.cpu.value
        factors[CPU] = cpu * (1 + self._codec_share)
        factors[WAIT] = cpu * _oversubscribed(source, target)
        waits = self._disk_share(source)
        factors[DISK] = waits * disk.factor(alone_s) + (1 - waits) * factors[WAIT]
        factors[SPILL] = factors[DISK] * spill.kept
        wire = _wire_s(before, source), self._bytes_ratio * _wire_s(after, target)
        slower = source.network.value / target.network.value * self._bytes_ratio
        factors[NETWORK] = slower * _crowding(wire[0] / alone_s, source, target)
        extra_s = spill.extra_bytes / SPILL_BYTES_PER_CORE_S * cpu
        known = after.sums[CPU] > 0
        factors[CPU, known] += extra_s[known] / after.sums[CPU, known]
        least_s, time_s, task_s = _stage_s(after, factors, target.slots)
        cores_s = (factors[CPU] * after.sums[CPU]) / (target.hosts * target.cores.value)
        shared = np.array(
            [cores_s, disk.floor_s(alone_s, spill.extra_bytes * _COMPRESSED), wire[1]]
        )
        most = shared.max(axis=0)
        stretch = np.maximum(most / np.maximum(least_s, 1e-9), 1.0)
        return StageEffects(factors, stretch, stretch * time_s, stretch * task_s, shared)

    def rough_s(self, target: Setup, source: Setup | None = None) -> float:
        """The job's time without a replay: within milliseconds, for rankings and sensitivities."""
        found = self.effects(target, source)
        return self.elapsed_s * self._rough(target, found.stage_s, found.task_s) / self._rough_s

    def time_s(self, target: Setup) -> tuple[float, StageEffects]:
        """The job's time by replay, and the effects on its stages."""
        found = self.effects(target)
        plan, demand = self.plan, self.demand
        stage = np.repeat(np.arange(len(demand.keys)), np.diff(plan.starts))
        parts = demand.parts_s[:, plan.rows] * found.factors[:, stage]
        longer = demand.time_size(plan.rows, plan.size) * found.stretch[stage]
        scaled = parts[FIXED] + longer * (parts.sum(axis=0) - parts[FIXED])
        tasks = {}
        for place, (key, recorded) in enumerate(demand.recorded.tasks.items()):
            here = slice(plan.starts[place], plan.starts[place + 1])
            warm = tuple(each / target.cpu.value for each in recorded.more_s)
            tasks[key] = replace(
                recorded,
                lasting_s=tuple(scaled[here].tolist()),
                more_s=warm,
                n_tasks=here.stop - here.start,
            )
        replayed_s = demand.recorded.with_tasks(tasks).on(target.slots).elapsed_s
        return self.elapsed_s * replayed_s / self._replayed_s, found

    def _rough(self, setup: Setup, stage_s: Floats, task_s: Floats) -> float:
        """Stages that overlapped share the slots; the others follow one another."""
        groups = self._groups
        work_s = np.bincount(groups, task_s / setup.slots, minlength=1)
        longest_s = np.zeros(len(work_s))
        np.maximum.at(longest_s, groups, stage_s)
        return self.demand.serial_s + float(np.maximum(work_s, longest_s).sum())

    @cached_property
    def _groups(self) -> Any:
        """A number for each stage; stages that overlap in time have the same."""
        spans = [self.demand.line.spans[key] for key in self.demand.keys]
        found: list[int] = []
        reach_s = -1.0
        for span in spans:  # in order of submission
            found.append(found[-1] + (span.from_s >= reach_s) if found else 0)
            reach_s = max(reach_s, span.to_s)
        return np.array(found, dtype=np.intp)

    @cached_property
    def _bytes_ratio(self) -> float:
        """Shuffled bytes with the new codec, by those with the old one."""
        codecs = self.job.codecs
        return 1.0 if codecs is None else codecs[0].ratio / codecs[1].ratio

    @cached_property
    def _codec_share(self) -> Floats:
        """CPU time that the new codec adds, as a share of the stage's."""
        before, codecs = self._before, self.job.codecs
        found = np.zeros(len(before.n))
        if codecs is None:
            return found
        old, new = codecs
        added_s = old.ratio * (
            before.written * (new.compress_s - old.compress_s)
            + before.fetched * (new.decompress_s - old.decompress_s)
        )
        cpu_s = before.sums[CPU]
        np.divide(added_s, cpu_s, out=found, where=cpu_s > 0)
        return np.maximum(found, -0.9)

    def _disk_share(self, source: Setup) -> Floats:
        """How much of the disk part of each stage is waits for disks.

        Without CPU times in the log it is at most the share of the stage in which the disks of
        `source` must have been busy.
        """
        if self.demand.cpu_known:
            return np.ones(len(self._before.n))
        alone_s = np.maximum(self._recorded[0], 1e-9)
        busy_s = _service_s(self._before, source, 1.0) / source.hosts
        found: Floats = np.minimum(busy_s / alone_s, 1.0)
        return found

    def _spill(self, target: Setup) -> _Spill:
        """How much of the recorded spilling is left on `target`, and how much is added."""
        before, after = self._before, self._after
        has, will_have = (
            unified_bytes(each, self.job.memory_fraction) / each.slots_each
            for each in (self.source, target)
        )
        need_then = before.need / np.maximum(before.n, 1)
        need = after.need / np.maximum(after.n, 1)
        spilled = before.spilled_memory > 0
        gone_then = np.maximum(need_then - has, 0.0) * before.n
        gone = np.maximum(need - will_have, 0.0) * after.n
        kept = np.ones(len(before.n))
        # Tasks that spilled although memory was free had another reason, and still do.
        np.divide(gone, gone_then, out=kept, where=spilled & (gone_then > 0))
        kept = np.where(spilled & (gone_then > 0), kept * before.size / after.size, kept)
        new = np.where(~spilled, np.maximum(gone - gone_then, 0.0), 0.0)
        return _Spill(kept, new)

    def limits(self, effects: StageEffects, target: Setup) -> list[str]:
        """The bottleneck of each stage: one of `PARTS`, or `LONGEST`."""
        by_part = effects.factors * self._after.sums
        computing = (1 - self._disk_share(self.source)) * effects.factors[WAIT]
        by_part[DISK] -= computing * self._after.sums[DISK]
        by_part[WAIT] += computing * self._after.sums[DISK]
        names = np.array(PARTS)[by_part.argmax(axis=0)]
        slots = np.clip(self._after.n, 1, target.slots)
        alone = effects.stage_s > effects.task_s / slots * _ALONE
        names = np.where(alone & (self._after.n > 1), LONGEST, names)
        full = np.array([PARTS[CPU], PARTS[DISK], PARTS[NETWORK]])[effects.shared_s.argmax(axis=0)]
        found: list[str] = np.where(effects.stretch > 1, full, names).tolist()
        return found


def unified_bytes(setup: Setup, memory_fraction: float) -> float:
    """An executor's memory for tasks and cached data."""
    return max(setup.heap_bytes - HEAP_RESERVED_BYTES, 0.0) * memory_fraction


@dataclass(frozen=True, slots=True)
class _Spill:
    kept: Floats
    extra_bytes: Floats
    """In memory; on disk they are fewer."""


def _stage_s(sums: TaskSums, factors: Floats, slots: int) -> tuple[Floats, Floats, Floats]:
    """For each stage: the least time on `slots`, the likely time there, and its tasks' time.

    Waves of equal tasks end together; of unequal ones the last takes longer. Where a wave is only
    partly filled, tasks of many waves spread over it.
    """
    task_s = (factors * sums.sums).sum(axis=0)
    longest_s = (factors[:, None, :] * sums.longest).sum(axis=0).max(axis=0)
    mean_s = task_s / np.maximum(sums.n, 1)
    waves = sums.n / slots
    even_s = np.minimum(np.ceil(waves), waves + 0.5) * mean_s
    uneven_s = np.where(waves > 1, (longest_s - mean_s) / 2, 0.0)
    least_s = np.maximum(task_s / np.clip(sums.n, 1, slots), longest_s)
    return least_s, np.maximum(even_s, longest_s) + uneven_s, task_s


class _DiskChange:
    """The disks of the hosts, before and after."""

    def __init__(
        self, before: TaskSums, after: TaskSums, source: Setup, target: Setup, ratio: float
    ) -> None:
        self.source, self.target = source, target
        self.before_s = _service_s(before, source, 1.0)
        self.after_s = _service_s(after, target, ratio)
        moved = before.sequential + before.fetched, after.sequential + after.fetched
        grown = np.divide(moved[1], moved[0], out=np.ones(len(before.n)), where=moved[0] > 0)
        slower = np.full(len(before.n), source.disk.value / target.disk.value)
        np.divide(
            self.after_s, self.before_s * grown, out=slower, where=(self.before_s > 0) & (grown > 0)
        )
        self.slower = slower

    def factor(self, alone_s: Floats) -> Floats:
        """How a task's disk waits change."""
        return self.slower * _crowding(
            self.before_s / self.source.hosts / alone_s, self.source, self.target
        )

    def floor_s(self, alone_s: Floats, spilled_bytes: Floats) -> Floats:
        """The least time for the bytes of each stage.

        If the recorded job was faster than its disks, the page cache served the rest; it is taken
        to serve the same share on the target.
        """
        before_s = self.before_s / self.source.hosts
        cached = np.minimum(
            np.divide(alone_s, before_s, out=np.ones_like(alone_s), where=before_s > 0), 1.0
        )
        more_s = 2 * spilled_bytes / self.target.disk.value
        return (cached * self.after_s + more_s) / self.target.hosts


def _service_s(sums: TaskSums, setup: Setup, ratio: float) -> Floats:
    """Seconds of one host's disks for all bytes of each stage, shuffled ones times `ratio`."""
    moved = sums.sequential + sums.written * (ratio - 1) + sums.fetched * ratio
    return moved / setup.disk.value + sums.requests * setup.seek_s


def _wire_s(sums: TaskSums, setup: Setup) -> Floats:
    """The least time for the shuffle of each stage on the hosts' networks."""
    remote = (setup.hosts - 1) / setup.hosts
    return sums.fetched * remote / (setup.hosts * setup.network.value)


def _crowding(use: Floats, source: Setup, target: Setup) -> Floats:
    """How waits for a device grow with the tasks that share it: in proportion, as far as it was in
    use.
    """
    more = target.slots_per_host / source.slots_per_host - 1
    return np.maximum(1 + np.clip(use, 0.0, 1.0) * more, 0.0)


def _oversubscribed(source: Setup, target: Setup) -> float:
    """How waits for cores change: by the square root of the slots for each core.

    Even with a core for each slot, the threads of the JVM need some of their time. Below
    `_IDLE_CORES` slots for each core, tasks don't wait for cores. Fitted to the pairs of one slot
    and two in docs/studies/diagnosis.md.
    """
    before, after = (
        max(each.slots_per_host * each.task_cpus / each.cores.value, _IDLE_CORES)
        for each in (source, target)
    )
    return sqrt(after / before)


def codecs_of(table: Mapping[str, Mapping[str, float]], old: str, new: str) -> tuple[Codec, Codec]:
    """Two codecs of a table such as codecs.toml."""
    return tuple(  # type: ignore[return-value]
        Codec(
            table[name]["ratio"],
            1e-6 / table[name]["compress_mb_per_s"],
            1e-6 / table[name]["decompress_mb_per_s"],
        )
        for name in (old, new)
    )
