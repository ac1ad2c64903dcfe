"""Rules about task waits: too little memory, garbage collection, other hosts, a slow host."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import (
    SHOWN,
    Case,
    Confidence,
    FindingScope,
    Hit,
    SparedResources,
)
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import single_cause
from venturi.jobs.diagnosis.uneven import data_of
from venturi.jobs.stages.causes import (
    SPILLING,
    TO_COMPUTE,
    Floats,
    Seconds,
    TaskTimes,
    Truths,
    total,
)
from venturi.jobs.stages.elapsed import COMMIT, LISTING, NO_EXECUTOR, START_UP
from venturi.jobs.stages.latest_ends import task_cpus
from venturi.jobs.stages.memory import heap_bytes, is_local, spark_size
from venturi.jobs.stages.queries import unrecorded_commits_ms
from venturi.jobs.stages.stage import Stage

_OBJECTS = re.compile(r"\b(?:s3[an]?|gs|abfss?|wasbs?|oss|cosn|obs)://")
RESERVED = 300 << 20  # UnifiedMemoryManager
_FRACTION = 0.6  # the default of spark.memory.fraction
_FORCED = ("window", "coalesce")  # causes of a single task that no number of partitions changes
_MOSTLY = 0.5  # of the spilled bytes: then skewed tasks cause the spill


@rule("spill")
def spill(case: Case) -> Iterator[Hit]:
    """Stages with tasks that spilled to disk, and the time lost."""
    for stage in case.stages:
        spilled = stage.spilled_bytes or 0
        if spilled < case.limit("spill", "disk_bytes"):
            continue
        places, times = case.ran(stage.key)
        needs = [
            np.nan_to_num(case.column(name)[places])
            for name in ("peakExecutionMemory", "memoryBytesSpilled")
        ]
        need = float(np.sum(needs, axis=0).max())
        wrote = np.nan_to_num(case.line.tasks.bytes_spilled[places])
        data = data_of(case, places)
        variant, values = _memory(case, stage, need)
        n, beside = int((wrote > 0).sum()), ""
        hot = data.much & (wrote > 0)
        if hot.any() and wrote[hot].sum() >= _MOSTLY * wrote.sum():
            top = int(np.flatnonzero(hot)[np.argmax(data.read[hot])])
            beside = f"; {'it' if n == 1 else 'the largest'} read {data.amount(top)}, "
            beside += f"{data.ratio(top):.1f} times the median"
            variant, values = "uneven", {}
        there = case.plans.of_stage(stage.key)
        if stage.n_tasks == 1 and variant == "partitions" and single_cause(there) in _FORCED:
            variant = "single"
        yield Hit(
            f"{n:,} of {len(places):,} tasks of {stage.title} spilled "
            f"{format_bytes(spilled)} to disk, and {'was' if n == 1 else 'were'} off-CPU for "
            f"{format_duration(total(times.causes[SPILLING]))}{_worked(case, wrote)}{beside}",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, _spilling_s(case, times, wrote)),
            Confidence.LOW,
            variant,
            values,
        )


def _worked(case: Case, wrote: Floats) -> str:
    """Return ", plus …" with the CPU time to pack, read and merge what was spilled.

    The parts of the time count it as CPU, so a saving may exceed the part "spilling".
    """
    worked_s = total(wrote) / case.limit("spill", "bytes_per_s")
    return f", plus about {format_duration(worked_s)} of CPU time for the spill"


def _spilling_s(case: Case, times: TaskTimes, wrote: Floats) -> Seconds:
    """Time that the spill took of each attempt that `wrote` bytes of it: packing, writing,
    reading and merging, and the off-CPU time beyond that of compute-only tasks.
    """
    waited_s = np.maximum(times.causes[SPILLING] - case.waiting * times.elapsed_s, 0.0)
    worked_s = np.minimum(wrote / case.limit("spill", "bytes_per_s"), times.elapsed_s)
    return np.where(wrote > 0, np.minimum(waited_s + worked_s, times.elapsed_s), 0.0)


def _memory(case: Case, stage: Stage, need: float) -> tuple[str, dict[str, str]]:
    """How many partitions would fit into memory, as far as it is known how large that is."""
    heap = heap_bytes(case.line.account, local=is_local(case.line.account))
    text = case.setting("spark.memory.fraction")
    try:
        fraction = _FRACTION if text is None else float(text)
    except ValueError:
        fraction = 0.0
    cores = case.line.account.executors["cores"].drop_nulls().to_list()
    if heap is None or heap <= RESERVED or not 0 < fraction <= 1 or not cores:
        return "unknown", {}
    at_once = max(max(cores) // task_cpus(case.line.account), 1)
    share = (heap - RESERVED) * fraction / at_once
    wanted = math.ceil((stage.n_tasks or 1) * max(need / share, 1.0))
    values = {
        "partitions": f"{wanted}",
        "need": format_bytes(int(need)),
        "share": format_bytes(int(share)),
        "fraction": str(text),
    }
    return "fraction" if fraction < _FRACTION else "partitions", values


@rule("garbage-collection")
def garbage_collection(case: Case) -> Iterator[Hit]:
    """Stages with tasks that stopped for garbage collection."""
    variant, values = case.variant("garbage-collection"), {}
    if variant == "executors":
        local = is_local(case.line.account)
        heap = heap_bytes(case.line.account, local=local)
        key = "spark.driver.memory" if local else "spark.executor.memory"
        values = {
            "setting": key,
            "heap": spark_size(heap or 0),
            "larger": spark_size((heap or 0) * 3 // 2),
        }
        variant = "any" if not heap else variant
    for hit in _recorded(case, "garbage-collection", "garbage collection"):
        yield replace(hit, variant=variant, values=values)


@rule("too-few-cores")
def too_few_cores(case: Case) -> Iterator[Hit]:
    """Tasks that only compute, and wait for a core for most of their time."""
    explained = case.plans.fully_explained()
    full = [
        stage
        for stage in case.stages
        if stage.key in explained
        and not stage.spilled_bytes
        and (stage.n_tasks or 0) >= stage.slots > 1
    ]
    ran = [case.ran(stage.key)[1] for stage in full]
    all_s = sum(total(times.elapsed_s) for times in ran)
    waited_s = sum(total(times.causes[TO_COMPUTE]) for times in ran)
    task_s = sum(stage.task_s for stage in case.analysis.stages)
    if not full or all_s < case.limit("too-few-cores", "of_tasks") * task_s:
        return
    share = waited_s / all_s
    slots = max(case.line.account.executors["cores"].drop_nulls(), default=0)
    slots //= task_cpus(case.line.account)
    cores = slots * (1 - share)
    # If an executor got less than one core, other load is the cause, and not the number of slots.
    if share < case.limit("too-few-cores", "share") or cores < 1:
        return
    longest = sorted(full, key=lambda stage: -stage.task_s)[:SHOWN]
    spare = slots - math.ceil(cores)
    yield Hit(
        f"tasks that only compute waited for a core for {share:.0%} of their time: the {slots:,} "
        f"slots of an executor got the time of {cores:.1f} cores",
        tuple(FindingScope(stage=stage.label) for stage in longest),
        0.0,
        Confidence.MEDIUM,
        "local" if is_local(case.line.account) else "any",
        {"cores": f"{math.ceil(cores)}"},
        SparedResources(f"{spare:,} of {slots:,} slots", spare / slots),
    )


@rule("driver-files")
def driver_files(case: Case) -> Iterator[Hit]:
    """Driver time to list input files and to commit output files."""
    shares, elapsed_s = case.analysis.verdict.shares, case.line.elapsed_s or 0.0
    parts = [(name, shares.get(name, 0.0)) for name in (LISTING, COMMIT)]
    share = sum(each for _, each in parts)
    if share < case.limit("driver-files", "share"):
        return
    name, most = max(parts, key=lambda each: each[1])
    unrecorded = unrecorded_commits_ms(case.line.account) if name == COMMIT else {}
    likely = (
        " (most likely: its last tasks had ended, and this version doesn't record the commit)"
        if unrecorded
        else ""
    )
    yield Hit(
        f"{name} took the driver {format_duration(most * elapsed_s)}{likely}",
        tuple(_with_files(case, name))
        or tuple(FindingScope(query=query) for query in list(unrecorded)[:SHOWN]),
        share * elapsed_s,
        Confidence.MEDIUM if unrecorded else Confidence.HIGH,
        "listing" if name == LISTING else "objects" if _to_objects(case) else "commit",
    )


def _to_objects(case: Case) -> bool:
    """Whether the paths in plans or settings show that files are on an object store."""
    texts = (each.text for each in case.plans.operators.values())
    return any(map(_OBJECTS.search, texts)) or any(
        _OBJECTS.search(value) for value in case.line.account.configuration.values()
    )


def _with_files(case: Case, part: str) -> Iterator[FindingScope]:
    """The queries that the driver listed or committed files for the longest."""
    queries, took = case.line.account.queries, "listing_ms" if part == LISTING else "commit_ms"
    if queries is not None:
        rows = queries.select("query_id", took).drop_nulls().sort(took, descending=True)
        for query, took_ms in rows.head(SHOWN).rows():
            if took_ms > 0:
                yield FindingScope(query=query)


@rule("late-executors")
def late_executors(case: Case) -> Iterator[Hit]:
    """Waiting for executors that a cluster manager had to start."""
    shares, elapsed_s = case.analysis.verdict.shares, case.line.elapsed_s or 0.0
    share = shares.get(START_UP, 0.0) + shares.get(NO_EXECUTOR, 0.0)
    if not case.managed or share < case.limit("late-executors", "share"):
        return
    if share * elapsed_s < case.limit("late-executors", "wait_s"):
        return
    yield Hit(
        f"no executor was running for {format_duration(share * elapsed_s)}, "
        f"{format_duration(shares.get(START_UP, 0.0) * elapsed_s)} of it at the start",
        tuple(_awaited(case)),
        share * elapsed_s,
        Confidence.HIGH,
    )


def _awaited(case: Case) -> Iterator[FindingScope]:
    """The executors that were added while there were none yet or none left."""
    there, origin_ms = case.line.there, case.line.tasks.origin_ms
    if there is None:
        return
    none_before = np.concatenate([[0.0], there.slots[:-1]]) <= 0
    came_s = there.from_s[none_before & (there.slots > 0)][:SHOWN].tolist()
    rows = case.line.account.executors.select("added_ms", "host", "executor_id").drop_nulls().rows()
    for added_ms, host, executor in rows:
        if (added_ms - origin_ms) / 1e3 in came_s:
            yield FindingScope(host=host, executor=executor)


@rule("fetch-wait")
def fetch_wait(case: Case) -> Iterator[Hit]:
    """Stages with tasks that waited for shuffle data."""
    yield from _recorded(case, "fetch-wait", "shuffle fetch wait")


def _recorded(case: Case, rule: str, cause: str) -> Iterator[Hit]:
    for stage in case.stages:
        _, times = case.ran(stage.key)
        cause_s = times.causes.get(cause)
        if cause_s is None or total(cause_s) < case.limit(rule, "share") * stage.task_s:
            continue
        yield Hit(
            f"{cause} took {total(cause_s) / stage.task_s:.0%} of the task time of "
            f"{stage.title}: {format_duration(total(cause_s))}, summed over its tasks",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, cause_s),
            Confidence.HIGH,
            case.variant(rule),
        )


@rule("slow-host")
def slow_host(case: Case) -> Iterator[Hit]:
    """Find a host with slower tasks than the other hosts' for as much data."""
    for stage in case.stages:
        for slow in _slower(case, stage, case.line.tasks.hosts):
            alone = "" if slow.executor is None else f" (executor {slow.executor})"
            yield _slow_hit(case, stage, slow, f"{slow.host}{alone}", "host")


@rule("slow-executor")
def slow_executor(case: Case) -> Iterator[Hit]:
    """Find an executor slower than the others, also than those on its own host."""
    tasks = case.line.tasks
    for stage in case.stages:
        slow_hosts = {each.host for each in _slower(case, stage, tasks.hosts)}
        for slow in _slower(case, stage, tasks.executors):
            if slow.host not in slow_hosts:  # else its host is the finding
                where = f"executor {slow.executor} ({slow.host})"
                yield _slow_hit(case, stage, slow, where, "executor")


@dataclass(frozen=True, slots=True)
class _SlowGroup:
    """The attempts of a stage on one host or executor that took longer than those elsewhere.

    `executor` is None where there were several. `own` marks them among all attempts of the stage.
    """

    host: str | None
    executor: str | None
    own: Truths
    own_s: float
    others_s: float


def _slower(case: Case, stage: Stage, groups: npt.NDArray[np.int64]) -> Iterator[_SlowGroup]:
    """Yield the groups of attempts, by host or executor, slower than the rest with no more data.

    `groups` has a number for each attempt of the application, -1 where it is unknown.
    """
    tasks = case.line.tasks
    ratio, least = case.limit("slow-host", "ratio"), case.limit("slow-host", "tasks")
    places, times = case.ran(stage.key)
    on, done, read = groups[places], tasks.succeeded[places], tasks.bytes_read[places]
    usual_s = {
        which: float(np.median(times.elapsed_s[own]))
        for which in np.unique(on).tolist()
        if (own := done & (on == which)).any()
    }
    for which, own_s in usual_s.items():
        # The others' median is that of the fastest or more.
        if which < 0 or own_s < ratio * min(usual_s.values()):
            continue
        own, others = done & (on == which), done & (on != which)
        if own.sum() < least or others.sum() < least:
            continue
        others_s = float(np.median(times.elapsed_s[others]))
        if others_s <= 0 or own_s < ratio * others_s:
            continue
        bytes_own, bytes_others = float(read[own].mean()), float(read[others].mean())
        if bytes_own <= bytes_others * case.limit("slow-host", "bytes_ratio"):
            who = tasks.who(int(places[own][0]))
            single = len(np.unique(tasks.executors[places[own]])) == 1
            executor = who.executor_id if single else None
            yield _SlowGroup(who.host, executor, on == which, own_s, others_s)


def _slow_hit(case: Case, stage: Stage, slow: _SlowGroup, where: str, kind: str) -> Hit:
    _, times = case.ran(stage.key)
    sooner_s = times.elapsed_s * (1 - slow.others_s / slow.own_s)
    return Hit(
        f"in {stage.title}, tasks took {format_duration(slow.own_s)} on {where}, "
        f"{slow.own_s / slow.others_s:.1f} times as long as on the other {kind}s with no more data",
        (FindingScope(stage=stage.label, host=slow.host, executor=slow.executor),),
        case.saved_s(stage.key, np.where(slow.own, sooner_s, 0)),
        Confidence.MEDIUM,
        case.variant(f"slow-{kind}"),
        {"host": str(slow.host), "executor": str(slow.executor)},
    )
