"""Cached data of applications, from event logs with and without block updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog
from venturi.jobs.logs import spark_caches
from venturi.jobs.stages.caches import CacheUse, cache_uses
from venturi.record.job_account import JobAccount

DESERIALIZED = "Disk Memory Deserialized 1x Replicated"


def level(*, memory: bool = True, disk: bool = True) -> dict[str, Any]:
    return {
        "Use Disk": disk,
        "Use Memory": memory,
        "Use Off Heap": False,
        "Deserialized": True,
        "Replication": 1,
    }


def rdd(id_: int, name: str = "MapPartitionsRDD", **stored: Any) -> dict[str, Any]:
    """An RDD of a stage; it is to be stored, and by default it is not said how much of it is."""
    told = {
        "RDD ID": id_,
        "Name": name,
        "Callsite": "map at /home/me/app.py:7",
        "Storage Level": level(),
        "Number of Partitions": 4,
        "Number of Cached Partitions": 0,
        "Memory Size": 0,
        "Disk Size": 0,
    }
    return told | {key.replace("_", " "): value for key, value in stored.items()}


class Caching(SparkLog):
    """An application that caches."""

    def of(self, *rdds: dict[str, Any], stage: int = 0) -> None:
        """A stage of these RDDs."""
        info = self._stage(stage, 1) | {"RDD Info": list(rdds)}
        self.add("StageSubmitted", **{"Stage Info": info})

    def block(
        self, name: str, memory: int | None, disk: int | None = None, executor: str = "1"
    ) -> None:
        """An update: so many bytes are in memory and on disk, None: it is not there."""
        told = {
            "Block Manager ID": {"Executor ID": executor, "Host": "h", "Port": 1},
            "Block ID": name,
            "Storage Level": level(memory=memory is not None, disk=disk is not None),
            # A block dropped from memory is reported with its former size.
            "Memory Size": 77 if memory is None else memory,
            "Disk Size": disk or 0,
        }
        self.add("BlockUpdated", **{"Block Updated Info": told})


def whole(log: SparkLog, folder: Path) -> JobAccount:
    account = log.account(folder)
    assert not account.reading.damaged
    return account


def test_without_updates_of_blocks_what_was_stored_is_not_recorded(tmp_path: Path) -> None:
    log = Caching()
    lines = "*(1) Project [id#7L]\n+- *(1) Range (0, 9)\n"
    log.of(rdd(3), rdd(5, lines), rdd(6, **{"Storage_Level": level(memory=False, disk=False)}))
    assert cache_uses(whole(log, tmp_path), 9) == (
        CacheUse(3, "MapPartitionsRDD, map at app.py:7", DESERIALIZED, 4, None, None, None),
        CacheUse(5, "*(1) Project [id] +- *(1) Range (0, 9)", DESERIALIZED, 4, None, None, None),
    )


def test_logs_of_old_versions_say_with_each_stage_what_was_stored(tmp_path: Path) -> None:
    log = Caching()
    log.of(rdd(3, Number_of_Cached_Partitions=2, Memory_Size=500))
    log.of(rdd(3, Number_of_Cached_Partitions=3, Memory_Size=400, Disk_Size=60), stage=1)
    log.of(rdd(3), stage=2)
    (use,) = cache_uses(whole(log, tmp_path), 9)
    assert (use.cached, use.memory_bytes, use.disk_bytes) == (3, 500, 60)


def test_updates_of_blocks_tell_the_most_that_was_stored_at_once(tmp_path: Path) -> None:
    log = Caching()
    log.of(rdd(3), rdd(4))
    log.block("rdd_3_0", 100)
    log.block("rdd_3_1", 100, executor="2")
    log.block("rdd_3_1", 100)  # a copy
    log.block("broadcast_0_piece0", 10**9)
    log.block("rdd_3_0", None, 40)  # it had to go to the disk
    log.block("rdd_3_1", None, executor="2")  # and this was dropped
    log.block("rdd_3_2", 150)
    uses = cache_uses(whole(log, tmp_path), 9)
    assert [(use.rdd, use.cached, use.memory_bytes, use.disk_bytes) for use in uses] == [
        (3, 3, 300, 40),
        (4, 0, 0, 0),  # updates are recorded, none for this one
    ]


def test_what_is_gone_with_an_executor_or_unpersisted_is_stored_no_more(tmp_path: Path) -> None:
    log = Caching()
    log.of(rdd(3))
    log.executor("2", 2, 0)
    log.block("rdd_3_0", 100)
    log.block("rdd_3_1", 100, executor="2")
    log.add("ExecutorRemoved", Timestamp=1_700_000_009_000, **{"Executor ID": "2"})
    log.block("rdd_3_1", 100)
    log.add("UnpersistRDD", **{"RDD ID": 3})
    log.block("rdd_3_2", 50, executor="3")
    log.block("rdd_3_3", 50, executor="3")
    (use,) = cache_uses(whole(log, tmp_path), 9)
    assert (use.cached, use.memory_bytes) == (2, 200)


def test_caches_are_bounded_and_what_is_beyond_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_caches, "_RDDS", 2)
    monkeypatch.setattr(spark_caches, "_BLOCKS", 2)
    log = Caching()
    log.of(rdd(3), rdd(4), rdd(5))
    for partition in (0, 1, 1, 2):
        log.block(f"rdd_3_{partition}", (1 << 63) - 1)
    account = log.account(tmp_path)
    assert account.reading.damaged == {
        "SparkListenerStageSubmitted (too many)": 1,
        "SparkListenerBlockUpdated (too many)": 1,
    }
    assert [use.rdd for use in cache_uses(account, 9)] == [3, 4]
    (largest,) = cache_uses(account, 1)
    assert (largest.rdd, largest.cached, largest.memory_bytes) == (3, 2, (1 << 63) - 1)


def test_where_nothing_is_cached_nothing_is_told(tmp_path: Path) -> None:
    log = Caching()
    log.stage(0, 1, 2, 1, rdds=("PythonRDD",))
    account = whole(log, tmp_path)
    assert account.caches is None
    assert cache_uses(account, 9) == ()
