"""Resource demands of each task of a recorded job: CPU time, waits by device, and bytes.

Seconds are the parts of a task's time from `stages.causes`, without the warm-up that a replay
charges to slots. Bytes are the engine's own metrics. A metric that the log lacks counts as 0 and is
named in `lacks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import (
    PYTHON,
    READING,
    SPILLING,
    STATE,
    WRITING,
    Floats,
    Seconds,
    bytes_spilled,
)
from venturi.jobs.stages.path import without_stage_s
from venturi.jobs.stages.timeline import Key, Timeline
from venturi.jobs.whatif.slot_simulation import SlotSimulation, StageTasks

FIXED, CPU, DISK, SPILL, NETWORK, WAIT = range(6)
"""Parts of a task's time, the rows of `JobDemand.parts_s`.

    FIXED    scheduling, sending and reporting a task: the same for any data
    CPU      CPU time of the task, garbage collection, and Python workers
    DISK     off-CPU while it read input, wrote or kept state
    SPILL    off-CPU while it spilled
    NETWORK  blocked on shuffle blocks of other hosts
    WAIT     off-CPU for another reason: a core, memory, or something the log doesn't name
"""
PARTS = ("fixed", "CPU", "disk", "spilling", "network", "waiting")
_PART_OF: Mapping[str, int] = {
    "scheduler delay": FIXED,
    "deserialization": FIXED,
    "result serialization": FIXED,
    "getting result": FIXED,
    "cpu": CPU,
    "garbage collection": CPU,
    PYTHON: CPU,
    "shuffle write": DISK,
    READING: DISK,
    SPILLING: SPILL,
    STATE: DISK,
    WRITING: DISK,
    "shuffle fetch wait": NETWORK,
}
_METRICS = {
    "shuffle_written": "shuffleBytesWritten",
    "fetched_local": "shuffleLocalBytesRead",
    "fetched_remote": "shuffleRemoteBytesRead",
    "spilled_memory": "memoryBytesSpilled",
    "peak_memory": "peakExecutionMemory",
    "input_records": "inputRecordsRead",
}


LEAST_BYTES_PER_S = 1e6
"""Chosen by us: tasks process data at least so fast; the rest of their time is overhead."""
RECORD_BYTES = 100
"""Chosen by us: of an input record, where the log has fewer. Parquet readers report too few."""
READAHEAD_BYTES = 128 * 1024
"""Linux's default: a seek brings the next blocks of a map output file, too."""


@dataclass(frozen=True, slots=True)
class TaskSums:
    """Arrays over stages: `n` tasks of `size` times the recorded data.

    `sums` has the seconds of each part (parts, stages). `longest` has the parts of those tasks that
    may be the longest: of the longest in each part, and in all (parts, parts + 1, stages). Bytes:
    read and written in sequence, `fetched` from and `written` to shuffles, memory that tasks
    `need`, and its spilled part. `requests` is the number of random reads of the shuffle. Tasks
    that run concurrently read neighboring blocks of a map output file, so small blocks share them.
    """

    n: Floats
    size: Floats
    sums: Floats
    longest: Floats
    sequential: Floats
    fetched: Floats
    written: Floats
    need: Floats
    spilled_memory: Floats
    requests: Floats


@dataclass(frozen=True)
class JobDemand:
    """The demands of a job's task attempts, in launch order within each stage.

    Attempts of stage n are at `starts[n]` to `starts[n + 1]`; losing speculative copies are left
    out. `parts_s` has a row for each of `PARTS`. Byte arrays have a value for each attempt.
    `growing` is the share of an attempt's time, but its fixed part, that grows with its data.
    `recorded` is the replay of the job as it ran. Without `cpu_known` the log has no CPU times, so
    the disk part also has the time in which tasks that read or wrote were computing.
    """

    line: Timeline
    keys: tuple[Key, ...]
    starts: npt.NDArray[np.intp]
    parts_s: Floats
    input_bytes: Floats
    output_bytes: Floats
    shuffle_written: Floats
    fetched: Floats
    spilled: Floats
    spilled_memory: Floats
    peak_memory: Floats
    growing: Floats
    recorded: SlotSimulation
    lacks: tuple[str, ...]
    cpu_known: bool = True
    _replayed: dict[int, float] = field(default_factory=dict)

    def sums(self, values: Floats) -> Floats:
        """Sums of `values` over the attempts of each stage; along the last axis."""
        whole = np.concatenate([np.zeros((*values.shape[:-1], 1)), values.cumsum(-1)], -1)
        found: Floats = np.diff(whole[..., self.starts], axis=-1)
        return found

    @cached_property
    def recorded_sums(self) -> TaskSums:
        """The sums over the recorded tasks."""
        n = int(self.starts[-1])
        return sums_of(self, self.starts, np.arange(n), np.ones(n))

    @cached_property
    def serial_s(self) -> float:
        """The recorded time without an active stage."""
        assert self.line.elapsed_s is not None
        return without_stage_s(list(self.line.spans.values()), self.line.elapsed_s)

    def time_size(self, rows: npt.NDArray[np.intp], size: Floats) -> Floats:
        """How many times as long tasks take with `size` times the data of attempts `rows`."""
        found: Floats = 1 + self.growing[rows] * (size - 1)
        return found

    def replayed_s(self, slots: int) -> float:
        """The time of the recorded tasks by replay on so many slots."""
        if slots not in self._replayed:
            self._replayed[slots] = self.recorded.on(slots).elapsed_s
        return self._replayed[slots]


def demand_of(line: Timeline) -> JobDemand:
    """The demands of an application; its executors and its end must be recorded."""
    assert line.elapsed_s is not None
    tasks = line.tasks
    recorded = SlotSimulation(line, line.spans.values(), 0.0, line.elapsed_s, tasks.times.elapsed_s)
    stages = recorded.tasks
    places = np.concatenate([np.empty(0, np.intp), *(each.places for each in stages.values())])
    sizes = [len(each.places) for each in stages.values()]
    columns, lacks = {}, []
    for name, metric in _METRICS.items():
        known = metric in tasks.rows.columns and tasks.rows[metric].null_count() < len(tasks.rows)
        values = tasks.rows[metric].cast(float).to_numpy() if known else np.zeros(len(tasks.rows))
        columns[name] = np.nan_to_num(values)[places]
        if not known:
            lacks.append(metric)
    parts_s = _parts(line, stages, places)
    read = _sum(line, tasks.kind.input_bytes)[places]
    output = _sum(line, filter(None, [tasks.kind.output_bytes]))[places]
    fetched = columns["fetched_local"] + columns["fetched_remote"]
    input_data = np.maximum(read, RECORD_BYTES * columns["input_records"])
    data = input_data + fetched + columns["shuffle_written"] + output
    return JobDemand(
        line=line,
        keys=tuple(stages),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        parts_s=parts_s,
        input_bytes=read,
        output_bytes=output,
        shuffle_written=columns["shuffle_written"],
        fetched=fetched,
        growing=_growing(np.array(sizes), parts_s, data),
        spilled=np.nan_to_num(bytes_spilled(tasks.rows, tasks.kind))[places],
        spilled_memory=columns["spilled_memory"],
        peak_memory=columns["peak_memory"],
        recorded=recorded,
        lacks=tuple(lacks),
        cpu_known="cpu" in tasks.times.causes,
    )


def _sum(line: Timeline, names: Iterable[str]) -> Floats:
    """The sum of metrics of each attempt, 0 where they are not recorded."""
    rows = line.tasks.rows
    found = np.zeros(len(rows))
    for name in names:
        found += np.nan_to_num(rows[name].cast(float).to_numpy())
    return found


def _growing(sizes: npt.NDArray[np.intp], parts_s: Seconds, data: Floats) -> Floats:
    """The share of each attempt's time that its data explains, by stage.

    Loading and compiling code takes seconds for a few bytes, and as long for more. Stages without
    data, as for listing files, don't grow. If no stage has any, the log lacks them, and all grow.
    """
    stage = np.repeat(np.arange(len(sizes)), sizes)
    work_s = np.bincount(stage, parts_s.sum(axis=0) - parts_s[FIXED], len(sizes))
    data_s = np.bincount(stage, data, len(sizes)) / LEAST_BYTES_PER_S
    share = np.divide(data_s, work_s, out=np.ones(len(sizes)), where=work_s > 0)
    if not data.any():
        share[:] = 1.0
    found: Floats = np.minimum(share, 1.0)[stage]
    return found


def _parts(
    line: Timeline, stages: Mapping[Key, StageTasks], places: npt.NDArray[np.intp]
) -> Seconds:
    """Each attempt's seconds by part; they add up to its time without warm-up."""
    times = line.tasks.times
    parts = np.zeros((len(PARTS), len(places)))
    for cause, values in times.causes.items():
        part = _PART_OF.get(cause, WAIT)
        if part == NETWORK and line.tasks.all_in_driver:
            part = DISK  # the blocks are on its own disk
        parts[part] += np.nan_to_num(values[places])
    parts[WAIT] += np.nan_to_num(times.unattributed_s[places])
    lasting_s = np.concatenate([np.empty(0), *(each.lasting_s for each in stages.values())])
    whole_s = parts.sum(axis=0)
    known = whole_s > 0
    parts[:, known] *= lasting_s[known] / whole_s[known]
    parts[WAIT, ~known] = lasting_s[~known]
    return parts


def sums_of(
    demand: JobDemand, starts: npt.NDArray[np.intp], rows: npt.NDArray[np.intp], size: Floats
) -> TaskSums:
    """Sums over tasks like `rows` of the demand, `size` times as large.

    Stages begin at `starts`.
    """
    n = np.diff(starts).astype(float)
    there = n > 0
    first = starts[:-1][there]

    def summed(values: Floats) -> Floats:
        found = np.zeros((*values.shape[:-1], len(n)))
        if len(first):
            found[..., there] = np.add.reduceat(values, first, axis=-1)
        return found

    parts = demand.parts_s[:, rows] * demand.time_size(rows, size)
    parts[FIXED] = demand.parts_s[FIXED, rows]
    longest = np.zeros((len(parts), len(parts) + 1, len(n)))
    if len(first):
        repeats = n[there].astype(int)
        for place, values in enumerate([*parts, parts.sum(axis=0)]):
            most = np.repeat(np.maximum.reduceat(values, first), repeats)
            largest = np.flatnonzero(values == most)
            own = largest[np.searchsorted(largest, first)]
            longest[:, place, there] = parts[:, own]
    moved = demand.input_bytes + demand.output_bytes + demand.shuffle_written + 2 * demand.spilled
    fetched = summed(demand.fetched[rows] * size)
    tasks_of = {key[0]: count for key, count in zip(demand.keys, n, strict=True)}
    spans = demand.line.spans
    parents = [sum(tasks_of.get(each, 0) for each in spans[key].parent_ids) for key in demand.keys]
    maps = np.maximum(np.array(parents), 1)
    return TaskSums(
        n=n,
        size=np.divide(summed(size), n, out=np.ones(len(n)), where=there),
        sums=summed(parts),
        longest=longest,
        sequential=summed(moved[rows] * size),
        fetched=fetched,
        written=summed(demand.shuffle_written[rows] * size),
        need=summed((demand.peak_memory + demand.spilled_memory)[rows] * size),
        spilled_memory=summed(demand.spilled_memory[rows] * size),
        requests=np.where(fetched > 0, np.minimum(maps * n, maps + fetched / READAHEAD_BYTES), 0.0),
    )
