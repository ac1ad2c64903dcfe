"""Findings in MapReduce jobs; one history is edited into other jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.logs import mapreduce
from venturi.jobs.logs.find import histories
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount

FOLDER = Path(__file__).parents[2] / "data" / "mapreduce" / "3.4.2"
START_MS, MAPS = 1_700_000_000_000, 60


@pytest.fixture(scope="module")
def account() -> JobAccount:
    """A job of sixty maps that took 5 s each, one after the other."""
    (log,) = (each for each in histories(FOLDER) if "word+count" in each.path.name)
    whole = mapreduce.read(log)
    map_ = whole.tasks.filter(pl.col("stage_id") == 0).head(1)
    begun = START_MS + 5_000 * pl.int_range(MAPS)
    tasks = pl.concat([map_] * MAPS).with_columns(
        index=pl.int_range(MAPS),
        task_id=pl.int_range(MAPS).cast(pl.String),
        launched_ms=begun,
        finished_ms=begun + 5_000,
        mapFinishTime=begun + 1_000,
        SPILLED_RECORDS=pl.lit(300, pl.Int64),
        MAP_OUTPUT_RECORDS=pl.lit(100, pl.Int64),
        MAP_OUTPUT_BYTES=pl.lit(150 << 20, pl.Int64),
        BYTES_READ=pl.lit(1 << 20, pl.Int64),
        PHYSICAL_MEMORY_BYTES=pl.lit(300 << 20, pl.Int64),
        CPU_MILLISECONDS=pl.lit(1_000, pl.Int64),
        GC_TIME_MILLIS=pl.lit(0, pl.Int64),
    )
    end_ms = START_MS + 5_000 * MAPS
    stages = whole.stages.filter(pl.col("stage_id") == 0).with_columns(
        n_tasks=pl.lit(MAPS, pl.Int64),
        submitted_ms=pl.lit(START_MS, pl.Int64),
        ended_ms=pl.lit(end_ms, pl.Int64),
    )
    return replace(
        whole,
        application=replace(whole.application, started_ms=START_MS, ended_ms=end_ms),
        stages=stages,
        tasks=tasks,
        configuration={"mapreduce.map.memory.mb": "2048"},
    )


def found(account: JobAccount) -> dict[str, Finding]:
    line = timeline(account)
    return {each.rule: each for each in diagnose(line, analyse(account, None, line)).findings}


def test_maps_that_merge_cost_the_merging_and_get_a_buffer(account: JobAccount) -> None:
    told = found(account)["map-spills"]
    assert told.replayed_s == pytest.approx(4 * MAPS)
    assert told.settings == {"mapreduce.task.io.sort.mb": "188"}  # 150 MiB in four fifths of it
    once = account.tasks.with_columns(SPILLED_RECORDS=pl.lit(100, pl.Int64))
    assert "map-spills" not in found(replace(account, tasks=once))


def test_short_maps_cost_what_starting_them_does(account: JobAccount) -> None:
    told = found(account)["short-maps"]
    assert told.replayed_s == pytest.approx(MAPS * 4 * (1 - 5 / MAPS))
    assert told.settings == {
        "mapreduce.input.fileinputformat.split.minsize": str(MAPS * (1 << 20) // 5)
    }


def test_containers_are_made_as_large_as_what_is_used(account: JobAccount) -> None:
    told = found(account)["idle-containers"]
    assert told.settings == {"mapreduce.map.memory.mb": "384"}
    assert told.spares is not None
    assert told.spares.share == pytest.approx(1 - 384 / 2048)
    full = account.tasks.with_columns(PHYSICAL_MEMORY_BYTES=pl.lit(1_500 << 20, pl.Int64))
    assert "idle-containers" not in found(replace(account, tasks=full))


@pytest.mark.parametrize("split", [None, str(128 << 20)])
def test_a_map_for_each_small_file_is_told_instead_of_short_maps(
    account: JobAccount, split: str | None
) -> None:
    name = "mapreduce.input.fileinputformat.split.maxsize"
    sizes = (1 + pl.int_range(MAPS) % 7) * (1 << 20) if split is None else pl.lit(4 << 20)
    small = replace(
        account,
        tasks=account.tasks.with_columns(BYTES_READ=sizes.cast(pl.Int64)),
        configuration={} if split is None else {name: split},
    )
    told = found(small)
    assert "short-maps" not in told
    assert "one map for each of 60 files," in told["small-inputs"].says
    wanted = 2
    assert f"about {wanted} maps" in told["small-inputs"].do
    assert told["small-inputs"].replayed_s == pytest.approx(MAPS * 4 * (1 - wanted / MAPS))
    large = replace(small, configuration={name: str(4 << 20)})  # as small as splits are to be
    assert "small-inputs" not in found(large)


def combined(account: JobAccount, given: int, left: int, keys: int) -> JobAccount:
    """Maps with combiner input and output of this size, and a reduce with that many keys, which
    copied and merged their output for 40 s after the last of them.
    """
    maps_ms = START_MS + 5_000 * MAPS
    end_ms = maps_ms + 100_000
    maps = account.tasks.with_columns(
        COMBINE_INPUT_RECORDS=pl.lit(given, pl.Int64),
        COMBINE_OUTPUT_RECORDS=pl.lit(left, pl.Int64),
        SPILLED_RECORDS=pl.lit(100, pl.Int64),
    )
    reduce_ = maps.head(1).with_columns(
        stage_id=pl.lit(1, pl.Int64),
        task_id=pl.lit("r"),
        launched_ms=pl.lit(START_MS, pl.Int64),
        sortFinishTime=pl.lit(maps_ms + 40_000, pl.Int64),
        finished_ms=pl.lit(end_ms, pl.Int64),
        COMBINE_INPUT_RECORDS=pl.lit(0, pl.Int64),
        REDUCE_INPUT_RECORDS=pl.lit(6 * 10**6, pl.Int64),
        REDUCE_INPUT_GROUPS=pl.lit(keys, pl.Int64),
    )
    stage = account.stages.with_columns(
        stage_id=pl.lit(1, pl.Int64),
        n_tasks=pl.lit(1, pl.Int64),
        ended_ms=pl.lit(end_ms, pl.Int64),
        parent_ids=pl.lit([0], pl.List(pl.Int64)),
    )
    return replace(
        account,
        application=replace(account.application, ended_ms=end_ms),
        stages=pl.concat([account.stages, stage]),
        tasks=pl.concat([maps, reduce_]),
    )


def test_a_missing_combiner_costs_copying_and_merging_what_it_would_not_leave(
    account: JobAccount,
) -> None:
    told = found(combined(account, 0, 0, 20_000))["combiner-missing"]
    assert "6,000,000 records of 20,000 keys from 60 maps" in told.says
    assert told.replayed_s == pytest.approx(40 * (1 - 20_000 * MAPS / 6_000_000))
    assert "combiner-missing" not in found(combined(account, 0, 0, 90_000))
    assert "combiner-missing" not in found(combined(account, 100, 10, 20_000))


def test_reduces_that_hold_containers_while_maps_wait_cost_these_maps_their_turn(
    account: JobAccount,
) -> None:
    job = combined(account, 0, 0, 90_000)
    told = found(job)["early-reduces"]
    # The reduce had one of two containers from the start; the last map began after 295 s.
    assert told.replayed_s == pytest.approx(295 / 2)
    assert told.settings == {"mapreduce.job.reduce.slowstart.completedmaps": "0.97"}
    assert "for the last map, 75% of their time" in told.says
    late = replace(job, configuration={"mapreduce.job.reduce.slowstart.completedmaps": "0.99"})
    assert "early-reduces" not in found(late)
    at_once = job.tasks.with_columns(launched_ms=pl.lit(START_MS, pl.Int64))
    assert "early-reduces" not in found(replace(job, tasks=at_once))  # no map waited


def test_a_combiner_that_leaves_most_records_costs_what_follows_the_map_function(
    account: JobAccount,
) -> None:
    told = found(combined(account, 100, 95, 20_000))["combiner-useless"]
    assert "left 5,700 of 6,000 records (95%)" in told.says
    assert told.replayed_s == pytest.approx(4 * MAPS)
    assert "combiner-useless" not in found(combined(account, 100, 50, 20_000))
