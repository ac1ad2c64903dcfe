"""The tasks of an application as arrays, by stage, including those without a recorded end.

A task without an end still held its slot. It counts until its executor was removed, else until its
stage ended, else until the end of the log. Its activity is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import (
    TO_COMPUTE,
    UNFINISHED,
    Seconds,
    TaskTimes,
    Truths,
    bytes_read,
    bytes_spilled,
    task_times,
)
from venturi.jobs.stages.latest_ends import latest_ends
from venturi.jobs.stages.stage import UnfinishedAttempt, label_of
from venturi.record.job_account import OUTPUT_LOST, JobAccount

if TYPE_CHECKING:
    import polars as pl

SHOWN_UNFINISHED = 10
_TIMERS_MS = ("python_ms", "scan_ms", "state_ms")
_UNTIL = {
    "removed": "its executor was removed",
    "stage": "its stage ended",
    "log": "the log ends",
    "slot": "others held all slots of its executor",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """Which attempt at a task it is, and where it ran."""

    stage_id: int
    stage_attempt: int
    task_id: str
    index: int | None
    host: str | None
    executor_id: str | None
    outcome: str | None

    @property
    def stage(self) -> str:
        """The label of its stage."""
        return label_of((self.stage_id, self.stage_attempt))


class Tasks:
    """The tasks of an application as arrays, sorted by stage.

    `unfinished` tasks have no recorded end. `hanging` ones are those that their stage still waited
    for: neither the stage nor another attempt at the task succeeded. `lost` tasks did end, or may
    have: events of their stages, which are `partial`, are missing. Their time is unknown, except
    for the bound `at_most_s`. `output_lost` tasks succeeded, but their output was lost. `places`
    has the slice of each stage. In stages that are `told_whole`, time without a recorded cause is
    compute.
    """

    def __init__(
        self,
        account: JobAccount,
        origin_ms: float,
        told_whole: Collection[tuple[int, int]] = (),
        partial: Collection[tuple[int, int]] = (),
    ) -> None:
        self.kind = account.kind
        self.origin_ms = origin_ms
        self.rows = _by_stage(account.tasks)
        self._who = self.rows.select(each.name for each in fields(Attempt))
        ends = _ends(self.rows, account)
        self.unfinished = ends["unfinished"].to_numpy()
        self.places = _places(self.rows)
        self.lost = lost = self.unfinished & _in_stages(partial, self.places, len(self.rows))
        self.hanging = ends["hanging"].to_numpy() & ~lost
        until_ms = latest_ends(self.rows, ends["finished_ms"], lost, account)
        self.at_most_s: Seconds = (until_ms - self.rows["launched_ms"].to_numpy()) / 1e3
        self._until = ends["until"].to_list()
        for place in np.flatnonzero(lost & (until_ms < ends["finished_ms"].to_numpy())).tolist():
            self._until[place] = "slot"
        finished = ends["finished_ms"].scatter(np.flatnonzero(lost), None)
        ended = _with_timers(self.rows.with_columns(finished), account)
        times = task_times(ended, self.kind, origin_ms)
        computing = times.measured & ~self.unfinished
        computing &= _in_stages(told_whole, self.places, len(self.rows))
        self.times = _with_rest(times, self.unfinished & ~lost, computing)
        self.succeeded = (self.rows["outcome"] == "succeeded").to_numpy()
        self.output_lost: Truths = (
            (self.rows["reason"] == OUTPUT_LOST).fill_null(value=False).to_numpy()
        )
        self.speculative = self.rows["speculative"].fill_null(value=False).to_numpy()
        self.index = self.rows["index"].to_numpy()
        self.bytes_read = bytes_read(self.rows, self.kind)
        self.bytes_spilled = bytes_spilled(self.rows, self.kind)
        self._outcomes: dict[tuple[int, int], dict[str, int]] = {}
        counted = self.rows.group_by("stage_id", "stage_attempt", "outcome", maintain_order=True)
        for stage_id, attempt, outcome, count in counted.len().iter_rows():
            self._outcomes.setdefault((stage_id, attempt), {})[str(outcome)] = count

    def of(self, key: tuple[int, int]) -> slice:
        """Where the tasks of a stage are."""
        return self.places.get(key, slice(0, 0))

    def who(self, place: int) -> Attempt:
        """The attempt at a place."""
        return Attempt(*self._who.row(place))

    def alike(self, name: str) -> npt.NDArray[np.int64]:
        """A number for each attempt, the same where a column of texts is; -1 where it is null."""
        from venturi.record.store.frames import pl

        numbers = self.rows[name].cast(pl.Categorical).to_physical().cast(pl.Int64)
        return numbers.fill_null(-1).to_numpy()

    @cached_property
    def executors(self) -> npt.NDArray[np.int64]:
        """The number of each attempt's executor; -1 where it is not known."""
        return self.alike("executor_id")

    @cached_property
    def hosts(self) -> npt.NDArray[np.int64]:
        """The number of each attempt's host; -1 if unknown."""
        return self.alike("host")

    @cached_property
    def all_in_driver(self) -> bool:
        """Whether the driver was the only executor: no fetch or result crossed a network."""
        return self.kind.can("driver") and set(self.rows["executor_id"].unique()) == {"driver"}

    def outcomes(self, key: tuple[int, int]) -> dict[str, int]:
        """How many of its attempts had which outcome."""
        return self._outcomes.get(key, {})

    def unfinished_of(self, key: tuple[int, int]) -> tuple[UnfinishedAttempt, ...]:
        """The tasks without an end of a stage, the oldest first."""
        here = self.of(key)
        elapsed_s = np.where(self.lost[here], self.at_most_s[here], self.times.elapsed_s[here])
        places = np.flatnonzero(self.unfinished[here] & ~np.isnan(elapsed_s))
        if not len(places):
            return ()
        done_s = elapsed_s[self.succeeded[here]]
        done_s = done_s[~np.isnan(done_s)]
        usual_s = float(np.median(done_s)) if len(done_s) else 0.0
        found = []
        for place in places[np.argsort(-elapsed_s[places], kind="stable")].tolist():
            who = self.who(here.start + place)
            age_s = float(elapsed_s[place])
            found.append(
                UnfinishedAttempt(
                    who.task_id,
                    who.index,
                    who.host,
                    who.executor_id,
                    age_s,
                    age_s / usual_s if usual_s > 0 else None,
                    _UNTIL[self._until[here.start + place]],
                    bool(self.hanging[here][place]),
                )
            )
            if len(found) == SHOWN_UNFINISHED:
                break
        return tuple(found)


def _by_stage(tasks: pl.DataFrame) -> pl.DataFrame:
    """`tasks` sorted by stage; a copy of all of them only where they are not so already."""
    stage, attempt = (tasks[name].to_numpy() for name in ("stage_id", "stage_attempt"))
    later = np.diff(stage)
    in_order = (later > 0) | ((later == 0) & (np.diff(attempt) >= 0))
    if in_order.all():
        return tasks
    return tasks.sort("stage_id", "stage_attempt", maintain_order=True)


def _ends(rows: pl.DataFrame, account: JobAccount) -> pl.DataFrame:
    """For each of `rows`, its end or, if not recorded, the known facts about it.

    A task is `hanging` if no other attempt at it succeeded and its stage had not ended.
    """
    from venturi.record.store.frames import pl

    if not (rows["outcome"] == "unfinished").any():
        false = pl.lit(value=False)
        return rows.select("finished_ms", unfinished=false, until=pl.lit("log"), hanging=false)
    stages = account.stages.select(
        "stage_id",
        stage_attempt="attempt",
        stage_ms="ended_ms",
        stage_succeeded=pl.col("outcome") == "succeeded",
    ).unique(["stage_id", "stage_attempt"], keep="last")
    executors = account.executors.select("executor_id", "removed_ms").unique("executor_id")
    same_task = ("stage_id", "stage_attempt", "index")
    log = pl.lit(account.application.ended_ms, pl.Int64)
    joined = rows.select(*same_task, "executor_id", "outcome", "launched_ms", "finished_ms")
    of_stage = ["stage_id", "stage_attempt"]
    joined = joined.join(stages, on=of_stage, how="left", maintain_order="left")
    joined = joined.join(executors, on="executor_id", how="left", maintain_order="left")
    launched = pl.col("launched_ms")
    joined = joined.with_columns(
        unfinished=(pl.col("outcome") == "unfinished").fill_null(value=False),
        removed=pl.when(pl.col("removed_ms") >= launched).then("removed_ms"),
        stage=pl.when(pl.col("stage_ms") >= launched).then("stage_ms"),
        log=pl.when(log >= launched).then(log),
        alone=~(pl.col("outcome") == "succeeded").any().over(same_task),
        done=pl.col("stage_succeeded").fill_null(value=False),
    ).with_columns(first=pl.min_horizontal("removed", "stage", "log"))
    return joined.select(
        "unfinished",
        finished_ms=pl.when("unfinished").then("first").otherwise("finished_ms"),
        until=pl.when(pl.col("first") == pl.col("removed"))
        .then(pl.lit("removed"))
        .when(pl.col("first") == pl.col("stage"))
        .then(pl.lit("stage"))
        .otherwise(pl.lit("log")),
        hanging=pl.col("unfinished") & pl.col("alone") & ~pl.col("done"),
    )


def _with_timers(rows: pl.DataFrame, account: JobAccount) -> pl.DataFrame:
    """Adds the timers of Python workers, scans and state stores to `rows`."""
    from venturi.record.store.frames import pl

    timers = account.timers
    if timers is None:
        none = [pl.lit(None, pl.Int64()).alias(name) for name in _TIMERS_MS]
        return rows.with_columns(*none, python=pl.lit(None, pl.Boolean()))
    own = timers.drop_nulls("task_id").unique("task_id", keep="last")
    own = own.select("task_id", "python", *_TIMERS_MS)
    of_stages = timers.filter(pl.col("task_id").is_null())
    whole = of_stages.select("stage_id", "stage_attempt", of_stage="python").unique()
    on = ["stage_id", "stage_attempt"]
    # Only what is needed to join is copied.
    joined = rows.select("task_id", *on).join(own, on="task_id", how="left", maintain_order="left")
    joined = joined.join(whole, on=on, how="left", maintain_order="left")
    python = pl.col("python").fill_null(value=False) | pl.col("of_stage")
    return rows.hstack(joined.select(*_TIMERS_MS, python=python))


def _with_rest(times: TaskTimes, unfinished: Truths, computing: Truths) -> TaskTimes:
    """`times` with the rest of tasks that were only `computing`, and the time of those without a
    recorded end, as causes of their own."""
    causes = dict(times.causes)
    rest_s = times.unattributed_s
    parts = ((TO_COMPUTE, computing), (UNFINISHED, unfinished))
    for cause, which in parts:
        causes[cause] = np.where(which, rest_s, 0.0)
    named = computing | unfinished
    return replace(times, causes=causes, unattributed_s=np.where(named, 0.0, rest_s))


def _in_stages(
    keys: Collection[tuple[int, int]], places: Mapping[tuple[int, int], slice], n: int
) -> Truths:
    """Which of `n` tasks are of the stages `keys`."""
    found = np.zeros(n, bool)
    for key in keys:
        found[places.get(key, slice(0, 0))] = True
    return found


def _places(tasks: Any) -> dict[tuple[int, int], slice]:
    """Where the tasks of each stage lie in `tasks`, which is sorted by stage."""
    keys = np.column_stack([tasks["stage_id"].to_numpy(), tasks["stage_attempt"].to_numpy()])
    if not len(keys):
        return {}
    starts = np.flatnonzero(np.any(np.diff(keys, axis=0, prepend=keys[:1] - 1) != 0, axis=1))
    ends = np.append(starts[1:], len(keys))
    return {
        (int(keys[start][0]), int(keys[start][1])): slice(start, end)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }
