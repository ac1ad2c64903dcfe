"""Event logs of Spark written by tests, and the accounts read from them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from venturi.jobs.logs import spark
from venturi.jobs.logs.spark_batches import PROGRESS
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

Write = Callable[[bytes], Path]


def put(path: Path, content: bytes, ago_s: float = 0) -> Path:
    """Write a file that was last changed `ago_s` seconds ago."""
    path.write_bytes(content)
    os.utime(path, (time.time() - ago_s,) * 2)
    return path


def event(name: str, **fields: Any) -> bytes:
    """A line of a log."""
    return json.dumps({"Event": name, **fields}, separators=(",", ":")).encode() + b"\n"


START = event("SparkListenerLogStart", **{"Spark Version": "4.0.0"}) + event(
    "SparkListenerApplicationStart", **{"App Name": "a", "App ID": "a1", "Timestamp": 1_000}
)
END = event("SparkListenerApplicationEnd", Timestamp=61_000)


def _type_of(metric: str) -> str:
    """The type of a metric of SQL by its name."""
    timing = metric.endswith(" time") or metric.startswith("time to ")
    return "size" if "size" in metric else "timing" if timing else "sum"


ORIGIN_MS = 1_700_000_000_000


def at(moment_s: float) -> int:
    """A time in a `SparkLog`, in milliseconds since 1970."""
    return ORIGIN_MS + round(moment_s * 1e3)


class SparkLog:
    """The log of one application that began at 0 s; all times are seconds since then.

    Omitted parts, such as the end of a task, are missing from the log.
    """

    def __init__(self, **settings: str) -> None:
        started = {"App Name": "a", "App ID": "a1", "Timestamp": at(0)}
        self.lines = [
            event("SparkListenerLogStart", **{"Spark Version": "4.0.0"}),
            event("SparkListenerApplicationStart", **started),
            event("SparkListenerEnvironmentUpdate", **{"Spark Properties": settings}),
        ]
        self._tasks = 0

    def add(self, name: str, **fields: Any) -> None:
        """Appends an event of Spark's own."""
        self.lines.append(event(f"SparkListener{name}", **fields))

    def executor(
        self, name: str, cores: int, added_s: float, removed_s: float | None = None, why: str = ""
    ) -> None:
        """An executor, on host `hNAME`."""
        info = {"Host": f"h{name}", "Total Cores": cores}
        added = {"Timestamp": at(added_s), "Executor ID": name, "Executor Info": info}
        self.add("ExecutorAdded", **added)
        if removed_s is not None:
            gone = {"Timestamp": at(removed_s), "Executor ID": name, "Removed Reason": why}
            self.add("ExecutorRemoved", **gone)

    def job(
        self,
        id_: int,
        from_s: float,
        to_s: float | None,
        stages: list[int],
        failed: str = "",
        query: int | None = None,
    ) -> None:
        """A job of the stages with the ids `stages`, of a query or of none."""
        infos = [self._stage(each, 0) for each in stages]
        of = {} if query is None else {"spark.sql.execution.id": str(query)}
        begun = {"Job ID": id_, "Submission Time": at(from_s), "Stage IDs": stages}
        self.add("JobStart", **begun, **{"Stage Infos": infos, "Properties": of})
        if to_s is not None:
            result: dict[str, Any] = {"Result": "JobSucceeded"}
            if failed:
                result = {"Result": "JobFailed", "Exception": {"Message": failed}}
            ended = {"Job ID": id_, "Completion Time": at(to_s), "Job Result": result}
            self.add("JobEnd", **ended)

    def stage(
        self,
        id_: int,
        from_s: float,
        to_s: float | None,
        tasks: int,
        *,
        failed: str = "",
        attempt: int = 0,
        rdds: tuple[str | dict[str, Any], ...] = (),
        metrics: dict[int, int] | None = None,
        parents: tuple[int, ...] = (),
    ) -> None:
        """An attempt at a stage of `rdds`, or of their types, which brings in `metrics` of SQL."""
        info = self._stage(id_, tasks) | {
            "Submission Time": at(from_s),
            "Stage Attempt ID": attempt,
            "Parent IDs": list(parents),
            "RDD Info": [{"Name": each} if isinstance(each, str) else each for each in rdds],
        }
        self.add("StageSubmitted", **{"Stage Info": info})
        if to_s is not None:
            info |= {"Completion Time": at(to_s)} | ({"Failure Reason": failed} if failed else {})
            info["Accumulables"] = [
                {"ID": id_, "Name": "a", "Value": str(value), "Metadata": "sql"}
                for id_, value in (metrics or {}).items()
            ]
            self.add("StageCompleted", **{"Stage Info": info})

    def task(
        self,
        stage: int,
        from_s: float,
        to_s: float | None,
        *,
        executor: str = "1",
        index: int | None = None,
        attempt: int = 0,
        end: Any = None,
        metrics: Any = None,
        **timers: int,
    ) -> int:
        """An attempt at a task, the next one of its stage by default; it computes to its end.

        `timers`, as `scan_time`, are accumulables of it. `attempt` is that at its stage, `end` its
        "Task End Reason", by default success. Gives the number of the attempt at the task.
        """
        task = {
            "Task ID": self._tasks,
            "Index": self._tasks if index is None else index,
            "Attempt": 0,
            "Launch Time": at(from_s),
            "Executor ID": executor,
            "Host": f"h{executor}",
            "Locality": "ANY",
            "Speculative": False,
        }
        self._tasks += 1
        of = {"Stage ID": stage, "Stage Attempt ID": attempt}
        self.add("TaskStart", **of, **{"Task Info": task})
        if to_s is not None:
            told = [
                {
                    "ID": n,
                    "Name": name.replace("_", " ").replace("python", "Python"),
                    "Update": str(value),
                    "Value": "99999",
                    "Metadata": "sql",
                }
                for n, (name, value) in enumerate(timers.items())
            ]
            ran_ms = round((to_s - from_s) * 1e3)
            ran = {"Executor Run Time": ran_ms, "Executor CPU Time": ran_ms * 10**6}
            ended = {
                "Task End Reason": end or {"Reason": "Success"},
                "Task Info": task | {"Finish Time": at(to_s), "Accumulables": told},
                "Task Metrics": ran if metrics is None else metrics,
            }
            self.add("TaskEnd", **of, **ended)
        return self._tasks - 1

    def query(
        self,
        id_: int,
        from_s: float,
        to_s: float | None,
        *,
        name: str = "",
        failed: str = "",
        **timers_ms: int,
    ) -> None:
        """An SQL query; `timers_ms`, such as `metadata_time`, are its driver timers."""
        sql = "org.apache.spark.sql.execution.ui.SparkListener"
        metrics = [
            {"name": each.replace("_", " "), "accumulatorId": 100 * id_ + n, "metricType": "timing"}
            for n, each in enumerate(timers_ms)
        ]
        plan = {"nodeName": "Scan", "children": [], "metadata": {}, "metrics": metrics}
        begun = {"executionId": id_, "description": name or f"collect at app.py:{id_}"}
        self.lines.append(
            event(f"{sql}SQLExecutionStart", **begun, sparkPlanInfo=plan, time=at(from_s))
        )
        told = [[100 * id_ + n, value] for n, value in enumerate(timers_ms.values())]
        self.lines.append(event(f"{sql}DriverAccumUpdates", executionId=id_, accumUpdates=told))
        if to_s is not None:
            ended = {"executionId": id_, "time": at(to_s), "errorMessage": failed}
            self.lines.append(event(f"{sql}SQLExecutionEnd", **ended))

    def plan(self, query: int, *operators: tuple[str, str, dict[str, int]]) -> None:
        """The plan of a query: operators, each above the next, as name, text, numbers of counts."""
        plan: list[dict[str, Any]] = []
        for name, text, counts in reversed(operators):
            told = [
                {"name": each, "accumulatorId": id_, "metricType": _type_of(each)}
                for each, id_ in counts.items()
            ]
            plan = [
                {
                    "nodeName": name,
                    "simpleString": text,
                    "children": plan,
                    "metadata": {},
                    "metrics": told,
                }
            ]
        name = "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate"
        self.lines.append(event(name, executionId=query, sparkPlanInfo=plan[0]))

    def batch(
        self,
        number: int,
        from_s: float,
        took_s: float,
        rows: int,
        state_rows: int,
        left: int | None = None,
        **parts_s: float,
    ) -> None:
        """A batch of the stream "clicks", with a watermark 30 s behind from the second batch on;
        `parts_s`, such as `addBatch`, are the driver's work, and `left` more records were in
        Kafka.
        """
        took = {name: round(part_s * 1e3) for name, part_s in parts_s.items()}
        mark_s = at(from_s - 30) / 1e3 if number else 0
        progress = {
            "id": "s1",
            "name": "clicks",
            "batchId": number,
            "timestamp": datetime.fromtimestamp(at(from_s) / 1e3, UTC).isoformat(),
            "eventTime": {"watermark": datetime.fromtimestamp(mark_s, UTC).isoformat()},
            "durationMs": {"triggerExecution": round(took_s * 1e3), **took},
            "sources": [{"numInputRows": rows - rows // 2}, {"numInputRows": rows // 2}],
            "stateOperators": [{"numRowsTotal": state_rows, "memoryUsedBytes": 1_000}],
        }
        if left is not None:
            ends = {
                "endOffset": {"clicks": {"0": 7, "1": 9}},
                "latestOffset": json.dumps({"clicks": {"0": 7 + left, "1": 8, "2": 5}}),
            }
            progress["sources"].append({"numInputRows": 0, **ends})
        self.lines.append(event(PROGRESS, progress=progress))

    def end(self, moment_s: float) -> None:
        """The end of the application."""
        self.add("ApplicationEnd", Timestamp=at(moment_s))

    def account(self, folder: Path) -> JobAccount:
        """Writes the log into `folder`, and reads its account."""
        path = folder / "application_1_0001"
        path.write_bytes(b"".join(self.lines))
        return spark.read(Log(path, (path,)))

    @staticmethod
    def _stage(id_: int, tasks: int) -> dict[str, Any]:
        return {
            "Stage ID": id_,
            "Stage Attempt ID": 0,
            "Stage Name": f"collect at app.py:{id_}",
            "Number of Tasks": tasks,
            "Parent IDs": [],
        }
