"""The local files that each stage of a Spark job wrote and read, by kind.

With tiers, the account shows which files were on the fast tier, and when. Without tiers, Spark
spreads files evenly over its folders. All bytes are those of one host: the job's, divided evenly.
docs/method/fast-storage.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from venturi.core.errors import VenturiError
from venturi.jobs.stages.stage import Stage
from venturi.jobs.tiers.measured import MeasuredJob
from venturi.jobs.tiers.recorded_tiers import increments, last_reported
from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]
# Causes of a task's time that cannot be waiting for a local disk.
_NOT_DISK = frozenset(
    {
        "cpu",
        "garbage collection",
        "scheduler delay",
        "deserialization",
        "result serialization",
        "getting result",
    }
)
NO_CACHED = (
    "blocks cached on disk are not included: their size is recorded only for jobs that ran with "
    "tiers"
)


@dataclass(frozen=True, slots=True)
class TransferredBytes:
    """Bytes of one kind of file that a stage wrote and read, and the fast share of each."""

    written_bytes: float = 0.0
    read_bytes: float = 0.0
    written_fast: float = 0.0
    read_fast: float = 0.0


@dataclass(frozen=True, slots=True)
class StageLoad:
    """A stage and its local files, per host.

    `path_s` of its `elapsed_s` are on the critical path. In `compute_s` its slots did work that no
    disk speeds up, in `write_wait_s` they only wrote shuffle data. Shuffle data and cached blocks
    stay; spills don't: `spill_at_once_bytes` is their peak. `segment_bytes` is the mean size of a
    read from another task's output. `from_disk` is the share of reads that memory didn't serve.
    `to_disk` is bytes written to disks during the stage per byte that it wrote (above 1 with
    temporary files). None: unknown. `input_bytes` counts reads of the job's input and of cached
    blocks, `output_bytes` writes of its output.
    """

    key: Key
    label: str
    elapsed_s: float
    path_s: float
    compute_s: float
    shuffle: TransferredBytes = field(default_factory=TransferredBytes)
    spill: TransferredBytes = field(default_factory=TransferredBytes)
    cached: TransferredBytes = field(default_factory=TransferredBytes)
    spill_at_once_bytes: float = 0.0
    parents: tuple[Key, ...] = ()
    segment_bytes: float | None = None
    from_disk: float | None = None
    to_disk: float | None = None
    write_wait_s: float = 0.0
    started_s: float = 0.0
    input_bytes: float = 0.0
    output_bytes: float = 0.0

    @property
    def written_bytes(self) -> float:
        """Bytes written, of all kinds."""
        return sum(each.written_bytes for each in (self.shuffle, self.spill, self.cached))


@dataclass(frozen=True, slots=True)
class JobLoad:
    """The stages of a job in the order in which they began.

    `held_bytes` is the peak on fast disks of a host, None without fast disks.
    """

    elapsed_s: float
    hosts: int
    slots: int
    stages: tuple[StageLoad, ...]
    held_bytes: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def host_slots(self) -> int:
        """Peak number of concurrent tasks of a host."""
        return max(self.slots // self.hosts, 1)

    @property
    def all_bytes(self) -> float:
        """The fast storage of a host that holds everything: the peak of its local files."""
        stay = most = 0.0
        for stage in self.stages:
            stay += stage.shuffle.written_bytes + stage.cached.written_bytes
            most = max(most, stay + stage.spill_at_once_bytes)
        return most


def job_load(measured: MeasuredJob, tier: str | None = None, fast_share: float = 0.0) -> JobLoad:
    """Local files of a job by its account; VEN-MODEL-INPUT if it does not record them.

    `tier` is the name of the fast tier; of a job without tiers, `fast_share` of its folders are
    fast.
    """
    account = measured.account
    if not account.kind.can("local files"):
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"cannot tell: logs of {account.application.engine} don't record the local files of a "
            "stage",
            where={"engine": account.application.engine},
            hint="give a trial of Spark, or the event log of one (venturi import spark-eventlog)",
        )
    hosts = max(account.tasks["host"].drop_nulls().n_unique(), 1)
    moved, shares = _moved(account, hosts), _Shares(account, tier, fast_share, hosts)
    rows = {(row["stage_id"], row["attempt"]): row for row in account.stages.iter_rows(named=True)}
    path_s: dict[Key, float] = {}
    for step in measured.analysis.path:
        if step.key is not None:
            path_s[step.key] = path_s.get(step.key, 0.0) + step.elapsed_s
    timed = [
        stage
        for stage in measured.analysis.stages
        if stage.started_s is not None and stage.elapsed_s
    ]
    ordered = sorted(timed, key=lambda each: (each.started_s or 0.0, each.key))
    # Accounts between two stages belong to the earlier one: each byte counts for one stage.
    edges_s = [0.0, *(each.started_s or 0.0 for each in ordered[1:]), math.inf]
    stages: list[StageLoad] = []
    for stage, cached_s in zip(ordered, pairwise(edges_s), strict=False):
        parent_ids = frozenset(rows[stage.key]["parent_ids"] or ())
        read_bytes = moved.get(stage.key, {}).get("read", 0.0)
        parents = _writers(stages, parent_ids, read_bytes)
        maps = sum(rows[each.key]["n_tasks"] or 0 for each in parents)
        segments = maps * (stage.n_tasks or 0)
        made = _load(stage, moved.get(stage.key, {}), shares, parents, cached_s)
        read = made.shuffle.read_bytes * hosts
        segment = read / segments if segments and read else None
        stages.append(replace(made, path_s=path_s.get(stage.key, 0.0), segment_bytes=segment))
    return JobLoad(
        elapsed_s=measured.elapsed_s,
        hosts=hosts,
        slots=max((stage.at_once for stage in timed), default=1),
        stages=tuple(stages),
        held_bytes=shares.held_bytes,
        notes=() if account.tiers is not None else (NO_CACHED,),
    )


def _writers(
    stages: list[StageLoad], parent_ids: frozenset[int], read_bytes: float
) -> list[StageLoad]:
    """The stages that wrote the input of a stage.

    With adaptive execution, those belong to other jobs, and the stage names copies that never ran.
    Then it is the stage that wrote as much as this one read, or else all that wrote.
    """
    named = [each for each in stages if each.key[0] in parent_ids]
    if named or not read_bytes:
        return named
    wrote = [each for each in stages if each.shuffle.written_bytes]
    alike = [
        each for each in wrote if math.isclose(each.shuffle.written_bytes, read_bytes, rel_tol=0.01)
    ]
    return alike[-1:] or wrote


def _load(
    stage: Stage,
    of: Mapping[str, float],
    shares: _Shares,
    parents: list[StageLoad],
    cached_s: tuple[float, float],
) -> StageLoad:
    """The load of a stage, from its own metrics and its `parents`, which wrote its input. Blocks
    cached in the interval `cached_s` count as its own.
    """
    from_s, elapsed_s = stage.started_s or 0.0, stage.elapsed_s or 0.0
    to_s = from_s + elapsed_s
    known_s = sum(each.time_s or 0.0 for each in stage.causes if each.cause in _NOT_DISK)
    from_parents = sum(each.shuffle.written_bytes for each in parents)
    read_fast = shares.until("shuffle", to_s)
    if from_parents:
        fast = sum(each.shuffle.written_bytes * each.shuffle.written_fast for each in parents)
        read_fast = fast / from_parents
    written, read, spilled, taken, put, waited_ns = (of.get(name, 0.0) for name in _COLUMNS)
    waited = waited_ns / 1e9 * shares.hosts / stage.task_s if stage.task_s else 0.0
    spill_fast = shares.within("spill", from_s, to_s)
    return StageLoad(
        key=stage.key,
        label=stage.label,
        elapsed_s=elapsed_s,
        path_s=0.0,
        compute_s=elapsed_s * min(known_s / stage.task_s, 1.0) if stage.task_s else elapsed_s,
        shuffle=TransferredBytes(written, read, shares.within("shuffle", from_s, to_s), read_fast),
        spill=TransferredBytes(spilled, spilled, spill_fast, spill_fast),
        cached=TransferredBytes(
            shares.bytes_in("cached", *cached_s),
            min(taken, shares.bytes_in("cached", 0.0, from_s)),
            shares.within("cached", from_s, to_s),
            shares.until("cached", from_s),
        ),
        spill_at_once_bytes=spilled / max(stage.waves or 1.0, 1.0),
        parents=tuple(each.key for each in parents),
        write_wait_s=elapsed_s * min(waited, 1.0),
        started_s=from_s,
        input_bytes=taken,
        output_bytes=put,
    )


_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "written": ("shuffleBytesWritten",),
    "read": ("shuffleLocalBytesRead", "shuffleRemoteBytesRead"),
    "spilled": ("diskBytesSpilled",),
    "input": ("inputBytesRead",),
    "output": ("outputBytesWritten",),
    "waited": ("shuffleWriteTime",),
}


def _moved(account: JobAccount, hosts: int) -> dict[Key, dict[str, float]]:
    """Bytes that all task attempts of each stage transferred, per host."""
    from venturi.record.store.frames import pl

    found = account.tasks.group_by("stage_id", "stage_attempt").agg(
        (pl.sum_horizontal(columns).sum() / hosts).alias(name) for name, columns in _COLUMNS.items()
    )
    return {
        (row.pop("stage_id"), row.pop("stage_attempt")): row for row in found.iter_rows(named=True)
    }


class _Shares:
    """Bytes of each kind of file made in a host, and their fast share, over time.

    `held_bytes` is the peak on fast disks, summed over processes and kinds.
    """

    def __init__(
        self, account: JobAccount, tier: str | None, fast_share: float, hosts: int
    ) -> None:
        self._fast_share, self.hosts = fast_share, hosts
        self._kinds: dict[str, tuple[Any, Any, Any]] = {}
        self._whole: dict[str, float] = {}
        self.held_bytes: float | None = None
        if account.tiers is None:
            return
        from venturi.record.store.frames import pl

        began_ms = account.application.started_ms or account.tiers["at_ms"].min()
        rows = increments(account.tiers, "seen_bytes").with_columns(
            t_s=(pl.col("at_ms") - began_ms) / 1e3,
            more=pl.col("change").clip(0),
            fast=pl.col("tier").eq_missing(pl.lit(tier, pl.String)),
        )
        last = last_reported(rows)
        self.held_bytes = float(last.filter("fast")["peak_bytes"].sum()) / hosts
        for (kind,), own in rows.group_by("kind", maintain_order=True):
            self._kinds[str(kind)] = _sums(own)
            ends = last.filter(pl.col("kind") == kind)
            # Counts names where files were too short-lived to be measured.
            for column in ("seen_bytes", "placements"):
                whole = float(ends[column].sum())
                if whole:
                    self._whole[str(kind)] = float(ends.filter("fast")[column].sum()) / whole
                    break

    def within(self, kind: str, from_s: float, to_s: float) -> float:
        """The fast share of files made in that time, extended to the reports just before and
        after it: a stage's files may be reported after its end.
        """
        if self.held_bytes is None:
            return self._fast_share
        whole, fast = self._added(kind, *self._told(kind, from_s, to_s))
        return fast / whole if whole > 0 else self._whole.get(kind, 0.0)

    def until(self, kind: str, to_s: float) -> float:
        """The fast share of files made until then."""
        return self.within(kind, 0.0, to_s)

    def bytes_in(self, kind: str, from_s: float, to_s: float) -> float:
        """Bytes made in that time, per host; 0 where not recorded."""
        return self._added(kind, from_s, to_s)[0] / self.hosts

    def _told(self, kind: str, from_s: float, to_s: float) -> tuple[float, float]:
        """The times of the last report until `from_s` and of the first from `to_s` on."""
        if kind not in self._kinds:
            return from_s, to_s
        t_s = self._kinds[kind][0]
        before = max(int(np.searchsorted(t_s, from_s, side="right")) - 1, 0)
        after = min(int(np.searchsorted(t_s, to_s)), len(t_s) - 1)
        return float(t_s[before]), float(t_s[after])

    def _added(self, kind: str, from_s: float, to_s: float) -> tuple[float, float]:
        if kind not in self._kinds:
            return 0.0, 0.0
        t_s, whole, fast = self._kinds[kind]
        span = np.array([from_s, to_s])
        of_whole, of_fast = np.interp(span, t_s, whole), np.interp(span, t_s, fast)
        return float(of_whole[1] - of_whole[0]), float(of_fast[1] - of_fast[0])


def _sums(rows: pl.DataFrame) -> tuple[Any, Any, Any]:
    """Report times from 0 s on, bytes made until each, and those on fast tiers."""
    from venturi.record.store.frames import pl

    made = (
        rows.group_by("t_s")
        .agg(whole=pl.col("more").sum(), fast=pl.col("more").filter("fast").sum())
        .sort("t_s")
    )
    sums = (np.concatenate([[0.0], np.cumsum(made[name].to_numpy())]) for name in ("whole", "fast"))
    whole, fast = sums
    return np.concatenate([[0.0], made["t_s"].to_numpy()]), whole, fast
