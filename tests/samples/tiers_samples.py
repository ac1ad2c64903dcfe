"""A small handmade Spark job, with tiers and without, for tests of its disk use.

Its map stage writes 1.6 GB in 16 of its 20 s, its reduce stage reads them in 16 of its 30 s, on
disks of 100 MB/s; the CPU has 4 and 10 s, the driver 10 s, so it takes 60 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import report_samples
from event_log import event
from venturi.jobs.logs import spark
from venturi.record.importing.formats import Log
from venturi.record.job_account import attach
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Cluster, Trial

BEGAN_MS = 1_795_000_000_000
TIERED = f"01JZTHREP0RT{930:014d}"
SHUFFLED = 1_600_000_000
SLOW = "read=100MB/s,write=100MB/s,iops=1000000000"
FAST = "read=800MB/s,write=800MB/s,iops=1000000000"


def _stage(name: str, stage: int, parents: list[int], from_ms: int, to_ms: int | None) -> bytes:
    info: dict[str, Any] = {
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Stage Name": f"s{stage}",
        "Number of Tasks": 1,
        "Parent IDs": parents,
        "Submission Time": BEGAN_MS + from_ms,
        "Completion Time": None if to_ms is None else BEGAN_MS + to_ms,
    }
    return event(name, **{"Stage Info": info})


def _task(stage: int, from_ms: int, to_ms: int, cpu_s: int, moved: dict[str, Any]) -> bytes:
    return event(
        "SparkListenerTaskEnd",
        **{
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "Success"},
            "Task Info": {
                "Task ID": stage,
                "Index": 0,
                "Attempt": 0,
                "Launch Time": BEGAN_MS + from_ms,
                "Finish Time": BEGAN_MS + to_ms,
                "Executor ID": "driver",
                "Host": "h",
                "Locality": "PROCESS_LOCAL",
                "Speculative": False,
                "Getting Result Time": 0,
            },
            "Task Metrics": {
                "Executor Deserialize Time": 0,
                "Executor Deserialize CPU Time": 0,
                "Executor Run Time": to_ms - from_ms,
                "Executor CPU Time": cpu_s * 10**9,
                "JVM GC Time": 0,
                "Result Serialization Time": 0,
                "Memory Bytes Spilled": 0,
                "Disk Bytes Spilled": 0,
                **moved,
            },
        },
    )


def _tiers(at_ms: int, *tiers: tuple[str, int, int]) -> bytes:
    """The plugin's report: for each tier its name, bytes of shuffle data, overflows."""
    told = [
        {
            "tier": name,
            "use_at_most_bytes": 800_000_000 if name == "ssd" else None,
            "errors": 0,
            "kinds": [
                {
                    "kind": "shuffle",
                    "placements": 2,
                    "seen_bytes": size,
                    "present_bytes": size,
                    "peak_bytes": size,
                    "overflows": overflows,
                    "first_overflow_ms": BEGAN_MS + 11_000 if overflows else None,
                }
            ],
        }
        for name, size, overflows in tiers
    ]
    account = {
        "version": 1,
        "executor_id": "driver",
        "host": "h",
        "at_ms": BEGAN_MS + at_ms,
        "tiers": told,
    }
    return event(spark.TIERED_STORAGE, account=account)


def _log(tiers: bytes) -> bytes:
    written = {
        "Shuffle Write Metrics": {
            "Shuffle Bytes Written": SHUFFLED,
            "Shuffle Write Time": 16 * 10**9,
            "Shuffle Records Written": 1,
        }
    }
    read = {
        "Shuffle Read Metrics": {
            "Local Bytes Read": SHUFFLED,
            "Remote Bytes Read": 0,
            "Fetch Wait Time": 0,
        }
    }
    return b"".join(
        (
            event("SparkListenerLogStart", **{"Spark Version": "4.0.0"}),
            event(
                "SparkListenerApplicationStart",
                **{"App Name": "a", "App ID": "a1", "Timestamp": BEGAN_MS},
            ),
            event(
                "SparkListenerJobStart",
                **{
                    "Job ID": 0,
                    "Submission Time": BEGAN_MS + 1_000,
                    "Stage IDs": [0, 1],
                    "Stage Infos": [],
                },
            ),
            _stage("SparkListenerStageSubmitted", 0, [], 1_000, None),
            _task(0, 1_000, 21_000, 4, written),
            _stage("SparkListenerStageCompleted", 0, [], 1_000, 21_000),
            _stage("SparkListenerStageSubmitted", 1, [0], 21_000, None),
            _task(1, 21_000, 51_000, 10, read),
            _stage("SparkListenerStageCompleted", 1, [0], 21_000, 51_000),
            tiers,
            event(
                "SparkListenerJobEnd",
                **{
                    "Job ID": 0,
                    "Completion Time": BEGAN_MS + 51_000,
                    "Job Result": {"Result": "JobSucceeded"},
                },
            ),
            event("SparkListenerApplicationEnd", Timestamp=BEGAN_MS + 60_000),
        )
    )


STOCK = _log(b"")
ADAPTIVE = STOCK.replace(b'"Parent IDs":[0]', b'"Parent IDs":[7]')
"""With adaptive execution: the stage that the second one names was skipped."""
LARGE = STOCK.replace(b":1600000000,", b":16000000000,")
"""Ten times the bytes in the same time, so on disks that are ten times as fast."""
HALF = _log(
    _tiers(1_000, ("ssd", 0, 0))
    + _tiers(11_000, ("ssd", 800_000_000, 0))
    + _tiers(21_000, ("ssd", 800_000_000, 0), ("last", 800_000_000, 1))
    + _tiers(51_000, ("ssd", 800_000_000, 0), ("last", 800_000_000, 1))
)
"""The first half of the shuffle data lay on `ssd`, of which 800 MB may be used."""
HALF_TOLD_LATE = _log(
    _tiers(1_000, ("ssd", 0, 0))
    + _tiers(11_000, ("ssd", 800_000_000, 0))
    + _tiers(41_000, ("ssd", 800_000_000, 0), ("last", 800_000_000, 1))
)
"""The same, with the second half reported while another stage runs, which writes nothing."""
FITS = _log(
    _tiers(1_000, ("ssd", 0, 0))
    + _tiers(21_000, ("ssd", SHUFFLED, 0))
    + _tiers(51_000, ("ssd", SHUFFLED, 0))
)
"""All of the shuffle data lay on `ssd`."""
CACHED_TOLD_AFTER = _log(
    _tiers(51_000, ("ssd", 0, 0)) + _tiers(55_000, ("ssd", SHUFFLED, 0))
).replace(b'"kind":"shuffle"', b'"kind":"cached"')
"""As many bytes of cached blocks, reported after the end of the stage that wrote them."""


def recorded(
    repository: TrialRepository,
    folder: Path,
    log: bytes = HALF,
    cluster: Cluster | None = None,
    series: Iterable[tuple[float, str, str, float, str]] = (),
) -> Trial:
    """A trial with the account in `log`, added; `folder` gets the log. With a series, the account
    is on the clock of that.
    """
    path = folder / "tiers.log"
    path.write_bytes(log)
    trial = report_samples.trial(930, "terasort", "spark")
    trial = replace(
        trial,
        configuration={"spark.storage.hierarchyStore": "ssd max 800MB"},
        elapsed_s=60.0,
        cluster=trial.cluster if cluster is None else cluster,
    )
    account = spark.read(Log(path, (path,)))
    if rows := list(series):
        with SeriesWriter(folder / "series.parquet") as writer:
            for row in rows:
                writer.append(*row)
        trial = repository.attach(trial, "series", "series.parquet", folder / "series.parquet")
        account = replace(account, origin_ms=float(BEGAN_MS))
    trial = attach(repository, trial, account)
    repository.add(trial)
    return trial
