"""Apache Hadoop MapReduce in local mode: one JVM, with the programs of Hadoop's own examples."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from venturi.errors import VenturiError
from venturi.measure.engines.install import HADOOP_VERSION, installed
from venturi.measure.engines.java import Java, find_java
from venturi.measure.engines.job import START, ProcessJob
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
from venturi.measure.workloads import Definition, Size
from venturi.record.trial import Phase, Sample, Scalar

NAME = "mapreduce"
JAVA = range(8, 23)  # Subject.getSubject, which Hadoop 3.4 calls, is gone from 23 on
MIB = 2**20
SPLIT_BYTES = 128 * MIB
# A split and what the buffer keeps beside it fit: each map task spills once.
SORT_BUFFER_MIB = 256

_LOGGING = """\
log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{yyyy-MM-dd HH:mm:ss,SSS} %p %c{2}: %m%n
"""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) \w+ (.*)")
_COUNTER = re.compile(r"\t\t(.+)=(-?\d+)")
_ESTIMATE = re.compile(r"Estimated value of Pi is ([\d.]+)")
_DFSIO = re.compile(r"^\s*([A-Za-z][\w /]+):\s+([\d.]+)\s*$", re.MULTILINE)
_DFSIO_RATES: Mapping[str, str] = {
    "Throughput mb/sec": "dfsio_throughput_bytes_per_s",
    "Average IO rate mb/sec": "dfsio_average_io_rate_bytes_per_s",
    "IO rate std deviation": "dfsio_io_rate_stdev_bytes_per_s",
}
_KEY_VALUE = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_TEXT_OUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
_TEXT = "org.apache.hadoop.io.Text"


class MapReduce:
    """Hadoop of HADOOP_HOME, else the one `venturi engines install mapreduce` fetched."""

    name = NAME
    prefixes = ("mapreduce.", "io.", "fs.", "file.", "hadoop.")
    workloads = frozenset(
        {"terasort", "terasort-skewed", "sort", "wordcount", "pi", "dfsio-write", "dfsio-read"}
    )

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
        self._jars: tuple[str, ...] = ()
        self._java: Java | None = None
        self.version = ""

    def available(self) -> Availability:
        missing: list[Missing] = []
        parts: dict[str, str] = {}
        version, home, self._jars = self._find()
        if home is None:
            missing.append(Missing("Hadoop is not installed", "venturi engines install mapreduce"))
        elif version is None:
            missing.append(
                Missing(f"{home} has no MapReduce examples and tests", "unset HADOOP_HOME")
            )
        if home is not None:
            parts["home"] = str(home)
        java = find_java(self._environ)
        mend = "apt-get install openjdk-17-jre-headless"
        if java is None:
            missing.append(Missing("there is no Java", mend))
        else:
            parts["java"] = java.version
            if java.major not in JAVA:
                missing.append(
                    Missing(
                        f"Java {java.version} is not one of {JAVA.start} to {JAVA.stop - 1}",
                        f"{mend}; export JAVA_HOME=...",
                        "VEN-ENGINE-JAVA",
                    )
                )
        self._java, self.version = java, version or ""
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
        buffer_mib = min(SORT_BUFFER_MIB, memory_bytes // MIB // (2 * threads))
        # One reducer gives one order. There are few words once combined; and the sort example's
        # own total order (-totalOrder) fails on local files: it takes `#` for part of a name.
        reduces = threads if definition.format == "fixed" else 1
        return {
            "mapreduce.framework.name": "local",
            "mapreduce.local.map.tasks.maximum": str(threads),
            "mapreduce.local.reduce.tasks.maximum": str(threads),
            "mapreduce.job.reduces": str(reduces),
            "mapreduce.task.io.sort.mb": str(max(16, buffer_mib)),
            "mapreduce.input.fileinputformat.split.minsize": str(SPLIT_BYTES),
            # The client looks whether the job is done; every second would be felt.
            "mapreduce.client.progressmonitor.pollinterval": "100",
            "mapreduce.client.completion.pollinterval": "100",
        }

    def prepare(self, task: Task) -> None:
        if task.definition.job == "dfsio-read":
            self._run(task, _dfsio(task, "-write"), task.logs / "write.log")

    def submit(self, task: Task) -> Ended:
        return self._run(task, _program(task), task.logs / "engine.log")

    def collect(self, task: Task, ended: Ended) -> Collected:
        text = ended.log.read_text(errors="replace")
        counters = read_counters(text)
        kept = task.logs / "counters.json"
        kept.write_text(json.dumps(counters, indent=1))
        samples = list(_samples(counters))
        answer: dict[str, Scalar] = {}
        if task.definition.job == "pi" and (found := _ESTIMATE.search(text)):
            answer["inside"] = round(float(found[1]) * _pi_points(task) / 4)
        elif task.definition.job.startswith("dfsio"):
            figures = read_dfsio((task.logs / "dfsio.txt").read_text())
            answer = {
                "files": int(figures["Number of files"]),
                "bytes": int(figures["Total MBytes processed"]) * MIB,
            }
            samples += [_dfsio_rate(figures, said, name) for said, name in _DFSIO_RATES.items()]
        return Collected(
            phases=read_phases(text, ended, time.monotonic() - time.time()),
            samples=tuple(samples),
            attachments=(Attachment("other", "counters.json", kept),),
            answer=answer,
        )

    def _run(self, task: Task, program: list[str], log: Path) -> Ended:
        assert self._java is not None
        settings = task.logs / "conf"
        settings.mkdir(exist_ok=True)
        (settings / "log4j.properties").write_text(_LOGGING)
        return run(
            [
                self._java.program,
                f"-Xmx{task.memory_bytes // MIB}m",
                "-Duser.timezone=UTC",
                f"-Djava.io.tmpdir={task.scratch}",
                "-cp",
                ":".join((str(settings), *self._jars)),
                *program,
            ],
            engine=NAME,
            log=log,
            cwd=task.scratch,
            env={"JAVA_HOME": str(self._java.home)},
            timeout_s=task.timeout_s,
        )

    def _find(self) -> tuple[str | None, Path | None, tuple[str, ...]]:
        """Version, place and class path."""
        named = self._environ.get("HADOOP_HOME")
        if not named:
            place = installed(self._venturi_home)
            if place is None:
                return None, None, ()
            return HADOOP_VERSION, place, (f"{place}/*",)
        home = Path(named)
        share = home / "share" / "hadoop"
        jars = tuple((share / "mapreduce").glob("hadoop-mapreduce-examples-*.jar"))
        tests = tuple((share / "mapreduce").glob("hadoop-mapreduce-client-jobclient-*-tests.jar"))
        if not jars or not tests:
            return None, home, ()
        folders = ("common", "common/lib", "hdfs", "hdfs/lib", "mapreduce", "mapreduce/lib",
                   "yarn", "yarn/lib")  # fmt: skip
        version = jars[0].stem.rpartition("-")[2]
        return version, home, tuple(f"{share / folder}/*" for folder in folders)


def _program(task: Task) -> list[str]:
    """Main class, settings and arguments."""
    examples = "org.apache.hadoop.examples"
    job = task.definition.job
    places = [task.input.as_uri(), task.output.as_uri()]
    if job == "wordcount":
        return [f"{examples}.WordCount", *_settings(task), *places]
    if job == "pi":
        parts = task.size.parts or 1
        points = str(-(-task.size.records // parts))
        return [f"{examples}.QuasiMonteCarlo", *_settings(task), str(parts), points]
    if job.startswith("dfsio"):
        return _dfsio(task, "-" + job.removeprefix("dfsio-"))
    if task.definition.format == "fixed":
        return [f"{examples}.terasort.TeraSort", *_settings(task), *places]
    return [
        f"{examples}.Sort", *_settings(task), "-r", task.configuration["mapreduce.job.reduces"],
        "-inFormat", _KEY_VALUE, "-outFormat", _TEXT_OUT, "-outKey", _TEXT, "-outValue", _TEXT,
        *places,
    ]  # fmt: skip


def _dfsio(task: Task, mode: str) -> list[str]:
    files = task.size.parts or 1
    size_mib = (task.size.bytes or 0) // files // MIB
    task.output.mkdir(exist_ok=True)
    return [
        "org.apache.hadoop.fs.TestDFSIO", f"-Dtest.build.data={task.output}", *_settings(task),
        mode, "-nrFiles", str(files), "-size", f"{size_mib}MB",
        "-resFile", str(task.logs / "dfsio.txt"),
    ]  # fmt: skip


def _settings(task: Task) -> list[str]:
    places = {
        "hadoop.tmp.dir": str(task.scratch),
        "fs.defaultFS": "file:///",
        # A line without a tab is all key, and nothing must be added to it. Hadoop loses a setting
        # that is empty on its way to the task, but not one that becomes empty there.
        "mapreduce.output.textoutputformat.separator": "${env.NO_SEPARATOR:-}"
        if task.definition.job == "sort"
        else "\t",
    }
    return [f"-D{key}={value}" for key, value in {**places, **task.configuration}.items()]


def _pi_points(task: Task) -> int:
    parts = task.size.parts or 1
    return -(-task.size.records // parts) * parts


def read_counters(text: str) -> dict[str, dict[str, int]]:
    """The job's counters by group: those printed last, which are of the whole job."""
    _, found, rest = text.rpartition("Counters: ")
    groups: dict[str, dict[str, int]] = {}
    name = ""
    for line in rest.splitlines()[1:] if found else ():
        if counter := _COUNTER.fullmatch(line):
            groups.setdefault(name, {})[counter[1]] = int(counter[2])
        elif line.startswith("\t"):
            name = line.strip()
        else:
            break
    return groups


def _samples(counters: Mapping[str, Mapping[str, int]]) -> Iterator[Sample]:
    framework = counters.get("Map-Reduce Framework", {})
    for counter, metric, unit, scale in (
        ("Spilled Records", "spilled_records", "1", 1.0),
        ("Reduce shuffle bytes", "shuffle_bytes", "B", 1.0),
        ("GC time elapsed (ms)", "gc_s", "s", 1e-3),
        ("Map input records", "records", "1", 1.0),
    ):
        if counter in framework:
            yield Sample(metric, framework[counter] * scale, unit)


def read_dfsio(text: str) -> dict[str, float]:
    """TestDFSIO's figures by its own names, as far as they are numbers; its MB are MiB."""
    figures = {name.strip(): float(value) for name, value in _DFSIO.findall(text)}
    for needed in ("Number of files", "Total MBytes processed"):
        if needed not in figures:
            raise VenturiError("VEN-ENGINE-FAILED", f"TestDFSIO gave no {needed!r}")
    return figures


def _dfsio_rate(figures: Mapping[str, float], said: str, name: str) -> Sample:
    """A rate, or why there is none: TestDFSIO divides by milliseconds, of which there may be 0."""
    if (rate := figures.get(said)) is None or not math.isfinite(rate):
        reason = f"TestDFSIO printed no number for {said!r}: a file took less than a millisecond"
        return Sample(name, None, "B/s", missing_reason=reason)
    return Sample(name, rate * MIB, "B/s")


def read_phases(text: str, ended: Ended, shift_s: float) -> tuple[Phase, ...]:
    """Phases from the moments at which the log says something decisive.

    The log's moments are of the wall clock; adding `shift_s` makes them monotonic ones.
    """
    marks: dict[str, float] = {}
    for line in text.splitlines():
        stamp = _STAMP.match(line)
        if stamp is None:
            continue
        moment = datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        at_s = moment.timestamp() + int(stamp[2]) / 1000 + shift_s
        said = stamp[3]
        marks.setdefault("first", at_s)
        for sign in ("Running job:", "map task executor complete", "completed successfully"):
            if sign in said:
                marks[sign] = at_s
    bounds = [
        ended.started_s,
        marks.get("first"),
        marks.get("Running job:"),
        marks.get("map task executor complete"),
        marks.get("completed successfully", ended.ended_s),
    ]
    names = (START, "submit", "map", "shuffle+sort+reduce")
    phases = []
    before = ended.started_s
    for name, until in zip(names, bounds[1:], strict=True):
        if until is None:
            continue
        bound = min(max(until, before), ended.ended_s)
        phases.append(Phase(name, before, bound - before))
        before = bound
    phases.append(Phase("end", before, ended.ended_s - before))
    return tuple(phases)
