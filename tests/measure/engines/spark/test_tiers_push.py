"""Push-based shuffle with tiers: a shuffle service's merged files lie where stock Spark has
them.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from spark_runs import LIGHT, accounts_of_tiers, execute

from venturi.measure.engines.spark.engine import Spark
from venturi.measure.trial.runner import Session
from venturi.measure.workloads.registry import size_of_bytes, workload
from venturi.record.job_account import TIERS_SETTING
from venturi.record.trial import State

pytestmark = [pytest.mark.engines, pytest.mark.long]
JARS = Path(pyspark.__file__).parent / "jars"
SERVICE = Path(__file__).with_name("PushService.java")


@contextmanager
def push_service() -> Iterator[str]:
    """The port of a shuffle service that merges what is pushed."""
    command = ["java", "-cp", f"{JARS}/*", str(SERVICE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as made:
        assert made.stdin is not None
        assert made.stdout is not None
        try:
            yield made.stdout.readline().strip()
        finally:
            made.stdin.close()


@contextmanager
def merged_files(folder: Path) -> Iterator[set[Path]]:
    """Collect the merged files that exist until the block is left, at any depth."""
    found: set[Path] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            for parent, _, names in os.walk(folder):  # which, unlike a glob, minds no end
                data = [name for name in names if name.startswith("shuffleMerged_")]
                found.update(Path(parent, name) for name in data if name.endswith(".data"))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield found
    finally:
        done.set()
        watching.join()


def test_what_is_merged_is_on_no_tier(
    yarn: Spark,
    tiers_jar: Path,
    session: Session,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    size = size_of_bytes(workload("sort"), 8_000_000)
    with push_service() as port, merged_files(tmp_path_factory.getbasetemp()) as merged:
        settings = LIGHT | {
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.shuffle.push.enabled": "true",
            "spark.shuffle.push.mergersMinStaticThreshold": "1",
            "spark.shuffle.push.minShuffleSizeToWait": "0b",
            "spark.shuffle.service.enabled": "true",
            "spark.shuffle.service.name": "mapreduce_shuffle",  # one that our NodeManagers have
            "spark.shuffle.service.port": port,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.files.maxPartitionBytes": "2m",
            "spark.sql.shuffle.partitions": "8",
            TIERS_SETTING: "ssd 0B",
            f"{TIERS_SETTING}.interval": "200ms",
            f"{TIERS_SETTING}.strict": "true",
        }
        trial = execute(yarn, session, tmp_path, "sort", size, settings=settings)
    assert trial.state is State.SUCCEEDED, trial.failure
    disks = [part for each in merged for part in each.parts if part in {"hdd", "ssd"}]
    assert len(disks) == 8
    assert disks.count("hdd") == 4  # as stock Spark spreads them
    seen = {
        (tier["tier"], kind["kind"])
        for account in accounts_of_tiers(session, trial)
        if account["executor_id"] != "driver"
        for tier in account["tiers"]
        for kind in tier["kinds"]
        if kind["seen_bytes"]
    }
    assert seen >= {("ssd", "shuffle"), ("ssd", "shuffle_index")}
    assert {tier for tier, _ in seen} == {"ssd"}
