"""Rules about a job's executors: idle cores and memory, and executors that come too late."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from venturi.core.units import format_bytes, format_core_time, format_duration
from venturi.jobs.diagnosis.case import SHOWN, Case, Confidence, FindingScope, Hit, SparedResources
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.stages import losses
from venturi.jobs.stages.causes import Floats, Truths, total
from venturi.jobs.stages.elapsed import DRIVER_TIMERS
from venturi.jobs.stages.executors import executor_uses
from venturi.jobs.stages.memory import DRIVER, heap_bytes
from venturi.jobs.stages.slots import Shortages, SlotOffer, shortages

_NEAR = ("PROCESS_LOCAL", "NODE_LOCAL", "RACK_LOCAL")
_OVERLAP_S = 0.1
_TRACKED_SINCE = (3, 4)  # the default of spark.dynamicAllocation.shuffleTracking.enabled
_LOST_OUTPUT = (losses.OUTPUT, losses.FETCH, losses.AGAIN)
_MIB = 1 << 20


@rule("locality-wait")
def locality_wait(case: Case) -> Iterator[Hit]:
    """Tasks that waited for a slot near their data while others were free."""
    there, spans = case.line.there, case.line.spans
    # Locality is per executor: with a single one every task is local.
    if there is None or len(case.line.account.executors) < 2:
        return
    edges_s = np.array([(span.from_s, span.to_s) for span in spans.values()])
    least_s = case.limit("locality-wait", "pause_s")
    for stage in case.stages:
        span = spans[stage.key]
        beside = np.minimum(edges_s[:, 1], span.to_s) - np.maximum(edges_s[:, 0], span.from_s)
        lasts_s = span.to_s - span.from_s
        slots = there.at(np.array([span.from_s]))[0]
        constant = math.isclose(there.between(span.from_s, span.to_s), slots * lasts_s)
        # Where slots came or went, or other stages held them, tasks waited for those.
        if int((beside > _OVERLAP_S).sum()) > 1 or not constant:
            continue
        places, _ = case.ran(stage.key)
        if (case.column("attempt")[places] > 0).any():
            continue  # a retry waits for the failure before it
        kinds = case.column("locality")[places]
        n, saved_s = case.without_pauses_s(stage.key, least_s)
        if n and np.isin(kinds, _NEAR).any():
            yield Hit(
                f"{n:,} of {len(places):,} task attempts of {stage.title} started "
                f"{format_duration(least_s)} or more after a slot was free, "
                f"{int(np.isin(kinds, _NEAR).sum()):,} of them near their data",
                (FindingScope(stage=stage.label),),
                saved_s,
                Confidence.LOW,
            )


@rule("allocation-lag")
def allocation_lag(case: Case) -> Iterator[Hit]:
    """Tasks that waited before dynamic allocation requested as many executors as later."""
    line = case.line
    if case.setting("spark.dynamicAllocation.enabled") != "true" or line.there is None:
        return
    n_tasks = {stage.key: stage.n_tasks for stage in case.analysis.stages}
    spans = list(line.spans.values())
    found = shortages(line.tasks, spans, [n_tasks.get(span.key) for span in spans], line.there)
    short = _before_more(found)
    if not short.any():
        return
    short_s = float(found.length_s[short].sum())
    if short_s < case.limit("allocation-lag", "short_s"):
        return
    later = _later_most(found)
    most = int(later[short].max())
    lacked = np.minimum(later - found.slots, found.waiting)[short]
    size = _size(case, line.there)
    yield Hit(
        f"for {format_duration(short_s)}, tasks waited while there were fewer slots than "
        f"later ({most:,})",
        tuple(_waiting(case)),
        float(found.length_s[short] @ lacked) / most,
        Confidence.LOW,
        "any" if size else "unknown",
        {"executors": f"{most // (size or 1)}"},
    )


def _later_most(found: Shortages) -> Floats:
    """The most slots after each piece of time; executors that are lost don't come later."""
    most = np.maximum.accumulate(found.slots[::-1])[::-1]
    return np.append(most[1:], 0.0)


def _before_more(found: Shortages) -> Truths:
    """The pieces of time in which tasks waited, and there were fewer slots than later."""
    return (found.slots >= 1) & (found.slots < _later_most(found)) & (found.waiting >= 1)


def _waiting(case: Case) -> Iterator[FindingScope]:
    """The stages with tasks that waited the longest while there were fewer slots than later."""
    line = case.line
    waited_s: dict[str, float] = {}
    for stage in case.stages:
        if line.there is not None:
            found = shortages(line.tasks, [line.spans[stage.key]], [stage.n_tasks], line.there)
            short = _before_more(found)
            waited_s[stage.label] = float(found.length_s[short].sum())
    for label in sorted(waited_s, key=lambda each: -waited_s[each])[:SHOWN]:
        if waited_s[label] > 0:
            yield FindingScope(stage=label)


@rule("shuffle-lost")
def shuffle_lost(case: Case) -> Iterator[Hit]:
    """Output that was lost with executors that dynamic allocation let go."""
    if case.setting("spark.dynamicAllocation.enabled") != "true" or _outlives(case):
        return
    found = [loss for loss in case.analysis.losses if loss.what in _LOST_OUTPUT]
    if not found or case.analysis.lost_executors:
        return
    vain = losses.wasted_attempts(case.line.tasks, _LOST_OUTPUT)
    yield Hit(
        f"{sum(each.n for each in found):,} task attempts "
        f"({format_duration(sum(each.time_s for each in found))}) were wasted: their "
        "output was on removed executors",
        case.longest(vain),
        case.without_s(vain),
        Confidence.MEDIUM,
    )


def _outlives(case: Case) -> bool:
    """Whether shuffle data outlives its executor, or keeps it."""
    if case.setting("spark.shuffle.service.enabled") == "true":
        return True
    tracked = case.setting("spark.dynamicAllocation.shuffleTracking.enabled")
    if tracked is not None:
        return tracked == "true"
    return case.since(*_TRACKED_SINCE)


@rule("speculation")
def speculation(case: Case) -> Iterator[Hit]:
    """Speculative copies that were slower than the original task."""
    tasks, seen = case.line.tasks, case.analysis.speculation
    task_s = sum(stage.task_s for stage in case.analysis.stages)
    if not seen.launched or seen.won >= seen.launched * case.limit("speculation", "won"):
        return
    lost = np.flatnonzero(tasks.speculative & ~tasks.succeeded & ~np.isnan(tasks.times.elapsed_s))
    lost_s = total(tasks.times.elapsed_s[lost])
    if lost_s < case.limit("speculation", "share") * task_s:
        return
    cpus = 1 if case.line.there is None else case.line.there.cpus
    yield Hit(
        f"{seen.won:,} of {seen.launched:,} copies beat the original task; the others wasted "
        f"{format_duration(lost_s)} of task time",
        case.longest(lost),
        case.without_s(lost),
        Confidence.MEDIUM,
        spares=SparedResources(format_core_time(lost_s * cpus), lost_s / task_s),
    )


@rule("idle-cores")
def idle_cores(case: Case) -> Iterator[Hit]:
    """More executors than the job can use, because of driver time and long tasks."""
    line, cores = case.line, case.analysis.cores
    if not case.managed or line.there is None or cores is None or not line.elapsed_s:
        return
    shares = case.analysis.verdict.shares
    if sum(shares.get(each, 0.0) for each in DRIVER_TIMERS) >= case.limit("idle-cores", "driver"):
        return  # once the driver is faster, more cores pay off
    least_s = case.limit("idle-cores", "elapsed_s")
    use = cores.used_s / cores.offered_s if cores.offered_s else 1.0
    if line.elapsed_s < least_s or use >= case.limit("idle-cores", "use"):
        return
    now = line.there.most(0.0, line.elapsed_s)
    size = _size(case, line.there)
    if size is None:
        return
    wanted = math.ceil(_enough(case, now) / size) * size
    if wanted >= now:
        return
    # Amdahl's law: assumes that stage work divides evenly over the slots.
    serial_s, task_s = _work(case)
    then_s = max(serial_s + task_s / wanted, line.elapsed_s)
    spared_s = cores.offered_s - wanted * line.there.cpus * then_s
    if spared_s <= 0:
        return
    dynamic = case.setting("spark.dynamicAllocation.enabled") == "true"
    yield Hit(
        f"tasks took {use:.0%} of the {format_core_time(cores.offered_s)} that "
        f"{now:,} slots offered; {wanted:,} slots would take {format_duration(then_s)} instead of "
        f"{format_duration(line.elapsed_s)}",
        tuple(_idlest(case)),
        0.0,
        Confidence.LOW,
        "dynamic" if dynamic else "static",
        {"executors": f"{wanted // size}"},
        SparedResources(format_core_time(spared_s), spared_s / cores.offered_s),
    )


def _idlest(case: Case) -> Iterator[FindingScope]:
    """The executors with the largest shares of idle slot time."""
    known = [each for each in executor_uses(case.line) if each.busy is not None]
    for each in sorted(known, key=lambda use: use.busy or 0.0)[:SHOWN]:
        yield FindingScope(host=each.host, executor=each.executor_id)


def _enough(case: Case, now: int) -> int:
    """The most slots of which tasks would take the wanted share, by Amdahl's law; at least one."""
    serial_s, task_s = _work(case)
    if serial_s <= 0:
        return now
    wanted = case.limit("idle-cores", "wanted_use")
    return max(min(int(task_s / serial_s * (1 / wanted - 1)), now), 1)


def _work(case: Case) -> tuple[float, float]:
    """The time without any stage, and that of all tasks."""
    task_s = sum(stage.task_s for stage in case.analysis.stages)
    return case.analysis.driver_s or 0.0, task_s


def _size(case: Case, there: SlotOffer) -> int | None:
    """The slots of an executor, None where they differ."""
    sizes = {int(n) // there.cpus for n in case.line.account.executors["cores"].drop_nulls()}
    return max(sizes.pop(), 1) if len(sizes) == 1 else None


@rule("idle-memory")
def idle_memory(case: Case) -> Iterator[Hit]:
    """Heaps of executors of which much was never used."""
    table = case.line.account.memory
    heap = heap_bytes(case.line.account, local=False)
    if table is None or heap is None or not case.managed:
        return
    if (case.line.elapsed_s or 0.0) < case.limit("idle-memory", "elapsed_s"):
        return
    rows = table.rows()
    peaks = {
        executor: value
        for executor, metric, value in rows
        if metric == "JVMHeapMemory" and executor != DRIVER
    }
    spilled = any(stage.spilled_bytes for stage in case.analysis.stages)
    if not peaks or spilled:
        return
    executor, peak = max(peaks.items(), key=lambda each: each[1])
    wanted = math.ceil(peak * case.limit("idle-memory", "reserve") / _MIB)
    if peak >= case.limit("idle-memory", "used") * heap or wanted * _MIB >= heap:
        return
    yield Hit(
        f"the fullest of {len(peaks):,} executors used {format_bytes(peak)} of a heap of "
        f"{format_bytes(heap)}, as sampled",
        (FindingScope(executor=executor),),
        0.0,
        Confidence.LOW,
        values={"memory": f"{wanted}m"},
        spares=SparedResources(
            f"{format_bytes(heap - wanted * _MIB)} per executor", 1 - wanted * _MIB / heap
        ),
    )
