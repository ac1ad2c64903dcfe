"""Rules for MapReduce only: maps that spill and merge, are too short, or read one small file
each; missing combiners; reduces that hold containers while maps wait; oversized containers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit, Places, SparedResources
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.stages.causes import MAP, MAPS, REDUCE, Seconds, TaskTimes, total
from venturi.jobs.stages.replay import slots_used
from venturi.jobs.stages.stage import Stage

_KINDS = {MAP: "map", REDUCE: "reduce"}
_MIB = 1 << 20
_FULL = 0.8  # mapreduce.map.sort.spill.percent
_ACCOUNTING_BYTES = 16  # of the sort buffer, for each record
_LEAST = 10  # percent of the tasks
_STEP_MIB = 128
_MOSTLY = 0.5
_SLOW_START = 0.05  # mapreduce.job.reduce.slowstart.completedmaps
_SHARE = re.compile(r"[01](\.\d{1,9})?")
_SPLITS = ("mapreduce.input.fileinputformat.split.maxsize", "dfs.blocksize")


@rule("map-spills")
def map_spills(case: Case) -> Iterator[Hit]:
    """Maps with output larger than the sort buffer."""
    for stage in case.stages:
        if stage.key[0] != MAP:
            continue
        places, times = case.ran(stage.key)
        spilled, made, n_bytes = (
            case.column(name)[places]
            for name in ("SPILLED_RECORDS", "MAP_OUTPUT_RECORDS", "MAP_OUTPUT_BYTES")
        )
        records = total(made)
        if not records or total(spilled) < case.limit("map-spills", "ratio") * records:
            continue
        # After the map function the spills are merged: what is not spilled twice needs no merge.
        merging_s = _after(case, places, times, "mapFinishTime")
        most = float(np.nanmax(n_bytes + _ACCOUNTING_BYTES * made))
        yield Hit(
            f"{stage.title} wrote {total(spilled) / records:.1f} records to disk per output "
            f"record of its maps, and merged for {format_duration(total(merging_s))}",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, merging_s),
            Confidence.LOW,
            values={"buffer": f"{math.ceil(most / _FULL / _MIB)}"},
        )


@rule("short-maps")
def short_maps(case: Case) -> Iterator[Hit]:
    """Many maps that hardly last longer than they take to start; not those of small files."""
    for stage in case.stages:
        n = stage.n_tasks or 0
        if stage.key[0] != MAP or n < case.limit("short-maps", "maps"):
            continue
        places, times = case.ran(stage.key)
        usual_s = float(np.median(times.elapsed_s))
        if usual_s >= case.limit("short-maps", "task_s") or _of_small_files(case, stage):
            continue
        read_bytes = total(case.line.tasks.bytes_read[places])
        wanted = math.ceil(n * usual_s / case.limit("short-maps", "wanted_s"))
        wanted = min(max(wanted, stage.slots, 1), n)
        if not read_bytes or wanted == n:
            continue
        yield Hit(
            f"{stage.title} had {n:,} maps, half of them shorter than {format_duration(usual_s)}, "
            f"for {format_bytes(int(read_bytes))}",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, _fixed_s(times, 1 - wanted / n)),
            Confidence.MEDIUM,
            values={"maps": f"{wanted}", "split": f"{math.ceil(read_bytes / wanted)}"},
        )


@rule("small-inputs")
def small_inputs(case: Case) -> Iterator[Hit]:
    """A map for each of many small files."""
    for stage in case.stages:
        if not _of_small_files(case, stage):
            continue
        places, times = case.ran(stage.key)
        read_bytes = total(case.line.tasks.bytes_read[places])
        n, split = stage.n_tasks or 0, case.limit("small-inputs", "split_bytes")
        wanted = max(math.ceil(read_bytes / split), min(stage.slots, n), 1)
        yield Hit(
            f"{stage.title} had one map for each of {n:,} files, which are smaller than a "
            f"split ({format_bytes(int(read_bytes / n))} on average)",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, _fixed_s(times, 1 - wanted / n)),
            Confidence.MEDIUM,
            values={"maps": f"{wanted:,}", "split": f"{int(split)}"},
        )


def _of_small_files(case: Case, stage: Stage) -> bool:
    """True if a map stage reads many small files.

    Splits of large files have the configured split size; if that isn't recorded, at least equal
    sizes.
    """
    n = stage.n_tasks or 0
    if stage.key[0] != MAP or n < case.limit("small-inputs", "maps"):
        return False
    places, _ = case.ran(stage.key)
    read = case.line.tasks.bytes_read[places]
    read = read[read > 0]
    if not len(read) or float(read.mean()) >= case.limit("small-inputs", "mean_bytes"):
        return False
    usual = float(np.median(read))
    split = next((text for name in _SPLITS if (text := case.setting(name) or "").isdecimal()), None)
    if split is not None:
        return usual < _MOSTLY * float(split)
    alike = np.abs(read - usual) <= case.limit("small-inputs", "alike") * usual
    return float(alike.mean()) < _MOSTLY


def _fixed_s(times: TaskTimes, share: float) -> Seconds:
    """A share of the fixed cost of each attempt, capped by its off-CPU time. The 10th percentile
    of off-CPU time estimates the fixed cost.
    """
    own_s = times.elapsed_s - times.causes.get("cpu", np.zeros_like(times.elapsed_s))
    return np.minimum(own_s, float(np.percentile(own_s, _LEAST)) * share)


@rule("early-reduces")
def early_reduces(case: Case) -> Iterator[Hit]:
    """Reduces that hold containers while maps wait for one."""
    maps = _maps(case)
    started = case.setting("mapreduce.job.reduce.slowstart.completedmaps") or ""
    for stage in case.stages:
        if stage.key[0] != REDUCE or maps is None:
            continue
        _, times = case.ran(stage.key)
        places, of_maps = case.ran(maps.key)
        launched_s = of_maps.launched_s[case.column("attempt")[places] == 0]
        waited_s = total(times.causes[MAPS])
        if waited_s < case.limit("early-reduces", "waited") * stage.task_s or not len(launched_s):
            continue
        last_s = np.minimum(times.finished_s, launched_s.max())
        held_s = float(np.maximum(last_s - times.launched_s, 0.0).sum())
        containers = slots_used(
            np.concatenate([times.launched_s, of_maps.launched_s]),
            np.concatenate([times.finished_s, of_maps.finished_s]),
        )
        # So many maps are done when none waits for a container any more.
        done = 1 - containers / max(maps.n_tasks or 0, containers)
        if done <= (float(started) if _SHARE.fullmatch(started) else _SLOW_START):
            continue
        yield Hit(
            f"attempts of {stage.title} waited {format_duration(waited_s)} for the last map, "
            f"{waited_s / stage.task_s:.0%} of their time; for {format_duration(held_s)} "
            "they held containers that maps were waiting for",
            (FindingScope(stage=stage.label), FindingScope(stage=maps.label)),
            case.at_most_s(maps.key, held_s / containers),
            Confidence.LOW,
            values={"done": f"{done:.2f}"},
        )


def _maps(case: Case) -> Stage | None:
    return next((each for each in case.analysis.stages if each.key[0] == MAP), None)


@rule("combiner-missing")
def combiner_missing(case: Case) -> Iterator[Hit]:
    """Reduces that get many records of each key, which maps could have combined."""
    maps = _maps(case)
    for stage in case.stages:
        if stage.key[0] != REDUCE or maps is None:
            continue
        places, times = case.ran(stage.key)
        records, keys = (
            total(case.column(name)[places])
            for name in ("REDUCE_INPUT_RECORDS", "REDUCE_INPUT_GROUPS")
        )
        combined = total(case.column("COMBINE_INPUT_RECORDS")) > 0
        if combined or records < case.limit("combiner-missing", "records") or not keys:
            continue
        # With a combiner, each map emits at most one record per key.
        left = min(keys * (maps.n_tasks or 1) / records, 1.0)
        if left > case.limit("combiner-missing", "left"):
            continue
        copying_s = _until(case, places, times, "sortFinishTime", maps)
        yield Hit(
            f"{stage.title} received {int(records):,} records of {int(keys):,} keys from "
            f"{maps.n_tasks or 1:,} maps, and took {format_duration(total(copying_s))} to "
            "copy and merge them after the last map",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, copying_s * (1 - left)),
            Confidence.LOW,
            values={"left": f"{left:.0%}"},
        )


@rule("combiner-useless")
def combiner_useless(case: Case) -> Iterator[Hit]:
    """Combiners that leave nearly as many records as they are given."""
    for stage in case.stages:
        places, times = case.ran(stage.key)
        given, made = (
            total(case.column(name)[places])
            for name in ("COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS")
        )
        if not given or stage.key[0] != MAP:
            continue
        if made < case.limit("combiner-useless", "left") * given:
            continue
        merging_s = _after(case, places, times, "mapFinishTime")
        yield Hit(
            f"the combiner of {stage.title} left {int(made):,} of {int(given):,} records "
            f"({made / given:.0%}), and {format_duration(total(merging_s))} passed between the "
            "map function and the end of the maps",
            (FindingScope(stage=stage.label),),
            case.saved_s(stage.key, merging_s),
            Confidence.LOW,
        )


def _after(case: Case, places: Places, times: TaskTimes, moment: str) -> Seconds:
    """How long each attempt continued after a recorded time; 0 where not recorded."""
    at_s = _moment_s(case, places, moment)
    return np.clip(np.nan_to_num(times.finished_s - at_s), 0.0, times.elapsed_s)


def _until(case: Case, places: Places, times: TaskTimes, moment: str, maps: Stage) -> Seconds:
    """How long each attempt worked until a recorded time, counted from the end of the maps."""
    from_s = times.launched_s
    if maps.started_s is not None and maps.elapsed_s is not None:
        from_s = np.maximum(from_s, maps.started_s + maps.elapsed_s)
    at_s = _moment_s(case, places, moment)
    return np.clip(np.nan_to_num(at_s - from_s), 0.0, times.elapsed_s)


def _moment_s(case: Case, places: Places, moment: str) -> Seconds:
    """A recorded time of each attempt, since the job began; NaN where not recorded."""
    return (case.column(moment)[places] - case.line.tasks.origin_ms) / 1e3


@rule("idle-containers")
def idle_containers(case: Case) -> Iterator[Hit]:
    """Containers of which little memory is used."""
    if (case.line.elapsed_s or 0.0) < case.limit("idle-containers", "elapsed_s"):
        return
    for stage in case.stages:
        kind = _KINDS.get(stage.key[0])
        text = case.setting(f"mapreduce.{kind}.memory.mb") or ""
        used = case.column("PHYSICAL_MEMORY_BYTES")[case.ran(stage.key)[0]]
        peak = float(np.nanmax(used)) if not np.isnan(used).all() else 0.0
        if not text.isdecimal() or not 0 < len(text) < 8 or peak <= 0:
            continue
        container = int(text) * _MIB
        wanted = peak * case.limit("idle-containers", "reserve") / _MIB
        wanted_mib = math.ceil(wanted / _STEP_MIB) * _STEP_MIB
        if peak >= case.limit("idle-containers", "used") * container or wanted_mib >= int(text):
            continue
        yield Hit(
            f"{stage.title} used at most {format_bytes(int(peak))} of its containers of "
            f"{format_bytes(container)}",
            (FindingScope(stage=stage.label),),
            0.0,
            Confidence.MEDIUM,
            values={"kind": str(kind), "memory": f"{wanted_mib}"},
            spares=SparedResources(
                f"{format_bytes(container - wanted_mib * _MIB)} per container",
                1 - wanted_mib * _MIB / container,
            ),
        )
