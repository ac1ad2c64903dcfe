"""A PySpark job that loses executors before their files are read again; writes its observations as
JSON.

Usage: executors_go_program.py SETTINGS FILE DISK..., with SETTINGS in JSON. With dynamic allocation
all executors are released, without it one is decommissioned.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext, StorageLevel

ROWS, MAPS, REDUCES, CACHED = 40_000, 8, 5, 1_000


def main() -> None:
    settings, disks = json.loads(sys.argv[1]), [Path(each) for each in sys.argv[3:]]
    conf = SparkConf(loadDefaults=False)
    conf.setAll(settings.items())
    context = SparkContext(conf=conf)
    mapped, cached = context.accumulator(0), context.accumulator(0)

    def keyed(number: int) -> tuple[int, str]:
        mapped.add(1)
        return number % 997, str(number) * 20

    def kept(number: int) -> str:
        cached.add(1)
        return str(number)

    shuffled = context.parallelize(range(ROWS), MAPS).map(keyed).partitionBy(REDUCES)
    stored = context.parallelize(range(CACHED), 4).map(kept).persist(StorageLevel.DISK_ONLY)
    is_stored = settings["spark.shuffle.service.fetch.rdd.enabled"] == "true"
    is_dynamic = settings["spark.dynamicAllocation.enabled"] == "true"
    saw: dict[str, Any] = {"stored": [], "shuffled": []}

    def read() -> None:
        saw["stored"] += [stored.count()] if is_stored else []
        saw["shuffled"].append(_bytes(shuffled))

    read()
    saw["executors"] = _executors(context).size()
    if is_dynamic:
        _wait_for_executors(context, 0)
    else:
        _decommission_one(context)
        _wait_for_executors(context, saw["executors"] - 1)
    saw["gone"] = _files(disks)
    read()
    saw["mapped"], saw["cached"] = mapped.value, cached.value
    if is_dynamic:
        _wait_for_executors(context, 0)
    context._jsc.sc().cleaner().get().doCleanupShuffle(0, True)
    saw["removed"] = _files(disks)
    context.stop()
    Path(sys.argv[2]).write_text(json.dumps(saw))


def _bytes(shuffled: Any) -> int:
    return int(shuffled.values().map(len).sum())


def _executors(context: SparkContext) -> Any:
    return context._jsc.sc().getExecutorIds()


def _wait_for_executors(context: SparkContext, number: int) -> None:
    deadline = time.monotonic() + 100
    while _executors(context).size() != number:
        assert time.monotonic() < deadline, "executors are not released"
        time.sleep(0.1)


def _decommission_one(context: SparkContext) -> None:
    jvm = context._jvm
    assert jvm is not None
    why = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
        "a test", jvm.scala.Option.empty()
    )
    backend = context._jsc.sc().schedulerBackend()
    backend.decommissionExecutor(_executors(context).head(), why, True, False)


def _files(disks: list[Path]) -> dict[str, int]:
    """Count the files on each disk, by kind."""
    found: Counter[str] = Counter()
    for disk in disks:
        for folder, _, names in os.walk(disk):
            for name in names if "blockmgr-" in folder else ():
                kind = "link" if Path(folder, name).is_symlink() else name.partition("_")[0]
                last = Path(name).suffix if kind.startswith("shuffle") else ""
                found[f"{disk.name} {kind}{last}"] += 1
    return dict(found)


if __name__ == "__main__":
    main()
