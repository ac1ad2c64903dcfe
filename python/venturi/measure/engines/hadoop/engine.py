"""Apache Hadoop MapReduce with the programs of its own examples: in one JVM, or on a cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop import KIND, history
from venturi.measure.engines.hadoop.cluster import GivenCluster, open_cluster
from venturi.measure.engines.hadoop.conf import LOGGING
from venturi.measure.engines.hadoop.deployment import (
    MIB,
    HadoopDeployment,
    HadoopOnCluster,
)
from venturi.measure.engines.hadoop.install import Hadoop, look_for_hadoop
from venturi.measure.engines.hadoop.installed import look_on_nodes, send_to_nodes
from venturi.measure.engines.hadoop.job_log import read_counters, samples
from venturi.measure.engines.nodes import ClusterNodes, on_one_host
from venturi.measure.engines.process_job import ProcessJob
from venturi.measure.engines.protocol import (
    Availability,
    CollectedAccount,
    Resources,
    TrialSpec,
    require,
)
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial.job import Attachment, JobFailed
from venturi.measure.trial.programs import ProcessResult, run
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.programs import HadoopProgram, HadoopRun, HadoopTask, Task
from venturi.measure.workloads.registry import program as program_of
from venturi.record.job_account import JobAccount

NAME = KIND.name
BEFORE = "before"
"""The names of files of the program that runs before the clock starts."""


class MapReduce:
    """Hadoop of HADOOP_HOME, else the one that `venturi engines install mapreduce` fetched.

    `deployment` is `local` or `cluster`: that of `hadoop_conf`, else Venturi's own.
    """

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
        self.version = ""
        self._hadoop_conf = hadoop_conf
        self._home = home
        self._environ = environ
        self._hadoop: Hadoop | None = None
        self._hadoops: Mapping[str, Hadoop] = {}
        self._ground: Resources | None = None
        self._place: HadoopDeployment | None = None

    @property
    def owns_hdfs(self) -> bool:
        return self.deployment in KIND.on_hdfs and self._hadoop_conf is None

    def available(self) -> Availability:
        if self.nodes is None:
            found = look_for_hadoop(self.host, self._home, self._environ)
        else:
            found, self._hadoops = look_on_nodes(self.nodes, self._home, self._environ)
        self._hadoop, self.version = found.hadoop, found.version or ""
        return Availability(NAME, found.version, found.parts, found.missing)

    def start(self, resources: Resources) -> None:
        require(self.available())
        if self.nodes is not None:
            send_to_nodes(self.nodes, self._home, self._environ)
        self._ground = resources
        self._place = self._opened(resources)

    def stop(self) -> None:
        if self._place is not None:
            self._place.stop()

    def job(self, spec: TrialSpec) -> ProcessJob:
        return ProcessJob(self, spec)

    def defaults(
        self, definition: Definition, size: Size, threads: int, memory_bytes: int
    ) -> Mapping[str, str]:
        place = HadoopDeployment if self.deployment == "local" else HadoopOnCluster
        return {
            **place.defaults(definition, threads, memory_bytes),
            **_program(definition).defaults(threads),
            # The client looks whether the job is done; every second would be felt.
            "mapreduce.client.progressmonitor.pollinterval": "100",
            "mapreduce.client.completion.pollinterval": "100",
        }

    def prepare(self, task: Task) -> None:
        assert self._ground is not None
        if self._place is not None and self._place.is_lost():
            # A daemon ended, and its job failed: later jobs get a new cluster.
            lost, self._place = self._place, None
            lost.stop()
        if self._place is None:
            self._place = self._opened(self._ground)
        self._place.prepare(task)
        if (before := _program(task.definition).before) is not None:
            self._run(task, before, BEFORE)

    def submit(self, task: Task) -> ProcessResult:
        return self._run(task, _program(task.definition), "engine")

    def collect(self, task: Task, ended: ProcessResult) -> CollectedAccount:
        assert self._place is not None
        program, files = _program(task.definition), self.host.files
        text = files.read(ended.log).decode(errors="replace")
        counters = read_counters(text)
        kept = task.logs / "counters.json"
        files.write(kept, json.dumps(counters, indent=1))
        own = self._place.collect(task, program, text, ended, time.monotonic() - time.time())
        results = ended.log.with_suffix(".txt")
        said = files.read(results).decode() if files.is_file(results) else ""
        found = program.findings(HadoopRun(files, task, text, counters, said))
        return CollectedAccount(
            phases=own.phases,
            samples=(*samples(counters), *found.samples, *own.samples),
            attachments=(Attachment("other", "counters.json", kept), *own.attachments),
            answer={**found.answer, **own.answer},
        )

    def read_account(
        self, files: Files, log: Attachment, logs: Sequence[Attachment]
    ) -> JobAccount | None:
        return history.read_account(files, log, logs)

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        assert self._place is not None
        return self._place.portions(task)

    def _opened(self, resources: Resources) -> HadoopDeployment:
        assert self._hadoop is not None
        if self.deployment == "local":
            return HadoopDeployment()
        if self._hadoop_conf is not None:
            java = self._hadoop.java
            return HadoopOnCluster(GivenCluster(self.host, self._hadoop_conf, java, histories=True))
        nodes = self.nodes or on_one_host(self.host, resources.dirs, resources.workers or 1)
        hadoops = self._hadoops or {nodes.client.name: self._hadoop}
        return HadoopOnCluster(open_cluster(nodes, hadoops, resources))

    def _run(self, task: Task, program: HadoopProgram, name: str) -> ProcessResult:
        """Run `program`, which writes to NAME.log and NAME.txt."""
        place, hadoop = self._place, self._hadoop
        assert place is not None
        assert hadoop is not None
        log = task.logs / f"{name}.log"
        where = HadoopTask(task, place.input(task), place.output(task), log.with_suffix(".txt"))
        logging = task.logs / "conf"
        self.host.files.mkdir(logging, exist_ok=True)
        self.host.files.write(logging / "log4j.properties", LOGGING)
        try:
            return run(
                self.host,
                [
                    hadoop.java.program,
                    f"-Xmx{place.client_bytes(task) // MIB}m",
                    "-Duser.timezone=UTC",
                    "-Duser.language=en",  # numbers with points
                    f"-Djava.io.tmpdir={task.scratch}",
                    *place.java_options,
                    "-cp",
                    ":".join((str(logging), *place.class_path, *hadoop.jars)),
                    program.main,
                    *_settings(where, place, program),
                    *program.arguments(where),
                ],
                engine=NAME,
                log=log,
                cwd=task.scratch,
                env={"JAVA_HOME": str(hadoop.java.home), **place.environment},
                timeout_s=task.timeout_s,
                attachments=place.logs,
                check=place.check,
            )
        except VenturiError as error:
            # Jobs report a full disk with various reasons.
            full = error.code == "VEN-ENGINE-FAILED" and place.is_full()
            if isinstance(error, JobFailed):
                error.attachments += place.history(task, log)
            place.abandon(task, log)
            if full and isinstance(error, JobFailed):
                raise JobFailed(
                    "VEN-ENGINE-SPACE",
                    f"{NAME}: HDFS is full",
                    hint="free some space, or name another disk with --dir",
                    attachments=error.attachments,
                ) from error
            raise


def _program(definition: Definition) -> HadoopProgram:
    found: HadoopProgram = program_of(definition, KIND.programs)
    return found


def _settings(where: HadoopTask, place: HadoopDeployment, program: HadoopProgram) -> list[str]:
    own = {
        **place.settings(where.task),
        "mapreduce.output.textoutputformat.separator": "\t",
        **program.settings(where),
    }
    return [f"-D{key}={value}" for key, value in {**own, **where.task.configuration}.items()]
