"""Apache Hadoop MapReduce with the programs of its own examples: in one JVM, or on a cluster."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

from venturi.errors import VenturiError
from venturi.measure.engines import ON_HDFS
from venturi.measure.engines.hadoop.cluster import open_cluster
from venturi.measure.engines.hadoop.conf import LOGGING
from venturi.measure.engines.hadoop.install import Hadoop, look_for_hadoop
from venturi.measure.engines.hadoop.job_log import dfsio_samples, read_counters, read_dfsio, samples
from venturi.measure.engines.hadoop.place import MIB, Local, OnCluster, Place
from venturi.measure.engines.process_job import ProcessJob
from venturi.measure.engines.protocol import (
    Availability,
    Collected,
    Ground,
    Order,
    Task,
    require,
)
from venturi.measure.trial.job import Attachment, JobFailed
from venturi.measure.trial.programs import Ended, run
from venturi.measure.workloads.registry import Definition, Size
from venturi.record.trial import Scalar

NAME = "mapreduce"

DFSIO_RESULTS = "dfsio.txt"
CHECKSUM_MODULUS = 2**64  # TeraGen's counter is signed
_ESTIMATE = re.compile(r"Estimated value of Pi is ([\d.]+)")
_KEY_VALUE = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_TEXT_OUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
_TEXT = "org.apache.hadoop.io.Text"
_CLASSES: Mapping[str, str] = {
    "teragen": "terasort.TeraGen",
    "terasort": "terasort.TeraSort",
    "terasort-skewed": "terasort.TeraSort",
    "teravalidate": "terasort.TeraValidate",
    "sort": "Sort",
    "wordcount": "WordCount",
    "pi": "QuasiMonteCarlo",
}
_TERAGEN_COUNTERS = "org.apache.hadoop.examples.terasort.TeraGen$Counters"


class MapReduce:
    """Hadoop of HADOOP_HOME, else the one `venturi engines install mapreduce` fetched.

    `deployment` is `local` or `cluster`: the one of `hadoop_conf`, else one of our own.
    """

    name = NAME
    prefixes = ("mapreduce.", "io.", "fs.", "file.", "hadoop.", "dfs.", "yarn.app.mapreduce.")
    workloads = frozenset(
        {"teragen", "terasort", "terasort-skewed", "teravalidate", "sort", "wordcount", "pi",
         "dfsio-write", "dfsio-read"}
    )  # fmt: skip

    def __init__(
        self,
        *,
        home: Path,
        environ: Mapping[str, str],
        deployment: str = "local",
        hadoop_conf: Path | None = None,
    ) -> None:
        self.deployment = deployment
        self.version = ""
        self._hadoop_conf = hadoop_conf
        self._home = home
        self._environ = environ
        self._hadoop: Hadoop | None = None
        self._ground: Ground | None = None
        self._place: Place | None = None

    @property
    def owns_hdfs(self) -> bool:
        return self.deployment in ON_HDFS and self._hadoop_conf is None

    def available(self) -> Availability:
        found = look_for_hadoop(self._home, self._environ)
        self._hadoop, self.version = found.hadoop, found.version or ""
        return Availability(NAME, found.version, found.parts, found.missing)

    def start(self, ground: Ground) -> None:
        require(self.available())
        self._ground = ground
        self._place = self._opened(ground)

    def stop(self) -> None:
        if self._place is not None:
            self._place.stop()

    def job(self, order: Order) -> ProcessJob:
        return ProcessJob(self, order)

    def defaults(
        self, definition: Definition, size: Size, threads: int, memory_bytes: int
    ) -> Mapping[str, str]:
        place = Local if self.deployment == "local" else OnCluster
        # TeraGen has a map for each file that it makes; of the others it is but a wish.
        maps = {"mapreduce.job.maps": str(threads)} if definition.job == "teragen" else {}
        return {
            **place.defaults(definition, threads, memory_bytes),
            **maps,
            # The client looks whether the job is done; every second would be felt.
            "mapreduce.client.progressmonitor.pollinterval": "100",
            "mapreduce.client.completion.pollinterval": "100",
        }

    def prepare(self, task: Task) -> None:
        assert self._ground is not None
        if self._place is not None and self._place.is_lost():
            # A daemon ended and with it a job; those that follow get a new cluster.
            lost, self._place = self._place, None
            lost.stop()
        if self._place is None:
            self._place = self._opened(self._ground)
        self._place.prepare(task)
        if task.definition.job == "dfsio-read":
            log = task.logs / "write.log"
            self._run(task, _dfsio(task, self._place, "-write", log.with_suffix(".txt")), log)

    def submit(self, task: Task) -> Ended:
        assert self._place is not None
        return self._run(task, _program(task, self._place), task.logs / "engine.log")

    def collect(self, task: Task, ended: Ended) -> Collected:
        assert self._place is not None
        text = ended.log.read_text(errors="replace")
        counters = read_counters(text)
        kept = task.logs / "counters.json"
        kept.write_text(json.dumps(counters, indent=1))
        figures = list(samples(counters))
        answer: dict[str, Scalar] = {}
        if task.definition.job == "pi" and (found := _ESTIMATE.search(text)):
            answer["inside"] = round(float(found[1]) * _pi_points(task) / 4)
        elif task.definition.job.startswith("dfsio"):
            said = read_dfsio((task.logs / DFSIO_RESULTS).read_text())
            answer = {
                "files": int(said["Number of files"]),
                "bytes": int(said["Total MBytes processed"]) * MIB,
            }
            figures += dfsio_samples(said)
        own = self._place.collect(task, text, ended, time.monotonic() - time.time())
        answer |= _tera_answer(task, counters)
        return Collected(
            phases=own.phases,
            samples=(*figures, *own.samples),
            attachments=(Attachment("other", "counters.json", kept), *own.attachments),
            answer={**answer, **own.answer},
        )

    def _opened(self, ground: Ground) -> Place:
        assert self._hadoop is not None
        if self.deployment == "local":
            return Local()
        return OnCluster(open_cluster(self._hadoop, ground, self._hadoop_conf))

    def _run(self, task: Task, program: list[str], log: Path) -> Ended:
        place, hadoop = self._place, self._hadoop
        assert place is not None
        assert hadoop is not None
        logging = task.logs / "conf"
        logging.mkdir(exist_ok=True)
        (logging / "log4j.properties").write_text(LOGGING)
        try:
            return run(
                [
                    hadoop.java.program,
                    f"-Xmx{place.client_bytes(task) // MIB}m",
                    "-Duser.timezone=UTC",
                    "-Duser.language=en",  # numbers with points
                    f"-Djava.io.tmpdir={task.scratch}",
                    *place.java_options,
                    "-cp",
                    ":".join((str(logging), *place.class_path, *hadoop.jars)),
                    *program,
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
            # A full disk is not what every job gives as its reason.
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


def _program(task: Task, place: Place) -> list[str]:
    """Main class, settings and arguments."""
    definition = task.definition
    if definition.job.startswith("dfsio"):
        mode = "-" + definition.job.removeprefix("dfsio-")
        return _dfsio(task, place, mode, task.logs / DFSIO_RESULTS)
    name = _CLASSES[definition.job if definition.format != "fixed" else definition.name]
    settings = _settings(task, place)
    return [f"org.apache.hadoop.examples.{name}", *settings, *_arguments(task, place)]


def _arguments(task: Task, place: Place) -> list[str]:
    folders = [place.input(task), place.output(task)]
    match task.definition.job:
        case "pi":
            parts = task.size.parts or 1
            return [str(parts), str(-(-task.size.records // parts))]
        case "teragen":
            return [str(task.size.records), place.output(task)]
        case "sort" if task.definition.format == "lines":
            reduces = task.configuration["mapreduce.job.reduces"]
            return ["-r", reduces, "-inFormat", _KEY_VALUE, "-outFormat", _TEXT_OUT,
                    "-outKey", _TEXT, "-outValue", _TEXT, *folders]  # fmt: skip
        case _:
            return folders


def _dfsio(task: Task, place: Place, mode: str, results: Path) -> list[str]:
    """TestDFSIO adds to `results`."""
    files = task.size.parts or 1
    size_mib = (task.size.bytes or 0) // files // MIB
    return [
        "org.apache.hadoop.fs.TestDFSIO", f"-Dtest.build.data={place.output(task)}",
        *_settings(task, place), mode, "-nrFiles", str(files), "-size", f"{size_mib}MB",
        "-resFile", str(results),
    ]  # fmt: skip


def _settings(task: Task, place: Place) -> list[str]:
    own = {
        **place.settings(task),
        # A line without a tab is all key, and nothing must be added to it. Hadoop loses a setting
        # that is empty on its way to the task, but not one that becomes empty there.
        "mapreduce.output.textoutputformat.separator": "${env.NO_SEPARATOR:-}"
        if task.definition.job == "sort"
        else "\t",
    }
    return [f"-D{key}={value}" for key, value in {**own, **task.configuration}.items()]


def _tera_answer(task: Task, counters: Mapping[str, Mapping[str, int]]) -> dict[str, Scalar]:
    """What TeraGen counted of its records, or TeraValidate wrote of those it read."""
    if task.definition.job == "teragen":
        own = counters.get(_TERAGEN_COUNTERS, {})
        return {"checksum": f"{own['CHECKSUM'] % CHECKSUM_MODULUS:x}"} if "CHECKSUM" in own else {}
    if task.definition.job != "teravalidate":
        return {}
    lines = [
        line.partition("\t")
        for path in sorted(task.output.glob("part-*"))
        for line in path.read_text().splitlines()
    ]
    found = {key: value for key, _, value in lines}
    return {
        "unordered_records": sum(key != "checksum" for key, _, _ in lines),
        "checksum": found.get("checksum"),
    }


def _pi_points(task: Task) -> int:
    parts = task.size.parts or 1
    return -(-task.size.records // parts) * parts
