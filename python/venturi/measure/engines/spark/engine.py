"""Apache Spark: applications started by spark-submit, their driver on this host.

Where their executors run is the business of `deployment`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from venturi.measure.clusters.connect import on_each
from venturi.measure.engines.hadoop.install import Hadoop, look_for_hadoop
from venturi.measure.engines.hadoop.installed import LOOK_S, look_on_nodes, send_to_nodes
from venturi.measure.engines.java import find_java
from venturi.measure.engines.nodes import ClusterNodes
from venturi.measure.engines.process_job import START, SYNC, ProcessJob, read_json
from venturi.measure.engines.protocol import (
    Availability,
    CollectedAccount,
    MissingRequirement,
    Resources,
    TrialSpec,
    require,
)
from venturi.measure.engines.spark import KIND, event_log, task_names, tiers
from venturi.measure.engines.spark import deployment as spark_cluster
from venturi.measure.engines.spark.standalone import Standalone
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial.job import Attachment
from venturi.measure.trial.programs import ProcessResult, Program, run_concurrently
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.programs import Task
from venturi.measure.workloads.registry import program_module
from venturi.record.job_account import TIERS_SETTING, JobAccount, has_tiers
from venturi.record.trial import Phase, Sample

NAME = KIND.name
LEAST_SPARK = (3, 5)
SPARK_4 = (4, 0)
JAVA_3, JAVA_4 = range(8, 22), range(17, 100)
PROGRAM = Path(__file__).with_name("driver.py")
EVENTS = "events"
PARTITION_BYTES = 64 * 2**20  # of sorted data
# Packages that Venturi's programs for Spark, their data and their checks import, in addition to
# Spark.
PACKAGES = ("pyarrow", "scipy")


class Spark:
    """Spark of SPARK_HOME, else the one in the package pyspark."""

    kind = KIND
    name = NAME

    def __init__(
        self,
        host: LiveHost,
        *,
        home: Path,
        environ: Mapping[str, str],
        deployment: str = "local",
        hadoop_conf: Path | None = None,
        nodes: ClusterNodes | None = None,
    ) -> None:
        self.host = host
        self.nodes = nodes
        self.deployment = deployment
        self._hadoop_conf = hadoop_conf
        self._venturi_home = home
        self._environ = environ
        self._cluster = spark_cluster.Deployment(host)
        self._spark: spark_cluster.Installation | None = None
        self._hadoop: Hadoop | None = None
        self._site: spark_cluster.NodeInstallations | None = None
        self._ground: Resources | None = None
        self.version = ""

    @property
    def owns_hdfs(self) -> bool:
        if self.nodes is not None and self.nodes.are_several:
            return True
        return self.deployment in KIND.on_hdfs and self._hadoop_conf is None

    def available(self) -> Availability:
        parts: dict[str, str] = {}
        missing = [*self._missing_spark(parts), *self._missing_hadoop(parts)]
        if self.nodes is not None:
            missing += self._missing_on(self.nodes, parts)
        name = NAME if self.deployment == "local" else f"{NAME}:{self.deployment}"
        return Availability(name, self.version or None, parts, tuple(missing))

    def start(self, resources: Resources) -> None:
        require(self.available())
        if self.nodes is not None:
            send_to_nodes(self.nodes, self._venturi_home, self._environ)
        self._ground = resources
        self._open(resources)

    def stop(self) -> None:
        self._cluster.stop()

    def job(self, spec: TrialSpec) -> ProcessJob:
        if has_tiers(spec.settings):
            tiers.checked(spec.settings[TIERS_SETTING])
            tiers.checked_reserves(spec.settings.get(tiers.RESERVES_SETTING, tiers.NONE))
            tiers.jar(self.version)
        if task_names.is_wanted(spec.settings):
            task_names.jar()
        return ProcessJob(self, spec)

    def defaults(
        self, definition: Definition, size: Size, threads: int, memory_bytes: int
    ) -> Mapping[str, str]:
        partitions = max(2 * threads, -(-(size.bytes or 0) // PARTITION_BYTES))
        return {
            **self._cluster.sizes(threads, memory_bytes),
            "spark.sql.shuffle.partitions": str(partitions),
        }

    def prepare(self, task: Task) -> None:
        if self._cluster.is_lost():
            # A daemon ended, and its job failed: later jobs get a new cluster.
            assert self._ground is not None
            self._cluster.stop()
            self._open(self._ground)
        self._cluster.bring(task)

    def submit(self, task: Task) -> ProcessResult:
        (ended,) = self.submit_concurrently([task])
        return ended

    def submit_concurrently(self, tasks: Sequence[Task]) -> tuple[ProcessResult, ...]:
        """Submit each of `tasks` as its own application."""
        labels = [""] if len(tasks) == 1 else map(str, range(len(tasks)))
        programs = [self._program(task, label) for task, label in zip(tasks, labels, strict=True)]

        def check() -> None:
            for program in programs:
                self._cluster.check(program.log)

        return run_concurrently(
            self.host, programs, engine=NAME, timeout_s=tasks[0].timeout_s, check=check
        )

    def _program(self, task: Task, label: str) -> Program:
        assert self._spark is not None
        events = task.logs / EVENTS
        self.host.files.mkdir(events)
        log = task.logs / "engine.log"
        data = self._cluster.data(task)
        description = {
            "workload": task.definition.name,
            "programs": program_module(task.definition.name, KIND.programs),
            "input": data.input,
            "output": data.output,
            "hdfs": data.hdfs,
            "result": str(task.logs / "result.json"),
            "record_bytes": task.definition.record_bytes,
            "records": task.size.records,
            "parts": task.size.parts,
            "parameters": dict(task.size.parameters),
        }
        self.host.files.write(task.logs / "task.json", json.dumps(description))
        fixed = {**_fixed(task, events), **self._cluster.places(task)}
        settings = task_names.with_plugin({**fixed, **task.configuration})
        settings = tiers.with_plugin(settings, self.version)
        return Program(
            [
                self._spark.home / "bin" / "spark-submit",
                *_as_options(settings),
                PROGRAM,
                task.logs / "task.json",
            ],
            log=log,
            cwd=task.scratch,
            env={
                "SPARK_HOME": str(self._spark.home),
                "JAVA_HOME": str(self._spark.java.home),
                "SPARK_LOCAL_DIRS": ",".join(map(str, task.spills)),
                **self._cluster.environment(),
            },
            attachments=lambda: (*self._event_logs(task), *self._cluster.logs(log)),
            label=label,
        )

    def collect(self, task: Task, ended: ProcessResult) -> CollectedAccount:
        result = read_json(self.host.files, task.logs / "result.json", "Spark")
        ready_s, done_s, synced_s = (
            float(str(result[key])) for key in ("ready_s", "done_s", "synced_s")
        )
        configuration = task.logs / "configuration.json"
        said = json.dumps(result["configuration"], indent=1, sort_keys=True)
        self.host.files.write(configuration, said)
        answer = result["answer"]
        assert isinstance(answer, dict)
        samples = result["samples"]
        assert isinstance(samples, list)
        self._cluster.fetch(task)
        return CollectedAccount(
            samples=tuple(Sample(metric, value, unit) for metric, value, unit in samples),
            phases=(
                Phase(START, ended.started_s, ready_s - ended.started_s),
                Phase(task.definition.job, ready_s, done_s - ready_s),
                Phase(SYNC, done_s, synced_s - done_s),
            ),
            attachments=(
                *self._event_logs(task),
                *self._cluster.logs(ended.log),
                Attachment("other", "configuration.json", configuration),
            ),
            answer=answer,
        )

    def read_account(
        self, files: Files, log: Attachment, logs: Sequence[Attachment]
    ) -> JobAccount | None:
        return event_log.read_account(files, log, logs)

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        return self._cluster.portions(task)

    def _event_logs(self, task: Task) -> tuple[Attachment, ...]:
        """The event log under a fixed name; `.inprogress` if its application never ended."""
        found = self.host.files.find(task.logs / EVENTS, "[!.]*")
        return tuple(
            Attachment("other", f"{event_log.EVENT_LOG}{number or ''}.json", each.path)
            for number, each in enumerate(found)
        )

    def _missing_spark(self, parts: dict[str, str]) -> Iterator[MissingRequirement]:
        """Yield the missing parts of Spark and its Java; add those found to `parts`."""
        home, version = _find(self.host, self._environ)
        java = find_java(self.host, self._environ)
        self.version = version or ""
        if home is None:
            yield MissingRequirement("Spark is not installed", "pip install 'venturi[spark]'")
        else:
            parts["home"] = str(home)
            if version is None or _numbers(version) < LEAST_SPARK:
                least = ".".join(map(str, LEAST_SPARK))
                yield MissingRequirement(
                    f"Spark {version or 'of unknown version'} is older than {least}",
                    "pip install --upgrade 'venturi[spark]'",
                )
        lacking = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
        if home is not None and lacking:
            yield MissingRequirement(
                f"the workloads on Spark need {' and '.join(lacking)}",
                "pip install 'venturi[workloads]'",
            )
        mend = "apt-get install openjdk-17-jre-headless"
        if java is None:
            yield MissingRequirement("no Java is installed", mend)
        else:
            parts["java"] = java.version
            fit = JAVA_3 if version and _numbers(version) < SPARK_4 else JAVA_4
            if java.major not in fit:
                yield MissingRequirement(
                    f"Java {java.version} is not one of {fit.start} to {fit.stop - 1}",
                    f"{mend}; export JAVA_HOME=...",
                    "VEN-ENGINE-JAVA",
                )
        if home is not None and java is not None:
            self._spark = spark_cluster.Installation(home, java)

    def _missing_hadoop(self, parts: dict[str, str]) -> Iterator[MissingRequirement]:
        """Yield the missing parts of Venturi's own Hadoop cluster, if the deployment needs one."""
        if self._hadoop_conf is not None or self.deployment not in {"local", "yarn"}:
            return
        if self.nodes is not None:
            return
        found = look_for_hadoop(self.host, self._venturi_home, self._environ)
        self._hadoop = found.hadoop
        if self.deployment == "local":
            needed = "; ".join(each.mend for each in found.missing)
            yarn = f"yarn (which needs: {needed})" if needed else "yarn"
            parts["deployments"] = f"local, standalone, spark://HOST:PORT, {yarn}"
            return
        parts |= {f"hadoop {name}": part for name, part in found.parts.items()}
        for each in found.missing:
            yield replace(each, what=f"for YARN: {each.what}")

    def _missing_on(
        self, nodes: ClusterNodes, parts: dict[str, str]
    ) -> Iterator[MissingRequirement]:
        """Yield the missing parts on a cluster's hosts: Spark and Python at the same paths as here,
        a Java, and Hadoop for the data.
        """
        hosts = {node.name: node.host for node in nodes.all}
        home = self._spark.home if self._spark is not None else None
        wanted = (
            [sys.executable]
            if home is None
            else [str(home / "bin" / "spark-class"), sys.executable]
        )
        looked = on_each(
            hosts,
            lambda name: (
                find_java(hosts[name], self._environ),
                [each for each in wanted if hosts[name].which(each) is None],
            ),
            timeout_s=LOOK_S,
        ).all()
        for name, (java, lacking) in looked.items():
            if java is None:
                yield MissingRequirement(f"no Java is installed on {name}", "install one there")
            for each in lacking:
                yield MissingRequirement(
                    f"{each} does not exist on {name}",
                    "install the same at the same path on every host",
                )
        found, hadoop = look_on_nodes(nodes, self._venturi_home, self._environ)
        parts |= {f"hadoop {name}": part for name, part in found.parts.items()}
        for missing in found.missing:
            yield replace(missing, what=f"for data in HDFS: {missing.what}")
        javas = {name: java for name, (java, _) in looked.items() if java is not None}
        self._site = spark_cluster.NodeInstallations(nodes, javas, hadoop)

    def _open(self, resources: Resources) -> None:
        assert self._spark is not None
        self._cluster = self._deployed()
        self._cluster.start(self._spark, resources)

    def _deployed(self) -> spark_cluster.Deployment:
        if self.deployment == "local":
            return spark_cluster.Deployment(self.host)
        if self.deployment == "standalone":
            return Standalone(self.host, self._site)
        if self.deployment == "yarn":
            return spark_cluster.Yarn(self.host, self._hadoop_conf, self._hadoop, self._site)
        return spark_cluster.Master(self.host, self.deployment)


def _fixed(task: Task, events: Path) -> dict[str, str]:
    """Return the settings that every trial has and that are no choice of the user."""
    return {
        "spark.app.name": f"venturi-{task.definition.name}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.local.dir": ",".join(map(str, task.spills)),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.sql.warehouse.dir": (task.scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }


def _as_options(configuration: Mapping[str, str]) -> list[str]:
    return [part for key, value in configuration.items() for part in ("--conf", f"{key}={value}")]


def _find(host: LiveHost, environ: Mapping[str, str]) -> tuple[Path | None, str | None]:
    """Where Spark is, and its version, read from the name of its core's jar."""
    named = environ.get("SPARK_HOME")
    if named:
        home = Path(named)
    else:
        found = importlib.util.find_spec("pyspark")
        if found is None or not found.submodule_search_locations:
            return None, None
        home = Path(found.submodule_search_locations[0])
    if host.which(str(home / "bin" / "spark-submit")) is None:
        return None, None
    for jar in host.files.find(home / "jars", "spark-core_*.jar"):
        return home, jar.path.stem.rpartition("-")[2]
    return home, None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
