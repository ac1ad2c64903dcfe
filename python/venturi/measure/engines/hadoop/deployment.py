"""Where MapReduce jobs run and have their files: in one JVM and on disk, on a cluster in HDFS."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop.cluster import HadoopCluster
from venturi.measure.engines.hadoop.conf import BLOCK_SIZE, LIGHT, block_bytes, containers
from venturi.measure.engines.hadoop.history import HISTORY, HISTORY_CONF
from venturi.measure.engines.hadoop.job_log import CLUSTER, LOCAL, read_counters, read_phases
from venturi.measure.engines.hadoop.spread import portions, spreads
from venturi.measure.engines.protocol import CollectedAccount
from venturi.measure.hosts.host import Files
from venturi.measure.hosts.logs import tail
from venturi.measure.trial.job import Attachment, JobFailed
from venturi.measure.trial.programs import ProcessResult
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.definition import Definition
from venturi.measure.workloads.programs import HadoopProgram, Task
from venturi.record.trial import Phase, Sample, Scalar

MIB = 2**20
SPLIT_BYTES = 128 * MIB
# A split and its metadata fit into the buffer, so each map task spills once.
SORT_BUFFER_MIB = 256
LEAST_BUFFER_MIB = 16
# It samples keys and computes splits; the work is done in containers.
CLIENT_BYTES = 512 * MIB
# Share of a container's memory, as in mapreduce.job.heap.memory-mb.ratio.
HEAP_SHARE = 0.8

_JOB = re.compile(r"Running job: (job_\d+_\d+)")


class HadoopDeployment:
    """Where a job runs: the settings of its client, and the transfer of its files there and back.
    By default as `local`: one JVM, which is the job's client, and files on disk.
    """

    class_path: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    java_options: tuple[str, ...] = ()
    check: Callable[[], None] | None = None

    @staticmethod
    def defaults(definition: Definition, threads: int, memory_bytes: int) -> dict[str, str]:
        """Return the settings that an experienced user of this deployment would choose for such a
        task.
        """
        # One reducer gives one order. There are few words once combined; and the sort example's
        # own total order (-totalOrder) fails on local files: it takes `#` for part of a name.
        return {
            "mapreduce.framework.name": "local",
            "mapreduce.local.map.tasks.maximum": str(threads),
            "mapreduce.local.reduce.tasks.maximum": str(threads),
            "mapreduce.job.reduces": str(threads if definition.format == "fixed" else 1),
            "mapreduce.task.io.sort.mb": str(_buffer_mib(memory_bytes / (2 * threads))),
            "mapreduce.input.fileinputformat.split.minsize": str(SPLIT_BYTES),
        }

    def settings(self, task: Task) -> dict[str, str]:
        """Return the settings that every job needs here and that are no choice of the user."""
        spills = ",".join(map(str, task.spills))
        return {
            "hadoop.tmp.dir": str(task.scratch),
            "mapreduce.cluster.local.dir": spills,
            "fs.defaultFS": "file:///",
        }

    def client_bytes(self, task: Task) -> int:
        """Heap of the JVM that submits the job."""
        return task.memory_bytes

    def input(self, task: Task) -> str:
        """URI of the input's folder."""
        return task.input.as_uri()

    def output(self, task: Task) -> str:
        """URI of the output's folder."""
        return task.output.as_uri()

    def prepare(self, task: Task) -> None:
        """Bring the input there."""

    def collect(
        self, task: Task, program: HadoopProgram, log: str, ended: ProcessResult, shift_s: float
    ) -> CollectedAccount:
        """Return the phases and the figures that only this deployment has; bring the output to
        `task.output`.

        `log` is the text of the log. Adding `shift_s` to a timestamp in it gives monotonic time.
        """
        return CollectedAccount(phases=read_phases(log, ended, shift_s, LOCAL))

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        """The output on the hosts that read it again; None: it is in `task.output`."""
        return nullcontext()

    def logs(self) -> tuple[Attachment, ...]:
        """Return the logs to keep of a failed job, in addition to its own."""
        return ()

    def history(self, task: Task, log: Path) -> tuple[Attachment, ...]:
        """Return the engine's own account, if any, of the job with the client log `log`."""
        return ()

    def abandon(self, task: Task, log: Path) -> None:
        """End the remains of a job that failed or lost its client."""

    def is_lost(self) -> bool:
        """Return whether no more jobs can run here."""
        return False

    def is_full(self) -> bool:
        """Return whether there is no room for more files, as far as the deployment knows."""
        return False

    def stop(self) -> None:
        """End everything that belongs to the deployment."""


class HadoopOnCluster(HadoopDeployment):
    """YARN's containers, and files in HDFS, uploaded once. Sorted output is validated by the
    workers if there are several hosts; any other output is fetched after its job.
    """

    def __init__(self, cluster: HadoopCluster) -> None:
        self._cluster = cluster
        self._files = cluster.host.files
        self._uploaded: tuple[tuple[object, ...], str] = ((), "")
        self.class_path = (str(cluster.conf),)
        self.environment = cluster.environment
        # A client runs for seconds: a compiler that is ready soon beats one that optimizes better.
        self.java_options = (*LIGHT, *cluster.java_options)
        self.check = cluster.check

    @staticmethod
    def defaults(definition: Definition, threads: int, memory_bytes: int) -> dict[str, str]:
        task_mib = containers(threads, memory_bytes, workers=1).task_mib
        return {
            "mapreduce.framework.name": "yarn",
            "mapreduce.map.memory.mb": str(task_mib),
            "mapreduce.reduce.memory.mb": str(task_mib),
            "mapreduce.job.reduces": str(threads if definition.format == "fixed" else 1),
            "mapreduce.task.io.sort.mb": str(_buffer_mib(task_mib * MIB * HEAP_SHARE / 2)),
            # Reducers that wait for maps would hold the containers that the maps wait for.
            "mapreduce.job.reduce.slowstart.completedmaps": "1.0",
        }

    def settings(self, task: Task) -> dict[str, str]:
        return {"hadoop.tmp.dir": str(task.scratch), "mapreduce.job.tags": _tag(task)}

    def client_bytes(self, task: Task) -> int:
        return CLIENT_BYTES

    def input(self, task: Task) -> str:
        return self._uri(self._uploaded[1])

    def output(self, task: Task) -> str:
        return self._uri(self._output(task))

    def prepare(self, task: Task) -> None:
        hdfs, files = self._cluster.hdfs, _files_key(self._files, task)
        size_bytes = block_bytes(task.configuration.get(BLOCK_SIZE))
        hdfs.remove(self._output(task))
        if not files or (key := (size_bytes, *files)) == self._uploaded[0]:
            return
        folder = f"{self._cluster.root}/input"
        self._uploaded = ((), "")
        hdfs.remove(folder)
        hdfs.mkdir(folder)
        given = [each.path for each in self._files.entries(task.input)]
        try:
            sources = {f"{folder}/{path.name}": path for path in given}
            hdfs.put_all(self._files, sources, block_bytes=size_bytes)
        except VenturiError as error:
            raise JobFailed(
                error.code,
                error.message,
                where=error.where,
                hint=error.hint,
                attachments=self._cluster.logs(),
            ) from error
        self._uploaded = (key, folder)

    def collect(
        self, task: Task, program: HadoopProgram, log: str, ended: ProcessResult, shift_s: float
    ) -> CollectedAccount:
        hdfs, output = self._cluster.hdfs, self._output(task)
        answer: dict[str, Scalar] = {}
        if program.stored is not None:
            stored = hdfs.files(f"{output}/{program.stored}")
            answer = {
                "stored_files": len(stored),
                "stored_bytes": sum(size for _, size in stored),
            }
        elif task.definition.format != "none" and not spreads(self._cluster, task):
            self._files.mkdir(task.output)
            names = [name for name, _ in hdfs.files(output)]
            hdfs.get_all(self._files, {f"{output}/{name}": task.output / name for name in names})
        if not spreads(self._cluster, task):
            hdfs.remove(output)
        # HDFS made each file durable when it was closed.
        synced = Phase("sync", ended.ended_s, 0.0)
        return CollectedAccount(
            phases=(*read_phases(log, ended, shift_s, CLUSTER), synced),
            samples=_tasks_cpu(log),
            attachments=self._copied(task, log),
            answer=answer,
        )

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        return portions(self._cluster, task, self._output(task))

    def logs(self) -> tuple[Attachment, ...]:
        return self._cluster.logs()

    def abandon(self, task: Task, log: Path) -> None:
        self._cluster.kill(_tag(task))
        # The failure may be that HDFS does not answer.
        with suppress(VenturiError):
            self._cluster.hdfs.remove(self._output(task))

    def is_lost(self) -> bool:
        return self._cluster.dead() != ()

    def is_full(self) -> bool:
        return self._cluster.is_full()

    def stop(self) -> None:
        self._cluster.stop()

    def history(self, task: Task, log: Path) -> tuple[Attachment, ...]:
        return () if self.is_lost() else self._copied(task, tail(self._files, log))

    def _copied(self, task: Task, log: str) -> tuple[Attachment, ...]:
        job = _JOB.search(log)
        found = self._cluster.history(job[1], task.logs) if job else None
        if found is None:
            return ()
        history, configuration = found
        return (
            Attachment("other", HISTORY, history),
            Attachment("other", HISTORY_CONF, configuration),
        )

    def _output(self, task: Task) -> str:
        return f"{self._cluster.root}/output-{_digest(task)}"

    def _uri(self, path: str) -> str:
        return self._cluster.fs + path


def _digest(task: Task) -> str:
    return hashlib.sha256(str(task.output).encode()).hexdigest()[:16]


def _tag(task: Task) -> str:
    """Return the tag under which YARN finds the task's application, even before its client has
    reported it.
    """
    return f"venturi-{_digest(task)}"


def _buffer_mib(most_bytes: float) -> int:
    return max(LEAST_BUFFER_MIB, min(SORT_BUFFER_MIB, int(most_bytes // MIB)))


def _files_key(files: Files, task: Task) -> tuple[object, ...]:
    """Return a key that identifies an input: its files with sizes and times."""
    given = [(files.resolve(each.path), each) for each in files.entries(task.input)]
    return tuple(sorted((path, each.bytes, each.modified_ns) for path, each in given))


def _tasks_cpu(log: str) -> tuple[Sample, ...]:
    """Return the CPU time of all containers; the kernel's own figures cover only the client."""
    spent_ms = read_counters(log).get("Map-Reduce Framework", {}).get("CPU time spent (ms)")
    return () if spent_ms is None else (Sample("tasks_cpu_s", spent_ms / 1000, "s"),)
