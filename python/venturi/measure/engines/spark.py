"""Apache Spark in local mode: driver and executor are one JVM, started by spark-submit."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from venturi.measure.engines.java import Java, find_java
from venturi.measure.engines.job import START, ProcessJob, read_json
from venturi.measure.engines.process import Ended, run
from venturi.measure.engines.protocol import (
    Availability,
    Collected,
    Ground,
    Missing,
    Order,
    Task,
    require,
)
from venturi.measure.runner import Attachment
from venturi.measure.workloads import Definition, Size, family
from venturi.record.trial import Phase, Sample

NAME = "spark"
LEAST_SPARK = (4, 1)  # data sources that take Arrow batches
LEAST_JAVA = 17
PROGRAM = Path(__file__).parent / "spark_programs" / "main.py"
PARTITION_BYTES = 64 * 2**20  # of sorted data
MEBIBYTE = 2**20


class Spark:
    """Spark of SPARK_HOME, else the one in the package pyspark."""

    name = NAME
    prefixes = ("spark.",)
    workloads = frozenset({"terasort", "terasort-skewed", "sort", "wordcount", "pi"})

    def __init__(
        self,
        *,
        home: Path,
        environ: Mapping[str, str],
        deployment: str = "local",
        hadoop_conf: Path | None = None,
    ) -> None:
        self.deployment = deployment
        self._hadoop_conf = hadoop_conf
        self._venturi_home = home
        self._environ = environ
        self._home: Path | None = None
        self._java: Java | None = None
        self.version = ""

    def available(self) -> Availability:
        missing: list[Missing] = []
        parts: dict[str, str] = {}
        home, version = _find(self._environ)
        if home is None:
            missing.append(Missing("Spark is not installed", "pip install 'venturi[spark]'"))
        else:
            parts["home"] = str(home)
            if version is None or _numbers(version) < LEAST_SPARK:
                least = ".".join(map(str, LEAST_SPARK))
                missing.append(
                    Missing(
                        f"Spark {version or 'of unknown version'} is older than {least}",
                        "pip install --upgrade 'venturi[spark]'",
                    )
                )
        java = find_java(self._environ)
        if java is None:
            missing.append(Missing("there is no Java", "apt-get install openjdk-17-jre-headless"))
        else:
            parts["java"] = java.version
            if java.major < LEAST_JAVA:
                missing.append(
                    Missing(
                        f"Java {java.version} is older than {LEAST_JAVA}",
                        "apt-get install openjdk-17-jre-headless; export JAVA_HOME=...",
                        "VEN-ENGINE-JAVA",
                    )
                )
        self._home, self._java, self.version = home, java, version or ""
        return Availability(NAME, version, parts, tuple(missing))

    def start(self, ground: Ground) -> None:
        require(self.available())

    def stop(self) -> None:
        pass

    def job(self, order: Order) -> ProcessJob:
        return ProcessJob(self, order)

    def defaults(
        self, definition: Definition, size: Size, threads: int, memory_bytes: int
    ) -> Mapping[str, str]:
        partitions = max(2 * threads, -(-(size.bytes or 0) // PARTITION_BYTES))
        return {
            "spark.master": f"local[{threads}]",
            "spark.driver.memory": f"{memory_bytes // MEBIBYTE}m",
            "spark.sql.shuffle.partitions": str(partitions),
        }

    def prepare(self, task: Task) -> None:
        pass

    def submit(self, task: Task) -> Ended:
        assert self._home is not None
        assert self._java is not None
        events = task.logs / "events"
        events.mkdir()
        description = {
            "workload": task.definition.name,
            "family": family(task.definition),
            "input": str(task.input),
            "output": str(task.output),
            "result": str(task.logs / "result.json"),
            "record_bytes": task.definition.record_bytes,
            "records": task.size.records,
            "parts": task.size.parts,
            "parameters": dict(task.size.parameters),
        }
        (task.logs / "task.json").write_text(json.dumps(description))
        return run(
            [
                self._home / "bin" / "spark-submit",
                *_as_options({**_fixed(task, events), **task.configuration}),
                PROGRAM,
                task.logs / "task.json",
            ],
            engine=NAME,
            log=task.logs / "engine.log",
            cwd=task.scratch,
            env={
                "SPARK_HOME": str(self._home),
                "JAVA_HOME": str(self._java.home),
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": str(task.scratch),
            },
            timeout_s=task.timeout_s,
            attachments=lambda: _event_logs(events),
        )

    def collect(self, task: Task, ended: Ended) -> Collected:
        result = read_json(task.logs / "result.json", "Spark")
        ready_s, done_s, synced_s = (
            float(str(result[key])) for key in ("ready_s", "done_s", "synced_s")
        )
        configuration = task.logs / "configuration.json"
        configuration.write_text(json.dumps(result["configuration"], indent=1, sort_keys=True))
        answer = result["answer"]
        assert isinstance(answer, dict)
        samples = result["samples"]
        assert isinstance(samples, list)
        return Collected(
            samples=tuple(Sample(metric, value, unit) for metric, value, unit in samples),
            phases=(
                Phase(START, ended.started_s, ready_s - ended.started_s),
                Phase(task.definition.job, ready_s, done_s - ready_s),
                Phase("sync", done_s, synced_s - done_s),
            ),
            attachments=(
                *_event_logs(task.logs / "events"),
                Attachment("other", "configuration.json", configuration),
            ),
            answer=answer,
        )


def _fixed(task: Task, events: Path) -> dict[str, str]:
    """What every trial has, and what says nothing about how it was configured."""
    return {
        "spark.app.name": f"venturi-{task.definition.name}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(task.scratch),
        "spark.sql.warehouse.dir": (task.scratch / "warehouse").as_uri(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }


def _event_logs(folder: Path) -> tuple[Attachment, ...]:
    """The event log under a fixed name; `.inprogress` if its application never ended."""
    if not folder.is_dir():
        return ()
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return tuple(
        Attachment("other", f"eventlog{number or ''}.json", path)
        for number, path in enumerate(files)
    )


def _as_options(configuration: Mapping[str, str]) -> list[str]:
    return [part for key, value in configuration.items() for part in ("--conf", f"{key}={value}")]


def _find(environ: Mapping[str, str]) -> tuple[Path | None, str | None]:
    """Where Spark is, and its version, read from the name of its core's jar."""
    named = environ.get("SPARK_HOME")
    if named:
        home = Path(named)
    else:
        found = importlib.util.find_spec("pyspark")
        if found is None or not found.submodule_search_locations:
            return None, None
        home = Path(found.submodule_search_locations[0])
    if not os.access(home / "bin" / "spark-submit", os.X_OK):
        return None, None
    for jar in (home / "jars").glob("spark-core_*.jar"):
        return home, jar.stem.rpartition("-")[2]
    return home, None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
