"""Trials on Spark's deployments, and their stored files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine_runs import marked
from this_host import FILES, HOST
from venturi.measure.engines.protocol import Resources, TrialSpec
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.runner import Session, run_trial
from venturi.measure.workloads.definition import Size
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, workload
from venturi.record.trial import Trial

MEMORY_BYTES = 1 << 30
EXECUTOR = b"CoarseGrainedExecutorBackend"
# Large enough for events during the run.
LONG = Size(None, 20_000_000, 16)
_SOON = "-XX:TieredStopAtLevel=1"
# JVMs that are ready soon, and only one executor.
LIGHT = {
    "spark.driver.extraJavaOptions": _SOON,
    "spark.executor.extraJavaOptions": _SOON,
    "spark.executor.cores": "1",
    "spark.cores.max": "1",
    "spark.sql.shuffle.partitions": "2",
}


def made(deployment: str, home: Path = Path(), **more: Any) -> Spark:
    found = engine(f"spark:{deployment}", HOST, home=home, environ=os.environ, **more)
    assert isinstance(found, Spark)
    return found


def resources(folder: Path, workers: int | None = None) -> Resources:
    roles = ("input", "scratch", "output")
    return Resources(dict.fromkeys(roles, (folder,)), 2, MEMORY_BYTES, workers)


@dataclass(frozen=True)
class Tiered:
    """A Master and two Workers with local directories on a large disk and a small fast one."""

    spark: Spark
    hdd: Path
    ssd: Path

    def blocks(self) -> list[Path]:
        """Files that hold blocks, of any executor, and links to them."""
        return [
            Path(folder, name)
            for disk in (self.hdd, self.ssd)
            for folder, _, names in os.walk(disk)
            for name in names
            if Path(folder).parent.name.startswith("blockmgr-")
        ]

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 100
        while not condition():
            assert time.monotonic() < deadline, self.blocks()
            time.sleep(0.02)


def execute(
    on: Spark, session: Session, folder: Path, name: str, size: Size | None = None, **changes: Any
) -> Trial:
    definition = workload(name)
    size = size or size_of(definition, "tiny")
    with DataFolders(
        FILES, dict.fromkeys(("input", "scratch", "output"), (folder / "data",))
    ) as folders:
        inputs = inputs_of(folders, definition, size)
        order = TrialSpec(
            definition,
            size,
            inputs,
            folders,
            "0.1.0",
            threads=2,
            memory_bytes=MEMORY_BYTES,
            settings=LIGHT,
            timeout_s=200,
            series=False,
        )
        return run_trial(session, on.job(replace(order, **changes)))


def kept(session: Session, trial: Trial, name: str) -> str:
    (artifact,) = (each for each in trial.artifacts if each.name == name)
    return session.repository.artifact_path(artifact).read_text(errors="replace")


def accounts_of_tiers(session: Session, trial: Trial) -> list[dict[str, Any]]:
    """Return the plugin's accounts in the event log."""
    events = map(json.loads, kept(session, trial, "eventlog.json").splitlines())
    return [each["account"] for each in events if each["Event"].endswith("StorageAccount")]


def cluster_of(on: Spark) -> Any:
    return on._cluster


def commands(mark: str) -> list[bytes]:
    found = []
    for pid in marked(mark):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found
