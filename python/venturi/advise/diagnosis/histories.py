"""What only jobs of MapReduce have: maps that spill and merge, maps that are too short, containers
with more memory than is used."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from venturi.advise.diagnosis.case import Case, Confidence, Hit, Spared, Where
from venturi.model.stages.causes import total
from venturi.units import format_bytes, format_duration

_MAP, _REDUCE = 0, 1
_KINDS = {_MAP: "map", _REDUCE: "reduce"}
_MIB = 1 << 20
_FULL = 0.8  # mapreduce.map.sort.spill.percent
_ACCOUNTING_BYTES = 16  # of the sort buffer, for each record
_LEAST = 10  # percent of the tasks
_STEP_MIB = 128


def map_spills(case: Case) -> Iterator[Hit]:
    """Maps whose output does not fit into the buffer that it is sorted in."""
    for stage in case.stages:
        if stage.key[0] != _MAP:
            continue
        places, times = case.ran(stage.key)
        spilled, made, n_bytes, mapped_ms = (
            case.column(name)[places]
            for name in (
                "SPILLED_RECORDS", "MAP_OUTPUT_RECORDS", "MAP_OUTPUT_BYTES", "mapFinishTime",
            )
        )  # fmt: skip
        records = total(made)
        if not records or total(spilled) < case.limit("map-spills", "ratio") * records:
            continue
        # After the map function the spills are merged: what is not spilled twice needs no merge.
        merging_s = times.finished_s - (mapped_ms - case.line.tasks.origin_ms) / 1e3
        merging_s = np.clip(np.nan_to_num(merging_s), 0.0, times.elapsed_s)
        most = float(np.nanmax(n_bytes + _ACCOUNTING_BYTES * made))
        yield Hit(
            f"{stage.title} wrote {total(spilled) / records:.1f} records to disk for each that "
            f"its maps made, and merged for {format_duration(total(merging_s))}",
            (Where(stage=stage.label),),
            case.saved_s(stage.key, merging_s),
            Confidence.LOW,
            values={"buffer": f"{math.ceil(most / _FULL / _MIB)}"},
        )


def short_maps(case: Case) -> Iterator[Hit]:
    """Many maps that hardly last longer than they take to start."""
    for stage in case.stages:
        n = stage.n_tasks or 0
        if stage.key[0] != _MAP or n < case.limit("short-maps", "maps"):
            continue
        places, times = case.ran(stage.key)
        usual_s = float(np.median(times.elapsed_s))
        if usual_s >= case.limit("short-maps", "task_s"):
            continue
        read_bytes = total(case.line.tasks.bytes_read[places])
        wanted = math.ceil(n * usual_s / case.limit("short-maps", "wanted_s"))
        wanted = min(max(wanted, stage.slots, 1), n)
        if not read_bytes or wanted == n:
            continue
        own_s = times.elapsed_s - times.causes.get("cpu", np.zeros_like(times.elapsed_s))
        fixed_s = float(np.percentile(own_s, _LEAST))
        yield Hit(
            f"{stage.title} had {n:,} maps, half of them shorter than {format_duration(usual_s)}, "
            f"for {format_bytes(int(read_bytes))}",
            (Where(stage=stage.label),),
            case.saved_s(stage.key, np.minimum(own_s, fixed_s * (1 - wanted / n))),
            Confidence.MEDIUM,
            values={"maps": f"{wanted}", "split": f"{math.ceil(read_bytes / wanted)}"},
        )


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
            f"of containers of {format_bytes(container)} {stage.title} used "
            f"{format_bytes(int(peak))} at most",
            (Where(stage=stage.label),),
            0.0,
            Confidence.MEDIUM,
            values={"kind": str(kind), "memory": f"{wanted_mib}"},
            spares=Spared(
                f"{format_bytes(container - wanted_mib * _MIB)} a container",
                1 - wanted_mib * _MIB / container,
            ),
        )
